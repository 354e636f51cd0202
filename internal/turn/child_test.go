package turn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflows of these tests: a kid does what its input says, and a parent what the test's function says.
var (
	kid     = workflow.Declare[string, string]("kid")
	kidGo   = workflow.NewSignal[string]("go")
	kidEnd  = workflow.NewUpdate[workflow.None, string]("end")
	parent  = workflow.Declare[string, string]("parent")
	other   = workflow.Declare[string, string]("other")
	toldOf  = workflow.NewSignal[string]("told")
	errSour = workflow.NewError("sour", "this kid is sour")
)

func runKid(ctx workflow.Context, how string) (string, error) {
	switch how {
	case "fail":
		return "", errSour
	case "again":
		return kid.ContinueAsNew(ctx, "ok")
	case "wait", "stubborn":
		ended := false
		kidEnd.Handle(ctx, func(workflow.Context, workflow.None) (string, error) {
			ended = true
			return "bye", nil
		})
		if how == "stubborn" {
			ctx = workflow.Disconnected(ctx)
		}
		said := ""
		err := workflow.Select(ctx,
			workflow.OnSignal(kidGo, func(text string) { said = text }),
			workflow.OnCondition(func() bool { return ended }))
		return "heard " + said, err
	case "sleep":
		return "slept", workflow.Sleep(ctx, time.Hour)
	}
	info := workflow.InfoOf(ctx)
	if info.Parent == nil {
		return "orphan", nil
	}
	return how + " of " + info.Parent.WorkflowID, nil
}

// family is a deployment whose parents run a function of the test's.
type family struct {
	*turntest.Deployment
	*turntest.Process
	t             testing.TB
	registrations []workflow.Registration
}

func newFamily(t testing.TB, code func(workflow.Context, string) (string, error)) *family {
	d := turntest.New(t)
	f := &family{Deployment: d, t: t, registrations: []workflow.Registration{workflow.Bind(kid, runKid), workflow.Bind(parent, code)}}
	f.Process = d.Start(turn.Options{}, f.registrations...)
	return f
}

// play starts a parent, and returns its result.
func (f *family) play(input string) (string, error) {
	f.t.Helper()
	run, err := parent.Start(f.t.Context(), f.Client, "p", input)
	if err != nil {
		f.t.Fatal(err)
	}
	return run.Result(f.t.Context())
}

// check looks at the types of events in the history of a workflow's latest run, in their order, and replays all runs.
func (f *family) check(id string, want ...history.Type) {
	f.t.Helper()
	types, err := f.History(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	var got []history.Type
	for _, typ := range types {
		if typ >= history.TypeStartChildWorkflowExecutionInitiated || typ == history.TypeWorkflowExecutionSignaled || typ == history.TypeWorkflowExecutionCancelRequested {
			got = append(got, typ)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Errorf("the history of %s has\n%v, want\n%v", id, got, want)
	}
	f.Deployment.Replay(f.registrations...)
}

func (f *family) status(id string) history.Status {
	f.t.Helper()
	d, err := f.Client.Describe(f.t.Context(), id, "")
	if err != nil {
		f.t.Fatal(err)
	}
	return d.Status
}

func TestChildCompletes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(t, func(ctx workflow.Context, _ string) (string, error) {
			child := kid.StartChild(ctx, "ok")
			run, err := child.Started(ctx)
			if err != nil || run == "" || child.WorkflowID() == "" {
				return run, fmt.Errorf("it started as %q of %q: %w", run, child.WorkflowID(), err)
			}
			first, err := child.Get(ctx)
			if err != nil {
				return "", err
			}
			second, err := kid.RunChild(ctx, "again", workflow.ChildOptions{WorkflowID: "k"})
			return first + ", " + second, err
		})
		if got, err := f.play(""); err != nil || got != "ok of p, ok of p" {
			t.Errorf("%q, %v", got, err)
		}
		f.check("p", history.TypeStartChildWorkflowExecutionInitiated, history.TypeChildWorkflowExecutionStarted, history.TypeChildWorkflowExecutionCompleted,
			history.TypeStartChildWorkflowExecutionInitiated, history.TypeChildWorkflowExecutionStarted, history.TypeChildWorkflowExecutionCompleted)
	})
}

func TestChildErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		unknown := workflow.Declare[string, string]("unknown")
		f := newFamily(t, func(ctx workflow.Context, how string) (string, error) {
			switch how {
			case "unknown":
				return unknown.RunChild(ctx, "")
			case "taken":
				return kid.RunChild(ctx, "ok", workflow.ChildOptions{WorkflowID: "p"})
			case "bad":
				return kid.RunChild(ctx, "ok", workflow.ChildOptions{WorkflowID: "no spaces"})
			case "timeout":
				return kid.RunChild(ctx, "sleep", workflow.ChildOptions{RunTimeout: time.Minute})
			case "terminated":
				return kid.RunChild(ctx, "sleep", workflow.ChildOptions{WorkflowID: "k"})
			}
			return kid.RunChild(ctx, how)
		})
		for how, is := range map[string]func(error) bool{
			"fail":    func(err error) bool { return errors.Is(err, errSour) },
			"unknown": func(err error) bool { return err.Error() != "" },
			"taken":   func(err error) bool { return errors.Is(err, workflow.ErrAlreadyStarted) },
			"bad":     func(err error) bool { return err.Error() != "" },
			"timeout": func(err error) bool {
				var e *workflow.TimeoutError
				return errors.As(err, &e) && e.Limit == failure.RunTimeout
			},
			"terminated": func(err error) bool { return errors.Is(err, workflow.ErrTerminated) },
		} {
			if how == "terminated" {
				go func() {
					time.Sleep(time.Minute)
					if err := kid.Get(f.Client, "k").Terminate(context.Background(), "enough"); err != nil {
						t.Error(err)
					}
				}()
			}
			got, err := f.play(how)
			var e *workflow.ChildWorkflowError
			if !errors.As(err, &e) || !is(err) {
				t.Errorf("%s: %q, %v", how, got, err)
				continue
			}
			t.Log(err)
			if started := how == "fail" || how == "timeout" || how == "terminated"; started != (e.RunID != "") {
				t.Errorf("%s: the error names the run %q", how, e.RunID)
			}
		}
		f.Deployment.Replay(append(f.registrations, workflow.Bind(unknown, runKid))...)
	})
}
