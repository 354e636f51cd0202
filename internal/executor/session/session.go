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

// Session is one holder's work on a workflow: from entering its gate to leaving it.
type Session struct {
	*Process
	WorkflowID string
	// entry is what the cache keeps.
	entry *entry
	// view is what the session knows of the log.
	View runlog.View
	// code is that of the latest run.
	Code runner.Code
	// follows takes the activity that follows, if it is to be run here; nil where none is.
	Follows Follower
	// patience is how long the session tries again after lost races; 0 is not at all.
	Patience time.Duration
	// committed says that the session has committed something.
	committed bool
	// watched is set to a watch on the workflow when the session leaves the gate; nil is none.
	Watched *lock.Watch
	// gateless says that the session holds no gate, and keeps nothing: it only reads.
	gateless bool
	// began is when the session did.
	began time.Time
}

// Follower takes the activity that follows from a commit, so that the process that made the commit goes on with it.
type Follower interface {
	// Take takes what a commit of the run schedules, if it goes on with that here. It returns the messages to send all the same.
	Take(run *engine.Run, messages []engine.Message) []engine.Message
}

// Open enters the gate of a workflow and takes what the cache knows of it.
func (s *Process) Open(ctx context.Context, workflowID string) (*Session, error) {
	if _, err := s.Locks.Acquire(ctx, workflowID, nil); err != nil {
		return nil, err
	}
	return s.Begin(workflowID), nil
}

// OpenWithin is open for a caller who waits at the gate no longer than this.
func (s *Process) OpenWithin(ctx context.Context, wait time.Duration, workflowID string) (*Session, error) {
	if _, err := s.Locks.AcquireWithin(ctx, wait, workflowID, nil); err != nil {
		return nil, err
	}
	return s.Begin(workflowID), nil
}

// Begin starts a session at a gate that the caller holds.
func (s *Process) Begin(workflowID string) *Session {
	t := s.newSession(workflowID, s.cache.take(workflowID))
	if k := t.entry.known; k.Run != nil && (k.IsOld(t.began, s.Options.CacheAge) || host.Expired(t.World, k.Run.State.Expires)) {
		t.Forget()
	}
	return t
}

// ReadBeside starts a session that reads without the gate of its workflow, which somebody else holds.
func (s *Process) ReadBeside(workflowID string) *Session {
	t := s.newSession(workflowID, nil)
	t.gateless = true
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

// Close gives what is known back to the cache and leaves the gate. Code that is ahead of the log is not kept, whatever
// happened: a handler may have panicked between the code and the put.
func (t *Session) Close() {
	t.Code.Tasks.Report(nil)
	if t.gateless {
		t.Code.Drop()
		return
	}
	if t.entry.known.Run == nil || t.Code.Tainted {
		t.Code.Drop() // of a run that was not opened
	} else {
		if t.Code.IsAhead(t.Run()) || t.Code.IsFull() {
			t.Code.Drop()
		}
		t.closeEvicted(t.cache.put(t.entry))
	}
	t.leave()
	if t.Code.Active {
		t.relieve()
	}
}

// leave leaves the gate, and wakes those who wait for what the session has committed. Whoever is to watch the run from here on does so
// before anybody else can commit.
func (t *Session) leave() {
	var waiting chan struct{}
	if t.committed {
		waiting = t.Watchers.Detach(t.WorkflowID)
	}
	if t.Watched != nil {
		*t.Watched = t.Watchers.Watch(t.WorkflowID)
	}
	t.Locks.Release(t.WorkflowID)
	if waiting != nil {
		close(waiting)
	}
}

// BeforeRead implements runlog.Owner: code that hangs holds the run that is known, so it is left to the code.
func (t *Session) BeforeRead() {
	if t.Code.Tainted {
		t.Forget()
	}
}

// RunReplaced implements runlog.Owner.
func (t *Session) RunReplaced() { t.Code.Drop() }

// Forget drops all that is known. The next look reads everything anew.
func (t *Session) Forget() {
	t.Code.Drop()
	t.entry = &entry{known: runlog.NewKnown(t.WorkflowID, t.World.Now())}
	t.View.Reset(t.entry.known)
	t.Code.Reset(&t.entry.kept)
}

// Discard is what is left to do after an activation that is not committed.
func (t *Session) Discard() {
	t.Code.Tasks.Report(nil)
	if t.Code.Tainted {
		t.Forget()
	} else {
		t.Code.Drop()
	}
}

// Retire ends an activation of which nothing is written. It keeps the instance of one whose code did nothing but look.
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

// Run is the latest run that is known, or nil.
func (t *Session) Run() *engine.Run { return t.View.Run }

// Step runs a task of a run that messages or a request brought: see runner.Code.Step.
func (t *Session) Step(ctx context.Context, run *engine.Run, task engine.Task, triggers ...*engine.Message) (*engine.Transition, error) {
	return t.Code.Step(ctx, run, task, func() *engine.Writer { return t.Writer(triggers...) })
}
