package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflows of the tests: an order whose activity fails, and one whose code panics while it is
// broken.
var (
	order = workflow.NewWorkflow[int, string]("order")
	pay   = activity.New("pay", func(context.Context, int) (string, error) {
		return "", errors.New("the bank is down")
	}, activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
	fragile = workflow.NewWorkflow[workflow.None, string]("fragile")
	agent   = workflow.NewWorkflow[int, string]("agent")
	// progress is the topic on which the agent publishes its steps.
	progress = workflow.NewTopic[agentStep]("progress")
)

type agentStep struct {
	Step string `json:"step"`
}

// steered returns the registrations of the tests. fragile panics while broken is set.
func steered(broken *atomic.Bool) []workflow.Registration {
	return append(cart.Registrations(),
		workflow.Bind(order, func(ctx workflow.Context, amount int) (string, error) { return pay.Run(ctx, amount) }), pay,
		workflow.Bind(agent, func(ctx workflow.Context, steps int) (string, error) {
			for i := range steps {
				progress.Publish(ctx, agentStep{fmt.Sprint("step ", i+1)})
			}
			return "done", nil
		}, workflow.Names(progress)),
		workflow.Bind(fragile, func(ctx workflow.Context, _ workflow.None) (string, error) {
			if broken.Load() {
				panic("it is broken")
			}
			return "whole", nil
		}))
}

// work runs a local server that handles its messages. It returns the server's address.
func work(t *testing.T, dir string, registrations ...workflow.Registration) string {
	t.Helper()
	types, err := program.Registry(registrations...)
	if err != nil {
		t.Fatal(err)
	}
	return workOn(t, types, local.Options{Dir: dir, LargePayloads: true, Executor: executor.Options{Webhooks: receivers(t)}})
}

// workOn is work with options of the server.
func workOn(t *testing.T, types *engine.Registry, o local.Options) string {
	t.Helper()
	server, err := local.Open(types, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { server.Work(ctx) })
	api := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		api.Close()
		stop()
		working.Wait()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return api.URL
}

// failed waits until this many attempts at the first activity of a run have failed, and returns the
// event of the activity.
func failed(t *testing.T, c *client.Client, id string, attempts int) int64 {
	t.Helper()
	for {
		d, err := c.Describe(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(d.PendingActivities) > 0 && d.PendingActivities[0].Attempt == attempts+1 {
			return d.PendingActivities[0].EventID
		}
	}
}

// exampleCommand matches a command of a block, and the output below it.
var exampleCommand = regexp.MustCompile(`(?m)^(weft .*)\n((?:#.*\n)*)`)

// docs/cli.md has an example of each command, and each prints what the document says.
func TestExamples(t *testing.T) {
	t.Parallel()
	const path = "../../docs/cli.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), "\n## Examples\n")
	examples, tail, ended := strings.Cut(rest, "\n## ")
	if !ok || !ended {
		t.Fatalf("%s has no examples", path)
	}
	e := newExamples(t)
	ran := exampleCommand.ReplaceAllStringFunc(examples, func(block string) string {
		found := exampleCommand.FindStringSubmatch(block)
		got := e.run(found[1])
		if want := found[2]; !*rewrite && !alike(got, want) {
			t.Errorf("%s printed\n%swant\n%s", found[1], got, want)
		}
		return found[1] + "\n" + got
	})
	if *rewrite {
		if err := os.WriteFile(path, []byte(head+"\n## Examples\n"+ran+"\n## "+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range commandNames(t) {
		if !strings.Contains(examples, "\n"+command+" ") && !strings.Contains(examples, "\n"+command+"\n") && !slices.Contains(elsewhere, command) {
			t.Errorf("%s has no example of %s", path, command)
		}
	}
}

// elsewhere are commands that other tests run: they do not end, or have a deployment of their own.
var elsewhere = []string{"weft dev", "weft demo", "weft doctor", "weft protect", "weft queue unreadable", "weft rollout", "weft template adopt", "weft ui"}

// commandNames returns the commands, with the name of this one.
func commandNames(t *testing.T) (names []string) {
	t.Helper()
	k, err := parser(&cli.Session{Out: &strings.Builder{}, Err: &strings.Builder{}}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range k.Model.Leaves(true) {
		if leaf.Type == kong.CommandNode {
			names = append(names, leaf.FullPath())
		}
	}
	return names
}

// exampleShell runs the commands of the document.
type exampleShell struct {
	t   *testing.T
	dir string // the current directory
	env []string
	api *client.Client
}

func newExamples(t *testing.T) *exampleShell {
	t.Helper()
	e := &exampleShell{t: t, dir: t.TempDir()}
	bin := t.TempDir()
	if err := os.Symlink(binaryOf(t), filepath.Join(bin, "weft")); err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs("../..")
	if err == nil {
		err = os.Symlink(checkout, filepath.Join(e.dir, "weft"))
	}
	if err != nil {
		t.Fatal(err)
	}
	url := work(t, filepath.Join(t.TempDir(), "data"), steered(&atomic.Bool{})...)
	e.api = client.New(url)
	e.env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "WEFT_URL="+url, "HOME="+e.dir, "XDG_CONFIG_HOME=")
	return e
}

// run runs a command and returns its output as the document has it.
func (e *exampleShell) run(command string) string {
	e.t.Helper()
	for prefix, wait := range map[string]func(){ // until the activity waits for its next attempt
		"weft result order-7 --timeout":  func() { failed(e.t, e.api, "order-7", 1) },
		"weft activity retry order-7":    func() { failed(e.t, e.api, "order-7", 1) },
		"weft activity complete order-7": func() { failed(e.t, e.api, "order-7", 2) },
		"weft activity fail order-8":     func() { failed(e.t, e.api, "order-8", 1) },
	} {
		if strings.HasPrefix(command, prefix) {
			wait()
		}
	}
	anonymous := e.anonymous
	if command == "weft queue list" {
		anonymous = func(text string) string { return number.ReplaceAllString(text, "...") }
	}
	shell := exec.Command("sh", "-c", command)
	shell.Dir, shell.Env = e.dir, e.env
	out, err := shell.CombinedOutput()
	var printed strings.Builder
	for line := range strings.Lines(anonymous(string(out))) {
		printed.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		printed.WriteString("# exit code " + itoa(int64(exit.ExitCode())) + "\n")
	} else if err != nil {
		e.t.Fatal(err)
	}
	return printed.String()
}

// differs matches what differs each time: moments, ids, addresses, versions, sizes.
var differs = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\b\d+-[0-9a-f]{16}\b|http://127\.0\.0\.1:\d+|\b[0-9a-f]{32,64}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{12}\b|v[0-9][^ ]*|\(devel\)|go1[0-9.]+, [a-z0-9/]+|\b\d+( values?| bytes| KiB| runs,| commits| attempts| timers| messages| blobs| files)|\.go:\d+|now \d+|"historySizeBytes":\d+`)

// explanation matches what depends on how soon the server answers: why a command still waited.
var explanation = regexp.MustCompile(`(timed out after \w+ waiting for [\w -]+):.*`)

// number matches a number of messages.
var number = regexp.MustCompile(`\b\d+\b`)

// secret matches a secret of webhooks, of which the document has only the beginning.
var secret = regexp.MustCompile(`\bwhsec_[A-Za-z0-9+/]+=*`)

// anonymous replaces what differs by dots.
func (e *exampleShell) anonymous(text string) string {
	text = explanation.ReplaceAllString(strings.ReplaceAll(text, e.dir, "..."), "$1: ...")
	text = secret.ReplaceAllString(text, "whsec_...")
	return differs.ReplaceAllStringFunc(text, func(found string) string {
		unit := ""
		if i := strings.LastIndexByte(found, ' '); i > 0 && found[0] <= '9' && found[0] >= '0' {
			unit = found[i:]
		}
		return "..." + unit
	})
}

// alike compares outputs. Dots in want stand for anything, and how much white space there is does
// not count.
func alike(got, want string) bool {
	var pattern strings.Builder
	pattern.WriteString(`^\s*`)
	for i, word := range strings.Fields(want) {
		if i > 0 {
			pattern.WriteString(`\s+`)
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(word), regexp.QuoteMeta("..."), `.*?`))
	}
	pattern.WriteString(`\s*$`)
	return regexp.MustCompile(pattern.String()).MatchString(strings.Join(strings.Fields(got), " "))
}

// receivers are those that the server of the examples may notify.
func receivers(t *testing.T) guard.Policy {
	t.Helper()
	allowed, err := guard.Parse("hooks.example.com")
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}
