package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// DescribeOptions tunes a description. The zero value is the default.
type DescribeOptions struct {
	// Children is of how many pending children the state is read, at one read each: 100 at most.
	// The default is none.
	Children int
}

// query returns the query string of a request.
func (o DescribeOptions) query(runID string) url.Values {
	q := runQuery(runID)
	if o.Children != 0 {
		q.Set("children", strconv.Itoa(o.Children))
	}
	return q
}

// RunState says, in a word, what an open run does. The first of these that holds is its state.
type RunState = schema.RunState

// The states of open runs.
const (
	// StateStuck is a run whose last workflow task failed. It is retried, and the code goes no
	// further; or it had only updates, and the code waits as before.
	StateStuck = schema.StateStuck
	// StatePaused is a run that an operator has paused.
	StatePaused = schema.StatePaused
	// StateDelayed is a run whose first task waits for its start delay, or for the next moment of
	// its cron expression.
	StateDelayed = schema.StateDelayed
	// StateRunnable is a run with a workflow task that has not run yet.
	StateRunnable = schema.StateRunnable
	// StateRetrying is a run with an activity that has failed and that is tried again.
	StateRetrying = schema.StateRetrying
	// StateWaiting is any other open run: its code waits.
	StateWaiting = schema.StateWaiting
)

// Waits is where the code of a run waits, and for what.
type Waits = schema.Waits

// What Waits lists.
type (
	// Coroutine is a coroutine that waits, or several that wait at the same place for the same
	// kinds of things.
	Coroutine = schema.Coroutine
	// Place is a place in code.
	Place = schema.Place
	// WaitsFor is one thing that code waits for.
	WaitsFor = schema.WaitsFor
)

// Waits returns where the code of the latest run waits, or of the run with runID, and for what. The
// server replays the run's history with the code of its build, and writes nothing. It costs a read,
// one more if an activity is pending or a task is retried, and one for each child whose state is
// read. A run that has closed waits for nothing. Waits returns an error that wraps ErrNotReady if
// the run's code may not run now.
func (c *Client) Waits(ctx context.Context, workflowID, runID string, sets ...DescribeOptions) (*Waits, error) {
	var answer Waits
	_, err := c.do(ctx, request{
		Request: Request{"waits", workflowID, ""}, method: http.MethodGet, path: path(workflowID, "waits"), query: options.Of(sets).query(runID), answer: &answer,
	})
	if err == nil && answer.RunID == "" {
		err = errForm("request for what a run waits for")
	}
	return &answer, err
}
