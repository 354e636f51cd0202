package flow_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	waiter = workflow.NewWorkflow[workflow.None, int]("waiter")
	poke   = workflow.NewSignal[int]("poke")
)

// runWaiter counts signals until it is canceled.
func runWaiter(ctx workflow.Context, _ workflow.None) (pokes int, err error) {
	for {
		if _, err := poke.Receive(ctx); err != nil {
			return pokes, err
		}
		pokes++
	}
}

func registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(waiter, runWaiter, workflow.Names(poke))}
}

// open opens runs of the waiter.
func open(t *testing.T, p *testbed.Process, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := waiter.Start(t.Context(), p.Client, id, workflow.None{}); err != nil {
			t.Fatal(err)
		}
	}
}

// named returns ids: p-001, p-002 and so on.
func named(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%03d", prefix, i+1))
	}
	return ids
}

// begin starts a batch, and waits until nothing happens but the passing of time.
func begin(t *testing.T, p *testbed.Process, o client.BatchOptions) client.Batch {
	t.Helper()
	b, err := p.StartBatch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return b
}

func describe(t *testing.T, b client.Batch) *client.BatchDescription {
	t.Helper()
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ended waits until a batch has ended.
func ended(t *testing.T, b client.Batch) *client.BatchDescription {
	t.Helper()
	for range 10_000 {
		if d := describe(t, b); d.State != "running" && d.State != "stopping" {
			return d
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the batch does not end")
	return nil
}

const running = "WorkflowType = 'waiter' AND ExecutionStatus = 'Running'"

var cancels = &client.BatchAction{Kind: "cancel", Reason: "the shop closes"}

// A dry run counts what the batch then acts on. A second batch finds nothing left.
func TestCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		defer d.Replay(registrations()...)
		defer p.Stop()
		n := 1000
		if testing.Short() {
			n = 450
		}
		open(t, p, named("w", n)...)
		dry := ended(t, begin(t, p, client.BatchOptions{Filter: running, DryRun: true}))
		if want := []schema.BatchGroup{{Type: "waiter", Status: "running", Count: n}}; !slices.Equal(dry.Groups, want) || dry.Counts != (schema.BatchCounts{Matched: n}) || dry.State != "completed" {
			t.Errorf("the dry run is %s, with %+v and %v", dry.State, dry.Counts, dry.Groups)
		}
		b := begin(t, p, client.BatchOptions{ID: "b", Filter: running, Action: cancels})
		got := ended(t, b)
		if want := (schema.BatchCounts{Matched: n, Done: n}); got.State != "completed" || got.Counts != want || len(got.Problems) > 0 {
			t.Errorf("the batch is %s, with %+v and %v", got.State, got.Counts, got.Problems)
		}
		if steps := (n+99)/100 + 1; got.Steps > steps {
			t.Errorf("%d runs took %d steps, want %d at most", n, got.Steps, steps)
		}
		for _, id := range named("w", n) {
			if run := d.Runs(id)[0]; run.State.Status != history.Canceled {
				t.Fatalf("%s is %s", id, run.State.Status)
			}
		}
		if rest := ended(t, begin(t, p, client.BatchOptions{Filter: running, Action: cancels})); rest.Counts.Matched != 0 {
			t.Errorf("there are %d left", rest.Counts.Matched)
		}
	})
}

// Each action does with each run what the same request does.
func TestActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action client.BatchAction
		filter string
		want   schema.BatchCounts
		check  func(t *testing.T, runs []*engine.Run)
	}{
		{client.BatchAction{Kind: "terminate", Reason: "x"}, running, schema.BatchCounts{Matched: 3, Done: 3}, status(history.Terminated)},
		{client.BatchAction{Kind: "terminate"}, "WorkflowType = 'waiter'", schema.BatchCounts{Matched: 4, Done: 3, Already: 1}, status(history.Terminated)},
		{client.BatchAction{Kind: "signal", SignalName: "poke", Input: []byte("1")}, running, schema.BatchCounts{Matched: 3, Done: 3}, events(history.TypeWorkflowExecutionSignaled, 1)},
		{client.BatchAction{Kind: "pause", Reason: "x"}, running, schema.BatchCounts{Matched: 3, Done: 3}, events(history.TypeWorkflowExecutionPaused, 1)},
		{client.BatchAction{Kind: "resume"}, running, schema.BatchCounts{Matched: 3, Already: 3}, status(history.Running)},
		{client.BatchAction{Kind: "retry"}, running, schema.BatchCounts{Matched: 3, Already: 3}, status(history.Running)},
		{client.BatchAction{Kind: "move"}, running, schema.BatchCounts{Matched: 3, Done: 3}, events(history.TypeWorkflowExecutionOptionsUpdated, 1)},
		{client.BatchAction{Kind: "move", Unpin: true}, running, schema.BatchCounts{Matched: 3, Done: 3}, status(history.Running)},
		{client.BatchAction{Kind: "move", Build: "build-2"}, running, schema.BatchCounts{Matched: 3, Refused: 3}, status(history.Running)},
		{client.BatchAction{Kind: "delete"}, running, schema.BatchCounts{Matched: 3, Refused: 3}, status(history.Running)},
		{client.BatchAction{Kind: "reset", To: "firstTask", Reason: "x"}, running, schema.BatchCounts{Matched: 3, Done: 3}, func(t *testing.T, runs []*engine.Run) {
			t.Helper()
			if len(runs) != 2 || runs[0].State.Status != history.Terminated || runs[1].State.Reset == nil {
				t.Errorf("there are %d runs", len(runs))
			}
		}},
	} {
		t.Run(c.action.Kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				p := d.Start(executor.Options{}, registrations()...)
				defer d.Replay(registrations()...)
				defer p.Stop()
				open(t, p, named("w", 3)...)
				open(t, p, "over")
				if err := p.Terminate(t.Context(), "over", "", ""); err != nil {
					t.Fatal(err)
				}
				got := ended(t, begin(t, p, client.BatchOptions{Filter: c.filter, Action: &c.action}))
				if got.State != "completed" || got.Counts != c.want || len(got.Problems) != c.want.Refused {
					t.Errorf("%s, %+v, %v", got.State, got.Counts, got.Problems)
				}
				for _, id := range named("w", 3) {
					c.check(t, d.Runs(id))
				}
			})
		})
	}
}

func status(want history.Status) func(*testing.T, []*engine.Run) {
	return func(t *testing.T, runs []*engine.Run) {
		t.Helper()
		if len(runs) != 1 || runs[0].State.Status != want {
			t.Errorf("%d runs, the first is %s", len(runs), runs[0].State.Status)
		}
	}
}

func events(typ history.Type, want int) func(*testing.T, []*engine.Run) {
	return func(t *testing.T, runs []*engine.Run) {
		t.Helper()
		n := 0
		for _, c := range runs[len(runs)-1].Log {
			for _, e := range c.Events() {
				if e.Type() == typ {
					n++
				}
			}
		}
		if n != want {
			t.Errorf("%d events %s, want %d", n, typ, want)
		}
	}
}

// Runs that have closed for long are deleted.
func TestDeletes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		defer p.Stop()
		open(t, p, "a", "b")
		if err := p.Terminate(t.Context(), "a", "", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		got := ended(t, begin(t, p, client.BatchOptions{Filter: "WorkflowType = 'waiter'", Action: &client.BatchAction{Kind: "delete"}}))
		if want := (schema.BatchCounts{Matched: 2, Done: 1, Refused: 1}); got.Counts != want {
			t.Errorf("%+v, %v", got.Counts, got.Problems)
		}
		if all := d.Workflows(); slices.Contains(all, "a") || !slices.Contains(all, "b") {
			t.Errorf("there are %q", all)
		}
	})
}

// A process dies in each put of a batch, before or after it has landed, and before or after it has
// sent what follows. Another one goes on, and each run is signaled once.
func TestDies(t *testing.T) {
	t.Parallel()
	death := errors.New("the process died")
	for after := range 2 {
		for put := 0; ; put++ {
			died := true
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				hooks := d.Hook()
				p := d.Start(executor.Options{}, registrations()...)
				open(t, p, named("w", 5)...)
				var puts atomic.Int64 // a step acts on several runs at once
				hooks.Always(testbed.OnPut, func(do func() error) error {
					n := int(puts.Add(1))
					if n <= put {
						return do()
					}
					if n == put+1 && after == 1 {
						_ = do() // and from then on nothing lands
					}
					return death
				})
				_, err := p.StartBatch(t.Context(), client.BatchOptions{ID: "b", RequestID: "r", Filter: running, Action: &client.BatchAction{Kind: "signal", SignalName: "poke", Input: []byte("1")}})
				time.Sleep(time.Second)
				p.Stop()
				d.Hook()
				p = d.Start(executor.Options{}, registrations()...)
				defer d.Replay(registrations()...)
				defer p.Stop()
				if err != nil { // its caller sends it again
					begin(t, p, client.BatchOptions{ID: "b", RequestID: "r", Filter: running, Action: &client.BatchAction{Kind: "signal", SignalName: "poke", Input: []byte("1")}})
				}
				got := ended(t, p.Batch("b"))
				if c := got.Counts; got.State != "completed" || c.Matched != 5 || c.Done != 5 {
					t.Errorf("after %d puts (%d): %s, %+v, %v", put, after, got.State, c, got.Problems)
				}
				for _, id := range named("w", 5) {
					events(history.TypeWorkflowExecutionSignaled, 1)(t, d.Runs(id))
				}
				died = int(puts.Load()) > put
			})
			if !died || t.Failed() {
				break
			}
		}
	}
}

// The queue delivers each message twice: each run is reset once. The counts are those of one of the
// two attempts at a step.
func TestEveryMessageTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		d.Ports.Queue = twice{d.Ports.Queue}
		d.Hook().Always(testbed.OnPut, func(do func() error) error {
			time.Sleep(time.Millisecond)
			return do()
		})
		p := d.Start(executor.Options{}, registrations()...)
		other := d.Start(executor.Options{}, registrations()...)
		defer d.Replay(registrations()...)
		defer p.Stop()
		defer other.Stop()
		open(t, p, named("w", 20)...)
		got := ended(t, begin(t, p, client.BatchOptions{Filter: running, Rate: 5, Action: &client.BatchAction{Kind: "reset", To: "firstTask"}}))
		if got.State != "completed" || got.Counts.Matched > 20 || got.Counts.Done+got.Counts.Refused+got.Counts.Already != got.Counts.Matched {
			t.Errorf("%s, %+v, %v", got.State, got.Counts, got.Problems)
		}
		for _, id := range named("w", 20) {
			if runs := d.Runs(id); len(runs) != 2 {
				t.Errorf("%s has %d runs", id, len(runs))
			}
		}
	})
}

// A batch that is stopped ends within a step, and acts on no more runs.
func TestStops(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.1, 2, 20} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{}, registrations()...)
			defer d.Replay(registrations()...)
			defer p.Stop()
			open(t, p, named("w", 300)...)
			b := begin(t, p, client.BatchOptions{Filter: running, Action: cancels, Rate: rate})
			time.Sleep(11*time.Second + 100*time.Millisecond)
			done := describe(t, b)
			if want := int(rate * 11.1); done.State != "running" || done.Counts.Done < max(want-int(2*rate)-1, 1) || done.Counts.Done > want+1 {
				t.Errorf("at %v a second %d are done after 11.1 s", rate, done.Counts.Done)
			}
			if err := b.Stop(t.Context(), "enough"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			got := describe(t, b)
			if got.State != "stopped" || got.Reason != "enough" || got.EndedAt == nil || got.Counts.Done > done.Counts.Done+int(2*rate)+1 {
				t.Errorf("5 s later it is %s, because of %q, and %+v", got.State, got.Reason, got.Counts)
			}
			open, err := p.Count(t.Context(), client.CountOptions{Filter: running})
			if err != nil || open.Count != 300-got.Counts.Done {
				t.Errorf("%+v are open, %v", open, err)
			}
			if err := b.Stop(t.Context(), ""); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("it can be stopped again: %v", err)
			}
		})
	}
}

// The rate of a batch can be changed while it runs.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.One(t, registrations()...)
		open(t, p, named("w", 100)...)
		b := begin(t, p, client.BatchOptions{Filter: running, Action: cancels, Rate: 0.01})
		time.Sleep(10 * time.Second)
		if got := describe(t, b); got.Counts.Done != 1 || got.Rate != 0.01 {
			t.Errorf("%+v", got)
		}
		if err := b.SetRate(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := describe(t, b); got.Counts.Done < 40 || got.Counts.Done > 60 || got.Rate != 10 {
			t.Errorf("%+v", got)
		}
		if err := b.SetRate(t.Context(), 5000); client.AsRejected(err) == nil && !errors.Is(err, client.ErrInvalid) {
			t.Errorf("a wrong rate: %v", err)
		}
		if err := b.SetRate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if got := ended(t, b); got.Counts.Done != 100 {
			t.Errorf("%+v", got)
		}
	})
}

// A batch that matches more runs than it may is stopped, and one that matches just as many is not.
func TestMostRuns(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{7: "stopped", 12: "completed"} {
		synctest.Test(t, func(t *testing.T) {
			p := testbed.One(t, registrations()...)
			open(t, p, named("w", 12)...)
			got := ended(t, begin(t, p, client.BatchOptions{Filter: running, Action: cancels, MostRuns: most}))
			if c := got.Counts; got.State != want || c.Matched != most || c.Done != most || (want == "stopped") != strings.Contains(got.Reason, "mostRuns") {
				t.Errorf("%d of 12: %s, %+v, %q", most, got.State, got.Counts, got.Reason)
			}
			if dry := ended(t, begin(t, p, client.BatchOptions{Filter: "WorkflowType = 'waiter'", DryRun: true, MostRuns: most})); dry.State != "completed" || dry.Counts.Matched != 12 {
				t.Errorf("a dry run is %s, with %+v", dry.State, dry.Counts)
			}
		})
	}
}

// A batch over all runs leaves out schedules, batches and itself, unless the filter names their
// types.
func TestOwnTypesAreLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.One(t, registrations()...)
		open(t, p, "a")
		if _, err := waiter.Schedule(t.Context(), p.Client, "s", workflow.None{}, workflow.ScheduleOptions{Cron: []string{"@yearly"}}); err != nil {
			t.Fatal(err)
		}
		slow := begin(t, p, client.BatchOptions{ID: "slow", Filter: "WorkflowType = 'nobody'", Rate: 0.01, Action: cancels})
		for filter, want := range map[string][]schema.BatchGroup{
			"ExecutionStatus = 'Running'":                                      {{Type: "waiter", Status: "running", Count: 1}},
			"WorkflowType != 'nobody' AND ExecutionStatus = 'Running'":         {{Type: "waiter", Status: "running", Count: 1}},
			"WorkflowType STARTS_WITH 'w' AND ExecutionStatus = 'Running'":     {{Type: "waiter", Status: "running", Count: 1}},
			"WorkflowType = 'weft.schedule'":                                   {{Type: "weft.schedule", Status: "running", Count: 1}},
			"WorkflowType IN ('waiter', 'weft.schedule')":                      {{Type: "waiter", Status: "running", Count: 1}, {Type: "weft.schedule", Status: "running", Count: 1}},
			"WorkflowType STARTS_WITH 'weft.' AND ExecutionStatus = 'Running'": {{Type: "weft.schedule", Status: "running", Count: 1}},
		} {
			if got := ended(t, begin(t, p, client.BatchOptions{Filter: filter, DryRun: true})); !slices.Equal(got.Groups, want) {
				t.Errorf("%s: %v, want %v", filter, got.Groups, want)
			}
		}
		if got := ended(t, slow); got.State != "completed" {
			t.Errorf("the slow one is %s", got.State)
		}
		got := ended(t, begin(t, p, client.BatchOptions{Filter: "ExecutionStatus = 'Running'", Action: &client.BatchAction{Kind: "terminate"}}))
		if got.State != "completed" || got.Counts != (schema.BatchCounts{Matched: 1, Done: 1}) {
			t.Errorf("%s, %+v", got.State, got.Counts)
		}
	})
}

// A request that is wrong is refused with what is wrong, and starts nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		open(t, p, "a")
		action := func(a client.BatchAction) client.BatchOptions {
			return client.BatchOptions{Filter: running, Action: &a}
		}
		for want, o := range map[string]client.BatchOptions{
			"the filter is missing":                           {Action: cancels},
			"the filter cannot be read":                       {Filter: "WorkflowType =", Action: cancels},
			"leave ORDER BY out":                              {Filter: running + " ORDER BY StartTime ASC", Action: cancels},
			"has the search attribute Shop":                   {Filter: "Shop = 'x'", Action: cancels},
			"the action is missing":                           {Filter: running},
			`there is no action "kill": give one of cancel, `: action(client.BatchAction{Kind: "kill"}),
			"the signal has no name":                          action(client.BatchAction{Kind: "signal"}),
			"the input of the signal has 20002 bytes":         action(client.BatchAction{Kind: "signal", SignalName: "s", Input: []byte(`"` + strings.Repeat("a", 20_000) + `"`)}),
			"say what to reset to":                            action(client.BatchAction{Kind: "reset"}),
			`there is no task "middle"`:                       action(client.BatchAction{Kind: "reset", To: "middle"}),
			`a reset cannot exclude "timers"`:                 action(client.BatchAction{Kind: "reset", To: "lastTask", Exclude: []string{"timers"}}),
			"retry takes no reason":                           action(client.BatchAction{Kind: "retry", Reason: "x"}),
			"cancel takes no signalName":                      action(client.BatchAction{Kind: "cancel", SignalName: "x"}),
			"cannot unpin the runs":                           action(client.BatchAction{Kind: "move", Build: "x", Unpin: true}),
			"the build has 1025 bytes":                        action(client.BatchAction{Kind: "move", Build: strings.Repeat("b", 1025)}),
			"the reset excludes signals twice":                action(client.BatchAction{Kind: "reset", To: "lastTask", Exclude: []string{"signals", "updates", "signals"}}),
			"the reason has 1025 bytes":                       action(client.BatchAction{Kind: "cancel", Reason: strings.Repeat("a", 1025)}),
			"the rate is how many runs":                       {Filter: running, Action: cancels, Rate: -1},
			"give 0.01 to 1000, or 0 for no limit":            {Filter: running, Action: cancels, Rate: 1001},
			"mostRuns is how many runs the batch may match":   {Filter: running, Action: cancels, MostRuns: -1},
			"give 1 to 1000000, or nothing for 10000":         {Filter: running, Action: cancels, MostRuns: 1_000_001},
			"batch's id has a character other than A-Z":       {ID: "a/b", Filter: running, Action: cancels},
		} {
			if _, err := p.StartBatch(t.Context(), o); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if all := d.Workflows(); !slices.Equal(all, []string{"a"}) {
			t.Errorf("there are %q", all)
		}
		b := begin(t, p, client.BatchOptions{ID: "b", Filter: running, DryRun: true})
		ended(t, b)
		if _, err := p.StartBatch(t.Context(), client.BatchOptions{ID: "b", Filter: running, DryRun: true}); !errors.Is(err, client.ErrAlreadyStarted) {
			t.Errorf("its id is used again: %v", err)
		}
		if _, err := p.Batch("none").Describe(t.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("one that is not there: %v", err)
		}
		if page, next, err := p.Batches(t.Context(), ""); len(page) != 1 || next != "" || err != nil || page[0].BatchID != "b" || page[0].Filter != running || !page[0].DryRun {
			t.Errorf("the list is %+v, %q, %v", page, next, err)
		}
	})
}

// A deployment without batches refuses them, and ends those that there are.
func TestOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{}, registrations()...)
		b, err := p.StartBatch(t.Context(), client.BatchOptions{ID: "b", Filter: "WorkflowType = 'waiter'", DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		p = d.Start(executor.Options{NoBatches: true}, registrations()...)
		if _, err := p.StartBatch(t.Context(), client.BatchOptions{Filter: running, DryRun: true}); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), "Batches is off") {
			t.Errorf("it starts: %v", err)
		}
		if got := ended(t, p.Batch(b.ID)); got.State != "failed" {
			t.Errorf("it is %s", got.State)
		}
		if _, err := p.Result(t.Context(), "weft.batch:b", ""); err == nil || !strings.Contains(err.Error(), "runs no batches") {
			t.Errorf("its workflow: %v", err)
		}
		if about, err := p.Deployment(t.Context()); err != nil || about.Features.Batches {
			t.Errorf("%+v, %v", about, err)
		}
	})
}

// A program that runs only activities has no code of the workflows. It refuses what would run it,
// and does the rest.
func TestWithoutTheCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{}, registrations()...)
		open(t, p, "a", "b")
		for kind, want := range map[string]schema.BatchCounts{"cancel": {Matched: 2, Refused: 2}, "terminate": {Matched: 2, Done: 2}} {
			if kind == "terminate" {
				continue
			}
			lacks := d.Start(executor.Options{})
			got := ended(t, begin(t, lacks, client.BatchOptions{Filter: running, Action: &client.BatchAction{Kind: kind}}))
			if got.Counts != want || !strings.Contains(got.Problems[0].Reason, `does not register workflow type "waiter"`) {
				t.Errorf("%s: %+v, %v", kind, got.Counts, got.Problems)
			}
			lacks.Stop()
		}
		lacks := d.Start(executor.Options{})
		if got := ended(t, begin(t, lacks, client.BatchOptions{Filter: running, Action: &client.BatchAction{Kind: "terminate"}})); got.Counts.Done != 2 {
			t.Errorf("terminate: %+v", got.Counts)
		}
	})
}

// A run that nobody can write to is tried three times, and then counts as failed.
func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{SoftLimit: time.Second}, registrations()...)
		open(t, p, named("w", 3)...)
		p.Stop()
		d.Ports.Log = refusing{d.Ports.Log, "w-002"}
		p = d.Start(executor.Options{SoftLimit: time.Second}, registrations()...)
		got := ended(t, begin(t, p, client.BatchOptions{Filter: running, Action: cancels}))
		want := schema.BatchCounts{Matched: 3, Done: 2, Failed: 1}
		if got.State != "completed" || got.Counts != want || len(got.Problems) != 1 || got.Problems[0].WorkflowID != "w-002" || got.Problems[0].Refused {
			t.Errorf("%s, %+v, %+v", got.State, got.Counts, got.Problems)
		}
	})
}

// An action that does not return holds up neither its step nor the other runs. What it does after
// its step counts for nothing.
func TestHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		open(t, p, named("w", 12)...)
		p.Stop()
		until := make(chan struct{})
		d.Ports.Log = hanging{d.Ports.Log, "w-005", until}
		p = d.Start(executor.Options{}, registrations()...)
		defer p.Stop()
		b := begin(t, p, client.BatchOptions{Filter: running, Action: cancels})
		time.Sleep(5 * time.Second)
		if got := describe(t, b); got.State != "running" || got.Counts != (schema.BatchCounts{Matched: 12, Done: 11}) {
			t.Errorf("after a step it is %s, %+v, %v", got.State, got.Counts, got.Problems)
		}
		got := ended(t, b)
		close(until)
		if want := (schema.BatchCounts{Matched: 12, Done: 11, Failed: 1}); got.State != "completed" || got.Counts != want || len(got.Problems) != 1 || got.Problems[0].WorkflowID != "w-005" {
			t.Errorf("%s, %+v, %v", got.State, got.Counts, got.Problems)
		}
		synctest.Wait()
		if again := describe(t, b); again.Counts != got.Counts {
			t.Errorf("after the action has returned: %+v", again.Counts)
		}
	})
}

// A process dies after a step has acted on runs and before its result is in the log. The repetition
// does not see runs that no longer match: it acts on as many runs again as the step may.
func TestMostRunsAfterADeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		died := dead{errors.New("the process died"), &atomic.Bool{}}
		queue := d.Ports.Queue
		d.Ports.Queue = dying{queue, died}
		hooks := d.Hook()
		p := d.Start(executor.Options{}, registrations()...)
		open(t, p, named("w", 20)...)
		puts, most := atomic.Int64{}, 7
		hooks.Always(testbed.OnPut, func(do func() error) error {
			died.Store(puts.Add(1) > int64(1+most)) // the start, and the runs
			return died.unless(do)
		})
		b, err := p.StartBatch(t.Context(), client.BatchOptions{Filter: running, Action: &client.BatchAction{Kind: "terminate"}, MostRuns: most})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		p.Stop()
		d.Hook()
		d.Ports.Queue = queue
		p = d.Start(executor.Options{}, registrations()...)
		defer p.Stop()
		got := ended(t, p.Batch(b.ID))
		if got.State != "stopped" || got.Counts.Done != most {
			t.Errorf("%s, %+v", got.State, got.Counts)
		}
		if n, err := p.Count(t.Context(), client.CountOptions{Filter: "ExecutionStatus = 'Terminated'"}); err != nil || n.Count != 2*most {
			t.Errorf("%+v, %v", n, err)
		}
	})
}

// A store that panics does not end the process. The run counts as failed, and the log says where
// the panic was, without its text.
func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		open(t, p, named("w", 3)...)
		p.Stop()
		d.Ports.Log = panicking{d.Ports.Log, "w-002"}
		var log logged
		p = d.Start(executor.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, registrations()...)
		got := ended(t, begin(t, p, client.BatchOptions{Filter: running, Action: cancels}))
		if want := (schema.BatchCounts{Matched: 3, Done: 2, Failed: 1}); got.Counts != want || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Reason, "panicked") {
			t.Errorf("%+v, %+v", got.Counts, got.Problems)
		}
		text := log.String()
		if !strings.Contains(text, `"workflowId":"w-002"`) || !strings.Contains(text, "panicking.Append") || strings.Contains(text, "secret") {
			t.Errorf("the log says %s", text)
		}
	})
}

// A batch whose history is long continues as new, and forgets nothing.
func TestContinuesAsNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{Engine: engine.Options{SuggestAfterEvents: 20}}, registrations()...)
		defer d.Replay(registrations()...)
		defer p.Stop()
		open(t, p, named("w", 60)...)
		b := begin(t, p, client.BatchOptions{ID: "b", Filter: running, Action: cancels, Rate: 2})
		got := ended(t, b)
		if n := len(d.Runs("weft.batch:b")); got.Counts.Done != 60 || got.Steps < 15 || n < 3 {
			t.Errorf("%+v after %d steps in %d runs", got.Counts, got.Steps, n)
		}
		if page, _, err := p.Batches(t.Context(), ""); err != nil || len(page) != 1 || page[0].Kind != "cancel" {
			t.Errorf("the list is %+v, %v", page, err)
		}
	})
}

// The workflow of a batch can be ended as any other.
func TestEnded(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]string{"cancel": "canceled", "terminate": "terminated"} {
		synctest.Test(t, func(t *testing.T) {
			p := testbed.One(t, registrations()...)
			open(t, p, named("w", 60)...)
			b := begin(t, p, client.BatchOptions{ID: "b", Filter: running, Action: cancels, Rate: 1})
			time.Sleep(5 * time.Second)
			if a := p.Do(http.MethodPost, "/v1/workflows/weft.batch:b/"+verb, ""); a.Status >= 300 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			time.Sleep(10 * time.Second)
			if got := describe(t, b); got.State != want || got.Counts.Done < 3 || got.Counts.Done > 8 {
				t.Errorf("%s: %s, %+v", verb, got.State, got.Counts)
			}
		})
	}
}
