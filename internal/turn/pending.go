package turn

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// An attempt whose function has returned ErrPending goes on outside: somebody who has its token ends it (outside.go). Until
// then it is a record among the attempts, and a message that comes when its time is over: nobody else would notice.

// Token implements attempt.Heart.
func (h *heart) Token(ctx context.Context) (string, error) {
	m := h.w.delivery.Message
	token, err := h.s.token(ctx, &ticket{WorkflowID: m.WorkflowID, RunID: m.RunID, EventID: m.EventID, Attempt: h.w.number})
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.token = true
	return token, nil
}

// named reports whether the attempt has taken its token.
func (h *heart) named() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

// notNamed is the failure of an attempt that nobody could end; nil for one that has taken its token.
func notNamed(w *work) *failure.Failure {
	if w.pending {
		return nil
	}
	return failure.FromError(failure.Newf("NoToken",
		"activity %s returned ErrPending and has not taken its token: nobody could complete it; call activity.Token before", w.activity.ActivityType).Final())
}

// pend is what follows from an attempt that goes on outside: it is recorded, and a message is sent that looks after it. A
// crash before the record has the attempt made again; one after it leaves the message that began it, whose next delivery
// finds the record and sends the other (session.redelivered).
func (s *Service) pend(ctx context.Context, w *work) error {
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	a, h := w.activity, w.heart
	limit := time.Duration(a.Pending)
	if limit == 0 {
		limit = time.Duration(a.StartToClose)
	}
	h.mu.Lock()
	kept := &attemptState{Failure: w.last, Details: h.details, By: w.delivery.Send, Deadline: w.began.Add(limit), Heard: s.now()}
	kept.stored = attemptNumber(w.number-1) + h.beats + 1
	h.mu.Unlock()
	err := s.keepPending(ctx, w, kept)
	if err != nil && !errors.Is(err, store.ErrStale) { // stale: it is recorded, or has ended already
		return err
	}
	return s.send(ctx, []engine.Message{w.lookAfter(kept)})
}

// keepPending records an attempt that goes on outside.
func (s *Service) keepPending(ctx context.Context, w *work, kept *attemptState) error {
	body, err := history.EncodeBody(kept)
	if err != nil {
		return err
	}
	m := w.delivery.Message
	return s.keepAttempt(ctx, store.Attempt{
		Workflow: m.WorkflowID, Run: m.RunID.Number(), Event: m.EventID, Number: kept.stored, Body: body, Expires: w.expires.Time(),
	})
}

// lookAfter is the message that looks after an attempt which goes on outside, when its time is over.
func (w *work) lookAfter(kept *attemptState) engine.Message {
	m := *w.delivery.Message
	m.Kind, m.Activity, m.Details, m.Sent = engine.CloseAttempt, nil, nil, 0
	m.Attempt = w.number
	m.Due, _ = kept.over(w.activity)
	return m
}

// over is when the time of an attempt is over that goes on outside, and which limit of time that is.
func (k *attemptState) over(a *engine.PendingActivity) (at history.Timestamp, limit string) {
	if silent := k.Heard.Add(time.Duration(a.Heartbeat)); a.Heartbeat > 0 && silent < k.Deadline {
		return silent, failure.Heartbeat
	}
	return k.Deadline, failure.StartToClose
}

// closeAttempt ends an attempt that goes on outside and has taken too long. Heartbeats have moved that moment, perhaps: then
// the message is sent once more. It is the message that sends the next attempt, so that one delivered again does so again.
func (t *session) closeAttempt(ctx context.Context, run *engine.Run, m *engine.Message) error {
	kept, err := t.recorded(ctx, t.workflowID, run.Number, m.EventID)
	if err != nil || kept == nil {
		return err
	}
	w := outsideWork(run, m, kept)
	switch {
	case kept.number == m.Attempt && kept.By == m.Send:
		return t.send(ctx, []engine.Message{w.next(kept.number+1, kept.Next)})
	case kept.number >= m.Attempt || kept.Deadline == 0:
		return nil // it has ended otherwise, and whoever ended it has sent what follows
	}
	at, limit := kept.over(w.activity)
	if at > t.now() {
		return t.send(ctx, []engine.Message{w.lookAfter(kept)})
	}
	text := "the attempt, which went on outside, was not completed in time"
	if limit == failure.Heartbeat {
		text = "the attempt, which went on outside, was silent for longer than " + time.Duration(w.activity.Heartbeat).String()
	}
	f := timeout(limit, text, kept.Failure)
	e, next := w.verdict(t.now(), nil, f)
	if next != nil {
		return t.nextAttempt(ctx, m, m.EventID, *next, f, run.State.Expires)
	}
	return t.commitEvents(ctx, run, []history.Event{e}, m)
}

// outsideWork is an attempt that goes on outside, for whoever ends it or looks after it.
func outsideWork(run *engine.Run, m *engine.Message, kept *attemptState) *work {
	w := &work{
		delivery: Delivery{Message: m}, activity: run.State.Activities[m.EventID], number: m.Attempt, expires: run.State.Expires,
	}
	if kept != nil {
		w.details, w.last = kept.Details, kept.Failure
	}
	return w
}
