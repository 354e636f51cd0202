package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// resultCommand waits for the result of a run.
type resultCommand struct {
	oneRun     `embed:""`
	cli.Remote `embed:"" set:"timeout=0s"`
	cli.Output `embed:""`
}

// Run waits until the run has closed, and prints its result. It follows the run to those that
// continue it.
func (c resultCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the result of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		return printResult(ctx, s, api, c.Output, c.WorkflowID, c.RunID)
	})
}

// printResult waits for the result of a run, and prints it. The failure of the run is an error.
func printResult(ctx context.Context, s *cli.Session, api *client.Client, o cli.Output, id, runID string) error {
	cli.Waiting(ctx, "the result of %s", id)
	explainWait(ctx, api, id, runID)
	result, err := api.Result(ctx, id, runID)
	switch {
	case err != nil && cli.CodeOf(err) == cli.Failed:
		return cli.Errorf(cli.Failed, "%s did not complete: %w", id, err)
	case err != nil:
		return err
	}
	return o.Payload(s, result)
}

// explainWait lets a time-out say what the run waits for.
func explainWait(ctx context.Context, api *client.Client, id, runID string) {
	cli.OnTimeout(ctx, func(ctx context.Context) string {
		d, err := api.Describe(ctx, id, runID)
		if err != nil || d.Status.Closed() {
			return ""
		}
		return "it is " + stateText(d)
	})
}

// stateText says in a few words what an open run waits for.
func stateText(d *client.Description) string {
	if stuck := d.StuckTask; stuck != nil {
		return "stuck: its workflow task has failed " + times(stuck.Failures) + ": " + failureText(stuck.Failure.Err())
	}
	var waits []string
	for _, a := range d.PendingActivities {
		text := "activity " + a.Type
		if a.LastFailure != nil {
			text += fmt.Sprintf(" (attempt %d, after: %s)", a.Attempt, failureText(a.LastFailure.Err()))
		}
		waits = append(waits, text)
	}
	for _, t := range d.PendingTimers {
		waits = append(waits, "a timer at "+moment(t.FireAt))
	}
	for _, c := range d.PendingChildren {
		waits = append(waits, "child "+c.WorkflowID)
	}
	const most = 3
	switch n := len(waits); {
	case n == 0:
		return "running, with no pending activity, timer or child"
	case n > most:
		waits = append(waits[:most], fmt.Sprintf("%d others", n-most))
	}
	return "running, with pending " + strings.Join(waits, ", ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// maxFailureText bounds the text of a failure within a line, in bytes.
const maxFailureText = 200

// failureText returns the text of a failure for a line; empty for none.
func failureText(err error) string {
	if err == nil {
		return ""
	}
	text := cli.Clean(err.Error())
	if len(text) > maxFailureText {
		text = strings.ToValidUTF8(text[:maxFailureText], "") + "…"
	}
	return text
}
