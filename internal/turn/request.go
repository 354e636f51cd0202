package turn

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
	"github.com/seed-41655fb1/weft/store"
)

// request carries out fn at a workflow's gate: again and again while it loses races, until the soft limit. What fn wrote
// is in the log when request returns nil. The caller's going away does not stop it: its context only bounds the wait at
// the gate.
func (s *Service) request(ctx context.Context, workflowID string, fn func(context.Context, *session) error) error {
	end := s.world.Now().Add(s.options.SoftLimit)
	t, err := s.openWithin(ctx, s.options.SoftLimit, workflowID)
	if err != nil {
		return errWaited
	}
	return s.carry(ctx, t, end, fn)
}

// carry carries out fn in a session, which it closes. It goes on until end, but for leastTime at least, and for the soft limit at most. So a
// caller who has waited at the gate does not wait for as long again.
func (s *Service) carry(ctx context.Context, t *session, end time.Time, fn func(context.Context, *session) error) error {
	defer t.close()
	ctx, cancel := s.world.WithTimeout(context.WithoutCancel(ctx), min(max(end.Sub(s.world.Now()), leastTime), s.options.SoftLimit))
	defer cancel()
	err := t.insist(ctx, fn)
	t.worked(ctx)
	return t.problem(err)
}

// leastTime is how long a request may take that is to wait for nothing.
const leastTime = time.Second

// waitedLittle is how much of the soft limit a caller may have waited at the gate to be told what the work came to that ends with the
// limit itself. He is answered that much late at most, and lastWords.
const (
	waitedLittle = 500 * time.Millisecond
	lastWords    = 100 * time.Millisecond
)

// bounded carries out work for a call that waits no longer than this since it began. The work holds the gate of a workflow and gives it
// back, and says in the call that it has returned. If it has not ended when the time is over, it goes on by itself, and the outcome is
// unknown: nothing of what it writes may be read. The work defers outlive. It has a goroutine of its
// own, because nothing else bounds it: its time may be over while code hangs.
func (s *Service) bounded(call *updateCall, wait time.Duration, work func()) error {
	left := max(call.began.Add(wait).Sub(s.world.Now()), 0)
	if wait == 0 {
		left = leastTime
	}
	if left > s.options.SoftLimit-waitedLittle {
		left = s.options.SoftLimit + lastWords
	}
	if !s.world.Within(left, work) {
		if call.over.Swap(true) {
			s.panickedLate(call) // at this very moment
		}
		return errStillRuns
	}
	if !call.returned {
		runtime.Goexit() // as the work has
	}
	return nil
}

// outlive is the end of work for a call. A panic of it goes on in the caller. If the caller has gone, outlive logs it.
func (s *Service) outlive(call *updateCall) {
	value := recover()
	if value == nil {
		return
	}
	var nested bool
	if call.panicked, nested = value.(host.Panic); !nested {
		call.panicked = host.Panic{Value: value, Stack: debug.Stack()}
	}
	if !call.over.Swap(true) {
		panic(value)
	}
	s.panickedLate(call)
}

func (s *Service) panickedLate(call *updateCall) {
	s.options.Logger.Error("an update panicked after its caller's time was over", "update", call.request.Name, "updateId", call.request.ID, "panic", call.panicked)
}

// errWaited is a request whose time was over while it waited behind others. It was not carried out.
var errWaited = api.Busy.New("the request waited behind others to this workflow until its time was over; nothing was written: send the request again")

// errStillRuns is a request that is still being carried out when the caller's time is over.
var errStillRuns = api.OutcomeUnknown.New("the request is still being carried out, and its timeout is over: send it again with the same id to learn the outcome")

// insist calls fn until it neither loses a race nor decides on old knowledge, or ctx ends.
func (t *session) insist(ctx context.Context, fn func(context.Context, *session) error) error {
	var race contention
	end := t.world.Now().Add(t.patience)
	for begun := t.world.Now(); ; {
		err := fn(ctx, t)
		switch {
		case errors.Is(err, outcome.ErrTooLarge):
			err = t.final(ctx, err) // it writes nothing either
		case errors.Is(err, outcome.ErrDropped):
			err = t.final(ctx, err) // nor does this
		}
		switch {
		case errors.Is(err, outcome.ErrStale) && ctx.Err() != nil:
			return outcome.ErrBusy
		case errors.Is(err, outcome.ErrStale):
			continue
		case !errors.Is(err, outcome.ErrLost):
			return err
		}
		now := t.world.Now()
		race.recordLoss(now.Sub(begun), t.run(), t.view.Fresh)
		t.view.Fresh = false
		if !now.Before(end) || t.world.Wait(ctx, race.wait(t.world, end.Sub(now)), nil) != nil || ctx.Err() != nil {
			return outcome.ErrBusy
		}
		begun = t.world.Now()
		if err := t.view.Refresh(ctx); err != nil {
			return err
		}
	}
}

// final returns err, which may be nil, as the answer if what is known was read in this session. Otherwise it reads, and
// has the caller look again: without a write, nothing else proves that what was known is current.
func (t *session) final(ctx context.Context, err error) error {
	if t.view.Fresh {
		return err
	}
	if err := t.view.Refresh(ctx); err != nil {
		return err
	}
	return outcome.ErrStale
}

// openRun returns the latest run if it is open, and is the one with the id that the caller pinned, if any.
func (t *session) openRun(ctx context.Context, pinned history.RunID) (*engine.Run, error) {
	if err := t.view.EnsureLoaded(ctx); err != nil {
		return nil, err
	}
	run := t.run()
	switch {
	case run == nil:
		return nil, t.final(ctx, noSuchWorkflow(t.workflowID))
	case pinned != "" && pinned != run.State.RunID:
		return nil, t.final(ctx, notLatest(t.workflowID, pinned))
	case run.State.Status.Closed():
		return nil, t.final(ctx, runClosed(run))
	}
	return run, nil
}

func noSuchWorkflow(workflowID string) error {
	return api.NotFound.New("there is no workflow %q", workflowID)
}

func notLatest(workflowID string, runID history.RunID) error {
	return api.NotFound.New("run %q of workflow %q is not there, or is no longer its latest", runID, workflowID)
}

func runClosed(run *engine.Run) error {
	return api.NotFound.New("run %q of workflow %q has closed already: it is %s", run.State.RunID, run.WorkflowID, run.State.Status)
}

// problem returns the problem that answers a request. Damage to what is stored names the workflow: only its callers meet it, and asking
// again is no use until somebody has restored the data or deleted it.
func (t *session) problem(err error) error {
	if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, history.ErrCorrupt) {
		return t.Service.problem(err)
	}
	run := ""
	if r := t.run(); r != nil {
		run = string(r.State.RunID)
	}
	t.options.Logger.Error("stored data of a workflow is damaged", "workflowId", t.workflowID, "runId", run, "error", err)
	return api.Internal.New("stored data of workflow %q is damaged, and nothing of it was interpreted: restore it from a backup; the log of the server says which item",
		t.workflowID)
}

// problem turns what the protocol came to into what the caller is told.
func (s *Service) problem(err error) error {
	var p *api.Problem
	if errors.Is(err, outcome.ErrBusy) && err != outcome.ErrBusy {
		s.refusals.Fails(s.options.Logger, slog.LevelWarn, s.world.Now(), "a request was refused because a store or a queue failed", err)
	}
	switch {
	case err == nil || errors.As(err, &p):
		return err
	case errors.Is(err, outcome.ErrBusy) && s.whyRefused(err) != "":
		return api.Busy.New("%s; nothing was written: send the request again", s.whyRefused(err))
	case errors.Is(err, outcome.ErrBusy), errors.Is(err, outcome.ErrLost), errors.Is(err, outcome.ErrStale):
		return api.Busy.New("too many others write to this workflow, or the store refuses for now; nothing was written: send the request again")
	case errors.Is(err, outcome.ErrUnknown) && s.whyRefused(err) != "":
		return api.OutcomeUnknown.New("%s; it may have carried the request out: send it again with the same id", s.whyRefused(err))
	case errors.Is(err, outcome.ErrUnknown):
		return api.OutcomeUnknown.New("the store did not answer, and may have carried the request out: send it again with the same id")
	case errors.Is(err, outcome.ErrTooLarge):
		return api.TooLarge.New("%s; nothing was written", s.tooLargeText())
	case errors.Is(err, history.ErrNewer):
		return api.NotReady.New("a newer version of Weft wrote this run's history: deploy that version")
	case errors.Is(err, history.ErrSealed):
		return api.NotReady.New("this run's history is encrypted, and cannot be opened: its key is missing or may not be used, or it was changed; the log of the server says which")
	}
	return err
}

func (s *Service) whyRefused(err error) string {
	if s.options.WhyRefused == nil {
		return ""
	}
	return s.options.WhyRefused(err)
}

// refused returns the refusal of a request that needs code of a run which is not run now, or nil if the code may run.
func (t *session) refused(run *engine.Run, kind runner.CodeKind) error {
	f := t.runner.Barred(kind, t.workflowID, run.State.RunID)
	if f == nil {
		return nil
	}
	return api.NotReady.New("%s", f.Message).With(f)
}

// checkIDs refuses ids that no workflow has.
func checkIDs(workflowID string, runID history.RunID) error {
	if err := engine.CheckID("workflow id", workflowID); err != nil {
		return api.Invalid.New("%v", err)
	}
	if runID != "" && runID.Number() == 0 {
		return api.Invalid.New("the runId is not the id of a run: give one that a start returned, or none for the latest run")
	}
	return nil
}

// requestID checks the id of a request, or makes one.
func (s *Service) requestID(id string) (string, error) {
	if id == "" {
		return history.CommitID(s.world.ID()).String(), nil
	}
	if err := engine.CheckID("requestId", id); err != nil {
		return "", api.Invalid.New("%v", err)
	}
	return id, nil
}

// checkPayload refuses an input that is too large.
func (s *Service) checkPayload(p []byte) error {
	if len(p) > s.options.MaxPayload {
		return api.TooLarge.New("the input has %d bytes, and may have %d: %s", len(p), s.options.MaxPayload, engine.Advice(s.options.MaxPayload))
	}
	return nil
}

// maxReason is the longest reason, in bytes: each update that is in flight when a run is canceled repeats it.
const maxReason = 4 << 10

func checkReason(reason string) error {
	if len(reason) > maxReason {
		return api.TooLarge.New("the reason has %d bytes: give at most %d", len(reason), maxReason)
	}
	return nil
}

// notReady is the refusal of a request whose code fails.
func notReady(f *failure.Failure) *api.Problem {
	return api.NotReady.New("the workflow's code fails: its next deployment that does not will go on from here").With(f)
}
