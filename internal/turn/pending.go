package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/attempts"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
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
// finds the record and sends the other (session.compare).
func (s *Service) pend(ctx context.Context, w *work) error {
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	a, h := w.activity, w.heart
	limit := time.Duration(a.Pending)
	if limit == 0 {
		limit = time.Duration(a.StartToClose)
	}
	h.mu.Lock()
	kept := h.state()
	kept.Deadline, kept.Heard = w.began.Add(limit), s.now()
	kept.Look, kept.Copy = 0, 0 // from now on they are those of the message that looks after it
	kept.Number++
	h.mu.Unlock()
	for {
		err := s.attempts.Keep(ctx, w.delivery.Message, w.activity.EventID, kept)
		if err == nil {
			return s.outbox.Send(ctx, []engine.Message{s.watch(w, kept)})
		}
		if !errors.Is(err, store.ErrStale) {
			return err
		}
		m := w.delivery.Message
		there, err := s.attempts.Own(ctx, m, m.EventID)
		if err != nil {
			return err
		}
		if there != nil && (there.LastFailed >= w.number || there.Deadline != 0) { // it is recorded, or has ended already
			_, err = s.compare(ctx, w, there)
			return err
		}
		if there != nil {
			kept.Number = there.Number + 1
		}
		if err := s.world.Wait(ctx, host.Backoff(s.world, 0), nil); err != nil {
			return err
		}
	}
}

// watch is the first message that looks after an attempt. It takes the place of the message that asked for the attempt: if another
// delivery of that has failed, and has died before it sent the next attempt's message, this one sends it.
func (s *Service) watch(w *work, kept *attempts.Record) engine.Message {
	m := w.lookAfter(kept)
	return s.outbox.Copy(&m)
}

// lookAfter is the message that looks after an attempt which goes on outside, when its time is over.
func (w *work) lookAfter(kept *attempts.Record) engine.Message {
	m := *w.delivery.Message
	m.Kind, m.Activity, m.Details, m.Sent, m.Look, m.Copy = engine.CloseAttempt, nil, nil, 0, 0, 0
	m.Attempt = w.number
	m.Due, _ = kept.End(w.activity)
	return m
}

// closeAttempt ends an attempt that goes on outside and has taken too long. Heartbeats have moved that moment, perhaps: then
// the message is sent once more. It is the message that sends the next attempt, so that one delivered again does so again.
func (t *session) closeAttempt(ctx context.Context, run *engine.Run, m *engine.Message) error {
	kept, err := t.attempts.Of(ctx, run, m.EventID)
	if err != nil || kept == nil {
		return err
	}
	w := outsideWork(run, m, kept)
	switch {
	case kept.LastFailed == m.Attempt && kept.IsBy(m):
		return t.outbox.Send(ctx, []engine.Message{w.next(kept.LastFailed+1, kept.Next)})
	case kept.LastFailed >= m.Attempt || kept.Deadline == 0:
		return outcome.ErrDropped // it has ended otherwise, and whoever ended it has sent what follows
	}
	at, limit := kept.End(w.activity)
	if at > t.now() {
		return t.lookAgain(ctx, w, kept)
	}
	text := "the attempt, which went on outside, was not completed in time"
	if limit == failure.Heartbeat {
		text = "the attempt, which went on outside, was silent for longer than " + time.Duration(w.activity.Heartbeat).String()
	}
	f := runner.TimedOut(limit, text, kept.Failure)
	e, next := w.verdict(t.now(), nil, f)
	if next != nil {
		return t.nextAttempt(ctx, m, m.EventID, *next, f)
	}
	return t.commitEvents(ctx, run, []history.Event{e}, m)
}

// lookAgain sends a copy of the message that looks after an attempt for when the attempt's time is over by now. Of copies with the
// same Look one goes on, as of those of an attempt's own message (replace). The claim of a copy costs a write; a heartbeat that
// comes at the same time has this looked at again.
func (t *session) lookAgain(ctx context.Context, w *work, kept *attempts.Record) error {
	m := w.delivery.Message
	switch {
	case kept.IsAhead(w.delivery.Message, w.number) && kept.By == m.Send:
		return nil
	case kept.IsAhead(w.delivery.Message, w.number):
		return errOther
	case m.Look > 0 && kept.Copy != m.Copy:
		claim := *kept
		claim.By, claim.Look, claim.Copy = m.Send, m.Look, m.Copy
		claim.Number++
		if err := t.attempts.Keep(ctx, w.delivery.Message, w.activity.EventID, &claim); errors.Is(err, store.ErrStale) {
			return outcome.ErrStale
		} else if err != nil {
			return fmt.Errorf("%w: record a copy: %w", outcome.ErrBusy, err)
		}
	}
	again := w.lookAfter(kept)
	again.Look, again.Copy = m.Look, m.Copy
	return t.outbox.Send(ctx, []engine.Message{t.outbox.Copy(&again)})
}

// outsideWork is an attempt that goes on outside, for whoever ends it or looks after it.
func outsideWork(run *engine.Run, m *engine.Message, kept *attempts.Record) *work {
	w := &work{
		delivery: Delivery{Message: m}, activity: run.State.Activities[m.EventID], number: m.Attempt,
	}
	if kept != nil {
		w.details, w.last = kept.Details, kept.Failure
	}
	return w
}
