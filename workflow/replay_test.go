package workflow_test

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var version4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// Ids and numbers are random and unique, and a replay repeats them. The harness rebuilds the code
// before each task.
func TestNewIDAndRandom(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} {
		s := enginetest.Open(t, func(ctx workflow.Context, _ none) (ids []string, err error) {
			for range 20 {
				for range 5 {
					ids = append(ids, workflow.NewID(ctx))
					workflow.Random(ctx).Float64()
				}
				if _, err := word.Receive(ctx); err != nil {
					return nil, err
				}
			}
			return ids, nil
		})
		s.Cold = cold
		s.Start(none{})
		for range 20 {
			s.Signal("word", "up")
		}
		var ids []string
		if err := s.Outcome(&ids); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, id := range ids {
			if !version4.MatchString(id) || seen[id] {
				t.Errorf("%q is no UUID of version 4, or occurs twice", id)
			}
			seen[id] = true
		}
		if len(seen) != 100 || ids[0] != firstID {
			t.Errorf("%d ids, the first is %s; want 100, and %s in every build of this run", len(seen), ids[0], firstID)
		}
	}
}

// firstID is the first id in the run of every harness. Histories have such ids, so no later version
// may change them.
const firstID = "d21fcf66-e001-4a5e-b4fc-20bcea30774d"

// A refused update that draws a number changes no later number.
func TestRefusedUpdatesDoNotChangeRandom(t *testing.T) {
	t.Parallel()
	refuse := workflow.NewUpdate[none, none]("refuse")
	code := func(ctx workflow.Context, _ none) (id string, err error) {
		refuse.Handle(ctx, func(ctx workflow.Context, _ none) (none, error) { workflow.NewID(ctx); return none{}, nil },
			workflow.Validate(func(none) error { return errors.New("no") }))
		_, err = word.Receive(ctx)
		return workflow.NewID(ctx), err
	}
	var ids [2]string
	for i := range ids {
		s := enginetest.New(t, code, none{})
		if i == 1 {
			if result, _ := s.Update("u1", "refuse", none{}); result.Verdict != engine.Rejected {
				t.Fatalf("%+v", result)
			}
		}
		s.Signal("word", "up")
		if err := s.Outcome(&ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("%s without the update, %s with it", ids[0], ids[1])
	}
}

// logs logs three lines, in three tasks.
func logs(ctx workflow.Context, _ none) (none, error) {
	ask.Handle(ctx, func(none) (none, error) { return none{}, nil })
	l := workflow.Logger(ctx)
	grouped := l.With("a", 1).WithGroup("g")
	for range 3 {
		l.Info("plain")
		grouped.Warn("grouped", "b", 2)
		l.Debug("never")
		if _, err := word.Receive(ctx); err != nil {
			return none{}, err
		}
	}
	return none{}, nil
}

// runLogs runs logs, with a new process for each task, and sends a query after each.
func runLogs(t *testing.T) {
	ctx, typ, d := t.Context(), workflow.NewWorkflow[none, none]("logs"), testbed.New(t)
	for i := range 4 {
		p := d.Start(executor.Options{}, workflow.Bind(typ, logs, workflow.Names(ask, word)))
		var err error
		if i == 0 {
			_, err = typ.Start(ctx, p.Client, "w", none{})
		} else {
			err = word.Send(ctx, p.Client, "w", "up")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask.Ask(ctx, p.Client, "w", none{}); err != nil {
			t.Fatal(err)
		}
		p.Stop()
	}
}

// The logger names the run. It is silent while the code is replayed, also for a query.
func TestLoggerIsSilentOnReplay(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})))
	t.Cleanup(func() { slog.SetDefault(before) })
	synctest.Test(t, runLogs)
	for text, want := range map[string]int{
		"level=INFO msg=plain workflowId=w runId=1-": 3, "level=WARN msg=grouped workflowId=w runId=1-": 3,
		"workflowType=logs a=1 g.b=2\n": 3, "never": 0,
	} {
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("%q was logged %d times, want %d:\n%s", text, n, want, log.String())
		}
	}
}

// A panic in a coroutine keeps the stack of the code that panicked, however deep, also after the
// coroutine has waited.
func TestAPanicKeepsItsStack(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]func(workflow.Context, none) (none, error){
		"in the workflow's function": func(workflow.Context, none) (none, error) { explode(3); return none{}, nil },
		"in a coroutine": func(ctx workflow.Context, _ none) (none, error) {
			workflow.Go(ctx, func(workflow.Context) { explode(3) })
			return none{}, workflow.Await(ctx, func() bool { return false })
		},
		"in a coroutine of a group, after a wait": func(ctx workflow.Context, _ none) (none, error) {
			var group workflow.WaitGroup
			group.Go(ctx, func(ctx workflow.Context) {
				_ = workflow.Await(ctx, func() bool { return true })
				explode(3)
			})
			return none{}, group.Wait(ctx)
		},
		"in a condition": func(ctx workflow.Context, _ none) (none, error) {
			return none{}, workflow.Await(ctx, func() bool { explode(3); return false })
		},
		"in a case": func(ctx workflow.Context, _ none) (none, error) {
			return none{}, workflow.Select(ctx, workflow.Default(func() { explode(3) }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.New(t, code, none{})
			var panicked *workflow.PanicError
			if !errors.As(s.Stuck(), &panicked) || panicked.Message != "out of tea" || !strings.Contains(panicked.Stack, "workflow_test.explode") {
				t.Errorf("%v, want a panic with the stack of explode:\n%+v", s.Stuck(), panicked)
			}
		})
	}
}

func explode(depth int) {
	if depth == 0 {
		panic("out of tea")
	}
	explode(depth - 1)
}

var (
	exits = workflow.NewWorkflow[string, none]("exits")
	exit  = workflow.NewUpdate[none, none]("exit")
)

// exitAt calls runtime.Goexit at the place where.
func exitAt(ctx workflow.Context, where string) (none, error) {
	handle := func(workflow.Context, none) (none, error) { runtime.Goexit(); return none{}, nil }
	exit.Handle(ctx, handle, workflow.Validate(func(none) error {
		if where == "validator" {
			runtime.Goexit()
		}
		return nil
	}))
	ask.Handle(ctx, func(none) (none, error) { runtime.Goexit(); return none{}, nil })
	switch where {
	case "main":
		runtime.Goexit()
	case "coroutine":
		workflow.Go(ctx, func(workflow.Context) { runtime.Goexit() })
	case "condition":
		return none{}, workflow.Await(ctx, func() bool { runtime.Goexit(); return true })
	}
	_, err := word.Receive(ctx)
	return none{}, err
}

// Code that calls runtime.Goexit fails its task. The process survives.
func TestGoexitFailsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, workflow.Bind(exits, exitAt, workflow.Names(exit, ask, word)))
		for _, where := range []string{"main", "coroutine", "condition"} {
			if _, err := exits.Start(ctx, p.Client, where, where); err != nil {
				t.Errorf("%s: %v", where, err)
			}
			known, err := p.Describe(ctx, where, "")
			if err != nil || known.StuckTask == nil || known.StuckTask.Failure.Kind != failure.KindMisuse {
				t.Errorf("%s: %+v, %v; want a stuck task", where, known.StuckTask, err)
			}
		}
		if n := p.Service.Hung(); n != 0 {
			t.Errorf("%d instances hang", n)
		}
	})
}

// If only an update or a query runs such code, its caller gets the error and the run continues.
func TestGoexitInHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, workflow.Bind(exits, exitAt, workflow.Names(exit, ask, word)))
		for _, where := range []string{"handler", "validator"} {
			run, err := exits.Start(ctx, p.Client, where, where)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := exit.Call(ctx, p.Client, where, none{}); !errors.Is(err, client.ErrNotReady) {
				t.Errorf("%s: %v, want a failed task", where, err)
			}
			if _, err := ask.Ask(ctx, p.Client, where, none{}); !errors.Is(err, client.ErrNotReady) {
				t.Errorf("query: %v, want a failed task", err)
			}
			if err := word.Send(ctx, p.Client, where, "up"); err != nil {
				t.Error(err)
			}
			if _, err := run.Result(ctx); err != nil {
				t.Errorf("%s: the run did not continue: %v", where, err)
			}
		}
	})
}
