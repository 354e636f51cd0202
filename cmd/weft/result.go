package main

import (
	"context"
	"fmt"
	"slices"
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
		return cli.Errorf(cli.Failed, "%s: %w", typed(id+" did not complete", err), unhappy(s, o, outcome{WorkflowID: id, RunID: runID}, err))
	case err != nil:
		return unhappy(s, o, outcome{}, err)
	}
	return o.Payload(s, result)
}

// explainWait lets a time-out say what the run waits for.
func explainWait(ctx context.Context, api *client.Client, id, runID string) {
	onTimeout(ctx, api, id, runID, func(d *client.Description, waits *client.Waits, problem error) string {
		return "it is " + stateText(d, waits, problem)
	})
}

// onTimeout lets a time-out say what text returns of a run that is open: of its description, and of
// what its code waits for, or why that is not known.
func onTimeout(ctx context.Context, api *client.Client, id, runID string, text func(*client.Description, *client.Waits, error) string) {
	cli.OnTimeout(ctx, func(ctx context.Context) string {
		type answer struct {
			waits *client.Waits
			err   error
		}
		asked := make(chan answer, 1)
		go func() { // both within the time that there is
			waits, err := api.Waits(ctx, id, runID)
			asked <- answer{waits, err}
		}()
		d, err := api.Describe(ctx, id, runID)
		if err != nil || d.Status.Closed() {
			return ""
		}
		select {
		case a := <-asked:
			return text(d, a.waits, a.err)
		case <-ctx.Done():
			return text(d, nil, nil)
		}
	})
}

// stateText says in a few words what an open run waits for. waits is where its code waits, or nil,
// and problem why that is not known.
func stateText(d *client.Description, waits *client.Waits, problem error) string {
	if d.Paused != nil {
		return "paused since " + moment(d.Paused.Since) + reasonText(cli.Clean(d.Paused.Reason))
	}
	if stuck := d.StuckTask; stuck != nil && !stuck.Speculative {
		return "stuck: " + stuckText(stuck) + ": " + failureText(stuck.Failure.Err())
	}
	var pending []string
	for _, a := range d.PendingActivities {
		text := "activity " + a.Type
		if a.LastFailure != nil {
			text += fmt.Sprintf(" (attempt %d, after: %s)", a.Attempt, failureText(a.LastFailure.Err()))
		}
		pending = append(pending, text)
	}
	for _, t := range d.PendingTimers {
		pending = append(pending, "a timer at "+moment(t.FireAt))
	}
	for _, c := range d.PendingChildren {
		pending = append(pending, "child "+c.WorkflowID)
	}
	text, others := "running", othersText(waits)
	switch {
	case len(pending) > 0:
		text += ", with pending " + firstOf(pending)
	case others == "":
		text += ", with no pending activity, timer or child"
	}
	if others != "" {
		text += ", and waits for " + others
	}
	if problem != nil && len(pending) == 0 {
		text += "; where its code waits is not known: " + failureText(problem)
	}
	if stuck := d.StuckTask; stuck != nil {
		text += "; " + stuckText(stuck) + ": " + failureText(stuck.Failure.Err())
	}
	return text
}

// othersText lists what code waits for that no description has, such as signals; empty if there is
// nothing.
func othersText(waits *client.Waits) string {
	if waits == nil {
		return ""
	}
	var all []string
	for _, c := range waits.Coroutines {
		for _, w := range c.WaitsFor {
			switch w.Kind {
			case "activity", "timer", "child": // the description has them
			default:
				all = append(all, waitText(w))
			}
		}
	}
	return firstOf(all)
}

// waitsOfUpdate lists what the handler of an update waits for, and where; empty if that is not
// known.
func waitsOfUpdate(waits *client.Waits, updateID string) string {
	if waits == nil {
		return ""
	}
	var all []string
	for _, c := range waits.Coroutines {
		if c.UpdateID != updateID || len(c.WaitsFor) == 0 {
			continue
		}
		text := waitsForText(c)
		if at := placeText(c); at != "" {
			text += " at " + at
		}
		all = append(all, text)
	}
	return firstOf(all)
}

// firstOf lists the first three things, and how many others there are.
func firstOf(all []string) string {
	const most = 3
	if n := len(all); n > most {
		all = append(slices.Clone(all[:most]), fmt.Sprintf("%d others", n-most))
	}
	return strings.Join(all, ", ")
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
