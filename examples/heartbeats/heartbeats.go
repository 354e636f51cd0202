// Package heartbeats shows an activity that takes long. It records its progress now and then, the
// next attempt continues from there, and it learns that the workflow no longer waits for it. Look
// at copyRows.
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
	// LostAt are the rows at which the connection is lost, attempt by attempt.
	LostAt []int `json:"lostAt,omitempty"`
}

// Report says how a copy went.
type Report struct {
	// Rows were copied by the attempt that finished, and From is where it began.
	Rows int `json:"rows"`
	From int `json:"from"`
	// Attempts is how many there were.
	Attempts int `json:"attempts"`
}

// Run copies the table.
func Run(ctx workflow.Context, table Table) (Report, error) { return Copy.Run(ctx, table) }

// perRow is how long a row takes.
const perRow = time.Second

// errLost is what a copy without a connection fails with.
var errLost = errors.New("the connection was lost")

// copyRows begins after the last heartbeat of the attempt before it. It records its progress after
// each row: most of that costs nothing, because heartbeats are recorded only now and then. The last
// one before a failure is kept with the failure.
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
			return Report{}, err // canceled, or out of time: the progress so far is recorded
		}
	}
	return Report{Rows: table.Rows - from, From: from, Attempts: attempt}, nil
}

// Registrations is all that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Copy}
}
