package turn

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/lock"
	"github.com/seed-41655fb1/weft/internal/turn/runlog"
)

// session is one holder's work on a workflow: from entering its gate to leaving it.
type session struct {
	*Service
	workflowID string
	// entry is what the cache keeps.
	entry *entry
	// view is what the session knows of the log.
	view *runlog.View
	// tainted says that code which did not come back still holds the entry's run.
	tainted bool
	// unsettled says that a task has run on the entry's instance, and that it is not known yet whether the instance stays.
	unsettled bool
	// follows takes the activity that follows, if it is to be run here; nil where none is.
	follows *continuation
	// patience is how long the session tries again after lost races; 0 is not at all.
	patience time.Duration
	// committed says that the session has committed something.
	committed bool
	// watched is set to a watch on the workflow when the session leaves the gate; nil is none.
	watched *lock.Watch
	// gateless says that the session holds no gate, and keeps nothing: it only reads.
	gateless bool
	// began is when the session did.
	began time.Time
	// active says that code has run.
	active bool
	// tasks are those that were run, and of which it is not known yet what comes of them: see told.
	tasks []ranTask
}

// open enters the gate of a workflow and takes what the cache knows of it.
func (s *Service) open(ctx context.Context, workflowID string) (*session, error) {
	if _, err := s.locks.Acquire(ctx, workflowID, nil); err != nil {
		return nil, err
	}
	return s.begin(workflowID), nil
}

// openWithin is open for a caller who waits at the gate no longer than this.
func (s *Service) openWithin(ctx context.Context, wait time.Duration, workflowID string) (*session, error) {
	if _, err := s.locks.AcquireWithin(ctx, wait, workflowID, nil); err != nil {
		return nil, err
	}
	return s.begin(workflowID), nil
}

// begin starts a session at a gate that the caller holds.
func (s *Service) begin(workflowID string) *session {
	t := s.newSession(workflowID, s.cache.take(workflowID))
	if k := t.entry.known; k.Run != nil && (k.IsOld(t.began, s.options.CacheAge) || host.Expired(t.world, k.Run.State.Expires)) {
		t.forget()
	}
	return t
}

// readBeside starts a session that reads without the gate of its workflow, which somebody else holds.
func (s *Service) readBeside(workflowID string) *session {
	t := s.newSession(workflowID, nil)
	t.gateless = true
	return t
}

func (s *Service) newSession(workflowID string, e *entry) *session {
	t := &session{Service: s, workflowID: workflowID, patience: s.options.SoftLimit, began: s.world.Now(), entry: e}
	if e == nil {
		t.entry = &entry{known: runlog.NewKnown(workflowID, t.began)}
	}
	t.view = runlog.NewView(s.logs, t.entry.known, t)
	return t
}

// close gives what is known back to the cache and leaves the gate. Code that is ahead of the log is not kept, whatever
// happened: a handler may have panicked between the code and the put.
func (t *session) close() {
	t.told(nil)
	if t.gateless {
		t.dropInstance()
		return
	}
	if t.entry.known.Run == nil || t.tainted {
		t.dropInstance() // of a run that was not opened
	} else {
		if t.ahead() || t.full() {
			t.dropInstance()
		}
		for _, e := range t.cache.put(t.entry) {
			t.closeInstance(e)
		}
	}
	t.leave()
	if t.active {
		t.relieve()
	}
}

// ahead reports whether the code in memory has failed, is ahead of the log of the run that is known, or is that of another run.
func (t *session) ahead() bool {
	return t.unsettled || t.entry.instance != nil && t.entry.instance.RunID() != t.run().State.RunID
}

// full reports whether the code in memory has recorded as much for checks as it may.
func (t *session) full() bool { return t.entry.instance != nil && t.entry.instance.LooksFull() }

// leave leaves the gate, and wakes those who wait for what the session has committed. Whoever is to watch the run from here on does so
// before anybody else can commit.
func (t *session) leave() {
	var waiting chan struct{}
	if t.committed {
		waiting = t.watchers.Detach(t.workflowID)
	}
	if t.watched != nil {
		*t.watched = t.watchers.Watch(t.workflowID)
	}
	t.locks.Release(t.workflowID)
	if waiting != nil {
		close(waiting)
	}
}

// BeforeRead implements runlog.Owner: code that hangs holds the run that is known, so it is left to the code.
func (t *session) BeforeRead() {
	if t.tainted {
		t.forget()
	}
}

// RunReplaced implements runlog.Owner.
func (t *session) RunReplaced() { t.dropInstance() }

// Forget implements runlog.Owner.
func (t *session) Forget() { t.forget() }

// forget drops all that is known. The next look reads everything anew.
func (t *session) forget() {
	t.dropInstance()
	t.entry = &entry{known: runlog.NewKnown(t.workflowID, t.world.Now())}
	t.view.Reset(t.entry.known)
	t.tainted = false
}

// dropInstance throws the run's code away: it is ahead of the log. The commits stay; they never change.
func (t *session) dropInstance() {
	t.closeInstance(t.entry)
	t.unsettled = false
}

func (s *Service) closeInstance(e *entry) {
	in := e.instance
	e.instance, e.grown = nil, 0
	if in != nil && !s.world.Guard(s.options.DeadlockAfter, in.Close) {
		s.hangs(e.known.WorkflowID, in)
	}
}

// discard is what is left to do after an activation that is not committed.
func (t *session) discard() {
	t.told(nil)
	if t.tainted {
		t.forget()
	} else {
		t.dropInstance()
	}
}

// retire ends an activation of which nothing is written. It keeps the instance of one whose code did nothing but look.
func (t *session) retire(transition *engine.Transition) {
	if !transition.Unchanged {
		t.discard()
		return
	}
	t.told(nil)
	t.unsettled = false
}

// run is the latest run that is known, or nil.
func (t *session) run() *engine.Run { return t.view.Run }

// instance returns the code of a run, at the end of the log or before it. It drops the code of another run.
func (t *session) instance(run *engine.Run, w *engine.Writer, started *history.WorkflowExecutionStarted) *engine.Instance {
	id := run.State.RunID
	if run.State.NextSlot == 0 {
		id = w.RunID
	}
	if in := t.entry.instance; in != nil && in.RunID() != id {
		t.dropInstance()
	}
	if t.entry.instance == nil {
		t.entry.instance = engine.NewInstance(t.registry.Workflow(started.WorkflowType), t.workflowID, id)
		if t.looks.on() {
			t.entry.instance.RecordLooks(func(who string) bool { return t.looks.left(started.WorkflowType, who) })
		}
	}
	return t.entry.instance
}

// step runs a task of a run that messages or a request brought, and before that replays what the run lacks of its log. A transition is
// one that carryOut returns. An error is a page of the log that cannot be read: nothing has run then.
func (t *session) step(ctx context.Context, run *engine.Run, task engine.Task, triggers ...*engine.Message) (*engine.Transition, error) {
	if f := t.barred(CodeTask, t.workflowID, run.State.RunID); f != nil {
		return t.passOver(run, t.writer(triggers...), task, f), nil
	}
	began := t.world.Now()
	lost, err := t.catchUp(ctx, run, CodeTask)
	if err != nil {
		return nil, err
	}
	w := t.writer(triggers...)
	if lost == nil {
		return t.carryOut(ctx, run, w, task), nil
	}
	failed := run.Fail(w, task, lost)
	t.ran(ctx, run, w, task, began, failed)
	return failed, nil
}

// firstStep runs the first task of a run that has no commit yet.
func (t *session) firstStep(ctx context.Context, run *engine.Run, w *engine.Writer, task engine.Task) *engine.Transition {
	if f := t.barred(CodeTask, t.workflowID, w.RunID); f != nil {
		return t.passOver(run, w, task, f)
	}
	return t.carryOut(ctx, run, w, task)
}

// carryOut runs a task of a run whose code may run. The instance is ahead of the log afterwards: it stays only if the transition's commit
// lands.
func (t *session) carryOut(ctx context.Context, run *engine.Run, w *engine.Writer, task engine.Task) *engine.Transition {
	started := run.State.Started
	if started == nil {
		started = task.Brought[0].Attributes.(*history.WorkflowExecutionStarted)
	}
	in, began := t.instance(run, w, started), t.world.Now()
	in.BoundValidators(t.options.ValidateFor, func(fn func()) bool { return t.validated(in, fn) })
	before := in.Looked()
	t.unsettled = true
	var stepped *engine.Transition
	note := t.noteTask(in, task.Updates)
	transition := t.came(in, run, w, task, t.guard(in, func() { defer t.leaves(in, note); stepped = run.Step(in, w, task) }), &stepped)
	transition = t.locals(ctx, in, run, w, task, transition)
	transition = t.checkLooks(ctx, in, before, run, w, task, transition)
	t.ran(ctx, run, w, task, began, transition)
	return transition
}

// came returns the transition that code has come to, if it has ended, or else the failure of the task. Code that has not ended may still
// set the transition, so that is not read then.
func (t *session) came(in *engine.Instance, run *engine.Run, w *engine.Writer, task engine.Task, ended bool, to **engine.Transition) *engine.Transition {
	if ended && *to != nil {
		return *to
	}
	failed := run.Fail(w, task, t.lost(in, ended, t.options.DeadlockAfter))
	failed.Blamed = in.RunningUpdate()
	return failed
}

// guard runs code of an instance, which it leaves at its end, for DeadlockAfter at most: see guardFor.
func (t *session) guard(in *engine.Instance, fn func()) bool {
	return t.guardFor(t.options.DeadlockAfter, in, fn)
}

// guardFor runs code of an instance, which the code leaves at its end. guardFor returns false for code that did not come back within
// limit: the session has lost the instance then, and the run that it holds, and the run is blocked until the code comes back. The
// instance is closed then.
func (t *session) guardFor(limit time.Duration, in *engine.Instance, fn func()) bool {
	in.Enter()
	t.active = true
	before := t.pressure.allocated()
	defer func() {
		if t.entry.instance == in {
			t.entry.grown += t.pressure.allocated() - before
		}
	}()
	if t.world.Guard(limit, fn) {
		return true
	}
	t.hangs(t.workflowID, in)
	t.dropInstance()
	t.tainted = true
	return false
}

// validated runs a validator. It returns false if that does not return in time. It holds only its instance then, which is thrown
// away with the task, and closed when the validator returns.
func (t *session) validated(in *engine.Instance, fn func()) bool {
	if t.world.Guard(t.options.ValidateFor, fn) {
		return true
	}
	t.hung.Add(1)
	t.blocks.add(runKey{t.workflowID, in.RunID()}, "a validator", t.world.Now(), in.Gone)
	t.Observed().Observe(context.Background(), &observe.Hung{WorkflowID: t.workflowID})
	t.options.Logger.Error("a validator does not come back; its instance is abandoned", "workflowId", t.workflowID, "after", t.options.ValidateFor)
	return false
}

// lost is the failure of code that did not come back (a deadlock), or that took its goroutine with it.
func (t *session) lost(in *engine.Instance, ended bool, limit time.Duration) *failure.Failure {
	if ended {
		if f := failure.FromError(in.Err()); f != nil {
			return f
		}
		return &failure.Failure{Kind: failure.KindMisuse, Message: "workflow code ended its goroutine"}
	}
	return &failure.Failure{
		Kind:    failure.KindDeadlock,
		Message: "workflow code did not come back within " + limit.String() + ": it blocks on something that is not the engine's",
		Stack:   in.Stuck(),
	}
}

// hangs counts and reports code that did not come back, and blocks its run until it does. The code is that of an instance which is
// closed, or is about to be. A Lambda process with hung code ends after it has answered.
func (s *Service) hangs(workflowID string, in *engine.Instance) {
	s.hung.Add(1)
	s.blocks.add(runKey{workflowID, in.RunID()}, "workflow code", s.world.Now(), in.Gone)
	s.Observed().Observe(context.Background(), &observe.Hung{WorkflowID: workflowID})
	s.options.Logger.Error("workflow code does not come back; its instance is abandoned", "workflowId", workflowID, "stack", in.Stuck())
}

// Hung is the number of instances whose code did not come back.
func (s *Service) Hung() int { return int(s.hung.Load()) }
