package testbed

import (
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Leg is a job on a task queue.
type Leg struct {
	Job
	Queue string `json:"queue,omitempty"`
	// Times is the largest number of attempts; 0 means no limit.
	Times int `json:"times,omitempty"`
	// Start is how long the job may wait for its first attempt, as "1m"; empty means for ever.
	Start string `json:"start,omitempty"`
	// Close is how long all attempts together may take, as "1m"; empty means for ever.
	Close string `json:"close,omitempty"`
}

// Courier does jobs one after the other, each on its task queue, and in one process if that is
// possible.
var Courier = workflow.NewWorkflow[[]Leg, []string]("courier")

func courier(ctx workflow.Context, legs []Leg) (done []string, err error) {
	for _, leg := range legs {
		o := activity.Options{StartToClose: 2 * time.Hour, Inline: true, TaskQueue: leg.Queue, Retry: activity.Retry{MaxAttempts: leg.Times, NonRetryable: []*activity.Error{ErrBroken}}}
		o.ScheduleToStart, _ = time.ParseDuration(leg.Start)
		o.ScheduleToClose, _ = time.ParseDuration(leg.Close)
		text, err := Work.With(o).Run(ctx, leg.Job)
		if err != nil {
			text = err.Error()
		}
		done = append(done, text)
	}
	return done, nil
}
