package activities

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

// An attempt whose function returned ErrPending continues outside: the holder of its token ends it
// (requests/outside.go). Until then it is a record, and a message that is due when its time is
// over, because nobody else would notice.

// Token implements attempt.Heartbeater.
func (h *heartbeater) Token(ctx context.Context) (string, error) {
	m := h.w.Delivery.Message
	token, err := signToken(ctx, h.s, &Claims{WorkflowID: m.WorkflowID, RunID: m.RunID, EventID: m.EventID, Attempt: h.w.Number})
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.token = true
	return token, nil
}

// hasToken reports whether the attempt has taken its token.
func (h *heartbeater) hasToken() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

// tokenNotTaken returns the failure of an attempt that nobody could end, or nil if the attempt has
// taken its token.
func tokenNotTaken(w *Attempt) *failure.Failure {
	if w.pending {
		return nil
	}
	return failure.FromError(failure.Newf("NoToken",
		"activity %s returned ErrPending and has not taken its token: nobody could complete it; call activity.Token before", w.Activity.ActivityType).Final())
}

// pend records that an attempt continues outside, and sends a message that watches it. If the
// process crashes before the record, the attempt runs again. If it crashes afterwards, the
// message that began the attempt is redelivered, finds the record and sends the watching message
// (compare).
func pend(ctx context.Context, s *session.Process, w *Attempt) error {
	ctx, cancel := s.World.WithTimeout(ctx, s.Options.SoftLimit)
	defer cancel()
	if err := checkOvertaken(ctx, s, w); err != nil {
		return err
	}
	a, h := w.Activity, w.heartbeater
	limit := time.Duration(a.Pending)
	if limit == 0 {
		limit = time.Duration(a.StartToClose)
	}
	h.mu.Lock()
	kept := h.state()
	kept.Deadline, kept.Heard = w.began.Add(limit), s.Timestamp()
	kept.Look, kept.Copy = 0, 0 // from now on they are those of the watching message
	kept.Number++
	h.mu.Unlock()
	for {
		err := s.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, kept)
		if err == nil {
			return s.Outbox.Send(ctx, []engine.Message{watch(s, w, kept)})
		}
		if !errors.Is(err, store.ErrStale) {
			return err
		}
		m := w.Delivery.Message
		there, err := s.Attempts.Own(ctx, m, m.EventID)
		if err != nil {
			return err
		}
		if there != nil && (there.LastFailed >= w.Number || there.Deadline != 0) { // it is recorded, or has ended already
			_, err = compare(ctx, s, w, there)
			return err
		}
		if there != nil {
			kept.Number = there.Number + 1
		}
		if err := s.World.Wait(ctx, host.Backoff(s.World, 0), nil); err != nil {
			return err
		}
	}
}

// watch returns the first message that watches an attempt. It replaces the message that asked for
// the attempt: if another delivery of that message failed, and died before it sent the next
// attempt's message, this one sends it.
func watch(s *session.Process, w *Attempt, kept *attempts.Record) engine.Message {
	m := w.LookAfter(kept)
	return s.Outbox.Copy(&m)
}

// LookAfter returns the message that watches an attempt outside and is due when the attempt's time
// is over.
func (w *Attempt) LookAfter(kept *attempts.Record) engine.Message {
	m := *w.Delivery.Message
	m.Kind, m.Activity, m.Details, m.Sent, m.Look, m.Copy = engine.CloseAttempt, nil, nil, 0, 0, 0
	m.Attempt = w.Number
	m.Due, _ = kept.End(w.Activity)
	return m
}

// CloseAttempt ends an attempt outside that has taken too long. If heartbeats have moved its
// deadline, it sends the message once more. The same message sends the next attempt, so a
// redelivery sends it again.
func CloseAttempt(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message) error {
	kept, err := t.Process.Attempts.Of(ctx, run, m.EventID)
	if err != nil || kept == nil {
		return err
	}
	w := Outside(run, m, kept)
	switch {
	case kept.LastFailed == m.Attempt && kept.IsBy(m):
		return t.Process.Outbox.Send(ctx, []engine.Message{w.next(kept.LastFailed+1, kept.Next)})
	case kept.LastFailed >= m.Attempt || kept.Deadline == 0:
		return outcome.ErrDropped // it has ended, and whoever ended it has sent what follows
	}
	at, limit := kept.End(w.Activity)
	if at > t.Process.Timestamp() {
		return lookAgain(ctx, t, w, kept)
	}
	text := "the attempt, which went on outside, was not completed in time"
	if limit == failure.Heartbeat {
		text = "the attempt, which went on outside, was silent for longer than " + time.Duration(w.Activity.Heartbeat).String()
	}
	f := runner.TimedOut(limit, text, kept.Failure)
	e, next := w.Verdict(t.Process.Timestamp(), nil, f)
	if next != nil {
		err = NextAttempt(ctx, t.Process, m, m.EventID, *next, f)
	} else {
		err = commit.Events(ctx, t, run, []history.Event{e}, m)
	}
	if err == nil && (next != nil || FailureOf(e) != nil) {
		w.Report(ctx, t.Process, f, next)
	}
	return err
}

// CloseActivity ends an activity whose time is over, whatever its attempts do.
func CloseActivity(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message) error {
	a, f := run.State.Activities[m.EventID], runner.TimedOut(failure.ScheduleToClose, "its time was over", nil)
	w := &Attempt{Activity: a, run: runner.Ident(run, "", nil)}
	err := commit.Events(ctx, t, run, []history.Event{history.Of(&history.ActivityTaskTimedOut{ScheduledEventID: m.EventID, Failure: f})}, m)
	if err == nil {
		w.Report(ctx, t.Process, f, nil)
	}
	return err
}

// lookAgain sends a copy of the watching message for the attempt's current deadline. Of copies with
// the same Look only one continues, as for an attempt's own message (Replace). The claim of a copy
// costs a write. A concurrent heartbeat makes it check again. If no number is left for a claim, all
// copies continue.
func lookAgain(ctx context.Context, t *session.Session, w *Attempt, kept *attempts.Record) error {
	m := w.Delivery.Message
	switch {
	case kept.IsAhead(w.Delivery.Message, w.Number) && kept.By == m.Send:
		return nil
	case kept.IsAhead(w.Delivery.Message, w.Number):
		return ErrOther
	case m.Look > 0 && kept.Copy != m.Copy && kept.HasRoom(w.Number):
		claim := *kept
		claim.By, claim.Look, claim.Copy = m.Send, m.Look, m.Copy
		claim.Number++
		if err := t.Process.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, &claim); errors.Is(err, store.ErrStale) {
			return outcome.ErrStale
		} else if err != nil {
			return outcome.OfStore("record a copy", err)
		}
	}
	again := w.LookAfter(kept)
	again.Look, again.Copy = m.Look, m.Copy
	return t.Process.Outbox.Send(ctx, []engine.Message{t.Process.Outbox.Copy(&again)})
}

// Outside returns an attempt that continues outside, for the code that ends or watches it.
func Outside(run *engine.Run, m *engine.Message, kept *attempts.Record) *Attempt {
	w := &Attempt{
		Delivery: inbox.Delivery{Message: m}, Activity: run.State.Activities[m.EventID], Number: m.Attempt, run: runner.Ident(run, "", nil),
		firstFailed: m.FirstFailed,
	}
	if kept != nil {
		w.details, w.last, w.firstFailed = kept.Details, kept.Failure, cmp.Or(kept.FirstFailed, m.FirstFailed)
	}
	return w
}
