package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// look calls fn with the run that a request is for, as the log has it now.
func look(ctx context.Context, s *session.Process, of command.Target, fn func(*session.Session, *engine.Run) error) error {
	return s.Request(ctx, of.Workflow(), func(ctx context.Context, t *session.Session) error { return lookAt(ctx, t, of.Run(), fn) })
}

// besideAfter is how long a request that only reads the log waits for the lock of a workflow: a
// task seldom takes longer. After that it reads without the lock, which reads the whole run again.
const besideAfter = 100 * time.Millisecond

// lookIn is look for an fn that runs no code. It waits for the lock for at most wait, and then
// reads without it. A read that has not finished at end fails, but it gets at least
// session.LeastTime.
func lookIn(ctx context.Context, s *session.Process, wait time.Duration, end time.Time, workflowID string, runID history.RunID, fn func(*session.Session, *engine.Run) error) error {
	t, err := openOnPurpose(ctx, s, wait, workflowID)
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

// pollEvery is the longest interval between two looks of a waiting caller: commits of other
// processes wake nobody here.
const pollEvery = 2 * time.Second

// await looks at a run until fn has seen what it waits for, or until the process holds the request
// no longer: see holdFor. What fn waits for never changes once it is in the log. It
// returns how long the caller pauses before it asks again; 0 if fn has seen it, or if the process
// holds requests until the soft limit.
//
//   - The first look reads, and so does each look after a wait that nothing ended.
//   - A commit of this process ends the wait between two looks. The next look needs no read.
//   - If wrote is not nil, this process has just written to the run and knows it: the first look
//     needs no read. If wrote has a watch, set before anybody else could write, there is no first
//     look.
//   - A read that begins at the end of the wait gets at least session.LeastTime. If the store does
//     not answer in time, what fn saw before stands. If fn has seen nothing, the error is busy.
//   - A limited wait ends at once if nothing is expected in the run before its end.
func await(ctx context.Context, s *session.Process, workflowID string, runID history.RunID, wait command.Waiting, wrote *wrote, fn func(*engine.Run) (bool, error)) (again schema.Duration, err error) {
	w := newAwaiting(s, workflowID, runID, wait, fn)
	w.known = wrote != nil
	watched := lock.Watch{}
	if wrote != nil {
		watched = wrote.Watch
	}
	if err := w.await(ctx, watched); err != nil {
		return 0, err
	}
	return w.again(), nil
}

func newAwaiting(s *session.Process, workflowID string, runID history.RunID, wait command.Waiting, fn func(*engine.Run) (bool, error)) *awaiting {
	return &awaiting{held: hold(s, wait), workflowID: workflowID, runID: runID, pinned: runID != "", fn: fn}
}

// await is the function await for a caller who may have a watch.
func (w *awaiting) await(ctx context.Context, watched lock.Watch) error {
	s := w.process
	defer func() { watched.Stop() }()
	defer w.release()
	if w.limited() && watched.Changed != nil {
		w.known = true // this process has just written
		if done, err := w.look(ctx); done || err != nil {
			return err
		}
	}
	for pause := 50 * time.Millisecond; ; {
		if watched.Changed == nil {
			watched = s.Watchers.Watch(w.workflowID)
			if done, err := w.look(ctx); done || err != nil {
				return err
			}
		}
		if !w.stay() || w.limited() && w.outlook.quietUntil(history.At(w.end)) {
			return nil
		}
		err := waitOnPurpose(ctx, s.World, min(w.end.Sub(s.World.Now()), pause), watched.Changed)
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

// wrote is the watch of a process that has just written to a run.
type wrote struct{ lock.Watch }

// awaiting is a caller who waits for something in a run.
type awaiting struct {
	held
	workflowID string
	runID      history.RunID
	pinned     bool
	fn         func(*engine.Run) (bool, error)

	beside   bool // the first look does not wait behind a busy run
	watching bool // the caller reads a history
	known    bool // what this process knows of the run is current
	looked   bool // fn has seen the run as it was during the request
	done     bool
	outlook  outlook // of the run as fn has seen it last
}

// again returns how long the caller pauses before it asks again: see await.
func (w *awaiting) again() schema.Duration {
	if w.done || !w.looked {
		return 0
	}
	return w.held.again(func(now time.Time, waited time.Duration) time.Duration {
		return pauseFor(w.outlook, history.At(now), waited, w.watching)
	})
}

// look looks at the run. It returns true if fn has seen what it waits for, or if the wait is over.
func (w *awaiting) look(ctx context.Context) (over bool, err error) {
	seen := false
	if w.runID != "" {
		seen, err = glance(ctx, w.process, w.patience(), w.workflowID, w.runID, w.see)
	}
	if err == nil && !w.done && !(seen && w.known) {
		err = lookIn(ctx, w.process, w.patience(), w.end, w.workflowID, w.runID, func(t *session.Session, run *engine.Run) error { return lookBack(ctx, t, run, w.pinned, w.see) })
	}
	w.looked = w.looked || err == nil
	left := w.end.Sub(w.process.World.Now())
	if errors.Is(err, refusal.Busy) && w.looked && left <= 0 {
		err = nil
	}
	return w.done || left <= 0, err
}

// patience returns how long a look waits for the lock of the workflow.
func (w *awaiting) patience() time.Duration {
	left := w.end.Sub(w.process.World.Now())
	if w.beside && !w.looked {
		return min(left, besideAfter)
	}
	return left
}

// see calls fn with the run.
func (w *awaiting) see(run *engine.Run) (err error) {
	w.runID = run.State.RunID // the same run, also if another one follows
	w.done, err = w.fn(run)
	if err == nil && !w.done && w.limited() && !run.State.Status.Closed() {
		w.outlook = outlookOf(w.process, run)
	}
	return err
}

// lookBack calls see with a run. If see does not find what the caller wants, and the caller does
// not pin the run, it calls see with the run that this one continues: the caller may not know of
// the later run.
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

// glance calls fn with a run as this process knows it. It returns false if the process does not
// know the run, or somebody holds the lock for longer than wait.
func glance(ctx context.Context, s *session.Process, wait time.Duration, workflowID string, runID history.RunID, fn func(*engine.Run) error) (bool, error) {
	t, err := openOnPurpose(ctx, s, wait, workflowID)
	if err != nil {
		return false, nil
	}
	defer t.Close()
	run := t.Run()
	if run == nil || run.State.RunID != runID {
		return false, nil
	}
	if err := fn(run); errors.Is(err, refusal.NotFound) {
		return false, nil // as far as this process knows
	} else if err != nil {
		return true, err
	}
	return true, nil
}

// Result returns how a run ended, when it has ended or the wait is over.
func (s *Requests) Result(ctx context.Context, of command.Await) (*schema.ResultResponse, error) {
	return result(ctx, s.Process, of.Workflow(), of.Run(), of.Waiting, nil)
}

// StartAndAwait is Start, and then waits until the run has closed, and adds the outcome to the
// answer. The start is durable, so the answer has no outcome if the run cannot be read, or if the
// caller leaves before the first look. The soft limit is that of both together.
func (s *Requests) StartAndAwait(ctx context.Context, c command.StartAndAwait) (*schema.StartResponse, error) {
	end := s.Process.World.Now().Add(s.Process.Options.SoftLimit)
	watched := lock.Watch{}
	started, err := startWatching(ctx, s.Process, c.Start, &watched)
	if err != nil {
		return nil, err
	}
	var known *wrote
	if started.Started {
		known = &wrote{watched}
	}
	outcome, err := result(ctx, s.Process, started.WorkflowID, started.RunID, c.AtMost(end.Sub(s.Process.World.Now())), known)
	if looked := outcome.RunID != ""; err == nil && looked {
		started.Outcome = outcome
	}
	return started, nil
}

// result is Result. wrote is not nil if this process has just written to the run. The answer has no
// run id if ctx ended before the first look.
func result(ctx context.Context, s *session.Process, workflowID string, runID history.RunID, wait command.Waiting, wrote *wrote) (*schema.ResultResponse, error) {
	answer := &schema.ResultResponse{WorkflowID: workflowID}
	again, err := await(ctx, s, workflowID, runID, wait, wrote, func(run *engine.Run) (bool, error) {
		answer.RunID, answer.Status = run.State.RunID, run.State.Status
		answer.Result, answer.Failure = run.State.Outcome()
		answer.NewRunID = run.State.Next()
		return run.State.Status.Closed(), nil
	})
	answer.RetryAfter = again
	return answer, err
}

// Query runs a query on the state that the log has now. Nothing is written, and the instance that
// answered is dropped.
func (s *Requests) Query(ctx context.Context, q *command.Query) (*schema.QueryResponse, error) {
	answer := &schema.QueryResponse{}
	err := look(ctx, s.Process, q.Target, func(t *session.Session, run *engine.Run) (err error) {
		if err := commit.CheckBuild(ctx, t, run); err != nil {
			return err
		}
		code := session.TypeOf(t, run)
		err = session.Bounded(t.Process, command.Taken(code, engine.QueryName, q.Name()), q, func(q *command.Query) error { return command.CheckQuery(code, q) })
		if err != nil {
			return err
		}
		if err := refused(t, run, runner.CodeQuery); err != nil {
			return err
		}
		if f := run.NotReady(s.Process.Options.Build); f != nil {
			return notReady(f)
		}
		if err := pausedBefore(run); err != nil {
			return err
		}
		answer.Status, answer.Closed = run.State.Status, run.State.Status.Closed()
		lost, err := t.Code.CatchUp(ctx, run, runner.CodeQuery)
		switch {
		case err != nil:
			return err
		case lost != nil:
			return notReady(lost)
		}
		answer.Result, err = t.Code.Query(t.Run(), run, t.Writer(), q.Name(), q.Input())
		reportPanic(ctx, t, run, q.Name(), err)
		return queryProblem(err)
	})
	return answer, err
}

// reportPanic logs a panic in the handler of a query. Its caller gets the text.
func reportPanic(ctx context.Context, t *session.Session, run *engine.Run, name string, err error) {
	var q *engine.QueryError
	if !errors.As(err, &q) {
		return
	}
	if f := failure.FromError(q.Err); f != nil && f.Kind == failure.KindPanic {
		about := runner.Ident(run, "", nil)
		t.Process.Failures.Panic(ctx, fmt.Sprintf("the handler of query %q", name), &about, f)
	}
}

func queryProblem(err error) error {
	var q *engine.QueryError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &q):
		return notReady(failure.FromError(err))
	case q.Unknown:
		return refusal.NotFound.New("%v", q).Knowing(q.Known)
	case errors.Is(q.Err, engine.ErrBadInput):
		return refusal.Invalid.New("%v", q.Err)
	}
	return refusal.QueryFailed.New("%v", q.Err).With(failure.FromError(q.Err))
}

// historyPageBytes limits the bytes of the encoded attributes of a page of a history. A page has at
// least one event. The encoder of the page bounds the bytes of its JSON.
const historyPageBytes = 1 << 20

// historyBy returns a page of a history without a wait. It does not wait behind a busy run. A read
// that has not finished at end fails, as in lookIn.
func historyBy(ctx context.Context, s *session.Process, end time.Time, runID history.RunID, of command.History) (*HistoryPage, error) {
	var page *HistoryPage
	err := lookIn(ctx, s, besideAfter, end, of.Workflow(), runID, func(t *session.Session, run *engine.Run) (err error) {
		page = pageOf(run)
		page.Events, page.More, err = readEvents(ctx, t, run, of.From(), of.Size())
		return err
	})
	return page, err
}

// readEvents returns the events of a page of a run's history. If memory lacks their commits, it
// reads those, and no others.
func readEvents(ctx context.Context, t *session.Session, run *engine.Run, from int64, most int) (events []schema.HistoryEvent, more bool, err error) {
	if run.Lacks(1) == 0 {
		events, more = schema.Events(run.Log, from, most, historyPageBytes)
		return events, more, nil
	}
	slot, ok := run.SlotOf(max(from, 1))
	if !ok {
		return nil, false, nil
	}
	var log []*history.Commit
	for c, err := range t.View.Between(ctx, run, slot, endOfPage(run, slot, max(from, 1), most)) {
		if err != nil {
			return nil, false, err
		}
		log = append(log, c)
	}
	events, more = schema.EventsAfter(run.BatchesBefore(slot), log, from, most, historyPageBytes)
	return events, more || log[len(log)-1].NextEventID() < run.State.NextEventID, nil
}

// endOfPage returns the slot that follows the commits of a page: those of most events from one on,
// whose commit is in slot, or of fewer if they are too large.
func endOfPage(run *engine.Run, slot uint32, from int64, most int) uint32 {
	last, _ := run.SlotOf(min(from+int64(most), run.State.NextEventID) - 1)
	for size := int64(0); slot <= last && size <= historyPageBytes; slot++ {
		size += run.SizeOf(slot)
	}
	return slot
}
