package engine

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// MaxSubscriptions is how many notifications of its end a run may have.
const MaxSubscriptions = 16

// Subscription is a notification that somebody asked for, of the end of a run.
type Subscription struct {
	*history.CompletionSubscribed
	// EventID is the event that asked for it.
	EventID int64
}

// SubscribedBy reports whether the request with this id has subscribed to the end of the run, or of
// the run that it continues.
func (s *State) SubscribedBy(requestID string) bool {
	return slices.ContainsFunc(s.Subscriptions, func(u Subscription) bool { return u.RequestID == requestID })
}

// Subscription returns the notification that an event asked for, or nil.
func (s *State) Subscription(event int64) *history.CompletionSubscribed {
	for _, u := range s.Subscriptions {
		if u.EventID == event {
			return u.CompletionSubscribed
		}
	}
	return nil
}

// Subscribe returns the commit that adds subscriptions to an open run, without running any code.
// What was undone stays undone.
func (r *Run) Subscribe(w *Writer, subscriptions []history.Event) *history.Commit {
	return r.draft(w, subscriptions)
}

// subscriptions returns those of the run after a commit, which the run has or which is its next.
func (r *Run) subscriptions(c *history.Commit) []Subscription {
	all := r.State.Subscriptions
	if c.Slot < r.State.NextSlot {
		return all
	}
	for part := range c.Parts() {
		id := part.FirstInputEventID()
		for _, e := range part.InputEvents {
			if a, ok := e.Attributes.(*history.CompletionSubscribed); ok {
				all = append(all[:len(all):len(all)], Subscription{a, id})
			}
			id++
		}
	}
	return all
}

// subscribed returns the subscriptions after a commit as the run that follows repeats them.
func (r *Run) subscribed(c *history.Commit) (events []history.Event) {
	for _, u := range r.subscriptions(c) {
		events = append(events, history.Of(u.CompletionSubscribed))
	}
	return events
}

// Notified reports whether the run has closed and has notified its subscribers of its end. If not,
// a run that goes on with its work will.
func (r *Run) Notified() bool { return r.State.Status.Closed() && r.notifies(r.Last()) }

// notifies reports whether the commit that closes the run notifies its subscribers. It does unless
// another run goes on with the work: after a reset, a continue-as-new or a retry. A run that a cron
// expression starts is work of its own.
func (r *Run) notifies(c *history.Commit) bool {
	last := closing(c)
	end := history.EndOf(last)
	if end.Next == "" {
		return true
	}
	switch end.Status {
	case history.Completed:
		return true
	case history.Failed, history.TimedOut:
		return r.retriedAt(c, r.started(c.InputEvents), end.Failure) == 0
	}
	return false
}
