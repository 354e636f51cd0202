//go:build aws

package faults_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/localstack/faults"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// registry has the workflows of the functions' program, to replay their runs.
func registry(t *testing.T) *engine.Registry {
	t.Helper()
	var all []workflow.Registration
	for _, registrations := range examples.Registrations() {
		all = append(all, registrations...)
	}
	return testbed.Registry(t, append(all, faults.Registrations()...)...)
}

// open reports whether a workflow has not ended, by the last commit of its log.
func (d *deployment) open(ctx context.Context, workflow string) (bool, error) {
	page, err := d.store.Backward(ctx, workflow, store.Key{}, store.Key{}, 1)
	if err != nil || len(page.Items) == 0 {
		return true, err
	}
	c, err := history.Decode(page.Items[0].Slot, page.Items[0].Body)
	return err == nil && (!c.Status.Closed() || c.Status == history.Void), err
}

// runs reads all runs of a workflow, without the proxies. It fails if no engine can have written
// this log: event ids have a gap, or an event resolves something that is not pending.
func (d *deployment) runs(ctx context.Context, workflow string) (runs []*engine.Run, err error) {
	var items []store.Item
	for before := (store.Key{}); ; {
		page, err := d.store.Backward(ctx, workflow, before, store.Key{}, 0)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if !page.More {
			break
		}
		before = items[len(items)-1].Key
	}
	for _, item := range slices.Backward(items) {
		if n := len(runs); n == 0 || runs[n-1].Number != item.Run {
			runs = append(runs, engine.NewRun(workflow, item.Run))
		}
		c, err := history.Decode(item.Slot, item.Body)
		if err == nil {
			err = runs[len(runs)-1].Append(c, len(item.Body))
		}
		if err != nil {
			return nil, fmt.Errorf("%v: %w", item.Key, err)
		}
	}
	return slices.DeleteFunc(runs, (*engine.Run).Void), nil
}

// audit compares the log of a workflow with the answers that its client got.
func (d *deployment) audit(t *testing.T, types *engine.Registry, k *talk) {
	t.Helper()
	runs, err := d.runs(t.Context(), k.id)
	if err != nil || len(runs) == 0 {
		t.Errorf("%s: the log has %d runs, %v", k.id, len(runs), err)
		return
	}
	wrong := func(format string, args ...any) { t.Errorf("%s: %s", k.id, fmt.Sprintf(format, args...)) }
	if string(runs[0].State.RunID) != k.run {
		wrong("its start was answered with run %s; the log begins with %s", k.run, runs[0].State.RunID)
	}
	signals := 0
	for i, r := range runs {
		s := r.State
		wanted := k.status
		if i < len(runs)-1 {
			wanted = history.ContinuedAsNew
		}
		if s.Status != wanted {
			wrong("run %d is %s, want %s; it waits for activities %v, timers %v, pending %d", r.Number, s.Status, wanted, s.Activities, s.Timers, s.Pending)
		}
		if i > 0 && s.Started.ContinuedFrom != runs[i-1].State.RunID {
			wrong("run %d does not continue the one before it", r.Number)
		}
		for _, id := range k.refused {
			if s.Updates[id] != nil {
				wrong("update %s was refused, and is in the log", id)
			}
		}
		signals += count(r, history.TypeWorkflowExecutionSignaled)
		testbed.ReplayRun(t, types.Workflow(s.Started.WorkflowType), k.id, r.Log)
	}
	last := runs[len(runs)-1].State
	for _, id := range k.accepted {
		if u := last.Updates[id]; u == nil || u.Completed == nil {
			wrong("update %s was answered, and the log has %+v", id, u)
		}
	}
	if len(last.Updates) != len(k.accepted) || signals != k.signals {
		wrong("the log has %d updates and %d signals; the client got answers for %d and %d", len(last.Updates), signals, len(k.accepted), k.signals)
	}
}

func count(r *engine.Run, typ history.Type) (n int) {
	for _, c := range r.Log {
		for _, e := range c.InputEvents {
			if e.Type() == typ {
				n++
			}
		}
	}
	return n
}
