package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// The page of a description has each kind of thing that code waits for.
func TestPageWaits(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	declined := &failure.Failure{Kind: failure.KindApplication, Message: "the card was declined"}
	waits := &client.Waits{
		AtEventID: 9, More: 3, Stopped: declined,
		Coroutines: []client.Coroutine{
			{Name: "main", Count: 1, At: []client.Place{{Place: "order/order.go:41"}}, Call: "workflow.Select", More: 2, WaitsFor: []client.WaitsFor{
				{Kind: "signal", Name: "paid", Unread: 2},
				{Kind: "timer", EventID: 12, FireAt: &at},
				{Kind: "activity", EventID: 9, Type: "charge", Attempt: 4, LastFailure: declined, NextAttemptAt: &at, Held: "no queue"},
				{Kind: "child", EventID: 15, WorkflowID: "ship-7", Type: "ship"},
				{Kind: "updateHandlers", Updates: []client.UpdateInFlight{{UpdateID: "u1", Name: "add"}}},
			}},
			{Name: "update add", UpdateID: "u1", Count: 2, WaitsFor: []client.WaitsFor{{Kind: "condition"}, {Kind: "signal"}}},
		},
	}
	const want = `replay  stopped after event 9: the card was declined

Where the code waits
COROUTINE                AT                 IN               FOR
main                     order/order.go:41  workflow.Select  signal paid 2 unread | timer (event 12) due 2026-11-21T08:00:00Z | activity charge (event 9) attempt 4 after: the card was declined next 2026-11-21T08:00:00Z held: no queue | child ship ship-7 (event 15) | updateHandlers add u1 | 2 others
update add u1 (2 times)                                      condition | signals of all names
and 3 others
`
	if got := printed(t, func(p *cli.Page) { pageWaits(p, waits, "") }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := printed(t, func(p *cli.Page) { pageWaits(p, nil, "its code fails") }); got != "waits  not known: its code fails\n" {
		t.Error(got)
	}
}

// The page of a run has all that its description has.
func TestDescribePage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	completed := history.Completed
	declined := &failure.Failure{Kind: failure.KindApplication, Message: "the card was declined", Stack: "order.go:7"}
	d := &client.Description{
		WorkflowRun: client.WorkflowRun{WorkflowID: "order-7", RunID: "2-1", Type: "order", StartedAt: at, ClosedAt: &at, Build: "b7", Memo: client.Memo{}.With("note", history.Payload(`"x"`))},
		State:       client.StateStuck, CloseReason: "declined", HistoryLength: 12, HistoryBytes: 20 << 20, CancelRequested: true,
		PendingActivities: []client.PendingActivity{
			{EventID: 9, Type: "charge", Attempt: 4, LastFailure: declined, NextAttemptAt: &at},
			{EventID: 10, Type: "held", Held: "no queue"},
			{EventID: 11, Type: "outside", PendingUntil: &at},
			{EventID: 12, Type: "leaving", CancelRequested: true},
			{EventID: 13, Type: "running", Attempt: 1},
		},
		PendingTimers:   []client.PendingTimer{{EventID: 14, FireAt: at}},
		PendingChildren: []client.PendingChild{{EventID: 15, Type: "ship", WorkflowID: "ship-7", InitiatedAt: at, Status: &completed}, {EventID: 16, Type: "ship", WorkflowID: "ship-8", State: client.StateStuck}},
		UpdatesInFlight: []client.UpdateInFlight{{UpdateID: "u1", Name: "add", AcceptedEventID: 17}},
		UnreadSignals: []client.UnreadSignal{
			{Name: "paid", Count: 2, Since: &at, SetAside: 3, SetAsideEvents: []int64{18, 20}}, {Name: "noted", SetAside: 1}, {Name: "sent", Count: 4, Since: &at},
		},
		StuckTask: &client.StuckTask{Since: at, Failures: 7, Failure: declined, FirstFailure: declined, Place: "order/order.go:41", UpdateID: "u1", NextAttemptAt: &at},
		Parent:    &history.Parent{WorkflowID: "shop", RunID: "1-1"},
		Notifications: []client.DescribedNotification{
			{EventID: 2, Origin: "https://a.example", State: client.NotificationDelivered, WorkflowID: "weft.notify:2-1:2"}, {EventID: 3, EventBridge: true, State: client.NotificationPassedOn},
		},
	}
	var out bytes.Buffer
	if err := describePage(&cli.Session{Out: &out}, described{Description: d, aside: map[int64]history.Payload{18: history.Payload(`{"amount":5}`)}}).Print(); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{
		"workflow      order-7\n", "state         stuck\n", "reason        declined\n", "build         b7\n", "parent        shop, run 1-1\n", "history       12 events, 20 MiB\n",
		"cancellation  requested\n", `memo          note="x"` + "\n", "stuck         since 2026-11-21T08:00:00Z: its workflow task has failed 7 times\n",
		"at            order/order.go:41\n", "of update     u1\n", "Stack\n  order.go:7\n", "held: no queue", "goes on outside until 2026-11-21T08:00:00Z", "cancellation requested",
		"\n    2  https://a.example  delivered  weft.notify:2-1:2\n    3  event bus          passed on", "ship-7    completed", "ship-8    stuck", "add   u1", "\npaid      2  2026-11-21T08:00:00Z\nsent      4  2026-11-21T08:00:00Z\n", "\npaid       3  event 18: {\"amount\":5}, event 20\nnoted      1\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not have %q:\n%s", want, got)
		}
	}
	if text := stateText(d, nil, nil); text != "stuck: its workflow task has failed 7 times: the card was declined" {
		t.Error(text)
	}
	d.StuckTask.Speculative = true
	out.Reset()
	if err := describePage(&cli.Session{Out: &out}, described{Description: d}).Print(); err != nil || !strings.Contains(out.String(), "since 2026-11-21T08:00:00Z: it refuses updates, because its code fails\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	const running = "running, with pending activity charge (attempt 4, after: the card was declined), activity held, activity outside, 5 others"
	if text := stateText(d, nil, nil); text != running+"; it refuses updates, because its code fails: the card was declined" {
		t.Error(text)
	}
	d.StuckTask = nil
	if text := stateText(d, nil, nil); text != running {
		t.Error(text)
	}
}

// A time-out says what a run waits for that its description does not have, or why that is not
// known.
func TestStateText(t *testing.T) {
	t.Parallel()
	waits := &client.Waits{Coroutines: []client.Coroutine{{WaitsFor: []client.WaitsFor{{Kind: "timer"}, {Kind: "signal", Name: "goOn"}}}}}
	for want, got := range map[string]string{
		"running, and waits for signal goOn":                                                             stateText(&client.Description{}, waits, nil),
		"running, with no pending activity, timer or child":                                              stateText(&client.Description{}, &client.Waits{}, nil),
		"running, with no pending activity, timer or child; where its code waits is not known: no build": stateText(&client.Description{}, nil, errors.New("no build")),
		"paused since 2026-11-21T08:00:00Z: the bank is down": stateText(&client.Description{Paused: &schema.Paused{
			Since: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), Reason: "the bank is down",
		}}, waits, nil),
		"running, with pending child a, child b, child c, 1 others, and waits for signal goOn": stateText(&client.Description{
			PendingChildren: []client.PendingChild{{WorkflowID: "a"}, {WorkflowID: "b"}, {WorkflowID: "c"}, {WorkflowID: "d"}},
		}, waits, nil),
	} {
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// The page about a run has the names of what its code handles, and says that a stuck run is shown
// as it was before the task that fails.
func TestUpdateHandlersArePrinted(t *testing.T) {
	t.Parallel()
	got := printed(t, func(p *cli.Page) { pageWaits(p, &client.Waits{UpdateHandlers: []string{"add", "boom"}}, "") })
	if !strings.Contains(got, "handles  updates add, boom\n") {
		t.Error(got)
	}
	got = printed(t, func(p *cli.Page) {
		pageWaits(p, &client.Waits{
			UpdateHandlers: []string{"add"}, QueryHandlers: []string{"lines"}, Signals: []string{"ship"}, BeforeTask: true, Coroutines: []client.Coroutine{{Name: "main"}},
		}, "")
	})
	if !strings.Contains(got, "handles  updates add; queries lines; signals ship\n") || !strings.Contains(got, "\nWhere the code waited before the task that has not succeeded\n") {
		t.Error(got)
	}
}

// printed returns what a page prints that fill fills.
func printed(t *testing.T, fill func(*cli.Page)) string {
	t.Helper()
	var out bytes.Buffer
	p := cli.NewPage(&cli.Session{Out: &out})
	fill(p)
	if err := p.Print(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
