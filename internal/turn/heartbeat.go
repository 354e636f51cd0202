package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/attempts"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// maxDetails is the largest details of a heartbeat, in bytes: the message of the next attempt carries them.
	maxDetails = 16 << 10
	// beatEvery is how often heartbeats are recorded at most, where the activity has no limit for them.
	beatEvery = 30 * time.Second
)

// errSilent is why the context of an attempt ends that was silent for longer than it may be.
var errSilent = errors.New("the attempt's heartbeats have stopped")

// heart takes the heartbeats of an attempt. It ends the attempt's context where the attempt is silent for too long, and where
// a heartbeat finds that nobody waits for the activity any more.
//
// Between two that are recorded a heartbeat costs nothing. A recorded one is a write under the condition that nothing later
// is recorded of the activity, and a look at the run. A crash leaves what was recorded last; the message of the attempt comes
// again, and the next attempt has it.
type heart struct {
	s      *Service
	w      *work
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	quiet    func() // ends the wait for silence that is under way
	details  history.Payload
	recorded time.Time // when a heartbeat was recorded last
	beats    int
	token    bool // the attempt has taken its token
	asked    bool // the attempt was asked to end, because nobody waits for it
}

// begin returns the context of the attempt, which the heart may end.
func (h *heart) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, h.cancel = context.WithCancelCause(ctx)
	h.details = h.w.details
	h.listen(ctx)
	return ctx, h.cancel
}

// listen begins to wait for silence anew.
func (h *heart) listen(ctx context.Context) {
	limit := time.Duration(h.w.activity.Heartbeat)
	if limit == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet != nil {
		h.quiet()
	}
	period, end := h.s.world.WithTimeout(ctx, limit)
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

// end ends the wait for silence.
func (h *heart) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet != nil {
		h.quiet()
	}
	h.cancel(nil)
}

// Details implements attempt.Heart.
func (h *heart) Details() []byte { return h.w.details }

// Beat implements attempt.Heart.
func (h *heart) Beat(ctx context.Context, details []byte) error {
	if len(details) > maxDetails {
		return fmt.Errorf("the details of a heartbeat have %d bytes: give at most %d", len(details), maxDetails)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	h.listen(ctx)
	if !h.due(details) {
		return nil
	}
	if err := h.record(ctx); err != nil {
		h.s.options.Logger.WarnContext(ctx, "a heartbeat was not recorded", "workflowId", h.w.delivery.WorkflowID, "activityType", h.w.activity.ActivityType, "error", err)
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

// due keeps details, and reports whether they are to be recorded now.
func (h *heart) due(details []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.details = details
	now, every := h.s.world.Now(), beatEvery
	if limit := time.Duration(h.w.activity.Heartbeat); limit > 0 {
		every = min(every, limit*4/5)
	}
	if !h.recorded.IsZero() && now.Sub(h.recorded) < every {
		return false
	}
	h.recorded = now
	h.beats++
	return true
}

// record records the details, and keeps the message of the attempt invisible for as long as the attempt may be silent.
func (h *heart) record(ctx context.Context) error {
	h.mu.Lock()
	kept := h.state()
	h.mu.Unlock()
	if h.w.counted() {
		kept.Until = h.s.until(h.w)
	}
	m := h.w.delivery.Message
	err := h.s.attempts.KeepOnce(ctx, m, m.EventID, kept)
	if err != nil && !errors.Is(err, store.ErrStale) { // stale: another delivery of this attempt is further on
		return err
	}
	if limit := time.Duration(h.w.activity.Heartbeat); limit > 0 && h.w.delivery.Extend != nil {
		return h.w.delivery.Extend(ctx, h.w.lease())
	}
	return nil
}

// state is what is to be recorded of the attempt now. The caller holds mu.
func (h *heart) state() *attempts.Record {
	kept := h.w.state()
	kept.Failure, kept.Details, kept.Number = h.w.last, h.details, h.w.firstBeat()+h.beats
	return kept
}

// wanted reports whether the run still waits for the activity. Where that cannot be found out, it is taken to.
func (h *heart) wanted(ctx context.Context) bool {
	wanted := true
	m := h.w.delivery.Message
	err := h.s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		if err := t.view.EnsureFresh(ctx); err != nil {
			return err
		}
		run, place := t.find(m)
		if place == notYet {
			return nil
		}
		wanted = place == inLog && run.Needed(m) && !run.State.Activities[m.EventID].CancelRequested
		return nil
	})
	return wanted || err != nil
}

// canceled reports whether the attempt was asked to end.
func (h *heart) canceled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// last is what was said last.
func (h *heart) last() history.Payload {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.details
}

// lease is how long the message of the attempt stays invisible: for as long as the attempt may take, or be silent.
func (w *work) lease() time.Duration {
	limit := w.limit
	if silent := time.Duration(w.activity.Heartbeat); silent > 0 {
		limit = min(cmp.Or(limit, silent), silent)
	}
	return limit + runner.AttemptGrace + leaseMargin
}

// waited is the failure of an activity that waited for its first attempt for longer than it may; nil for others.
func (w *work) waited(now history.Timestamp) *failure.Failure {
	a := w.activity
	limit := time.Duration(a.ScheduleToStart)
	if limit == 0 || w.number > 1 || now.Sub(a.Time) <= limit {
		return nil
	}
	return runner.TimedOut(failure.ScheduleToStart, "no attempt had begun after "+limit.String(), nil)
}
