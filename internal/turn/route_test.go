package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/queue"
)

// A result that comes back from the dead letters takes the timer queue, also when its moment has passed before a sweep finds
// it: only activity and dead-letter functions have the right to send to the workflow queue.
func TestResultsFromDeadLettersTakeTheTimerQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := turntest.New(t)
		p := d.Idle(turn.Options{LongTimer: time.Minute})
		result := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5})
		m := &engine.Message{Kind: engine.TakeResult, WorkflowID: "w", RunID: history.NewRunID(1, [8]byte{}), EventID: 5, Attempt: 1, Result: &result}
		if err := p.Service.HandleDead(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		sent, err := p.Service.Sweep(t.Context())
		if sent != 1 || err != nil || d.Queue.Len(queue.Timers) != 1 || d.Queue.Len(queue.Workflow) != 0 {
			t.Errorf("swept %d, %v; %d are on the timer queue and %d on the workflow queue",
				sent, err, d.Queue.Len(queue.Timers), d.Queue.Len(queue.Workflow))
		}
	})
}
