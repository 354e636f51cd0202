package executor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// In these tests a kid does what its input says, and a parent runs the test's function.
var (
	kid     = workflow.NewWorkflow[string, string]("kid")
	kidGo   = workflow.NewSignal[string]("go")
	kidEnd  = workflow.NewUpdate[workflow.None, string]("end")
	parent  = workflow.NewWorkflow[string, string]("brood")
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

// parents is a deployment whose parents run a function of the test.
type parents struct {
	*testbed.Deployment
	*testbed.Process
	t             testing.TB
	registrations []workflow.Registration
}

func newParents(t testing.TB, code func(workflow.Context, string) (string, error)) *parents {
	d := testbed.New(t)
	f := &parents{Deployment: d, t: t, registrations: []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), workflow.Bind(parent, code)}}
	f.Process = d.Start(executor.Options{}, f.registrations...)
	return f
}

// play starts a parent, and returns its result.
func (f *parents) play(input string) (string, error) {
	f.t.Helper()
	run, err := parent.Start(f.t.Context(), f.Client, "p", input)
	if err != nil {
		f.t.Fatal(err)
	}
	return run.Result(f.t.Context())
}

// check compares the types of the events of a workflow's latest run, in order, and replays all
// runs.
func (f *parents) check(id string, want ...history.Type) {
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

func (f *parents) status(id string) history.Status {
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
		f := newParents(t, func(ctx workflow.Context, _ string) (string, error) {
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
		unknown := workflow.NewWorkflow[string, string]("unknown")
		f := newParents(t, func(ctx workflow.Context, how string) (string, error) {
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
		f.Deployment.Replay(append(f.registrations, workflow.Bind(unknown, runKid, workflow.Names(kidEnd, kidGo)))...)
	})
}

func TestChildIsSignaledAndCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newParents(t, func(ctx workflow.Context, _ string) (string, error) {
			first := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "k1"})
			if _, err := kidGo.SendTo(ctx, first, "hello").Get(ctx); err != nil {
				return "", err
			}
			heard, err := first.Get(ctx)
			if err != nil {
				return "", err
			}
			if _, err := kidGo.SendTo(ctx, first, "again").Get(ctx); !errors.Is(err, workflow.ErrNotFound) {
				return "", fmt.Errorf("a signal to a closed child: %w", err)
			}
			if _, err := kidGo.SendTo(ctx, workflow.External("nobody"), "").Get(ctx); !errors.Is(err, workflow.ErrNotFound) {
				return "", fmt.Errorf("a signal to an unknown workflow: %w", err)
			}
			if _, err := workflow.External("nobody").Cancel(ctx, "").Get(ctx); !errors.Is(err, workflow.ErrNotFound) {
				return "", fmt.Errorf("a cancellation of an unknown workflow: %w", err)
			}
			second := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "k2"})
			if _, err := second.Cancel(ctx, "enough").Get(ctx); err != nil {
				return "", err
			}
			if _, err := second.Get(ctx); !errors.Is(err, workflow.ErrCanceled) {
				return "", fmt.Errorf("the canceled child: %w", err)
			}
			if _, err := workflow.External("k2").Cancel(ctx, "").Get(ctx); !errors.Is(err, workflow.ErrNotFound) {
				return "", fmt.Errorf("a cancellation of a canceled run: %w", err)
			}
			third := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "k3"})
			if _, err := third.Started(ctx); err != nil {
				return "", err
			}
			if _, err := kidGo.SendTo(ctx, workflow.External("k3"), "you").Get(ctx); err != nil {
				return "", err
			}
			said, err := third.Get(ctx)
			return heard + ", " + said, err
		})
		if got, err := f.play(""); err != nil || got != "heard hello, heard you" {
			t.Errorf("%q, %v", got, err)
		}
		if f.status("k2") != history.Canceled {
			t.Errorf("the canceled child is %v", f.status("k2"))
		}
		f.check("k1", history.TypeWorkflowExecutionSignaled)
		f.check("k2", history.TypeWorkflowExecutionCancelRequested)
	})
}

// Canceling the context of a child requests the child's cancellation. Whether the code waits until
// the child has ended depends on the child's options.
func TestCanceledScopeOfAChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newParents(t, func(ctx workflow.Context, how string) (string, error) {
			o := workflow.ChildOptions{WorkflowID: how, WaitCancellation: how == "waits", ParentClosePolicy: workflow.AbandonChild}
			inner, cancel := workflow.WithCancel(ctx)
			child := kid.StartChild(inner, map[string]string{"waits": "stubborn"}[how]+map[string]string{"leaves": "stubborn", "never": "wait"}[how], o)
			if how != "never" {
				if _, err := child.Started(ctx); err != nil {
					return "", err
				}
			}
			cancel()
			got, err := child.Get(inner)
			if how == "waits" {
				return got, err
			}
			if !errors.Is(err, workflow.ErrCanceled) {
				return "", fmt.Errorf("the canceled child returned %q, %w", got, err)
			}
			return "left", nil
		})
		for how, want := range map[string]string{"waits": "heard it", "leaves": "left", "never": "left"} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if got, err := f.play(how); err != nil || got != want {
					t.Errorf("%s: %q, %v", how, got, err)
				}
			}()
			time.Sleep(time.Minute)
			if how == "never" {
				if _, err := f.Client.Describe(context.Background(), how, ""); err == nil {
					t.Error("a child was started that was canceled in the same task")
				}
			} else {
				f.check(how, history.TypeWorkflowExecutionCancelRequested)
				if err := kidGo.Send(context.Background(), f.Client, how, "it"); err != nil {
					t.Error(err)
				}
			}
			<-done
		}
		f.Deployment.Replay(f.registrations...)
	})
}

// A cancel request under a canceled context sends nothing. The child's own context has sent the
// request already, or sends it later.
func TestRequestUnderCanceledContext(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"before", "together"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newParents(t, func(ctx workflow.Context, how string) (string, error) {
					inner, cancel := workflow.WithCancel(ctx)
					child := kid.StartChild(inner, "wait", workflow.ChildOptions{WorkflowID: "k1", ParentClosePolicy: workflow.AbandonChild})
					if _, err := child.Started(ctx); err != nil {
						return "", err
					}
					gone, leave := workflow.WithCancel(inner)
					if how == "before" {
						leave()
					}
					asked := child.Cancel(gone, "nobody waits for this")
					cancel()
					_, err := asked.Get(ctx)
					return err.Error(), nil
				})
				if got, err := f.play(how); err != nil || got != "canceled" {
					t.Errorf("%q, %v", got, err)
				}
				time.Sleep(time.Minute) // the parent did not wait for the notification
				if f.status("k1") != history.Canceled {
					t.Errorf("the child is %v, want canceled", f.status("k1"))
				}
				f.Deployment.Replay(f.registrations...)
			})
		})
	}
}

// For each way in which a parent can close, each of its children gets what its close policy says.
func TestParentClosePolicies(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"returns", "fails", "continues", "terminated", "times out", "at once"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newParents(t, func(ctx workflow.Context, how string) (string, error) {
					if how == "over" {
						return how, nil
					}
					var all []workflow.Child[string]
					for id, policy := range []workflow.ParentClosePolicy{workflow.TerminateChild, workflow.RequestCancelChild, workflow.AbandonChild} {
						all = append(all, kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: fmt.Sprint("k", id), ParentClosePolicy: policy}))
					}
					if how != "at once" {
						for _, child := range all {
							if _, err := child.Started(ctx); err != nil {
								return "", err
							}
						}
					}
					switch how {
					case "fails":
						return "", errSour
					case "continues":
						return parent.ContinueAsNew(ctx, "over")
					case "terminated", "times out":
						return "", workflow.Sleep(ctx, time.Hour)
					}
					return "over", nil
				})
				run, err := parent.Start(t.Context(), f.Client, "p", ends, workflow.StartOptions{RunTimeout: 10 * time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if ends == "terminated" {
					if err := run.Terminate(t.Context(), ""); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(15 * time.Minute)
				want := []history.Status{history.Terminated, history.Canceled, history.Running}
				for i, status := range want {
					id := fmt.Sprint("k", i)
					if ends == "at once" && i < 2 {
						if _, err := f.Client.Describe(t.Context(), id, ""); err == nil {
							t.Errorf("child %s was started by a parent that had closed", id)
						}
					} else if got := f.status(id); got != status {
						t.Errorf("child %s is %v, want %v", id, got, status)
					}
				}
				f.Deployment.Replay(f.registrations...)
			})
		})
	}
}

// The parent waits for the last run of a child that continues as new or is reset.
func TestParentWaitsForTheWholeChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newParents(t, func(ctx workflow.Context, how string) (string, error) {
			return kid.RunChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "k"})
		})
		run, err := parent.Start(t.Context(), f.Client, "p", "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		child, err := kid.Get(f.Client, "k").Reset(t.Context(), workflow.ResetOptions{EventID: 3})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if f.status("p") != history.Running {
			t.Fatal("the reset of the child resolved the child's future")
		}
		if err := kidGo.Send(t.Context(), f.Client, child.WorkflowID, "you"); err != nil {
			t.Fatal(err)
		}
		if got, err := run.Result(t.Context()); err != nil || got != "heard you" {
			t.Errorf("%q, %v", got, err)
		}
		f.check("p", history.TypeStartChildWorkflowExecutionInitiated, history.TypeChildWorkflowExecutionStarted, history.TypeChildWorkflowExecutionCompleted)
	})
}

// A reset opens a run from before or after the start of a child. If the run has the child, it gets
// the child's outcome once. If it does not, the close policy decides about the child.
func TestResetOfAParent(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"open", "closed", "reported", "before"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newParents(t, func(ctx workflow.Context, _ string) (string, error) {
					if err := workflow.Sleep(ctx, time.Minute); err != nil {
						return "", err
					}
					child := kid.StartChild(ctx, "wait")
					if _, err := child.Started(ctx); err != nil {
						return "", err
					}
					text, err := child.Get(ctx)
					if err != nil {
						return "", err
					}
					return child.WorkflowID() + " " + text, workflow.Sleep(ctx, time.Hour)
				})
				run, err := parent.Start(t.Context(), f.Client, "p", "")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				d, err := f.Client.Describe(t.Context(), "p", "")
				if err != nil || len(d.PendingChildren) != 1 {
					t.Fatalf("pending children: %+v, %v", d, err)
				}
				first := d.PendingChildren[0].WorkflowID
				speak := func(id string) {
					t.Helper()
					if err := kidGo.Send(t.Context(), f.Client, id, "it"); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Minute)
				}
				if when == "reported" {
					speak(first)
				}
				to := workflow.ResetOptions{EventID: 13} // the task after the start of the child
				if when == "before" {
					to.EventID = 7 // the task that starts the child
				}
				again, err := run.Reset(t.Context(), to)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				id := first
				if when == "before" {
					if f.status(first) != history.Terminated {
						t.Errorf("the child that the new run does not know is %v", f.status(first))
					}
					if d, err = f.Client.Describe(t.Context(), "p", ""); err != nil || len(d.PendingChildren) != 1 || d.PendingChildren[0].WorkflowID == first {
						t.Fatalf("pending children after the reset: %+v, %v", d, err)
					}
					id = d.PendingChildren[0].WorkflowID
				}
				if when != "reported" {
					speak(id)
				}
				if got, err := again.Result(t.Context()); err != nil || got != id+" heard it" {
					t.Errorf("%q, %v", got, err)
				}
				f.check("p", history.TypeStartChildWorkflowExecutionInitiated, history.TypeChildWorkflowExecutionStarted, history.TypeChildWorkflowExecutionCompleted)
			})
		})
	}
}

// A reset goes back to a task to which the start of a child was postponed because the task before
// was full. The new run starts a child of its own. The close policy ends the child that the reset
// run started at the same place in the code.
func TestChildThatWaitedForATaskAfterAReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		f := &parents{Deployment: d, t: t, registrations: []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), workflow.Bind(parent, func(ctx workflow.Context, _ string) (string, error) {
			first, second := kid.StartChild(ctx, "wait"), kid.StartChild(ctx, "wait")
			_ = kidGo.SendTo(ctx, first, "from "+second.WorkflowID())
			_ = kidGo.SendTo(ctx, second, "from "+first.WorkflowID())
			one, err := first.Get(ctx)
			if err != nil {
				return "", err
			}
			two, err := second.Get(ctx)
			return one + ", " + two, err
		})}}
		f.Process = d.Start(executor.Options{Engine: engine.Options{MaxStarts: 1}}, f.registrations...)
		defer f.Process.Stop()
		first, err := f.play("")
		if err != nil {
			t.Fatal(err)
		}
		started := func() (ids []string) {
			t.Helper()
			events, _, _, err := f.Service.History(t.Context(), "p", "", 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if a, ok := e.Attributes.(*history.StartChildWorkflowExecutionInitiated); ok {
					ids = append(ids, a.WorkflowID)
				}
			}
			return ids
		}
		before := started()
		again, err := parent.Get(f.Client, "p").Reset(t.Context(), workflow.ResetOptions{EventID: 9})
		if err != nil {
			t.Fatal(err)
		}
		second, err := again.Result(t.Context())
		after := started()
		if err != nil || len(after) != 2 || after[0] != before[0] || after[1] == before[1] {
			t.Errorf("%v: the children were %v, and are %v", err, before, after)
		}
		if second != first { // the first child is the same, and had received the signal about the earlier second child
			t.Errorf("the run returned %q, and before the reset %q", second, first)
		}
		f.Deployment.Replay(f.registrations...)
	})
}

// A run that was reset to its first task starts a child of its own, because the earlier child
// belongs to the earlier run.
func TestChildAfterResetToTheFirstTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newParents(t, func(ctx workflow.Context, _ string) (string, error) {
			child := kid.StartChild(ctx, "ok")
			_, err := child.Get(ctx)
			return child.WorkflowID(), err
		})
		first, err := f.play("")
		if err != nil {
			t.Fatal(err)
		}
		again, err := parent.Get(f.Client, "p").Reset(t.Context(), workflow.ResetOptions{To: "firstTask"})
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Result(t.Context()); err != nil || second == "" || second == first {
			t.Errorf("the children were %q and %q, %v", first, second, err)
		}
		f.check("p", history.TypeStartChildWorkflowExecutionInitiated, history.TypeChildWorkflowExecutionStarted, history.TypeChildWorkflowExecutionCompleted)
	})
}
