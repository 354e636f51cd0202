package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// entries is the topic on which the activities of ledgers publish.
var entries = workflow.NewTopic[string]("entries")

// itemAck is a batch whose commit was acknowledged to an attempt.
type itemAck struct {
	workflow, run string
	event         int64
	// text is the item of the batch, and execution that of the code that has published it.
	text, execution string
}

// publish may publish batches of items, and then takes some time.
func (s *simulation) publish(ctx context.Context, info activity.Info, e *execution) error {
	r := s.stream("items of activities")
	if s.calm || !r.oneIn(6) {
		return nil
	}
	s.executions++
	execution := fmt.Sprint("execution ", s.executions)
	e.name, s.audit.ends.named[execution] = execution, e
	for i := range 1 + r.IntN(3) {
		text := fmt.Sprint(execution, " batch ", i)
		if err := activity.Publish(ctx, entries, text); err != nil {
			return err
		}
		s.audit.published = append(s.audit.published, itemAck{info.WorkflowID, info.RunID, info.EventID, text, execution})
		s.count("a batch of items is acknowledged")
	}
	s.pause(wait{until: s.now.Add(time.Duration(s.stream("time after items").IntN(2000)) * time.Millisecond)})
	return nil
}

// collect may collect an item in an execution that has published, right before it returns.
func (s *simulation) collect(ctx context.Context, e *execution) error {
	if s.calm || e.name == "" || !s.stream("last items").oneIn(2) {
		return nil
	}
	e.last = e.name + " batch 9"
	return activity.Publisher(ctx, entries).Add(e.last)
}

// checkItemBatch demands that everything that was pending before a batch of items is still
// pending. The fold has checked that its offsets are dense, and that batches of two executions
// do not interleave.
func (a *audit) checkItemBatch(at store.Key, c *history.Commit, before, after *engine.State) {
	if !c.Publishes() {
		return
	}
	same := before.Pending == after.Pending && before.LastTask == after.LastTask && before.Status == after.Status && before.Paused == after.Paused && before.Streak == after.Streak
	if !same || len(c.CausationIDs) > 0 {
		a.s.fail("%s: a batch of items changes what is pending: %d, and was %d", at, after.Pending, before.Pending)
	}
}

// checkItems demands that each acknowledged batch is in the log of its run once, and that the
// batches of an execution are there in order.
func (a *audit) checkItems() {
	for _, runs := range a.runs {
		for _, run := range runs {
			a.checkExecutions(run)
		}
	}
	last := map[string]int64{}
	for _, ack := range a.published {
		var at []int64
		known := false
		for _, run := range a.runs[ack.workflow] {
			if string(run.State.RunID) != ack.run {
				continue
			}
			known = true
			for _, c := range run.Log {
				for _, e := range c.InputEvents {
					b, ok := e.Attributes.(*history.ActivityItemsPublished)
					if ok && b.ScheduledEventID == ack.event && slices.Equal(b.Items, history.Payload(fmt.Sprintf("[%q]", ack.text))) {
						at = append(at, b.Offset)
					}
				}
			}
		}
		switch before, follows := last[ack.execution]; {
		case !known: // its run is gone
		case len(at) != 1:
			a.s.fail("the batch %q of %s was acknowledged, and is in the log %d times", ack.text, ack.run, len(at))
		case follows && at[0] <= before:
			a.s.fail("the batch %q of %s is at offset %d, and the one before at %d", ack.text, ack.run, at[0], before)
		default:
			last[ack.execution] = at[0]
		}
	}
}

// checkExecutions demands that the batches of an activity are those of one execution after the
// other, each from its first batch on without gaps, and that no earlier attempt follows a later
// one.
func (a *audit) checkExecutions(run *engine.Run) {
	type last struct {
		execution      string
		attempt, batch int
	}
	of, over := map[int64]last{}, map[string]bool{}
	for _, c := range run.Log {
		if c.FromReset() {
			return // another run's executions come before
		}
		for _, e := range c.InputEvents {
			b, ok := e.Attributes.(*history.ActivityItemsPublished)
			if !ok {
				continue
			}
			before := of[b.ScheduledEventID]
			if before.execution != b.Execution {
				if over[b.Execution] || b.Batch != 1 || b.Attempt < before.attempt {
					a.s.fail("batch %d of execution %s of attempt %d follows batches of %s of attempt %d", b.Batch, b.Execution, b.Attempt, before.execution, before.attempt)
				}
				over[before.execution] = true
			} else if b.Batch != before.batch+1 {
				a.s.fail("batch %d of execution %s follows batch %d", b.Batch, b.Execution, before.batch)
			}
			of[b.ScheduledEventID] = last{b.Execution, b.Attempt, b.Batch}
		}
	}
}
