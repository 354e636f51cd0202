package main

import (
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// stateCell returns the state of an open run in its colour; empty if it has closed.
func stateCell(state client.RunState) cli.Cell {
	style := map[client.RunState]cli.Style{client.StateStuck: cli.Bad, client.StateRetrying: cli.Warn, client.StateRunnable: cli.Info}[state]
	return cli.Cell{Text: string(state), Style: style}
}

// childCell returns the status of a child, if it was read.
func childCell(c client.PendingChild) cli.Cell {
	switch {
	case c.State != "":
		return stateCell(c.State)
	case c.Status != nil:
		return statusCell(c.Status.String())
	}
	return cli.Cell{}
}

// pageWaits adds where the code waits, or why that is not known.
func pageWaits(page *cli.Page, waits *client.Waits, problem string) {
	if problem != "" {
		page.Styled("waits", cli.Cell{Text: "not known: " + problem, Style: cli.Warn})
		return
	}
	if waits == nil {
		return
	}
	if waits.Stopped != nil {
		page.Styled("replay", cli.Cell{Text: fmt.Sprintf("stopped after event %d: %s", waits.AtEventID, failureText(waits.Stopped.Err())), Style: cli.Bad})
	}
	var rows [][]cli.Cell
	for _, c := range waits.Coroutines {
		rows = append(rows, []cli.Cell{{Text: coroutineText(c), Style: cli.Bold}, {Text: placeText(c)}, {Text: c.Call, Style: cli.Dim}, {Text: waitsForText(c)}})
	}
	if waits.More > 0 {
		rows = append(rows, []cli.Cell{{Text: fmt.Sprintf("and %d others", waits.More), Style: cli.Dim}, {}, {}, {}})
	}
	page.Field("handles", handlersText(waits))
	title := "Where the code waits"
	if waits.BeforeTask {
		title = "Where the code waited before the task that has not succeeded"
	}
	page.Table(title, []cli.Column{{Name: "COROUTINE", Least: 8}, {Name: "AT", Least: 12}, {Name: "IN"}, {Name: "FOR", Least: 16}}, rows)
}

// handlersText lists the updates, queries and signals that the code takes; empty for none.
func handlersText(waits *client.Waits) string {
	var all []string
	for _, of := range []struct {
		what  string
		names []string
	}{{"updates", waits.UpdateHandlers}, {"queries", waits.QueryHandlers}, {"signals", waits.Signals}} {
		if len(of.names) > 0 {
			all = append(all, of.what+" "+strings.Join(of.names, ", "))
		}
	}
	return strings.Join(all, "; ")
}

// coroutineText returns the name of a coroutine, with the update that it belongs to, and how many
// there are.
func coroutineText(c client.Coroutine) string {
	text := c.Name
	if c.UpdateID != "" {
		text += " " + c.UpdateID
	}
	if c.Count > 1 {
		text += fmt.Sprintf(" (%d times)", c.Count)
	}
	return text
}

// placeText returns the innermost place of the author's code.
func placeText(c client.Coroutine) string {
	if len(c.At) == 0 {
		return ""
	}
	return c.At[0].Place
}

// waitsForText lists what a coroutine waits for.
func waitsForText(c client.Coroutine) string {
	var all []string
	for _, w := range c.WaitsFor {
		all = append(all, waitText(w))
	}
	if c.More > 0 {
		all = append(all, fmt.Sprintf("%d others", c.More))
	}
	return strings.Join(all, " | ")
}

// waitText says what code waits for.
func waitText(w client.WaitsFor) string {
	words := []string{w.Kind}
	if w.Kind == string(engine.WaitSignal) && w.Name == "" {
		words[0] = "signals of all names"
	}
	add := func(text string) {
		if text != "" {
			words = append(words, text)
		}
	}
	add(w.Name)
	add(w.Type)
	add(w.WorkflowID)
	if w.EventID > 0 {
		add(fmt.Sprintf("(event %d)", w.EventID))
	}
	if w.FireAt != nil {
		add("due " + moment(*w.FireAt))
	}
	if w.Attempt > 1 {
		add(fmt.Sprintf("attempt %d", w.Attempt))
	}
	if w.LastFailure != nil {
		add("after: " + failureText(w.LastFailure.Err()))
	}
	if w.NextAttemptAt != nil {
		add("next " + moment(*w.NextAttemptAt))
	}
	if w.Held != "" {
		add("held: " + w.Held)
	}
	if w.Unread > 0 {
		add(fmt.Sprintf("%d unread", w.Unread))
	}
	for _, u := range w.Updates {
		add(u.Name + " " + u.UpdateID)
	}
	return strings.Join(words, " ")
}
