package requests

import (
	"context"
	"errors"
	"runtime"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Update sends an update. An answer of stage accepted or completed is in the log; one of stage
// rejected left no trace.
func (s *Requests) Update(ctx context.Context, u command.Update) (*schema.UpdateResponse, error) {
	call := &updateCall{process: s.Process, workflowID: u.Workflow(), runID: u.Run(), request: u.Request(), wait: u.Wait(), waiting: u.Waiting, began: s.Process.World.Now(), anywhere: commit.IsAnywhere(ctx)}
	work, err := call.acquire(ctx, u.Start())
	if err != nil {
		return nil, call.blamed(err)
	}
	if work != nil {
		// The work has its own goroutine because nothing else bounds it: the code may hang beyond
		// the caller's time. The work holds the workflow's lock, and releases it. After the
		// caller's time it continues, and still writes to the call.
		if !s.Process.World.Within(call.timeLeft(), work) {
			call.abandon()
			return nil, errStillRuns.By(call.overBy(waitsFor(ctx)))
		}
		if !call.returned {
			runtime.Goexit() // as the work did
		}
	}
	reportVerdict(ctx, s.Process, call)
	if call.err != nil {
		return nil, call.blamed(call.err)
	}
	if call.answer.Stage == schema.StageAccepted && !u.WaitsForAccepted() {
		call.awaitOutcome(ctx)
	}
	return &call.answer, nil
}

// waitsFor returns what the work of a request waits for.
func waitsFor(ctx context.Context) refusal.Cause {
	switch meter.WaitsOf(ctx) {
	case meter.ForStore:
		return refusal.ByStore
	case meter.ForQueue:
		return refusal.ByQueue
	case meter.ForRace:
		return refusal.ByContention
	case meter.ForNothing: // its last call was answered: the code runs
	}
	return refusal.ByCode
}

// acquire acquires the lock of the call's workflow, and returns the work to do while holding it.
// The work is nil if the previous holder has carried out the call. It returns errStillRuns if that
// holder has not finished when the caller's time is over. The update may still be accepted then.
func (c *updateCall) acquire(ctx context.Context, start *command.Start) (work func(), err error) {
	if start != nil {
		return c.acquireWithStart(ctx, start)
	}
	acquired, err := c.process.Locks.AcquireWithin(ctx, c.wait, c.workflowID, c)
	switch {
	case errors.Is(err, lock.ErrTaken):
		return nil, errStillRuns.By(refusal.ByContention)
	case err != nil:
		return nil, session.ErrWaited
	case acquired == lock.Answered:
		return nil, nil
	}
	c.batch = batch{ctx: ctx, first: c}
	return c.batch.run, nil
}

// awaitOutcome waits for the outcome of an accepted update, for as long as the caller does. If
// there is none by then, it leaves the answer as it is: the update is accepted in any case.
func (c *updateCall) awaitOutcome(ctx context.Context) {
	left := c.began.Add(c.wait).Sub(c.process.World.Now())
	if left <= 0 {
		return
	}
	if answer, err := pollUpdate(ctx, c.process, c.workflowID, c.answer.RunID, c.request.ID, c.waiting.AtMost(left), &wrote{}); err == nil {
		answer.Started = c.answer.Started
		c.answer = *answer
	}
}
