package turn

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/lock"
	"github.com/seed-41655fb1/weft/internal/turn/runlog"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
)

// session is one holder's work on a workflow: from entering its gate to leaving it.
type session struct {
	*Service
	workflowID string
	// entry is what the cache keeps.
	entry *entry
	// view is what the session knows of the log.
	view *runlog.View
	// code is that of the latest run.
	code *runner.Code
	// follows takes the activity that follows, if it is to be run here; nil where none is.
	follows follower
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
}

// follower takes the activity that follows from a commit, so that the process that made the commit goes on with it.
type follower interface {
	// take takes what a commit of the run schedules, if it goes on with that here. It returns the messages to send all the same.
	take(run *engine.Run, messages []engine.Message) []engine.Message
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
	t.code = s.runner.Code(workflowID, &t.entry.kept, t.view)
	return t
}

// close gives what is known back to the cache and leaves the gate. Code that is ahead of the log is not kept, whatever
// happened: a handler may have panicked between the code and the put.
func (t *session) close() {
	t.code.Tasks.Report(nil)
	if t.gateless {
		t.code.Drop()
		return
	}
	if t.entry.known.Run == nil || t.code.Tainted {
		t.code.Drop() // of a run that was not opened
	} else {
		if t.code.IsAhead(t.run()) || t.code.IsFull() {
			t.code.Drop()
		}
		t.closeEvicted(t.cache.put(t.entry))
	}
	t.leave()
	if t.code.Active {
		t.relieve()
	}
}

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
	if t.code.Tainted {
		t.forget()
	}
}

// RunReplaced implements runlog.Owner.
func (t *session) RunReplaced() { t.code.Drop() }

// Forget implements runlog.Owner.
func (t *session) Forget() { t.forget() }

// forget drops all that is known. The next look reads everything anew.
func (t *session) forget() {
	t.code.Drop()
	t.entry = &entry{known: runlog.NewKnown(t.workflowID, t.world.Now())}
	t.view.Reset(t.entry.known)
	t.code.Reset(&t.entry.kept)
}

// discard is what is left to do after an activation that is not committed.
func (t *session) discard() {
	t.code.Tasks.Report(nil)
	if t.code.Tainted {
		t.forget()
	} else {
		t.code.Drop()
	}
}

// retire ends an activation of which nothing is written. It keeps the instance of one whose code did nothing but look.
func (t *session) retire(transition *engine.Transition) {
	if !transition.Unchanged {
		t.discard()
		return
	}
	t.code.Tasks.Report(nil)
	t.code.Unsettled = false
}

// closeEvicted ends the code of entries that the cache no longer keeps.
func (s *Service) closeEvicted(evicted []*entry) {
	for _, e := range evicted {
		if in := e.kept.Instance; in != nil {
			e.kept = runner.Kept{}
			s.runner.Close(e.known.WorkflowID, in)
		}
	}
}

// run is the latest run that is known, or nil.
func (t *session) run() *engine.Run { return t.view.Run }

// step runs a task of a run that messages or a request brought: see runner.Code.Step.
func (t *session) step(ctx context.Context, run *engine.Run, task engine.Task, triggers ...*engine.Message) (*engine.Transition, error) {
	return t.code.Step(ctx, run, task, func() *engine.Writer { return t.writer(triggers...) })
}
