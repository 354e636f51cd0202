// Package heartbeats shows an activity that takes long. It records its progress from time to time,
// and the next attempt continues from there. A heartbeat also tells it when the workflow no longer
// waits for it. Look at copyRows.
package heartbeats

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow copies a table.
var Workflow = workflow.NewWorkflow[Table, Report]("heartbeats")

// Copy copies the rows. An attempt that is silent for a minute times out, and the next one begins.
var Copy = activity.New("heartbeats.copy", copyRows, activity.Options{
	StartToClose: 10 * time.Minute,
	Heartbeat:    time.Minute,
	Retry:        activity.Retry{InitialInterval: time.Second, MaxAttempts: 5},
})

// Table is what to copy.
type Table struct {
	Rows int `json:"rows"`
	// LostAt are the rows at which the connection is lost, one for each attempt.
	LostAt []int `json:"lostAt,omitempty"`
}

// Report is the outcome of a copy.
type Report struct {
	// Rows is how many rows the successful attempt copied. From is the row at which it began.
	Rows int `json:"rows"`
	From int `json:"from"`
	// Attempts is the number of attempts.
	Attempts int `json:"attempts"`
}

// Run copies the table.
func Run(ctx workflow.Context, table Table) (Report, error) { return Copy.Run(ctx, table) }

// perRow is how long copying a row takes.
const perRow = time.Second

// errLost is the error of a copy that loses its connection.
var errLost = errors.New("the connection was lost")

// copyRows begins after the last heartbeat of the earlier attempt. It records its progress after
// each row. Most of that costs nothing, because heartbeats are recorded only from time to time. The
// last one before a failure is kept with the failure.
func copyRows(ctx context.Context, table Table) (Report, error) {
	from, _ := activity.HeartbeatDetails[int](ctx)
	attempt := activity.InfoOf(ctx).Attempt
	for row := from; row < table.Rows; row++ {
		if attempt <= len(table.LostAt) && row >= table.LostAt[attempt-1] {
			return Report{}, errLost
		}
		select {
		case <-time.After(perRow): // the work
		case <-ctx.Done():
			return Report{}, context.Cause(ctx)
		}
		if err := activity.Heartbeat(ctx, row+1); err != nil {
			return Report{}, err // canceled, or the time has passed: the progress so far is recorded
		}
	}
	return Report{Rows: table.Rows - from, From: from, Attempts: attempt}, nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Copy}
}
