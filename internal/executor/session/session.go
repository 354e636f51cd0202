package session

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

// Session is one holder's work on a workflow, from acquiring its lock to releasing it.
type Session struct {
	Process    *Process
	WorkflowID string
	// entry is what the cache keeps.
	entry *entry
	// View is what the session knows of the log.
	View runlog.View
	// Code is the code of the latest run.
	Code runner.Code
	// Follows takes the next activity if this invocation may run it inline; nil if not.
	Follows Follower
	// Patience is how long the session retries after lost races; 0 is not at all.
	Patience time.Duration
	// committed says that the session has committed something, and listed that the list has a row
	// of it.
	committed, listed bool
	// Watched is set to a watch on the workflow when the session releases the lock, unless it is
	// nil.
	Watched *lock.Watch
	// lockless says that the session holds no lock, and keeps nothing: it only reads.
	lockless bool
	// began is when the session began.
	began time.Time
}

// Follower takes the activity that follows from a commit, so that the process which made the commit
// runs it.
type Follower interface {
	// Take takes what a commit of the run schedules if it can run that here. It returns the
	// messages that must still be sent.
	Take(run *engine.Run, messages []engine.Message) []engine.Message
}

// Open acquires the lock of a workflow, and takes what the cache knows of the workflow.
func (s *Process) Open(ctx context.Context, workflowID string) (*Session, error) {
	if _, err := s.Locks.Acquire(ctx, workflowID, nil); err != nil {
		return nil, err
	}
	return s.Begin(workflowID), nil
}

// OpenWithin is Open for a caller who waits for the lock no longer than this.
func (s *Process) OpenWithin(ctx context.Context, wait time.Duration, workflowID string) (*Session, error) {
	if _, err := s.Locks.AcquireWithin(ctx, wait, workflowID, nil); err != nil {
		return nil, err
	}
	return s.Begin(workflowID), nil
}

// Begin starts a session for a caller that holds the workflow's lock.
func (s *Process) Begin(workflowID string) *Session {
	t := s.newSession(workflowID, s.cache.take(workflowID))
	if k := t.entry.known; k.Run != nil && (k.IsOld(t.began, s.Options.CacheAge) || host.Expired(t.Process.World, k.Run.State.Expires)) {
		t.Forget()
	}
	return t
}

// ReadBeside starts a session that reads without the lock of its workflow, which somebody else
// holds.
func (s *Process) ReadBeside(workflowID string) *Session {
	t := s.newSession(workflowID, nil)
	t.lockless = true
	return t
}

func (s *Process) newSession(workflowID string, e *entry) *Session {
	t := &Session{Process: s, WorkflowID: workflowID, Patience: s.Options.SoftLimit, began: s.World.Now(), entry: e}
	if e == nil {
		t.entry = &entry{known: runlog.NewKnown(workflowID, t.began)}
	}
	t.View = runlog.NewView(s.Logs, t.entry.known, t)
	t.Code = s.Runner.Code(workflowID, &t.entry.kept, &t.View)
	return t
}

// Close returns what is known to the cache, and releases the lock. It never keeps code that is
// ahead of the log: a handler may have panicked between the code and the put.
func (t *Session) Close() {
	t.Code.Tasks.Report(nil)
	if t.lockless {
		t.Code.Drop()
		return
	}
	if t.entry.known.Run == nil || t.Code.Tainted {
		t.Code.Drop() // of a run that was not opened
	} else {
		if t.Code.IsAhead(t.Run()) || t.Code.IsFull() {
			t.Code.Drop()
		}
		t.Process.closeEvicted(t.Process.cache.put(t.entry))
	}
	t.leave()
	if t.Code.Active {
		t.Process.relieve()
	}
}

// leave releases the lock, and wakes those who wait for what the session has committed. If the
// session sets a watch, it does so before anybody else can commit.
func (t *Session) leave() {
	var waiting, ofRows chan struct{}
	if t.committed {
		waiting = t.Process.Watchers.Detach(t.WorkflowID)
	}
	if t.committed && t.listed {
		ofRows = t.Process.Watchers.DetachRows()
	}
	if t.Watched != nil {
		*t.Watched = t.Process.Watchers.Watch(t.WorkflowID)
	}
	t.Process.Locks.Release(t.WorkflowID)
	if waiting != nil {
		close(waiting)
	}
	if ofRows != nil {
		close(ofRows)
	}
}

// BeforeRead implements runlog.Owner. Code that hangs holds the known run, so the session leaves
// the run to it.
func (t *Session) BeforeRead() {
	if t.Code.Tainted {
		t.Forget()
	}
}

// RunReplaced implements runlog.Owner. The code is of no use for another run.
func (t *Session) RunReplaced() { t.Code.Drop() }

// Forget drops all that is known. The next look reads everything again.
func (t *Session) Forget() {
	t.Code.Drop()
	t.entry = &entry{known: runlog.NewKnown(t.WorkflowID, t.Process.World.Now())}
	t.View.Reset(t.entry.known)
	t.Code.Reset(&t.entry.kept)
}

// Discard cleans up after a task that is not committed.
func (t *Session) Discard() {
	t.Code.Tasks.Report(nil)
	if t.Code.Tainted {
		t.Forget()
	} else {
		t.Code.Drop()
	}
}

// Retire ends a task that writes nothing. It keeps the instance if the code did nothing but look.
func (t *Session) Retire(transition *engine.Transition) {
	if !transition.Unchanged {
		t.Discard()
		return
	}
	t.Code.Tasks.Report(nil)
	t.Code.Unsettled = false
}

// closeEvicted ends the code of entries that the cache no longer keeps.
func (s *Process) closeEvicted(evicted []*entry) {
	for _, e := range evicted {
		if in := e.kept.Instance; in != nil {
			e.kept = runner.Kept{}
			s.Runner.Close(e.known.WorkflowID, in)
		}
	}
}

// Run returns the latest run that is known, or nil.
func (t *Session) Run() *engine.Run { return t.View.Known.Run }

// Step runs a task that messages or a request triggered: see runner.Code.Step.
func (t *Session) Step(ctx context.Context, run *engine.Run, task engine.Task, triggers ...*engine.Message) (*engine.Transition, error) {
	return t.Code.Step(ctx, run, task, func() *engine.Writer { return t.Writer(triggers...) })
}
