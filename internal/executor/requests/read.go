package requests

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// look calls fn with the run that a request is for, as the log has it now.
func look(ctx context.Context, s *session.Process, of command.Target, fn func(*session.Session, *engine.Run) error) error {
	return s.Request(ctx, of.Workflow(), func(ctx context.Context, t *session.Session) error { return lookAt(ctx, t, of.Run(), fn) })
}

// besideAfter is how long what only reads the log waits for the gate of a workflow: a task seldom takes longer. It reads beside the
// holder then, and reads the whole run anew.
const besideAfter = 100 * time.Millisecond

// lookIn is look for fn that runs no code. It waits for the gate no longer than wait, and then reads beside it. A read that has not ended
// at end fails, but it has leastTime.
func lookIn(ctx context.Context, s *session.Process, wait time.Duration, end time.Time, workflowID string, runID history.RunID, fn func(*session.Session, *engine.Run) error) error {
	t, err := s.OpenWithin(ctx, max(wait, 0), workflowID)
	if err != nil {
		t = s.ReadBeside(workflowID)
	}
	return s.Carry(ctx, t, end, func(ctx context.Context, t *session.Session) error { return lookAt(ctx, t, runID, fn) })
}

// lookAt is look in a session.
func lookAt(ctx context.Context, t *session.Session, runID history.RunID, fn func(*session.Session, *engine.Run) error) error {
	if err := t.View.EnsureFresh(ctx); err != nil {
		return err
	}
	run := t.Run()
	if run == nil {
		return session.NoSuchWorkflow(t.WorkflowID)
	}
	if runID != "" && runID != run.State.RunID {
		var err error
		if run, err = t.View.Other(ctx, runID); err != nil {
			return err
		}
		if run == nil {
			return refusal.NotFound.New("workflow %q has no run %q", t.WorkflowID, runID)
		}
	}
	return fn(t, run)
}

// pollEvery is how long a waiting caller waits at most before it looks again: commits of other processes wake nobody
// here.
const pollEvery = 2 * time.Second

// await looks at a run until fn says that it has seen what it waits for, or wait or the soft limit has passed. The first look, and each
// after a wait that nothing ended, is a read. A commit of this process ends the wait between two looks, and is known here without a read.
// What fn waits for never changes once it is in the log.
//
// By wrote a process that has just written to the run says that it knows the run: the first look is no read then. There is none if wrote
// has a watch, which has been on since before anybody else could write.
//
// A read that begins at the end of the wait has leastTime. If the store does not answer by then, what fn has seen before stands; the error
// is busy if it has seen nothing.
func await(ctx context.Context, s *session.Process, workflowID string, runID history.RunID, wait time.Duration, wrote *wrote, fn func(*engine.Run) (bool, error)) error {
	w := &awaiting{Process: s, workflowID: workflowID, runID: runID, pinned: runID != "", end: s.World.Now().Add(min(wait, s.Options.SoftLimit)), fn: fn, known: wrote != nil}
	var watched lock.Watch
	if wrote != nil {
		watched = wrote.Watch
	}
	defer func() { watched.Stop() }()
	for pause := 50 * time.Millisecond; ; {
		if watched.Changed == nil {
			watched = s.Watchers.Watch(workflowID)
			if done, err := w.look(ctx); done || err != nil {
				return err
			}
		}
		err := s.World.Wait(ctx, min(w.end.Sub(s.World.Now()), pause), watched.Changed)
		if err != nil {
			return nil // the caller has gone
		}
		if w.known = closed(watched.Changed); !w.known {
			pause = min(2*pause, pollEvery)
		}
		watched.Stop()
		watched = lock.Watch{}
	}
}

// wrote is what a process knows that has just written to a run.
type wrote struct{ lock.Watch }

// awaiting is a caller who waits for something that happens to a run.
type awaiting struct {
	*session.Process
	workflowID string
	runID      history.RunID
	pinned     bool
	end        time.Time
	fn         func(*engine.Run) (bool, error)

	known  bool // what this process knows of the run is current
	looked bool // fn has seen the run
	done   bool
}

// look looks at the run. It reports true if fn has seen what it waits for, or the wait is over.
func (w *awaiting) look(ctx context.Context) (over bool, err error) {
	seen := false
	if w.runID != "" {
		seen, err = glance(ctx, w.Process, w.end.Sub(w.World.Now()), w.workflowID, w.runID, w.see)
	}
	if err == nil && !w.done && !(seen && w.known) {
		err = lookIn(ctx, w.Process, w.end.Sub(w.World.Now()), w.end, w.workflowID, w.runID, func(t *session.Session, run *engine.Run) error { return lookBack(ctx, t, run, w.pinned, w.see) })
	}
	left := w.end.Sub(w.World.Now())
	if errors.Is(err, refusal.Busy) && w.looked && left <= 0 {
		err = nil
	}
	return w.done || left <= 0, err
}

// see shows the run to fn.
func (w *awaiting) see(run *engine.Run) (err error) {
	w.runID = run.State.RunID // the same run, also if another one follows
	w.done, err = w.fn(run)
	w.looked = w.looked || err == nil
	return err
}

// lookBack calls see with a run, and then, if it is not there what the caller is after, with the run that this one
// continues: the caller may not know that there is another one now, unless it pins the run.
func lookBack(ctx context.Context, t *session.Session, run *engine.Run, pinned bool, see func(*engine.Run) error) error {
	err := see(run)
	if pinned || !errors.Is(err, refusal.NotFound) {
		return err
	}
	before, readErr := t.View.Before(ctx, run)
	switch {
	case readErr != nil:
		return readErr
	case before == nil:
		return err
	}
	return see(before)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// glance calls fn with a run as far as this process knows it. It reports false where it does not, or somebody holds the gate for longer
// than wait.
func glance(ctx context.Context, s *session.Process, wait time.Duration, workflowID string, runID history.RunID, fn func(*engine.Run) error) (bool, error) {
	t, err := s.OpenWithin(ctx, max(wait, 0), workflowID)
	if err != nil {
		return false, nil
	}
	defer t.Close()
	run := t.Run()
	if run == nil || run.State.RunID != runID {
		return false, nil
	}
	if err := fn(run); errors.Is(err, refusal.NotFound) {
		return false, nil // not that anybody here knows
	} else if err != nil {
		return true, err
	}
	return true, nil
}

// Result returns how a run ended, when it has ended or after wait.
func (s *Requests) Result(ctx context.Context, of command.Target, wait time.Duration) (*api.ResultResponse, error) {
	return result(ctx, s.Process, of.Workflow(), of.Run(), wait, nil)
}

// StartAndAwait is Start, and then waits until the run has closed, and adds how it ended to the answer. The start is durable, so the
// answer has no outcome if the run cannot be read, or if the caller goes before anybody has looked at it.
func (s *Requests) StartAndAwait(ctx context.Context, c *command.Start, wait time.Duration) (*api.StartResponse, error) {
	watched := lock.Watch{}
	started, err := startWatching(ctx, s.Process, c, &watched)
	if err != nil {
		return nil, err
	}
	var known *wrote
	if started.Started {
		known = &wrote{watched}
	}
	outcome, err := result(ctx, s.Process, started.WorkflowID, started.RunID, wait, known)
	if looked := outcome.RunID != ""; err == nil && looked {
		started.Outcome = outcome
	}
	return started, nil
}

// result is Result, perhaps by a process that has just written to the run. The answer has no run id if ctx ended before the first look.
func result(ctx context.Context, s *session.Process, workflowID string, runID history.RunID, wait time.Duration, wrote *wrote) (*api.ResultResponse, error) {
	answer := &api.ResultResponse{WorkflowID: workflowID}
	err := await(ctx, s, workflowID, runID, wait, wrote, func(run *engine.Run) (bool, error) {
		answer.RunID, answer.Status = run.State.RunID, run.State.Status
		answer.Result, answer.Failure = run.State.Outcome()
		answer.NewRunID = run.State.Next()
		return run.State.Status.Closed(), nil
	})
	return answer, err
}

// Query asks a query of the state that the log has now. Nothing is written, and the code that answered is thrown away.
func (s *Requests) Query(ctx context.Context, q *command.Query) (*api.QueryResponse, error) {
	answer := &api.QueryResponse{}
	err := look(ctx, s.Process, q.Target, func(t *session.Session, run *engine.Run) (err error) {
		if err := commit.CheckBuild(ctx, t, run); err != nil {
			return err
		}
		if err := refused(t, run, runner.CodeQuery); err != nil {
			return err
		}
		if f := run.NotReady(s.Options.Build); f != nil {
			return notReady(f)
		}
		answer.Closed = run.State.Status.Closed()
		lost, err := t.Code.CatchUp(ctx, run, runner.CodeQuery)
		switch {
		case err != nil:
			return err
		case lost != nil:
			return notReady(lost)
		}
		answer.Result, err = t.Code.Query(t.Run(), run, t.Writer(), q.Name(), q.Input())
		return queryProblem(err)
	})
	return answer, err
}

func queryProblem(err error) error {
	var q *engine.QueryError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &q):
		return notReady(failure.FromError(err))
	case q.Unknown:
		return refusal.NotFound.New("%v", q)
	case errors.Is(q.Err, engine.ErrBadInput):
		return refusal.Invalid.New("%v", q.Err)
	}
	return refusal.QueryFailed.New("%v", q.Err).With(failure.FromError(q.Err))
}

// historyPage and historyPageBytes are how many events, and bytes of their encoded attributes, a page of a history has at most, but at least
// one event. Whoever encodes the page bounds the bytes of its JSON.
const historyPage, historyPageBytes = 1000, 1 << 20

// History returns events of a run, from the one with the id from on: as many as a page holds, and whether there are more. It does not wait
// behind a busy run.
func (s *Requests) History(ctx context.Context, of command.Target, from int64) (events []api.HistoryEvent, id history.RunID, more bool, err error) {
	err = lookIn(ctx, s.Process, besideAfter, s.World.Now().Add(s.Options.SoftLimit), of.Workflow(), of.Run(), func(t *session.Session, run *engine.Run) (err error) {
		id = run.State.RunID
		events, more, err = readEvents(ctx, t, run, from)
		return err
	})
	return events, id, more, err
}

// readEvents returns those of a page of a run's history. If the run lacks their commits, only these are read.
func readEvents(ctx context.Context, t *session.Session, run *engine.Run, from int64) (events []api.HistoryEvent, more bool, err error) {
	if run.Lacks(1) == 0 {
		events, more = api.Events(run.Log, from, historyPage, historyPageBytes)
		return events, more, nil
	}
	slot, ok := run.SlotOf(max(from, 1))
	if !ok {
		return nil, false, nil
	}
	var log []*history.Commit
	size := int64(0)
	for c, err := range t.View.Commits(ctx, run, slot) {
		if err != nil {
			return nil, false, err
		}
		log, size = append(log, c), size+run.SizeOf(c.Slot)
		if size > historyPageBytes || c.NextEventID() > max(from, 1)+historyPage {
			break
		}
	}
	events, more = api.EventsAfter(run.BatchesBefore(slot), log, from, historyPage, historyPageBytes)
	return events, more || log[len(log)-1].NextEventID() < run.State.NextEventID, nil
}
