package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

// beatEvery is how often heartbeats are recorded at most, where the activity has no limit for them.
const beatEvery = 30 * time.Second

// errSilent is the cause with which the context of an attempt ends when its heartbeats have
// stopped.
var errSilent = errors.New("the attempt's heartbeats have stopped")

// heartbeater takes the heartbeats of an attempt. It ends the attempt's context if the attempt is
// silent for too long, or if a heartbeat finds that the run no longer waits for the activity.
//
// A heartbeat that is not recorded costs nothing. A recorded one costs a look at the run, and a
// write on the condition that no later record of the activity exists. A crash leaves the last
// recorded heartbeat. The attempt's message is redelivered, and the next attempt gets it.
type heartbeater struct {
	s      *session.Process
	w      *Attempt
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	quiet    func() // stops the current silence timer
	details  history.Payload
	recorded time.Time // when a heartbeat was recorded last
	beats    int
	token    bool // the attempt has taken its token
	asked    bool // the attempt was asked to end, because nobody waits for it
}

// begin returns the context of the attempt, which the heartbeater may end.
func (h *heartbeater) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, h.cancel = context.WithCancelCause(ctx)
	h.details = h.w.details
	h.listen(ctx)
	return ctx, h.cancel
}

// listen restarts the silence timer.
func (h *heartbeater) listen(ctx context.Context) {
	limit := time.Duration(h.w.Activity.Heartbeat)
	if limit == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet != nil {
		h.quiet()
	}
	period, end := h.s.World.WithTimeout(ctx, limit)
	stop := context.AfterFunc(period, func() {
		if ctx.Err() == nil {
			h.cancel(errSilent)
		}
	})
	h.quiet = func() {
		stop()
		end()
	}
}

// end stops the silence timer.
func (h *heartbeater) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet != nil {
		h.quiet()
	}
	h.cancel(nil)
}

// Details implements attempt.Heartbeater.
func (h *heartbeater) Details() []byte { return h.w.details }

// RecordHeartbeat implements attempt.Heartbeater.
func (h *heartbeater) RecordHeartbeat(ctx context.Context, details []byte) error {
	if len(details) > command.MaxDetails {
		return fmt.Errorf("the details of a heartbeat have %d bytes: give at most %d", len(details), command.MaxDetails)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	h.listen(ctx)
	if !h.due(details) {
		return nil
	}
	if err := h.record(ctx); err != nil {
		h.s.Options.Logger.WarnContext(ctx, "a heartbeat was not recorded", "workflowId", h.w.Delivery.WorkflowID, "activityType", h.w.Activity.ActivityType, "error", err)
	}
	if h.wanted(ctx) {
		return nil
	}
	h.mu.Lock()
	h.asked = true
	h.mu.Unlock()
	h.cancel(failure.ErrCanceled)
	return failure.ErrCanceled
}

// due stores the details, and reports whether they must be recorded now.
func (h *heartbeater) due(details []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.details = details
	now, every := h.s.World.Now(), beatEvery
	if limit := time.Duration(h.w.Activity.Heartbeat); limit > 0 {
		every = min(every, limit*4/5)
	}
	if !h.recorded.IsZero() && now.Sub(h.recorded) < every {
		return false
	}
	h.recorded = now
	h.beats++
	return true
}

// record records the details, and keeps the attempt's message invisible for as long as the attempt
// may be silent.
func (h *heartbeater) record(ctx context.Context) error {
	h.mu.Lock()
	kept := h.state()
	h.mu.Unlock()
	if h.w.isCounted() {
		kept.Until = until(h.s, h.w)
	}
	m := h.w.Delivery.Message
	err := h.s.Attempts.KeepOnce(ctx, m, m.EventID, kept)
	if err != nil && !errors.Is(err, store.ErrStale) { // stale: another delivery of this attempt is further on
		return err
	}
	if limit := time.Duration(h.w.Activity.Heartbeat); limit > 0 && h.w.Delivery.Extend != nil {
		return h.w.Delivery.Extend(ctx, h.w.lease())
	}
	return nil
}

// state returns what to record of the attempt now. The caller holds mu.
func (h *heartbeater) state() *attempts.Record {
	kept := h.w.state()
	kept.Failure, kept.Details, kept.Number = h.w.last, h.details, h.w.firstHeartbeat()+h.beats
	return kept
}

// wanted reports whether the run still waits for the activity, and no other execution of the
// attempt has taken over. It returns true if that is unknown.
func (h *heartbeater) wanted(ctx context.Context) bool {
	wanted := true
	m, before := h.w.Delivery.Message, h.w.knows(nil)
	var published *engine.Execution
	err := h.s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		run, place := inbox.Find(t, m)
		if place == inbox.NotYet {
			return nil
		}
		if wanted = place == inbox.InLog && run.Needed(m); wanted {
			a := run.State.Activities[m.EventID]
			wanted, published = !a.CancelRequested, a.Publishing
		}
		return nil
	})
	return err != nil || wanted && !h.w.publisher.learn(before, published)
}

// canceled reports whether the attempt was asked to end.
func (h *heartbeater) canceled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// last returns the details of the last heartbeat.
func (h *heartbeater) last() history.Payload {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.details
}

// lease returns how long the attempt's message stays invisible: the attempt's limit, or the longest
// silence allowed.
func (w *Attempt) lease() time.Duration {
	limit := w.limit
	if silent := time.Duration(w.Activity.Heartbeat); silent > 0 {
		limit = min(cmp.Or(limit, silent), silent)
	}
	return limit + runner.AttemptGrace + leaseMargin
}

// waited returns the failure of an activity whose first attempt has begun too late, or nil.
func (w *Attempt) waited(now history.Timestamp) *failure.Failure {
	a := w.Activity
	limit := time.Duration(a.ScheduleToStart)
	if limit == 0 || w.Number > 1 || now.Sub(a.Time) <= limit {
		return nil
	}
	return runner.TimedOut(failure.ScheduleToStart, "no attempt had begun after "+limit.String(), nil)
}
