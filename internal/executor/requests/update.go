package requests

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Update sends an update. An answer of stage accepted or completed is in the log; one of stage rejected left no trace.
func (s *Requests) Update(ctx context.Context, workflowID string, runID history.RunID, name string, r api.UpdateRequest) (*api.UpdateResponse, error) {
	call, err := newCall(s.Process, workflowID, runID, name, &r)
	if err != nil {
		return nil, err
	}
	work, err := call.acquire(ctx, r.Start)
	if err != nil {
		return nil, err
	}
	if work != nil {
		// The work has a goroutine of its own, because nothing else bounds it: its time may be over while code hangs. It
		// holds the workflow's lock, and releases it. If the caller's time is over it goes on, and still writes to the call.
		if !s.World.Within(call.timeLeft(), work) {
			call.abandon()
			return nil, errStillRuns
		}
		if !call.returned {
			runtime.Goexit() // as the work has
		}
	}
	reportVerdict(ctx, s.Process, call)
	if call.err != nil {
		return nil, call.err
	}
	if call.answer.Stage == api.StageAccepted && r.WaitFor != api.StageAccepted {
		call.awaitOutcome(ctx)
	}
	return &call.answer, nil
}

// acquire acquires the lock of the call's workflow, and returns the work to do while holding it. The work is nil if the
// holder before has carried the call out. The error is errStillRuns if the holder has not finished when the caller's
// time is over; the update may still be accepted then.
func (c *updateCall) acquire(ctx context.Context, start *api.StartRequest) (work func(), err error) {
	if start != nil {
		return c.acquireWithStart(ctx, start)
	}
	acquired, err := c.Locks.AcquireWithin(ctx, c.wait, c.workflowID, c)
	switch {
	case errors.Is(err, lock.ErrTaken):
		return nil, errStillRuns
	case err != nil:
		return nil, session.ErrWaited
	case acquired == lock.Answered:
		return nil, nil
	}
	return func() {
		b := batch{ctx: ctx, first: c}
		b.run()
	}, nil
}

// awaitOutcome waits for the outcome of an update that is accepted, for as long as the caller does. The answer stays as it is if there is
// none by then: the update is accepted, whatever becomes of the wait.
func (c *updateCall) awaitOutcome(ctx context.Context) {
	left := c.began.Add(c.wait).Sub(c.World.Now())
	if left <= 0 {
		return
	}
	if answer, err := pollUpdate(ctx, c.Process, c.workflowID, c.answer.RunID, c.request.ID, left, &wrote{}); err == nil {
		answer.Started = c.answer.Started
		c.answer = *answer
	}
}

// newCall checks a request for an update.
func newCall(s *session.Process, workflowID string, runID history.RunID, name string, r *api.UpdateRequest) (*updateCall, error) {
	if err := starts.CheckIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckName("update's name", name); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	if r.UpdateID == "" {
		r.UpdateID = history.CommitID(s.World.ID()).String()
	}
	if err := engine.CheckID("updateId", r.UpdateID); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	switch r.WaitFor {
	case "", api.StageAccepted, api.StageCompleted:
	default:
		return nil, refusal.Invalid.New("there is no waitFor %q: give %s or %s", r.WaitFor, api.StageAccepted, api.StageCompleted)
	}
	if err := starts.CheckPayload(s, r.Input); err != nil {
		return nil, err
	}
	wait, err := checkWait(s, r.Timeout)
	if err != nil {
		return nil, err
	}
	return &updateCall{
		Process: s, workflowID: workflowID, wait: wait,
		request: engine.UpdateRequest{ID: r.UpdateID, Name: name, Input: history.Payload(r.Input)}, runID: runID, began: s.World.Now(),
	}, nil
}

// checkWait is how long a caller waits: the soft limit, or less if it says so.
func checkWait(s *session.Process, timeout *api.Duration) (time.Duration, error) {
	switch {
	case timeout == nil:
		return s.Options.SoftLimit, nil
	case *timeout < 0:
		return 0, refusal.Invalid.New("the time to wait is negative: give a duration such as \"5s\", or none")
	}
	return min(time.Duration(*timeout), s.Options.SoftLimit), nil
}
