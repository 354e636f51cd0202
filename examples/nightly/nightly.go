// Package nightly shows runs that follow each other automatically: a report that runs each night,
// continues where the last one ended, and is retried when it fails. Nothing runs in between. Look
// at Options, which say all that, and at what Run reads of the earlier runs.
package nightly

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow reports what is new since the last report.
var (
	Workflow = workflow.NewWorkflow[workflow.None, Report]("nightly")
	Last     = workflow.NewQuery[workflow.None, Report]("nightly.last")
	Count    = activity.New("nightly.count", count, activity.Options{Retry: activity.Retry{MaxAttempts: 1}})

	ErrNoData = workflow.NewError("noData", "the day's figures are not there yet")
)

// Figures is a request for the figures since the last report.
type Figures struct {
	Since time.Time `json:"since"`
	// Asked is the number of attempts this night.
	Asked int `json:"asked"`
}

// Report is the result of a night's run.
type Report struct {
	Until   time.Time `json:"until"`
	Total   int       `json:"total"`
	Attempt int       `json:"attempt"`
}

// Options run the report at half past two in the night, with up to four retries at intervals of
// half an hour. All runs end after a year.
func Options() client.StartOptions {
	return client.StartOptions{
		Cron:             "CRON_TZ=Europe/Berlin 30 2 * * *",
		Retry:            &client.Retry{InitialInterval: 30 * time.Minute, BackoffCoefficient: 1, MaxAttempts: 5},
		ExecutionTimeout: 365 * 24 * time.Hour,
	}
}

// Run reports one night.
func Run(ctx workflow.Context, _ workflow.None) (Report, error) {
	last, _ := workflow.LastResult[Report](ctx)                                // the first night has none, and then everything is new
	Last.Handle(ctx, func(workflow.None) (Report, error) { return last, nil }) // the run that waits for the night answers
	attempt := workflow.InfoOf(ctx).Attempt
	n, err := Count.Run(ctx, Figures{Since: last.Until, Asked: attempt})
	if err != nil {
		return Report{}, err // this run has failed, and another one follows in half an hour
	}
	return Report{Until: workflow.Now(ctx), Total: last.Total + n, Attempt: attempt}, nil
}

// count simulates a query of the day's figures. After a Saturday the figures are an hour late.
func count(_ context.Context, f Figures) (int, error) {
	if f.Since.Weekday() == time.Saturday && f.Asked < 3 {
		return 0, ErrNoData
	}
	return 10, nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Last)), Count}
}
