package executor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// Events that a task has left to the next one find their input there, even in a process that has
// not run the first task.
func TestSplitTaskContinuesInAnotherProcess(t *testing.T) {
	t.Parallel()
	var (
		parts = workflow.NewWorkflow[string, string]("split.parts")
		kid   = workflow.NewWorkflow[string, string]("split.kid")
		ear   = workflow.NewWorkflow[int, string]("split.ear")
		say   = workflow.NewSignal[string]("split.say")
		same  = activity.New("split.same", func(_ context.Context, s string) (string, error) { return s, nil })
	)
	registrations := []workflow.Registration{
		same,
		workflow.Bind(kid, func(_ workflow.Context, s string) (string, error) { return s, nil }),
		workflow.Bind(ear, func(ctx workflow.Context, n int) (string, error) {
			var all []string
			for range n {
				s, err := say.Receive(ctx)
				if err != nil {
					return "", err
				}
				all = append(all, s)
			}
			return strings.Join(all, " "), nil
		}, workflow.Names(say)),
		workflow.Bind(parts, func(ctx workflow.Context, kind string) (string, error) {
			var all []workflow.Future[string]
			var sent []workflow.Future[workflow.None]
			for i := range 5 {
				text := fmt.Sprint("text-", i)
				switch kind {
				case "activities":
					all = append(all, same.Start(ctx, text))
				case "children":
					all = append(all, kid.StartChild(ctx, text).Result())
				case "signals":
					sent = append(sent, say.SendTo(ctx, workflow.External("ear"), text))
				}
			}
			var got []string
			for _, f := range all {
				s, err := f.Get(ctx)
				if err != nil {
					return "", err
				}
				got = append(got, s)
			}
			for _, f := range sent {
				if _, err := f.Get(ctx); err != nil {
					return "", err
				}
			}
			return strings.Join(got, " "), nil
		}),
	}
	const want = "text-0 text-1 text-2 text-3 text-4"
	for _, kind := range []string{"activities", "children", "signals"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				p := d.Start(executor.Options{CacheEntries: -1, Engine: engine.Options{MaxStarts: 2}}, registrations...)
				defer d.Replay(registrations...)
				defer p.Stop()
				if _, err := ear.Start(t.Context(), p.Client, "ear", 5); err != nil {
					t.Fatal(err)
				}
				run, err := parts.Start(t.Context(), p.Client, "a", kind)
				if err != nil {
					t.Fatal(err)
				}
				if kind == "signals" {
					if _, err := run.Result(t.Context()); err != nil {
						t.Fatal(err)
					}
					heard, err := ear.Get(p.Client, "ear").Result(t.Context())
					if words := strings.Fields(heard); err != nil || strings.Join(slices.Sorted(slices.Values(words)), " ") != want {
						t.Errorf("%q, %v", heard, err)
					}
					return
				}
				if got, err := run.Result(t.Context()); err != nil || got != want {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}

// A process that has not run the first part of a task respects the size of a commit in the next
// part.
func TestSplitTaskKeepsItsSizeInAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, most = 40, 40 << 10
		same := activity.New("split.same", func(_ context.Context, s string) (string, error) { return s[:1], nil })
		wide := workflow.NewWorkflow[int, int]("split.wide")
		registrations := []workflow.Registration{same, workflow.Bind(wide, func(ctx workflow.Context, n int) (done int, err error) {
			for range n {
				workflow.Go(ctx, func(ctx workflow.Context) {
					if _, err := same.Run(ctx, strings.Repeat("x", 5<<10)); err == nil {
						done++
					}
				})
			}
			err = workflow.Await(ctx, func() bool { return done == n })
			return done, err
		})}
		d := testbed.New(t)
		p := d.Start(executor.Options{CacheEntries: -1, MaxCommit: most}, registrations...)
		defer d.Replay(registrations...)
		defer p.Stop()
		run, err := wide.Start(t.Context(), p.Client, "a", n)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got, err := run.Result(ctx); err != nil || got != n {
			t.Errorf("%d, %v", got, err)
		}
		events, err := p.History(t.Context(), "a")
		if failed := testbed.Count(events, history.TypeWorkflowTaskFailed); err != nil || failed > 0 {
			t.Errorf("%d tasks failed, %v", failed, err)
		}
	})
}

// Side effects that do not fit into one commit continue in the next task, even in a process that
// has not run the first one. A function is called again if its value was not recorded, and its
// second value counts.
func TestSideEffectsThatFillATaskContinue(t *testing.T) {
	t.Parallel()
	for _, entries := range []int{0, -1} {
		t.Run(fmt.Sprint("cache entries ", entries), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const n, size = 40, 5 << 10
				same := activity.New("split.same", func(_ context.Context, s string) (string, error) { return s[:1], nil })
				notes := workflow.NewWorkflow[int, string]("split.notes")
				calls := 0
				registrations := []workflow.Registration{same, workflow.Bind(notes, func(ctx workflow.Context, n int) (string, error) {
					var all, seen []string
					started := same.Start(ctx, strings.Repeat("x", size))
					for i := range n {
						value := workflow.SideEffect(ctx, func() string {
							calls++ //weftvet:ignore readonly the test counts them
							return fmt.Sprint(i, ".", calls, " ", strings.Repeat("x", size))
						})
						word, _, _ := strings.Cut(value, " ")
						all = append(all, word)
						seen = append(seen, workflow.SideEffect(ctx, func() string { return word }))
					}
					if strings.Join(all, " ") != strings.Join(seen, " ") {
						return "", fmt.Errorf("the code saw %v, and recorded %v", all, seen)
					}
					_, err := started.Get(ctx)
					return strings.Join(all, " "), err
				})}
				d := testbed.New(t)
				p := d.Start(executor.Options{CacheEntries: entries, MaxCommit: 40 << 10}, registrations...)
				defer d.Replay(registrations...)
				defer p.Stop()
				run, err := notes.Start(t.Context(), p.Client, "a", n)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got, err := run.Result(ctx)
				if err != nil || len(strings.Fields(got)) != n {
					t.Errorf("%q, %v", got, err)
				}
				if again := calls - n; again > 10 { // at most once for each task that was full before one
					t.Errorf("%d functions were called again", again)
				}
				events, err := p.History(t.Context(), "a")
				if failed := testbed.Count(events, history.TypeWorkflowTaskFailed); err != nil || failed > 0 {
					t.Errorf("%d tasks failed, %v", failed, err)
				}
			})
		})
	}
}
