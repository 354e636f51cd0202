package testbed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/replay"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// endOfTime is later than anything can be due.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Workflows returns the sorted ids of the workflows that have runs.
func (d *Deployment) Workflows() []string {
	d.t.Helper()
	ids, err := Workflows(context.Background(), d.kept)
	if err != nil {
		d.t.Fatal(err)
	}
	return ids
}

// Workflows returns the sorted ids of the workflows in a list.
func Workflows(ctx context.Context, lister store.Lister) (ids []string, err error) {
	for token := ""; ; {
		runs, next, err := lister.ListRuns(ctx, store.Filter{}, token, 1000)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			ids = append(ids, r.Workflow)
		}
		if token = next; token == "" {
			slices.Sort(ids)
			return slices.Compact(ids), nil
		}
	}
}

// Dump returns the contents of a store, byte by byte. items returns those of a workflow's log, in
// order.
func Dump(ctx context.Context, s Stores, items func(workflow string) []store.Item) (string, error) {
	ids, err := Workflows(ctx, s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, id := range ids {
		last := uint32(0)
		for _, item := range items(id) {
			fmt.Fprintf(&b, "%v %x %v %d %s\n", item.Key, item.Commit, item.Expires, len(item.Body), item.Body)
			last = item.Run
		}
		attempts, err := s.ReadAttempts(ctx, id, last)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%+v\n", attempts)
	}
	timers, err := s.DueTimers(ctx, endOfTime, 1<<20)
	fmt.Fprintf(&b, "%+v\n", timers)
	return b.String(), err
}

// Snapshot returns the contents of the store and the queues, byte by byte, for comparison with
// another snapshot.
func (d *Deployment) Snapshot() string {
	d.t.Helper()
	dump, err := Dump(context.Background(), d.kept, d.items)
	if err != nil {
		d.t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(dump)
	for _, name := range queue.All(TaskQueues...) {
		fmt.Fprintln(&b, name, d.Queue.Len(name), d.Queue.Len(queue.DeadLetters(name)))
	}
	return b.String()
}

// Runs returns the runs of a workflow from its log; see RunsOf.
func (d *Deployment) Runs(workflowID string) []*engine.Run {
	d.t.Helper()
	return RunsOf(d.t, workflowID, d.items(workflowID))
}

func (d *Deployment) items(workflowID string) []store.Item {
	d.t.Helper()
	log := store.Log(d.kept)
	if d.codec != nil {
		log = d.codec.Log(log)
	}
	items, err := Items(context.Background(), log, workflowID)
	if err != nil {
		d.t.Fatal(err)
	}
	return items
}

// Items returns all items of a workflow from a log, in its order.
func Items(ctx context.Context, log store.Log, workflowID string) (items []store.Item, err error) {
	for before, more := (store.Key{}), true; more; {
		var page store.Page
		if page, err = log.Backward(ctx, workflowID, before, store.Key{}, 0); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if more = page.More && len(page.Items) > 0; more {
			before = items[len(items)-1].Key
		}
	}
	slices.Reverse(items)
	return items, nil
}

// RunsOf returns the runs of a workflow from the items of its log, in order. It checks that their
// events are numbered from 1 without a gap, and that each event resolves something pending. A void
// commit stands for its run, in whichever slot it is: the run was deleted, or never was.
func RunsOf(t testing.TB, workflowID string, items []store.Item) []*engine.Run {
	t.Helper()
	var runs []*engine.Run
	for _, item := range items {
		if n := len(runs); n == 0 || runs[n-1].Number != item.Run {
			runs = append(runs, engine.NewRun(workflowID, item.Run))
		}
		c, err := history.Decode(item.Slot, item.Body)
		if err != nil {
			t.Fatal(err)
		}
		if c.Status == history.Void {
			runs[len(runs)-1] = engine.NewRun(workflowID, item.Run)
			c.Slot = 0
		}
		if err := runs[len(runs)-1].Append(c, len(item.Body)); err != nil {
			t.Fatal(err)
		}
	}
	return runs
}

// CheckReplay replays all runs with the code of a process; see CheckRun.
func (d *Deployment) CheckReplay(p *Process) {
	d.t.Helper()
	for _, id := range d.Workflows() {
		for _, run := range d.Runs(id) {
			CheckRun(d.t, p.registry, p.build, run)
		}
	}
}

// CheckRun replays a run from its first event with the code of a build, and reports code that
// differs from history. A run whose task fails under the code is expected to fail. A run with tasks
// of other builds is not run again as if it were new, because their validators may have differed.
func CheckRun(t testing.TB, registry *engine.Registry, build string, run *engine.Run) {
	t.Helper()
	CheckPinned(t, run)
	if run.Void() || run.NotReady(build) != nil {
		return
	}
	code := registry.Workflow(run.State.Started.WorkflowType)
	otherBuild := func(c *history.Commit) bool { return c.Task != nil && c.Task.Build != build }
	if !slices.ContainsFunc(run.Log, otherBuild) {
		ReplayRun(t, code, run.WorkflowID, run.Log)
		return
	}
	if err := replay.Cold(code, run.WorkflowID, run.Log); err != nil {
		t.Errorf("run %d of %s does not replay: %v", run.Number, run.WorkflowID, err)
	}
}

// CheckPinned reports tasks of a pinned run that another build has run.
func CheckPinned(t testing.TB, run *engine.Run) {
	t.Helper()
	seen := engine.NewRun(run.WorkflowID, run.Number)
	for _, c := range run.Log {
		pinned := seen.Pinned(c)
		if ran := c.Task != nil && c.Task.Reset == nil; ran && pinned != "" && c.Task.Build != pinned {
			t.Errorf("run %d of %s is pinned to %s, and %s ran the task of slot %d", run.Number, run.WorkflowID, pinned, c.Task.Build, c.Slot)
		}
		if err := seen.Append(c, 0); err != nil {
			t.Fatal(err)
		}
	}
}
