package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// shop is a command line with everything that completion knows.
type shop struct {
	List struct {
		Output `embed:""`
		All    bool   `negatable:"" help:"Show all: weft list --all."`
		File   string `help:"It's a file. With more."`
		Secret bool   `hidden:"" help:"Nobody sees it."`
	} `cmd:"" help:"List \"things\"."`
	Box struct {
		Open struct {
			How string `arg:"" enum:"gently,fast"`
		} `cmd:"" help:"Open it."`
		Close struct{} `cmd:"" help:"Close it."`
		Send  struct {
			Box string `arg:"" lookup:"boxes"`
			By  string `complete:"train,ship" help:"How it travels."`
			To  string `lookup:"towns" help:"Where it goes."`
		} `cmd:"" help:"Send it."`
	} `cmd:"" help:"Boxes."`
	Pay struct {
		Cash struct {
			Coin string `arg:"" lookup:"coins"`
			Note string `short:"n" lookup:"notes" help:"A note."`
		} `cmd:"" default:"withargs" help:"Pay cash."`
		Never struct{} `cmd:"" help:"Do not pay."`
	} `cmd:"" help:"Pay."`
	Old struct{} `cmd:"" hidden:""`
}

func shopModel(t *testing.T) *kong.Application {
	t.Helper()
	k, err := kong.New(&shop{}, kong.Name("shop"), Vars)
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

// The scripts are as the files of testdata have them.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := Completion(shopModel(t), shell)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "completion."+shell, script)
	}
	_, err := Completion(shopModel(t), "csh")
	fails(t, "another shell", err, Usage, "bash, zsh or fish")
}

// bash asks a program that is named by a path from the home directory, as it is typed.
func TestCompletionOfAPathInBash(t *testing.T) {
	t.Parallel()
	script, err := Completion(shopModel(t), "bash")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for name, text := range map[string]string{"completion": script, "shop": "#!/bin/sh\necho \"$2\"\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("bash", "--norc", "-c", "source ~/completion; COMP_LINE='~/shop box send '; COMP_POINT=${#COMP_LINE}; COMP_WORDS=('~/shop' box send ''); COMP_CWORD=3; _shop; echo \"${COMPREPLY[@]}\"")
	command.Env = append(os.Environ(), "HOME="+home)
	if out, err := command.CombinedOutput(); err != nil || string(out) != "boxes\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// bash completes what the script says.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	script, err := Completion(shopModel(t), "bash")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"shop ":                    "list box pay",
		"shop l":                   "list",
		"shop -":                   "--help -h",
		"shop box ":                "open close send",
		"shop box send --by ":      "train ship",
		"shop box send ":           "boxes=shop:box:send:",
		"shop box send b":          "boxes=shop:box:send:b",
		"shop box send x":          "",
		"shop box send -":          "--help -h --by --to",
		"shop box send --to ":      "towns=shop:box:send:--to:",
		"shop pay ":                "cash never coins=shop:pay:",
		"shop pay c":               "cash coins=shop:pay:c",
		"shop pay -":               "--help -h --note -n",
		"shop pay -n ":             "notes=shop:pay:-n:",
		"shop pay cash -n no":      "notes=shop:pay:cash:-n:no",
		"shop pay -n a = n":        "notes=split:shop:pay:-n:a:=:n", // as bash splits a=n
		"shop pay -n a := n":       "",
		"shop pay -n a =":          "notes=split:shop:pay:-n:a:=",
		"shop pay --note = a = n":  "notes=split:shop:pay:--note:=:a:=:n",
		"shop pay --note = n":      "notes=shop:pay:--note:=:n",
		"shop pay a = n":           "",
		"shop box open ":           "gently fast",
		"shop box open f":          "fast",
		"shop box close ":          "",
		"shop list --o":            "--output",
		"shop list --output ":      "table json jsonl auto",
		"shop list -o j":           "json jsonl",
		"shop list --output = js":  "json jsonl", // as bash splits --output=js
		"shop list --output = ":    "table json jsonl auto",
		"shop list --file ":        "", // bash completes file names
		"shop list --file list --": "--help --output --quiet --all --no-all --file",
	} {
		words := strings.Split(line, " ")
		if line == "shop list --output = " {
			words = words[:len(words)-1]
		}
		quoted := "'" + strings.Join(words, "' '") + "'"
		// The command itself prints what it is asked, with colons in place of spaces.
		program := "shop() { local line=${@: -1} split=; if [[ $3 == --split ]]; then split=split:; fi; echo \"$2=$split${line// /:}\"; }; source '" + file + "'; COMP_LINE='" + line + "'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" + quoted + "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _shop; echo \"${COMPREPLY[@]}\""
		out, err := exec.Command("bash", "--norc", "-c", program).CombinedOutput()
		got, expected := strings.Fields(string(out)), strings.Fields(want)
		slices.Sort(got)
		slices.Sort(expected)
		if err != nil || !slices.Equal(got, expected) {
			t.Errorf("%s: %q, %v; want %q", line, out, err, want)
		}
	}
}

// answering is a program named shop that prints values with their help, and writes what it is asked
// to a file.
func answering(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	const text = `#!/bin/sh
echo "$@" > "$(dirname "$0")/asked"
printf 'penny\tA coin: small\neuro\n'
case "$3" in notes) printf 'sku=\tIts code\nlines:=\titem list\n' ;; esac
`
	if err := os.WriteFile(filepath.Join(dir, "shop"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// zsh and fish show the values with their help, and zsh adds no space behind what is typed further.
func TestCompletionWithHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ shell, line, want, asked string }{
		{"fish", "shop pay ", "cash\tPay cash\neuro\nnever\tDo not pay\npenny\tA coin: small\n", "complete --with-help coins shop pay "},
		{"fish", "shop pay cash --note ", "euro\tA note\nlines:=\titem list\npenny\tA coin: small\nsku=\tIts code\n", "complete --with-help notes shop pay cash --note "},
		{"zsh", "shop pay ", "commands: cash:Pay cash|never:Do not pay|penny:A coin: small|euro\n", "complete --with-help coins shop pay "},
		{"zsh", "shop pay cash -n ", "found: penny:A coin: small|euro\nunfinished: sku=:Its code|lines\\:=:item list -S \n", "complete --with-help notes shop pay cash -n "},
		{"zsh", "shop pay cash --note=s", "found: penny:A coin: small|euro\nunfinished: sku=:Its code|lines\\:=:item list -S \n", "complete --with-help notes shop pay cash --note=s"},
	} {
		if _, err := exec.LookPath(c.shell); err != nil {
			t.Logf("%s is not on this machine", c.shell)
			continue
		}
		script, err := Completion(shopModel(t), c.shell)
		if err != nil {
			t.Fatal(err)
		}
		dir := answering(t)
		if err := os.WriteFile(filepath.Join(dir, "completion"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		program := "source ./completion; complete -C '" + c.line + "'"
		options := []string{"--no-config", "-c"}
		if c.shell == "zsh" {
			// zsh has no _describe without a terminal: this one prints its array.
			program = `compdef() { }; compset() { PREFIX=${PREFIX#$2} }; _describe() { echo "$2: ${(j:|:)${(P)2}}" "${@:3}" }; source ./completion; words=('` + strings.ReplaceAll(c.line, " ", "' '") + `'); CURRENT=${#words}; PREFIX=$words[CURRENT]; _shop; [[ $PREFIX != -* ]]`
			options = []string{"-f", "-c"}
		}
		shell := exec.Command(c.shell, append(options, program)...)
		shell.Dir, shell.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
		out, err := shell.CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %s: %v\n%s\nwant:\n%s", c.shell, c.line, err, out, c.want)
		}
		asked, err := os.ReadFile(filepath.Join(dir, "asked"))
		if err != nil || strings.TrimSuffix(string(asked), "\n") != c.asked {
			t.Errorf("%s: %s: asked %q, %v; want %q", c.shell, c.line, asked, err, c.asked)
		}
	}
}
