package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Completion returns the script that completes the commands and flags of a model in a shell: bash,
// zsh or fish.
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
	// values are those of an argument that has a fixed set of them.
	values []string
}

type word struct{ name, help string }

type option struct {
	word
	short string
	// takes says that a value follows, and values are those that there are; none are any.
	takes  bool
	values []string
}

// places returns the point of a command, and those of the commands below it.
func places(n *kong.Node, at string) []place {
	p := place{at: at}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			p.flags = append(p.flags, flagsOf(f)...)
		}
	}
	for _, argument := range n.Positional {
		p.values = append(p.values, enum(argument)...)
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
	one := option{word: word{"--" + f.Name, brief(f.Help)}, takes: !f.IsBool() && !f.IsCounter(), values: enum(f.Value)}
	if f.Short != 0 {
		one.short = "-" + string(f.Short)
	}
	if f.Tag.Negatable == "" || f.Negated {
		return []option{one}
	}
	negated := cmp.Or(strings.TrimPrefix(f.Tag.Negatable, "_"), "no-"+f.Name)
	return []option{one, {word: word{"--" + negated, brief(f.Help)}}}
}

// enum returns the values of a flag or an argument, without the empty one.
func enum(v *kong.Value) (all []string) {
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
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

// valued returns what stands before the value of a flag: by the values that there are, in the order
// of their first flag, and of all flags that take any.
func valued(all []place) (by map[string][]string, order, any []string) {
	by = map[string][]string{}
	for _, p := range all {
		for _, f := range p.flags {
			if !f.takes {
				continue
			}
			for _, way := range f.ways() {
				values := strings.Join(f.values, " ")
				switch {
				case values == "":
					any = append(any, p.at+" "+way)
					continue
				case by[values] == nil:
					order = append(order, values)
				}
				by[values] = append(by[values], p.at+" "+way)
			}
		}
	}
	return by, order, any
}

func bashScript(name string, all []place) string {
	var out strings.Builder
	by, order, any := valued(all)
	fmt.Fprintf(&out, `# Completion of %[1]s for bash: source <(%[1]s completion bash)
_%[1]s() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= commands= flags= i
    if [[ $cur == "=" ]]; then cur=; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
            %[2]s) at="$at ${COMP_WORDS[i]}" ;;
        esac
    done
    COMPREPLY=()
    case "$at $prev" in
`, name, quoted(commandsAt(all)))
	for _, values := range order {
		fmt.Fprintf(&out, "        %s) COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return ;;\n", quoted(by[values]), values)
	}
	fmt.Fprintf(&out, "        %s) return ;; # a file name\n    esac\n    case \"$at\" in\n", quoted(any))
	for _, p := range all {
		words, flags := slices.Clone(p.values), []string{}
		for _, c := range p.commands {
			words = append(words, c.name)
		}
		for _, f := range p.flags {
			flags = append(flags, f.ways()...)
		}
		fmt.Fprintf(&out, "        \"%s\") commands=\"%s\" flags=\"%s\" ;;\n", p.at, strings.Join(words, " "), strings.Join(flags, " "))
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
	by, order, any := valued(all)
	fmt.Fprintf(&out, `#compdef %[1]s
# Completion of %[1]s for zsh: source <(%[1]s completion zsh), or write it to a file _%[1]s of a folder in fpath.
_%[1]s() {
    local at= word prev=${words[CURRENT-1]}
    local -a commands flags
    for word in ${words[2,CURRENT-1]}; do
        case "$at $word" in
            %[2]s) at="$at $word" ;;
        esac
    done
    case "$at $prev" in
`, name, quoted(commandsAt(all)))
	for _, values := range order {
		fmt.Fprintf(&out, "        %s) compadd -- %s; return ;;\n", quoted(by[values]), values)
	}
	fmt.Fprintf(&out, "        %s) _files; return ;;\n    esac\n    case \"$at\" in\n", quoted(any))
	for _, p := range all {
		fmt.Fprintf(&out, "        \"%s\")\n            commands=(", p.at)
		for _, c := range p.commands {
			out.WriteString(" " + described(c.name, c.help))
		}
		for _, v := range p.values {
			out.WriteString(" " + single(v))
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
		if len(p.values) > 0 {
			fmt.Fprintf(&out, "%s -f -a %s\n", here, single(strings.Join(p.values, " ")))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&out, "%s -l %s", here, strings.TrimPrefix(f.name, "--"))
			if f.short != "" {
				fmt.Fprintf(&out, " -s %s", strings.TrimPrefix(f.short, "-"))
			}
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&out, " -x -a %s", single(strings.Join(f.values, " ")))
			case f.takes:
				out.WriteString(" -r")
			}
			fmt.Fprintf(&out, " -d %s\n", single(f.help))
		}
	}
	return out.String()
}
