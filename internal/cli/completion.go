package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Completion returns the script that completes the commands, flags and values of a model in a
// shell: bash, zsh or fish. The values of a flag or an argument are those of its enum, those of
// the tag complete:"a,b", or what the script gets from CompleteCommand, for the tag
// lookup:"things".
func Completion(model *kong.Application, shell string) (string, error) {
	scripts := map[string]func(string, []place) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	script := scripts[shell]
	if script == nil {
		return "", Errorf(Usage, "there is no completion for %q: give bash, zsh or fish", shell)
	}
	return script(model.Name, places(model.Node, "")), nil
}

// place is a point of the command line: the commands before it, and what may follow.
type place struct {
	// at is the commands, each after a space; empty at the beginning.
	at       string
	commands []word
	flags    []option
	// values are those of the arguments.
	values values
}

type word struct{ name, help string }

type option struct {
	word
	short string
	// takes says that a value follows, and values are those that there are; none are any.
	takes  bool
	values values
}

// values are what a script completes a value with.
type values struct {
	fixed []string
	// lookup is what the script asks the command for; empty if it asks for nothing.
	lookup string
}

func (v values) any() bool { return len(v.fixed) == 0 && v.lookup == "" }

// unless returns what keeps a script from asking for values if a flag is completed, whose
// beginning is in a variable.
func (v values) unless(variable string) string {
	if v.lookup == "" {
		return ""
	}
	return "[[ " + variable + " == -* ]] || "
}

// CompleteCommand is the name of the command that prints values for the scripts. Its arguments are
// what is looked up, and the command line up to the cursor. With WithHelp, a tab and its help
// follow each value that has help. With Split, it prints what follows the = of a field.
const (
	CompleteCommand = "complete"
	WithHelp        = "--with-help"
	Split           = "--split"
)

// text returns the values as words of a script. ask is how the script asks for what is looked up.
func (v values) text(ask func(what string) string) string {
	all := slices.Clone(v.fixed)
	if v.lookup != "" {
		all = append(all, ask(v.lookup))
	}
	return strings.Join(all, " ")
}

// askBash, askZsh and askFish return how the scripts ask the command for values. Those are words
// without characters that a shell would expand: bash expands what compgen takes.
func askBash(what string) string {
	return `$("${COMP_WORDS[0]/#\~/$HOME}" ` + CompleteCommand + " " + what + ` $split "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)`
}

// askZsh needs the values in the array found: see zshScript.
func askZsh(string) string { return `"${found[@]}"` }

func askFish(name string) func(what string) string {
	return func(what string) string {
		return "(" + name + " " + CompleteCommand + " " + WithHelp + " " + what + " (commandline -cp | string collect) 2>/dev/null)"
	}
}

// places returns the point of a command, and those of the commands below it.
func places(n *kong.Node, at string) []place {
	p := place{at: at}
	takes := n
	if n.DefaultCmd != nil { // its name may be left out
		takes = n.DefaultCmd
	}
	for _, group := range takes.AllFlags(true) {
		for _, f := range group {
			p.flags = append(p.flags, flagsOf(f)...)
		}
	}
	for _, argument := range takes.Positional {
		found := valuesOf(argument)
		p.values.fixed, p.values.lookup = append(p.values.fixed, found.fixed...), cmp.Or(found.lookup, p.values.lookup)
	}
	all := []place{p}
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		all[0].commands = append(all[0].commands, word{child.Name, brief(child.Help)})
		all = append(all, places(child, at+" "+child.Name)...)
	}
	return all
}

func flagsOf(f *kong.Flag) []option {
	one := option{word: word{"--" + f.Name, brief(f.Help)}, takes: !f.IsBool() && !f.IsCounter(), values: valuesOf(f.Value)}
	if f.Short != 0 {
		one.short = "-" + string(f.Short)
	}
	if f.Tag.Negatable == "" || f.Negated {
		return []option{one}
	}
	negated := cmp.Or(strings.TrimPrefix(f.Tag.Negatable, "_"), "no-"+f.Name)
	return []option{one, {word: word{"--" + negated, brief(f.Help)}}}
}

// valuesOf returns the values of a flag or an argument, without the empty one.
func valuesOf(v *kong.Value) (found values) {
	if v.Enum != "" {
		found.fixed = v.EnumSlice()
	}
	if v.Tag == nil {
		return found
	}
	if v.Tag.Has("complete") {
		found.fixed = append(found.fixed, strings.Split(v.Tag.Get("complete"), ",")...)
	}
	found.fixed = slices.DeleteFunc(found.fixed, func(s string) bool { return s == "" })
	found.lookup = v.Tag.Get("lookup")
	return found
}

// brief returns the first sentence of a help, without its example.
func brief(help string) string {
	help, _, _ = strings.Cut(help, ": weft ")
	help, _, _ = strings.Cut(help, ". ")
	return strings.TrimSuffix(help, ".")
}

// ways returns how a flag is written.
func (f option) ways() []string {
	if f.short == "" {
		return []string{f.name}
	}
	return []string{f.name, f.short}
}

// quoted joins texts as the alternatives of a case.
func quoted(texts []string) string {
	if len(texts) == 0 {
		return `"#"` // nothing is written like that
	}
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = `"` + t + `"`
	}
	return strings.Join(all, "|")
}

// single returns a text as a word in single quotes.
func single(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// commandsAt returns all commands with the commands before them.
func commandsAt(all []place) (paths []string) {
	for _, p := range all {
		if p.at != "" {
			paths = append(paths, p.at)
		}
	}
	return paths
}

// valued is what stands before a value in the command line, for each flag that has these values.
type valued struct {
	values
	before []string
}

// valuedFlags returns the flags that take a value: by the values that there are, in the order of
// their first flag, and what stands before the value of those that take any.
func valuedFlags(all []place) (by []valued, any []string) {
	for _, p := range all {
		for _, f := range p.flags {
			if !f.takes {
				continue
			}
			for _, way := range f.ways() {
				if f.values.any() {
					any = append(any, p.at+" "+way)
					continue
				}
				same := func(v valued) bool { return v.lookup == f.values.lookup && slices.Equal(v.fixed, f.values.fixed) }
				i := slices.IndexFunc(by, same)
				if i < 0 {
					i, by = len(by), append(by, valued{values: f.values})
				}
				by[i].before = append(by[i].before, p.at+" "+way)
			}
		}
	}
	return by, any
}

// goesOn keeps bash from adding a space behind a value that is typed further: "sku=".
func goesOn(v values) string {
	if v.lookup == "" {
		return ""
	}
	return `[[ $COMPREPLY == *[=.] ]] && compopt -o nospace 2>/dev/null; `
}

func bashScript(name string, all []place) string {
	var out strings.Builder
	by, any := valuedFlags(all)
	fmt.Fprintf(&out, `# Completion of %[1]s for bash: source <(%[1]s completion bash)
_%[1]s() {
    COMPREPLY=()
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= commands= flags= split= i last=$COMP_CWORD
    if [[ $cur == ":=" || $prev == ":=" ]]; then return; fi # JSON
    if [[ $cur == "=" || $prev == "=" ]]; then # bash splits --flag=VALUE and NAME=VALUE
        if [[ $cur == "=" ]]; then cur=; else ((last--)); fi
        prev=${COMP_WORDS[last-1]}
        if [[ $prev != -* ]]; then
            prev=${COMP_WORDS[last-2]} split=%[3]s
            if [[ $prev == "=" ]]; then prev=${COMP_WORDS[last-3]}; fi
        fi
        if [[ $prev != -* ]]; then return; fi
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
            %[2]s) at="$at ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$at $prev" in
`, name, quoted(commandsAt(all)), Split)
	for _, v := range by {
		fmt.Fprintf(&out, "        %s) COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); %sreturn ;;\n", quoted(v.before), v.text(askBash), goesOn(v.values))
	}
	fmt.Fprintf(&out, "        %s) return ;; # a file name\n    esac\n    case \"$at\" in\n", quoted(any))
	for _, p := range all {
		var words, flags []string
		if !p.values.any() {
			words = append(words, p.values.text(askBash))
		}
		for _, c := range p.commands {
			words = append(words, c.name)
		}
		for _, f := range p.flags {
			flags = append(flags, f.ways()...)
		}
		fmt.Fprintf(&out, "        \"%s\") flags=\"%s\"; %scommands=\"%s\" ;;\n", p.at, strings.Join(flags, " "), p.values.unless("$cur"), strings.Join(words, " "))
	}
	fmt.Fprintf(&out, `    esac
    if [[ $cur == -* ]]; then commands=$flags; fi
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
}
complete -o default -F _%[1]s %[1]s
`, name)
	return out.String()
}

func zshScript(name string, all []place) string {
	var out strings.Builder
	by, any := valuedFlags(all)
	fmt.Fprintf(&out, `#compdef %[1]s
# Completion of %[1]s for zsh: source <(%[1]s completion zsh), or write it to a file _%[1]s of a folder in fpath.
_%[1]s_ask() {
    local line tab=$'\t'
    found=() unfinished=()
    for line in ${(f)"$("${words[1]/#\~/$HOME}" %[3]s %[4]s $1 "${words[1,CURRENT]}" 2>/dev/null)"}; do
        word=${${line%%%%$tab*}//:/\\:}
        if [[ $line == *$tab* ]]; then word+=":${line#*$tab}"; fi
        if [[ ${line%%%%$tab*} == *[=.] ]]; then unfinished+=("$word"); else found+=("$word"); fi
    done
}
_%[1]s() {
    local at= word prev=${words[CURRENT-1]}
    local -a commands flags found unfinished
    if [[ $PREFIX == --*=* ]]; then # --flag=VALUE
        prev=${PREFIX%%%%=*}
        compset -P "$prev="
    fi
    for word in ${words[2,CURRENT-1]}; do
        case "$at $word" in
            %[2]s) at="$at $word" ;;
        esac
    done
    case "$at $prev" in
`, name, quoted(commandsAt(all)), CompleteCommand, WithHelp)
	for _, v := range by {
		if v.lookup == "" {
			fmt.Fprintf(&out, "        %s) compadd -- %s; return ;;\n", quoted(v.before), v.text(askZsh))
			continue
		}
		fmt.Fprintf(&out, "        %s) _%s_ask %s; _describe value found; _describe value unfinished -S ''; return ;;\n", quoted(v.before), name, v.lookup)
	}
	fmt.Fprintf(&out, "        %s) _files; return ;;\n    esac\n    case \"$at\" in\n", quoted(any))
	for _, p := range all {
		fmt.Fprintf(&out, "        \"%s\")\n            ", p.at)
		if p.values.lookup != "" {
			fmt.Fprintf(&out, "%s_%s_ask %s\n            ", p.values.unless("$PREFIX"), name, p.values.lookup)
		}
		out.WriteString("commands=(")
		for _, c := range p.commands {
			out.WriteString(" " + described(c.name, c.help))
		}
		for _, v := range p.values.fixed {
			out.WriteString(" " + single(v))
		}
		if p.values.lookup != "" {
			out.WriteString(" " + values{lookup: p.values.lookup}.text(askZsh))
		}
		out.WriteString(" )\n            flags=(")
		for _, f := range p.flags {
			for _, way := range f.ways() {
				out.WriteString(" " + described(way, f.help))
			}
		}
		out.WriteString(" ) ;;\n")
	}
	fmt.Fprintf(&out, `    esac
    if [[ $PREFIX == -* ]]; then
        _describe flag flags
    elif (( $#commands )); then
        _describe command commands
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _%[1]s "$@"; else compdef _%[1]s %[1]s; fi
`, name)
	return out.String()
}

// described returns a word with its description, as _describe takes it.
func described(name, help string) string {
	return single(strings.ReplaceAll(name, ":", `\:`) + ":" + help)
}

func fishScript(name string, all []place) string {
	var out strings.Builder
	fmt.Fprintf(&out, `# Completion of %[1]s for fish: %[1]s completion fish | source
function __%[1]s_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case %[2]s
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
`, name, strings.ReplaceAll(quoted(commandsAt(all)), "|", " "))
	for _, p := range all {
		here := fmt.Sprintf("complete -c %s -n %s", name, single(fmt.Sprintf("__%s_at %q", name, p.at)))
		for _, c := range p.commands {
			fmt.Fprintf(&out, "%s -f -a %s -d %s\n", here, c.name, single(c.help))
		}
		if !p.values.any() {
			fmt.Fprintf(&out, "%s -f -a %s\n", here, single(p.values.text(askFish(name))))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&out, "%s -l %s", here, strings.TrimPrefix(f.name, "--"))
			if f.short != "" {
				fmt.Fprintf(&out, " -s %s", strings.TrimPrefix(f.short, "-"))
			}
			switch {
			case !f.values.any():
				fmt.Fprintf(&out, " -x -a %s", single(f.values.text(askFish(name))))
			case f.takes:
				out.WriteString(" -r")
			}
			fmt.Fprintf(&out, " -d %s\n", single(f.help))
		}
	}
	return out.String()
}
