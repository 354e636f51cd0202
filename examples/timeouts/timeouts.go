// Package timeouts shows the two time limits of an activity: how long one attempt may take, and how
// long all attempts together may take. Look at the options of Scan and Fetch, and at how Run finds
// out which limit passed.
package timeouts

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow scans a document and fetches its translation.
var Workflow = workflow.NewWorkflow[Document, Report]("timeouts")

var (
	// Scan has a minute for each attempt. An attempt that takes longer times out, and is retried.
	Scan = activity.New("timeouts.scan", work, activity.Options{
		StartToClose: time.Minute,
		Retry:        activity.Retry{MaxAttempts: 2},
	})
	// Fetch has 15 minutes for everything: attempts, and the waits between them.
	Fetch = activity.New("timeouts.fetch", work, activity.Options{
		StartToClose:    10 * time.Minute,
		ScheduleToClose: 15 * time.Minute,
	})
)

// Document says how long the work on it takes.
type Document struct {
	Scan  time.Duration `json:"scan"`
	Fetch time.Duration `json:"fetch"`
}

// Report is the outcome of the work: "done", or the limit that passed.
type Report struct {
	Scan  string `json:"scan"`
	Fetch string `json:"fetch"`
}

// Run does both. A time-out is an error like any other, which names the limit that passed.
func Run(ctx workflow.Context, d Document) (r Report, err error) {
	if r.Scan, err = outcome(Scan.Run(ctx, d.Scan)); err != nil {
		return Report{}, err
	}
	r.Fetch, err = outcome(Fetch.Run(ctx, d.Fetch))
	return r, err
}

func outcome(_ activity.None, err error) (string, error) {
	var passed *workflow.TimeoutError
	switch {
	case err == nil:
		return "done", nil
	case errors.As(err, &passed):
		return passed.Limit, nil
	}
	return "", err
}

// work takes this long, unless its context ends when the time limit has passed.
func work(ctx context.Context, d time.Duration) (activity.None, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return activity.None{}, nil
	case <-ctx.Done():
		return activity.None{}, ctx.Err()
	}
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Scan, Fetch}
}
