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
		"shop ":                    "list box",
		"shop l":                   "list",
		"shop -":                   "--help -h",
		"shop box ":                "open close send",
		"shop box send --by ":      "train ship",
		"shop box send ":           "boxes=shop:box:send:",
		"shop box send b":          "boxes=shop:box:send:b",
		"shop box send x":          "",
		"shop box send -":          "--help -h --by --to",
		"shop box send --to ":      "towns=shop:box:send:--to:",
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
		program := "shop() { local line=${3// /:}; echo \"$2=$line\"; }; source '" + file + "'; COMP_LINE='" + line + "'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" + quoted + "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _shop; echo \"${COMPREPLY[@]}\""
		out, err := exec.Command("bash", "--norc", "-c", program).CombinedOutput()
		got, expected := strings.Fields(string(out)), strings.Fields(want)
		slices.Sort(got)
		slices.Sort(expected)
		if err != nil || !slices.Equal(got, expected) {
			t.Errorf("%s: %q, %v; want %q", line, out, err, want)
		}
	}
}
