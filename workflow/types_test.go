package workflow_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// preamble precedes each snippet of TestTypes.
const preamble = `package snippet

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

type order struct{ Cents int }
type receipt struct{ ID string }

var (
	pay    = workflow.NewWorkflow[order, receipt]("pay")
	add    = workflow.NewUpdate[order, int]("add")
	done   = workflow.NewUpdate[workflow.None, workflow.None]("done")
	total  = workflow.NewQuery[string, int]("total")
	note   = workflow.NewSignal[string]("note")
	charge = activity.New("charge", func(ctx context.Context, o order) (receipt, error) { return receipt{}, nil })
	errOut = workflow.NewError("out", "out of stock")
	cents  = workflow.NewAttribute[int64]("Cents")
	buyer  = workflow.NewMemo[order]("buyer")
)

func snippet(ctx workflow.Context, c context.Context, cl *client.Client) {
	_, _, _, _ = ctx, c, cl, time.Now
	%s
}
`

// snippets are code that compiles, each with variants that have a wrong type and do not compile.
var snippets = []struct {
	what string
	good string
	bad  []string
}{
	{
		"set search attributes",
		`workflow.UpsertSearchAttributes(ctx, cents.Set(7), cents.Unset()); n, ok := cents.Get(ctx); var _ int64 = n; _ = ok`,
		[]string{
			`workflow.UpsertSearchAttributes(ctx, cents.Set("seven"))`, `workflow.UpsertSearchAttributes(ctx, buyer.Set(order{}))`,
			`workflow.NewAttribute[int]("n")`, `workflow.NewAttribute[order]("o")`, `n, _ := cents.Get(ctx); var _ string = n`,
		},
	},
	{
		"set a memo",
		`workflow.UpsertMemo(ctx, buyer.Set(order{}), buyer.Unset()); o, _ := buyer.Get(ctx); var _ order = o`,
		[]string{`workflow.UpsertMemo(ctx, buyer.Set("ada"))`, `workflow.UpsertMemo(ctx, cents.Set(7))`, `o, _ := buyer.Get(ctx); var _ string = o`},
	},
	{
		"start with them",
		`pay.Start(c, cl, "pay-1", order{}, workflow.StartOptions{Memo: []workflow.MemoField{buyer.Set(order{})}, SearchAttributes: []workflow.SearchAttribute{cents.Set(7)}})`,
		[]string{`pay.Start(c, cl, "pay-1", order{}, workflow.StartOptions{SearchAttributes: []workflow.SearchAttribute{buyer.Set(order{})}})`},
	},
	{
		"run an activity",
		`r, err := charge.Run(ctx, order{}); var _ receipt = r; var _ error = err`,
		[]string{
			`charge.Run(ctx, "an order")`, `charge.Run(ctx)`, `charge.Run(c, order{})`,
			`r, err := charge.Run(ctx, order{}); var _ string = r; _ = err`, `charge.Run(ctx, &order{})`,
		},
	},
	{
		"start an activity",
		`var f workflow.Future[receipt] = charge.Start(ctx, order{}); r, err := f.Get(ctx); _, _ = r.ID, err`,
		[]string{`charge.Start(ctx, 1)`, `var _ workflow.Future[order] = charge.Start(ctx, order{})`, `charge.Start(ctx, order{}).Get(c)`},
	},
	{
		"an activity is a function with a context",
		`_ = activity.New("a", func(context.Context, int) (string, error) { return "", nil }, activity.Options{StartToClose: time.Second})`,
		[]string{
			`_ = activity.New("a", func(workflow.Context, int) (string, error) { return "", nil })`,
			`_ = activity.New("a", func(context.Context, int) string { return "" })`,
			`_ = activity.New("a", func(context.Context) error { return nil })`,
		},
	},
	{
		"start a workflow",
		`run, err := pay.Start(c, cl, "w", order{}); r, err := run.Result(c); var _ receipt = r; _ = err`,
		[]string{
			`pay.Start(c, cl, "w", receipt{})`, `pay.Start(ctx, cl, "w", order{})`, `pay.Start(c, cl, order{})`,
			`run, _ := pay.Start(c, cl, "w", order{}); r, _ := run.Result(c); var _ order = r`,
		},
	},
	{
		"get a workflow",
		`r, err := pay.Get(cl, "w").Result(c); _, _ = r.ID, err`,
		[]string{`r, err := pay.Get(cl, "w").Result(c); _, _ = r.Cents, err`},
	},
	{
		"bind a workflow",
		`_ = workflow.Bind(pay, func(workflow.Context, order) (receipt, error) { return receipt{}, nil }, workflow.BindOptions{Pinned: true})`,
		[]string{
			`_ = workflow.Bind(pay, func(workflow.Context, receipt) (receipt, error) { return receipt{}, nil })`,
			`_ = workflow.Bind(pay, func(workflow.Context, order) (string, error) { return "", nil })`,
			`_ = workflow.Bind(pay, func(context.Context, order) (receipt, error) { return receipt{}, nil })`,
			`_ = workflow.Bind(pay, func(workflow.Context, order) error { return nil })`,
		},
	},
	{
		"handle an update",
		`add.Handle(ctx, func(workflow.Context, order) (int, error) { return 0, nil }, workflow.Validate(func(order) error { return nil }), workflow.HandlerOptions[order]{Abandon: true})`,
		[]string{
			`add.Handle(ctx, func(workflow.Context, int) (int, error) { return 0, nil })`,
			`add.Handle(ctx, func(workflow.Context, order) (string, error) { return "", nil })`,
			`add.Handle(ctx, func(order) (int, error) { return 0, nil })`,
			`add.Handle(ctx, func(workflow.Context, order) (int, error) { return 0, nil }, workflow.Validate(func(string) error { return nil }))`,
			`add.Handle(ctx, func(workflow.Context, order) (int, error) { return 0, nil }, workflow.Validate(func(workflow.Context, order) error { return nil }))`,
			`add.Handle(ctx, func(workflow.Context, order) (int, error) { return 0, nil }, workflow.HandlerOptions[string]{Abandon: true})`,
		},
	},
	{
		"send an update",
		`n, err := add.Call(c, cl, "w", order{}, workflow.CallOptions{ID: "u"}); h, err := add.Send(c, cl, "w", order{}); n, err = h.Get(c); var _ int = n; _ = err`,
		[]string{
			`add.Call(c, cl, "w", 1)`, `add.Call(c, cl, "w")`, `n, _ := add.Call(c, cl, "w", order{}); var _ string = n`,
			`h, _ := add.Send(c, cl, "w", order{}); s, _ := h.Get(c); var _ string = s`, `done.Call(c, cl, "w", order{})`, `add.Call(ctx, cl, "w", order{})`,
		},
	},
	{
		"handle a query",
		`total.Handle(ctx, func(string) (int, error) { return 0, nil })`,
		[]string{
			`total.Handle(ctx, func(int) (int, error) { return 0, nil })`,
			`total.Handle(ctx, func(string) (string, error) { return "", nil })`,
			`total.Handle(ctx, func(workflow.Context, string) (int, error) { return 0, nil })`,
		},
	},
	{
		"ask a query",
		`n, err := total.Ask(c, cl, "w", "tea"); var _ int = n; _ = err`,
		[]string{`total.Ask(c, cl, "w", 1)`, `n, _ := total.Ask(c, cl, "w", "tea"); var _ string = n`, `total.Ask(ctx, cl, "w", "tea")`},
	},
	{
		"signals",
		`_ = note.Send(c, cl, "w", "hello"); s, err := note.Receive(ctx); s, ok, err := note.TryReceive(ctx); var _ string = s; _, _ = ok, err`,
		[]string{`note.Send(c, cl, "w", 1)`, `note.Send(c, cl, "w")`, `n, _ := note.Receive(ctx); var _ int = n`, `note.Receive(c)`},
	},
	{
		"cases of a select",
		`_ = workflow.Select(ctx,
			workflow.OnSignal(note, func(string) {}), workflow.OnFuture(charge.Start(ctx, order{}), func(receipt, error) {}),
			workflow.OnReceive(workflow.NewChannel[int](0), func(int, bool) {}), workflow.OnTimer(time.Time{}, nil),
			workflow.OnTimeout(time.Second, func() {}), workflow.OnCondition(func() bool { return true }), workflow.Default(nil))`,
		[]string{
			`workflow.OnSignal(note, func(int) {})`,
			`workflow.OnFuture(charge.Start(ctx, order{}), func(order, error) {})`,
			`workflow.OnFuture(charge.Start(ctx, order{}), func(receipt) {})`,
			`workflow.OnReceive(workflow.NewChannel[int](0), func(string, bool) {})`,
			`workflow.OnTimer(time.Second, nil)`,
			`workflow.Select(ctx, note)`,
			`workflow.Select(ctx, func() bool { return true })`,
		},
	},
	{
		"a workflow's context reaches no I/O",
		`var _ workflow.Context = ctx; var _ context.Context = c`,
		[]string{`var _ context.Context = ctx`, `_, _ = cl.Query(ctx, "w", "", "q", nil)`, `_ = workflow.Sleep(c, 1)`, `workflow.Now(c)`},
	},
	{
		"channels and futures",
		`ch := workflow.NewChannel[order](1); _ = ch.Send(ctx, order{}); f, set := workflow.NewFuture[int](ctx); set(1, nil); n, err := f.Get(ctx); _, _ = n+1, err`,
		[]string{
			`workflow.NewChannel[order](1).Send(ctx, 1)`, `f, set := workflow.NewFuture[int](ctx); set("a", nil); _ = f`,
			`workflow.NewChannel[order](1) <- order{}`, `f, _ := workflow.NewFuture[int](ctx); var _ workflow.Future[string] = f`,
		},
	},
	{
		"registrations",
		`var _ []workflow.Registration = []workflow.Registration{charge, workflow.Bind(pay, func(workflow.Context, order) (receipt, error) { return receipt{}, nil })}`,
		[]string{`var _ workflow.Registration = pay`, `var _ workflow.Registration = add`, `var _ workflow.Registration = func() {}`},
	},
}

// mismatch matches what the type checker reports for wrong types. It does not match other errors,
// such as that of an unused variable.
var mismatch = regexp.MustCompile("cannot use|not enough arguments|too many arguments|does not match|mismatched types|undefined|cannot infer|non-channel|does not satisfy")

func TestTypes(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	for _, s := range snippets {
		if err := c.check(s.good); err != nil {
			t.Errorf("%s: %s: %v", s.what, s.good, err)
		}
		for _, bad := range s.bad {
			if err := c.check(bad); err == nil || !mismatch.MatchString(err.Error()) {
				t.Errorf("%s: %s: %v, want a type error", s.what, bad, err)
			}
		}
	}
}

// checker type-checks snippets against this module, as compiled by the go command.
type checker struct {
	t      *testing.T
	files  *token.FileSet
	config types.Config
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", "../activity", "../client", "../workflow")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		exports[path] = file
	}
	c := &checker{t: t, files: token.NewFileSet()}
	c.config.Importer = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// check returns the type error of a snippet, or nil. It ends the test if the snippet does not
// parse.
func (c *checker) check(snippet string) error {
	c.t.Helper()
	f, err := parser.ParseFile(c.files, "snippet.go", fmt.Sprintf(preamble, snippet), 0)
	if err != nil {
		c.t.Fatalf("%s: %v", snippet, err)
	}
	_, err = c.config.Check("snippet", c.files, []*ast.File{f}, nil)
	return err
}
