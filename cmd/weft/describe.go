package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// describeCommand describes a run.
type describeCommand struct {
	oneRun     `embed:""`
	Waits      bool `default:"true" negatable:"" help:"Say where the code waits, too: the deployment replays the run for it."`
	Children   int  `default:"10" placeholder:"N" help:"Read the state of this many pending children, at a read each."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run prints the description: a page for people, or JSON.
func (c describeCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the description of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		o := client.DescribeOptions{Children: c.Children}
		d, err := api.Describe(ctx, c.WorkflowID, c.RunID, o)
		if err != nil {
			return err
		}
		value := described{Description: d}
		if c.Waits && !c.Quiet && !d.Status.Closed() {
			value.Waits, err = api.Waits(ctx, d.WorkflowID, string(d.RunID), o)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			value.WaitsProblem = failureText(err)
		}
		if !c.Quiet {
			value.aside = valuesSetAside(ctx, api, d)
		}
		if d.Status == history.Failed && !c.Quiet && d.NewRunID == "" {
			if _, err := api.Result(ctx, d.WorkflowID, string(d.RunID)); cli.CodeOf(err) == cli.Failed {
				value.Failure = err.Error()
			}
		}
		if d.Status.Closed() && d.NewRunID == "" && c.RunID != "" && !c.Quiet { // without --run it is the latest
			value.successor = successorOf(ctx, api, d)
		}
		return c.One(s, d.WorkflowID, value, func() error {
			page := describePage(s, value)
			page.Styled("failure", cli.Cell{Text: failureText(errors.New(value.Failure)), Style: cli.Bad})
			pageWaits(page, value.Waits, value.WaitsProblem)
			return page.Print()
		})
	})
}

// described is a description with where the code waits, if that is known.
type described struct {
	*client.Description
	Waits *client.Waits `json:"waits,omitempty"`
	// WaitsProblem says why it is not known.
	WaitsProblem string `json:"waitsProblem,omitempty"`
	// Failure is the text of the failure with which the run ended.
	Failure string `json:"failure,omitempty"`
	successor
	// aside are the values of the signals that were set aside, by their events.
	aside map[int64]history.Payload
}

// valuesSetAside returns the values of the signals that a run has set aside, by their events: those
// that one page of the history has. It returns nil if there are none, or if they cannot be read.
func valuesSetAside(ctx context.Context, api *client.Client, d *client.Description) map[int64]history.Payload {
	var all []int64
	for _, u := range d.UnreadSignals {
		all = append(all, u.SetAsideEvents...)
	}
	if len(all) == 0 {
		return nil
	}
	page, err := api.WaitHistory(ctx, d.WorkflowID, string(d.RunID), slices.Min(all))
	if err != nil {
		return nil
	}
	values := map[int64]history.Payload{}
	for _, e := range page.Events {
		if a, ok := e.Attributes.(*history.WorkflowExecutionSignaled); ok && slices.Contains(all, e.ID) {
			values[e.ID] = a.Input
		}
	}
	return values
}

// asideText lists signals of a name that were set aside, with their values as far as they are
// known.
func asideText(u client.UnreadSignal, values map[int64]history.Payload) string {
	all := make([]string, len(u.SetAsideEvents))
	for i, id := range u.SetAsideEvents {
		all[i] = "event " + itoa(id)
		if value, known := values[id]; known {
			all[i] += ": " + string(value)
		}
	}
	return strings.Join(all, ", ")
}

// Help returns the rest of the help.
func (describeCommand) Help() string {
	return "With --run, it also names the run that a closed one was reset to, if that is among the latest 20. That costs two reads for each of those; weft runs lists all of them."
}

// describePage returns the page about a run.
func describePage(s *cli.Session, all described) *cli.Page {
	d := all.Description
	page := cli.NewPage(s)
	page.Styled("workflow", cli.Cell{Text: d.WorkflowID, Style: cli.Bold})
	page.Field("run", string(d.RunID))
	page.Field("type", d.Type)
	page.Styled("status", statusCell(d.Status.String()))
	page.Styled("state", stateCell(d.State))
	page.Field("reason", d.CloseReason)
	page.Field("started", moment(d.StartedAt))
	page.Field("closed", momentOf(d.ClosedAt))
	page.Field("build", d.Build)
	if d.Parent != nil {
		page.Field("parent", fmt.Sprintf("%s, run %s", d.Parent.WorkflowID, d.Parent.RunID))
	}
	page.Field("first run", string(d.FirstRunID))
	page.Field("continues", string(d.ContinuedFromRunID))
	if d.CloseReason == "reset" {
		page.Field("reset to", string(d.NewRunID))
	} else {
		page.Field("continued by", string(d.NewRunID))
	}
	page.Field("reset to", string(all.ResetToRunID))
	page.Field("replaced by", string(all.ReplacedByRunID))
	page.Field("reset from", string(d.ResetFromRunID))
	page.Field("attempt", numberUnlessZero(d.Attempt))
	page.Field("cron", d.CronSchedule)
	page.Field("history", fmt.Sprintf("%d events, %s", d.HistoryLength, sizeText(d.HistoryBytes)))
	page.Field("cost", costText(d.Cost))
	if d.Paused != nil {
		page.Styled("paused", cli.Cell{Text: "since " + moment(d.Paused.Since) + reasonText(d.Paused.Reason), Style: cli.Warn})
	}
	if d.CancelRequested {
		page.Styled("cancellation", cli.Cell{Text: "requested", Style: cli.Warn})
	}
	page.Field("memo", memoText(d.Memo))
	page.Field("attributes", attributesText(d.SearchAttributes))
	pageStuck(page, d.StuckTask)
	pageActivities(page, d.PendingActivities)
	pageOthers(page, all)
	pageNotifications(page, d.Notifications)
	return page
}

// reasonText returns a reason behind what it explains; empty for none.
func reasonText(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// stuckText says what a stuck run does.
func stuckText(stuck *client.StuckTask) string {
	if stuck.Speculative {
		return "it refuses updates, because its code fails"
	}
	return "its workflow task has failed " + times(stuck.Failures)
}

// pageStuck adds the task that fails.
func pageStuck(page *cli.Page, stuck *client.StuckTask) {
	if stuck == nil {
		return
	}
	page.Styled("stuck", cli.Cell{Text: "since " + moment(stuck.Since) + ": " + stuckText(stuck), Style: cli.Bad})
	first := stuck.Failure
	if stuck.FirstFailure != nil {
		first = stuck.FirstFailure
		page.Field("at first", failureText(first.Err()))
	}
	page.Field("now", failureText(stuck.Failure.Err()))
	page.Field("at", stuck.Place)
	page.Field("of update", stuck.UpdateID)
	page.Field("next try", momentOf(stuck.NextAttemptAt))
	if first != nil {
		page.Text("Stack", first.Stack)
	}
}

func pageActivities(page *cli.Page, pending []client.PendingActivity) {
	var rows [][]cli.Cell
	for _, a := range pending {
		failed := ""
		if a.LastFailure != nil {
			failed = failureText(a.LastFailure.Err())
		}
		rows = append(rows, []cli.Cell{
			{Text: itoa(a.EventID)}, {Text: a.Type, Style: cli.Bold}, {Text: itoa(int64(a.Attempt))}, {Text: nextText(a)}, {Text: failed, Style: cli.Bad},
		})
	}
	page.Table("Pending activities", []cli.Column{{Name: "EVENT", Right: true}, {Name: "TYPE", Least: 8}, {Name: "ATTEMPT", Right: true}, {Name: "NEXT", Least: 20}, {Name: "LAST FAILURE", Least: 12}}, rows)
}

// nextText says what happens to an activity next.
func nextText(a client.PendingActivity) string {
	switch {
	case a.CancelRequested:
		return "cancellation requested"
	case a.Held != "":
		return "held: " + a.Held
	case a.PendingUntil != nil:
		return "goes on outside until " + moment(*a.PendingUntil)
	case a.NextAttemptAt != nil:
		return moment(*a.NextAttemptAt)
	}
	return ""
}

// notificationCell says where a notification stands.
func notificationCell(n client.DescribedNotification) cli.Cell {
	switch n.State {
	case client.NotificationPassedOn:
		return cli.Cell{Text: "passed on"}
	case client.NotificationDelivered:
		return cli.Cell{Text: string(n.State), Style: cli.Good}
	case client.NotificationFailed:
		return cli.Cell{Text: string(n.State), Style: cli.Bad}
	case client.NotificationPending, client.NotificationDelivering:
	}
	return cli.Cell{Text: string(n.State)}
}

// pageNotifications adds who is notified of the end.
func pageNotifications(page *cli.Page, all []client.DescribedNotification) {
	var rows [][]cli.Cell
	for _, n := range all {
		to := n.Origin
		if n.EventBridge {
			to = "event bus"
		}
		rows = append(rows, []cli.Cell{{Text: itoa(n.EventID)}, {Text: to, Style: cli.Bold}, notificationCell(n), {Text: n.WorkflowID}})
	}
	page.Table("Notifications of the end", []cli.Column{{Name: "EVENT", Right: true}, {Name: "TO", Least: 12}, {Name: "STATE"}, {Name: "DELIVERED BY", Least: 12}}, rows)
}

// pageOthers adds timers, children, updates and signals.
func pageOthers(page *cli.Page, all described) {
	d := all.Description
	var timers, children, updates, signals, aside [][]cli.Cell
	for _, t := range d.PendingTimers {
		timers = append(timers, []cli.Cell{{Text: itoa(t.EventID)}, {Text: moment(t.FireAt)}})
	}
	for _, c := range d.PendingChildren {
		children = append(children, []cli.Cell{{Text: itoa(c.EventID)}, {Text: c.Type, Style: cli.Bold}, {Text: c.WorkflowID}, childCell(c), {Text: moment(c.InitiatedAt)}})
	}
	for _, u := range d.UpdatesInFlight {
		updates = append(updates, []cli.Cell{{Text: itoa(u.AcceptedEventID)}, {Text: u.Name, Style: cli.Bold}, {Text: u.UpdateID}})
	}
	for _, u := range d.UnreadSignals {
		if u.Count > 0 {
			signals = append(signals, []cli.Cell{{Text: u.Name, Style: cli.Bold}, {Text: itoa(int64(u.Count))}, {Text: momentOf(u.Since)}})
		}
		if u.SetAside > 0 {
			aside = append(aside, []cli.Cell{{Text: u.Name, Style: cli.Bold}, {Text: itoa(int64(u.SetAside))}, {Text: asideText(u, all.aside)}})
		}
	}
	event := cli.Column{Name: "EVENT", Right: true}
	page.Table("Pending timers", []cli.Column{event, {Name: "DUE"}}, timers)
	page.Table("Pending children", []cli.Column{event, {Name: "TYPE", Least: 8}, {Name: "WORKFLOW", Least: 12}, {Name: "STATUS"}, {Name: "SINCE"}}, children)
	page.Table("Updates in flight", []cli.Column{event, {Name: "NAME", Least: 8}, {Name: "UPDATE"}}, updates)
	page.Table("Signals that the code has not received", []cli.Column{{Name: "NAME", Least: 8}, {Name: "COUNT", Right: true}, {Name: "SINCE"}}, signals)
	page.Table("Signals that were set aside: the code cannot read their values (weft signal sends a corrected one)", []cli.Column{{Name: "NAME", Least: 8}, {Name: "COUNT", Right: true}, {Name: "VALUES", Least: 20}}, aside)
}

// memoText returns a memo for people, as "note=\"a present\"".
func memoText(memo client.Memo) string {
	all := make([]string, len(memo))
	for i, field := range memo {
		all[i] = field.Name + "=" + string(field.Value)
	}
	return strings.Join(all, ", ")
}

// sizeText returns a number of bytes in a unit of at most four digits.
func sizeText(n int64) string {
	const unit, most = 1024, 10_000
	switch {
	case n < most:
		return fmt.Sprintf("%d bytes", n)
	case n < most*unit:
		return fmt.Sprintf("%d KiB", n/unit)
	}
	return fmt.Sprintf("%d MiB", n/(unit*unit))
}

// watchCommand prints the events of a run as they come.
type watchCommand struct {
	oneRun     `embed:""`
	From       int64 `default:"1" placeholder:"EVENT" help:"The first event to print."`
	cli.Remote `embed:"" set:"timeout=0s"`
	cli.Output `embed:""`
}

// Run prints the events until the run has closed, and follows it to those that continue it. A run
// that did not complete is an error, as for weft result.
func (c watchCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "events of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		explainWait(ctx, api, c.WorkflowID, c.RunID)
		if err := eventsOn(s).Print(s, c.Output, c.pages(ctx, api)); err != nil {
			return err
		}
		_, err := api.Result(ctx, c.WorkflowID, c.RunID)
		if cli.CodeOf(err) == cli.Failed {
			return cli.Errorf(cli.Failed, "%s: %w", typed(c.WorkflowID+" did not complete", err), err)
		}
		return err
	})
}

// pages returns the events as they come.
func (c *watchCommand) pages(ctx context.Context, api *client.Client) func(yield func([]client.HistoryEvent, error) bool) {
	return func(yield func([]client.HistoryEvent, error) bool) {
		for next := c.From; ; {
			page, err := api.WaitHistory(ctx, c.WorkflowID, c.RunID, next)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page.Events) > 0 && !yield(page.Events, nil) {
				return
			}
			c.RunID, next = string(page.RunID), page.Next
			switch {
			case page.Closed && page.NewRunID != "":
				c.RunID, next = string(page.NewRunID), 1
			case page.Closed:
				return
			}
		}
	}
}
