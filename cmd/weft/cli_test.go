package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/workflow"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table of commands in docs/cli.md")

// exits runs a command line and returns its exit code, and what it printed.
func exits(t *testing.T, args ...string) (code cli.Code, out, errs string) {
	t.Helper()
	return exitsIn(t, nil, args...)
}

// exitsIn is exits in an environment.
func exitsIn(t *testing.T, environment map[string]string, args ...string) (code cli.Code, out, errs string) {
	t.Helper()
	var printed, said bytes.Buffer
	s := &cli.Session{In: strings.NewReader(""), Out: &printed, Err: &said, Getenv: func(name string) string { return environment[name] }}
	code = run(t.Context(), s, args)
	return code, printed.String(), said.String()
}

// outOfTime tries a command that has too little time, with more time until nothing is wrong with
// what it prints: on a loaded machine a server takes seconds until it is connected or answers.
func outOfTime(t *testing.T, wrong func(timeout string) string) {
	t.Helper()
	var found string
	for _, timeout := range []string{"1s", "10s", "50s"} {
		if found = wrong(timeout); found == "" {
			return
		}
	}
	t.Error(found)
}

// Without arguments, and with --help, the command prints its help. A wrong command line says where
// the right one is.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line      string
		code      cli.Code
		out, errs string
	}{
		{"", cli.Done, "Usage: weft <command>", ""},
		{"--help", cli.Done, "Usage: weft <command>", ""},
		{"schedule --help", cli.Done, "backfill", ""},
		{"help", cli.Done, "Usage: weft <command>", ""},
		{"help schedule backfill", cli.Done, "Usage: weft schedule backfill", ""},
		{"help nonsense", cli.Usage, "", "nonsense"},
		{"--version", cli.Done, "weft ", ""},
		{"--version -o json", cli.Done, `"platform": "`, ""},
		{"reset o --to 3", cli.Usage, "", `--to must be one of "firstTask","lastTask" but got "3"`},
		{"schedule backfill n --from=2026-13-01 --to=now", cli.Usage, "", `--from: "2026-13-01" is neither a time, as 2026-11-01T00:00:00Z, nor how long ago, as 24h`},
		{"schedule backfill n --from=72h --to=soon", cli.Usage, "", `--to: "soon" is neither a time`},
		{"schedule create n order --start-at=tomorrow", cli.Usage, "", `"tomorrow" is no time, as 2026-11-21T08:00:00Z; see weft schedule create --help`},
		{"start order --notify-result", cli.Usage, "", "nobody is notified"},
		{"cost --runs=1e6 --by=Stuck", cli.Usage, "", "--by and --allow-unknown sum up those that are"},
		{"nonsense", cli.Usage, "", "see weft --help"},
		{"schedule", cli.Usage, "", "see weft schedule --help"},
		{"schedule pause", cli.Usage, "", "see weft schedule pause --help"},
		{"list --nonsense", cli.Usage, "", "see weft list --help"},
		{"list --url=http://a --profile=b", cli.Usage, "", "can't be used together"},
		{"list --profile=a --stack=b", cli.Usage, "", "can't be used together"},
		{"backup f --data=a --stack=b", cli.Usage, "", "can't be used together"},
		{"list --output=xml", cli.Usage, "", "xml"},
		{"list --url=nonsense", cli.Usage, "", "none of an API"},
		{"list --url=http://127.0.0.1:1", cli.Unreachable, "", "no answer from http://127.0.0.1:1"},
		{"version", cli.Done, "weft ", ""},
		{"version -o json", cli.Done, `"platform": "`, ""},
		{"completion fish", cli.Done, `complete -c weft -n '__weft_at " schedule"' -f -a backfill -d 'Start the runs of the moments of some time'`, ""},
		{"completion csh", cli.Usage, "", "bash"},
	} {
		code, out, errs := exits(t, strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || (c.errs == "") != (errs == "") {
			t.Errorf("weft %s: code %d\n%s\n%s\nwant %d, %q, %q", c.line, code, out, errs, c.code, c.out, c.errs)
		}
	}
}

// The process exits with the code.
func TestExitCode(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(binaryOf(t), "list", "--url=http://127.0.0.1:1").CombinedOutput()
	if exit := (&exec.ExitError{}); !asExit(err, &exit) || exit.ExitCode() != int(cli.Unreachable) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(binaryOf(t)).Output(); err != nil || !strings.Contains(string(out), "Usage: weft <command>") {
		t.Errorf("%v\n%s", err, out)
	}
}

func asExit(err error, exit **exec.ExitError) (ok bool) {
	*exit, ok = err.(*exec.ExitError)
	return ok
}

// bash can read the completion of all commands.
func TestCompletionIsRead(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := command(t, "completion "+shell)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"schedule", "token-file"} {
			if !strings.Contains(script, word) {
				t.Errorf("the completion for %s does not have %s", shell, word)
			}
		}
		if shell == "bash" {
			read := exec.Command("bash", "-n")
			read.Stdin = strings.NewReader(script)
			if out, err := read.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
	}
}

func TestVersionOf(t *testing.T) {
	t.Parallel()
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: "100f875d"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for want, info := range map[string]*debug.BuildInfo{
		"(devel)": nil, "v1.2.3": built("v1.2.3", revision), "100f875d": built("(devel)", revision), "100f875d with changes": built("", revision, modified),
	} {
		if got := versionOf(info).text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The description of a failed run has the text of its failure, on the page and as JSON.
func TestDescribeFailed(t *testing.T) {
	t.Parallel()
	fails := workflow.NewWorkflow[workflow.None, string]("fails")
	url := work(t, "", workflow.Bind(fails, func(workflow.Context, workflow.None) (string, error) { return "", errors.New("no tea left") }))
	if code, _, _ := exits(t, "start", "fails", "--id=f", "--wait", "--url="+url); code != cli.Failed {
		t.Fatalf("code %d", code)
	}
	for form, want := range map[string]string{"table": "failure  ", "json": `"failure": `} {
		if _, out, errs := exits(t, "describe", "f", "-o", form, "--url="+url); !strings.Contains(out, want) || !strings.Contains(out, "no tea left") {
			t.Errorf("the description is\n%s%s", out, errs)
		}
	}
}

// A program can ask for a commit without a tag only if the command was built from a module.
func TestFetched(t *testing.T) {
	t.Parallel()
	const commit = "v0.0.0-20261127101820-10085bfa6a0f"
	for v, want := range map[version]string{
		{Version: commit}:                                     commit,
		{Version: commit, Revision: "10085bfa"}:               unreleased,
		{Version: "v1.2.4-0." + commit[7:], Revision: "1008"}: unreleased,
		{Version: "v1.2.3", Revision: "10085bfa"}:             "v1.2.3",
		{Version: unreleased}:                                 unreleased,
	} {
		if got := v.fetched(); got != want {
			t.Errorf("%+v: %s, want %s", v, got, want)
		}
	}
}

// weft init writes the program of docs/getting-started.md, whose test proofs/docs runs.
func TestInit(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "Show")
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	out, err := command(t, "init "+dir+" --weft="+checkout)
	if err != nil || !strings.Contains(out, "go test .") {
		t.Fatal(err, out)
	}
	for name, want := range map[string]string{
		"go.mod":       "module example.com/show\n\ngo 1.26\n\nrequire github.com/seed-41655fb1/weft v0.0.0\n\nreplace github.com/seed-41655fb1/weft => " + checkout + "\n",
		".gitignore":   ".weft/\n",
		"main.go":      blockOf(t, string(page), "main.go"),
		"main_test.go": blockOf(t, string(page), "main_test.go"),
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
	_, err = command(t, "init "+dir+" --weft="+checkout)
	if err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a second time: %v", err)
	}
}

// blockOf returns the file that a guide tells its reader to write.
func blockOf(t *testing.T, page, name string) string {
	t.Helper()
	block := regexp.MustCompile("(?s)Write this to `" + regexp.QuoteMeta(name) + "`:\n\n```go\n(.*?\n)```\n").FindStringSubmatch(page)
	if block == nil {
		t.Fatalf("the guide does not have %s", name)
	}
	return block[1]
}

// A program needs a release of Weft, or a checkout of it.
func TestInitOf(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "weft"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "weft", "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		init          initCommand
		version, want string // in go.mod, or in the error if it begins with a dash
	}{
		{initCommand{}, "v1.2.3", "module example.com/show\n\ngo 1.26\n\nrequire github.com/seed-41655fb1/weft v1.2.3\n"},
		{initCommand{Module: "github.com/ada/show"}, "v1.2.3", "module github.com/ada/show\n"},
		{initCommand{Weft: "../weft"}, "v1.2.3", "weft v0.0.0\n\nreplace github.com/seed-41655fb1/weft => ../weft\n"},
		{initCommand{}, unreleased, "-give a checkout with --weft"},
		{initCommand{}, "v0.0.0-20261127101820-10085bfa6a0f+dirty", "-give a checkout with --weft"},
		{initCommand{Weft: "../other"}, "v1.2.3", "-is no checkout of Weft"},
		{initCommand{Module: "a b"}, "v1.2.3", "-is no path of a module"},
	} {
		c.init.Dir = filepath.Join(root, "show")
		files, err := c.init.files(c.version)
		if refusal, refused := strings.CutPrefix(c.want, "-"); refused {
			if err == nil || cli.CodeOf(err) != cli.Usage || !strings.Contains(err.Error(), refusal) {
				t.Errorf("%+v: %v, want %q", c.init, err, refusal)
			}
		} else if err != nil || !strings.Contains(files["go.mod"], c.want) {
			t.Errorf("%+v: %v\n%s\nwant %q", c.init, err, files["go.mod"], c.want)
		}
	}
}

// docs/cli.md lists the commands.
func TestDocument(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/cli.md", "<!-- commands: go test ./cmd/weft -run TestDocument -rewrite -->\n", "<!-- end of the commands -->\n"
	k, err := parser(&cli.Session{Out: io.Discard, Err: io.Discard}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	table := commandTable(k.Model.Node)
	section, err := measured.ReadSection(path, begin, end)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := section.Replace(table); err != nil {
			t.Fatal(err)
		}
	} else if section.Text != table {
		t.Errorf("%s has\n%swant\n%s", path, section.Text, table)
	}
}

// commandTable returns a table of the commands in their groups.
func commandTable(root *kong.Node) string {
	var out strings.Builder
	group := ""
	for _, leaf := range root.Leaves(true) {
		top := leaf
		for top.Parent != root {
			top = top.Parent
		}
		if title := top.Group.Title; title != group {
			group = title
			fmt.Fprintf(&out, "\n### %s\n\n| command | what it does |\n|---|---|\n", group)
		}
		line := leaf.FullPath()
		for _, argument := range leaf.Positional {
			line += " " + argument.Summary()
		}
		fmt.Fprintf(&out, "| `%s` | %s |\n", strings.ReplaceAll(line, "|", `\|`), helpText(leaf.Help))
	}
	return out.String() + "\n"
}

// example matches an example in a help.
var example = regexp.MustCompile(`: (weft .*|source .*)\.$`)

// helpText returns a help with its example as code.
func helpText(help string) string {
	return strings.ReplaceAll(example.ReplaceAllString(help, ": `$1`"), "|", `\|`)
}

// The flags of a start say who is notified of the end.
func TestNotifyFlags(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]startFlags{
		"[]": {NotifyResult: true},
		"[{https://a.example false false} {https://b.example false false}]": {Notify: []string{"https://a.example", "https://b.example"}},
		"[{https://a.example false true} { true true}]":                     {Notify: []string{"https://a.example"}, NotifyBus: true, NotifyResult: true},
	} {
		if got := fmt.Sprint(f.notifications()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
