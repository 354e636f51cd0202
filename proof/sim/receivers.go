package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// notificationsWord leaves notifications out of a simulation if it is among the faults of -without.
const notificationsWord = "notifications"

// receivers are those who are notified of the ends of runs.
type receivers struct {
	s *simulation
	// owed are the notifications of runs that have closed, by their ids, and got those that
	// receivers have.
	owed map[string]*owed
	got  map[string]*delivered
}

// owed is a notification of a run that has closed.
type owed struct {
	run   *engine.Run
	event int64 // that asked for it
	asked *history.CompletionSubscribed
	maybe bool // it may also be owed by a run that follows
}

// delivered is a notification that a receiver has.
type delivered struct {
	to, body string
	times    int
	taken    bool // the receiver has said that it has it, or that it wants it no more
}

func newReceivers(s *simulation) *receivers {
	return &receivers{s, map[string]*owed{}, map[string]*delivered{}}
}

// notifiable allows all receivers.
var notifiable = func() guard.Policy {
	all, err := guard.Parse("*")
	if err != nil {
		panic(err)
	}
	return all
}()

// notifications draws who is notified of the end of a workflow that a request starts. One workflow
// in three has receivers, and draws them from a stream of its own.
func (s *simulation) notifications(id, requestID string) (all []schema.Notification) {
	if without[notificationsWord] || s.plain {
		return nil
	}
	r := s.stream("notifications of " + id)
	if !r.oneIn(3) {
		return nil
	}
	for i := range 1 + r.IntN(2) {
		n := schema.Notification{Result: r.oneIn(2), EventBridge: r.oneIn(3)}
		if !n.EventBridge {
			n.URL = fmt.Sprintf("https://receiver.example/%s/%s/%d", id, requestID, i)
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// landed notes what a run owes that has just closed. It does not ask the engine which runs notify.
func (v *receivers) landed(run *engine.Run, before history.Status) {
	state := run.State
	if before.Closed() || !state.Status.Closed() || run.Void() {
		return
	}
	maybe := false
	switch failed := state.Status == history.Failed || state.Status == history.TimedOut; {
	case state.Next() == "":
	case state.Status == history.Completed: // a cron expression starts the next
	case failed && state.Started.Retry == nil: // the same
	case failed && state.Started.Cron != "": // either does
		maybe = true
	default:
		return
	}
	for _, u := range state.Subscriptions {
		in := stored.Input{RunID: string(state.RunID), EventID: u.EventID}
		v.owed[in.ID()] = &owed{run, u.EventID, u.CompletionSubscribed, maybe}
	}
}

// RoundTrip implements http.RoundTripper: a receiver gets a request.
func (v *receivers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var said struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &said); err != nil {
		v.s.fail("a receiver gets the body %s: %v", body, err)
	}
	status := http.StatusNoContent
	if id := r.Header.Get(sign.HeaderID); v.get(r.Context(), id, r.URL.String(), string(body), said.Data) != nil {
		status = http.StatusInternalServerError
	} else if v.draws().oneIn(20) && !v.s.calm {
		v.s.count("a receiver wants no more")
		v.got[id].taken = true
		status = http.StatusGone
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

// Source implements assembly.Bus.
func (*receivers) Source() string { return "weft.sim" }

// Put implements assembly.Bus: the event bus gets an event.
func (v *receivers) Put(ctx context.Context, _ string, _ time.Time, detail []byte) error {
	var said struct{ ID string }
	if err := json.Unmarshal(detail, &said); err != nil {
		v.s.fail("the event bus gets the detail %s: %v", detail, err)
	}
	return v.get(ctx, said.ID, "", string(detail), detail)
}

func (v *receivers) draws() *draws { return v.s.stream("receivers") }

// errRefused is the answer of a receiver that has a notification, and does not say so.
var errRefused = errors.New("a receiver failed after it had the notification")

// get lets a receiver get a notification: the data in a body. It may take long to answer, and lose
// the answer.
func (v *receivers) get(ctx context.Context, id, to, body string, data []byte) error {
	s, r := v.s, v.draws()
	s.log("%q gets notification %s: %s", to, id, data)
	s.count("a receiver gets a notification")
	v.check(id, to, body, data)
	one := v.got[id]
	if one == nil {
		one = &delivered{to: to, body: body}
		v.got[id] = one
	}
	if one.times++; one.times > 1 {
		s.count("a receiver gets a notification again")
	}
	took := time.Duration(r.IntN(2000)) * time.Millisecond
	if r.oneIn(6) && !s.calm {
		took = time.Minute
		s.count("a receiver is slow")
	}
	s.pause(wait{until: s.now.Add(took), ctx: ctx}) // the process may die meanwhile
	if r.oneIn(3) && !s.calm {
		return errRefused
	}
	one.taken = one.taken || ctx.Err() == nil
	return ctx.Err()
}

// check demands that a notification is owed, and is the same as before. Nobody is notified before
// the commit is in the log that closes the run.
func (v *receivers) check(id, to, body string, data []byte) {
	s := v.s
	if s.restores() {
		return // a restore undoes ends that receivers know
	}
	var said struct {
		ID, WorkflowID, RunID, Status, ResultOmitted string
		Result                                       json.RawMessage
		FailureText                                  string
	}
	if err := json.Unmarshal(data, &said); err != nil {
		s.fail("notification %s is %s: %v", id, data, err)
		return
	}
	o := v.owed[id]
	switch {
	case o == nil:
		s.fail("a receiver gets notification %s: %s, and no run that has closed owes it", id, data)
		return
	case said.ID != id:
		s.fail("a receiver gets notification %s, and its body is that of %s", id, said.ID)
	case to != o.asked.URL || said.WorkflowID != o.run.WorkflowID || said.RunID != string(o.run.State.RunID) || said.Status != o.run.State.Status.String():
		s.fail("%q gets notification %s: %s; its run is %s %s, is %s, and notifies %q", to, id, data, o.run.WorkflowID, o.run.State.RunID, o.run.State.Status, o.asked.URL)
	}
	if was := v.got[id]; was != nil && was.to == to && was.body != body && said.ResultOmitted != "deleted" {
		s.fail("notification %s was %s, and is %s", id, was.body, body)
	}
	result, failed := o.run.State.Outcome()
	switch {
	case !o.asked.Result && (said.Result != nil || said.FailureText != "" || said.ResultOmitted != ""):
		s.fail("notification %s has the outcome, and nobody asked for it: %s", id, data)
	case !o.asked.Result || said.ResultOmitted != "":
	case failed == nil && !bytes.Equal(compact(said.Result), compact(result)) || failed != nil && said.FailureText != failed.Err().Error():
		s.fail("notification %s has another outcome than its run: %s; the log says %s, %v", id, data, result, failed)
	}
}

// restores reports whether what happens may be undone.
func (s *simulation) restores() bool { return s.has(restored) || s.has(restoredWhole) }

// compact returns JSON without spaces.
func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}

// checkNotifications demands that each notification that is owed was delivered, by one run, and
// that a run that follows another has its subscriptions.
func (a *audit) checkNotifications() {
	if a.s.restores() {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(a.receivers.owed)) {
		o := a.receivers.owed[id]
		got := a.receivers.got[id]
		if (got == nil || !got.taken) && !o.maybe && !a.going[o.run] && !a.s.maintenance.purged && !a.gaveUp(o) {
			a.s.fail("%s %s is %s, and %q did not take notification %s", o.run.WorkflowID, o.run.State.RunID, o.run.State.Status, o.asked.URL, id)
		}
	}
	for _, workflow := range slices.Sorted(maps.Keys(a.runs)) {
		delivering := 0
		for i, run := range a.runs[workflow] {
			if run.Void() || run.State.Started == nil {
				continue
			}
			if run.State.Started.WorkflowType == stored.WorkflowType {
				delivering++ // also one that is being deleted: it is deleted after the run that it tells of
			}
			a.checkSubscriptions(run, a.runs[workflow][:i])
		}
		if delivering > 1 {
			a.s.fail("%s are %d runs that deliver one notification", workflow, delivering)
		}
	}
}

// longDelivery is less than the time for which a notification is tried, by the longest pause before
// an attempt.
const longDelivery = 66 * time.Hour

// gaveUp reports whether the run that delivers a notification has tried for days. Most of them are
// an outage.
func (a *audit) gaveUp(o *owed) bool {
	in := stored.Input{RunID: string(o.run.State.RunID), EventID: o.event}
	for _, by := range a.runs[in.WorkflowOf()] {
		if state := by.State; state.Status == history.Failed && state.CloseTime.Sub(state.StartTime) >= longDelivery {
			a.s.count("a notification is given up")
			return true
		}
	}
	return false
}

// checkSubscriptions demands that a run has the subscriptions of the one that it continues.
func (a *audit) checkSubscriptions(run *engine.Run, earlier []*engine.Run) {
	from := run.State.Started.ContinuedFrom
	i := slices.IndexFunc(earlier, func(r *engine.Run) bool { return r.State.RunID == from })
	if from == "" || i < 0 {
		return
	}
	for _, u := range earlier[i].State.Subscriptions {
		if !slices.ContainsFunc(run.State.Subscriptions, func(has engine.Subscription) bool { return *has.CompletionSubscribed == *u.CompletionSubscribed }) {
			a.s.fail("%s %s continues %s, and does not notify %+v", run.WorkflowID, run.State.RunID, from, *u.CompletionSubscribed)
		}
	}
}
