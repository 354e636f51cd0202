package executor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// A result from the dead letters goes through the timer queue, however short the timers are that
// the store keeps. It may be too large for an item of the store. Only workflow and activity
// functions may send to the workflow queue.
func TestResultsFromDeadLettersTakeTheTimerQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{LongTimer: time.Minute})
		result := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5})
		m := &engine.Message{Kind: engine.TakeResult, WorkflowID: "w", RunID: history.NewRunID(1, [8]byte{}), EventID: 5, Attempt: 1, Result: &result}
		if err := p.Service.Service.Deliveries.HandleDead(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if timers, workflow := d.Queue.Len(queue.Timers), d.Queue.Len(queue.Workflow); timers != 1 || workflow != 0 {
			t.Errorf("%d messages are on the timer queue and %d on the workflow queue", timers, workflow)
		}
		if kept, err := d.Store.DueTimers(t.Context(), time.Now().Add(time.Hour), 1); len(kept) > 0 || err != nil {
			t.Errorf("the store keeps %v, %v", kept, err)
		}
	})
}
