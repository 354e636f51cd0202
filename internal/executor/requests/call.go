package requests

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// updateCall is an update request while it is carried out, and then its answer.
type updateCall struct {
	process    *session.Process
	workflowID string
	request    engine.UpdateRequest
	runID      history.RunID // pinned; empty for the latest run
	anywhere   bool          // its context is one of commit.Anywhere

	// first is an earlier call with the same id that is carried out with this one, or nil.
	first *updateCall

	answer schema.UpdateResponse
	err    error

	// batch is the calls that are carried out together, if this call holds the lock for them. It is
	// a part of the call, and not an object of its own, because each update makes one.
	batch batch

	// settled says that the call is answered from a commit that has landed, whatever happens to the
	// other calls of its group.
	settled bool

	// returned says that the work has returned.
	returned bool
	// over says that the caller's time is over, or that the work has panicked with panicked.
	over     atomic.Bool
	panicked host.Panic

	// wait is how long the caller waits, counted from began.
	wait    time.Duration
	waiting command.Waiting
	// began is when the call arrived. verdict is the verdict on it, if there is one, decided when
	// it was reached, and on the run.
	began, decided time.Time
	verdict        observe.Outcome
	on             observe.Run
}

func (c *updateCall) isSettled() bool { return c.settled }

// waitedLittle is how much of the soft limit a caller may have spent waiting for the lock and still
// get the outcome of work that ends exactly at the limit. Its answer may be late by that and
// lastWords.
const (
	waitedLittle = 500 * time.Millisecond
	lastWords    = 100 * time.Millisecond
)

// timeLeft returns how long the caller still waits for the work.
func (c *updateCall) timeLeft() time.Duration {
	left := max(c.began.Add(c.wait).Sub(c.process.World.Now()), 0)
	if c.wait == 0 {
		left = session.LeastTime
	}
	if left > c.process.Options.SoftLimit-waitedLittle {
		left = c.process.Options.SoftLimit + lastWords
	}
	return left
}

// abandon leaves the call to the work in progress, because the caller's time is over.
func (c *updateCall) abandon() {
	if c.over.Swap(true) {
		c.panickedLate() // at this very moment
	}
}

// outlive handles a panic of the work at its end. It passes the panic on to the caller, or logs it
// if the caller has left.
func (c *updateCall) outlive() {
	value := recover()
	if value == nil {
		return
	}
	var nested bool
	if c.panicked, nested = value.(host.Panic); !nested {
		c.panicked = host.Panic{Value: value, Stack: debug.Stack()}
	}
	if !c.over.Swap(true) {
		panic(value)
	}
	c.panickedLate()
}

func (c *updateCall) panickedLate() {
	c.process.Options.Logger.Error("an update panicked after its caller's time was over", "update", c.request.Name, "updateId", c.request.ID, "panic", c.panicked)
}

// errStillRuns says that a request is still being carried out when the caller's time is over.
var errStillRuns = refusal.OutcomeUnknown.New("the request is still being carried out, and its timeout is over: send it again with the same id to learn the outcome")

// overBy returns what a call failed by whose time is over: by its caller if that gave it less than
// session.LeastTime, and else by what it waited for. Work has that time in any case if the caller
// does not wait.
func (c *updateCall) overBy(waited refusal.Cause) refusal.Cause {
	if c.wait < session.LeastTime && (c.wait > 0 || waited == refusal.ByContention) {
		return refusal.ByCaller
	}
	return waited
}

// blamed returns an error with which a call failed. A call fails by contention when its time is
// over.
func (c *updateCall) blamed(err error) error {
	if e, ok := errors.AsType[*refusal.Error](err); ok && e.Cause == refusal.ByContention {
		return e.By(c.overBy(e.Cause))
	}
	return err
}

// reportVerdict reports the verdict on an update to the observers, if there is one.
func reportVerdict(ctx context.Context, s *session.Process, c *updateCall) {
	if c.verdict == "" || !s.Observed().On() {
		return
	}
	observe.On(ctx, &c.on)
	s.Observed().Observe(ctx, &observe.Update{
		Run: c.on, UpdateID: c.request.ID, Name: c.request.Name, Outcome: c.verdict, Began: c.began, Ended: c.decided,
	})
}

// decide records the verdict on an update that the code has seen or never reached.
func (c *updateCall) decide(now time.Time, run *engine.Run, verdict observe.Outcome) {
	c.on, c.verdict, c.decided = runner.Ident(run, "", nil), verdict, now
}
