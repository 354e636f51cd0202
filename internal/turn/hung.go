package turn

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
)

// maxBlocked is how many runs are remembered as hung at most. When more hang, the one that has hung for longest is forgotten: its code
// may run once more.
const maxBlocked = 1000

// hungRetry is the longest delay between two looks at a run whose code hangs.
const hungRetry = time.Minute

// runKey names a run.
type runKey struct {
	workflowID string
	runID      history.RunID
}

// block keeps the code of a run from being run, because some of it has not come back.
type block struct {
	what  string // that hangs
	since time.Time
	// ended are asked whether the code has ended: one for each goroutine that hangs. Several hang at once only if they ran at the same
	// time, as local activities do.
	ended []func() bool
}

// over reports whether all code that hung has ended.
func (b *block) over() bool {
	for _, ended := range b.ended {
		if !ended() {
			return false
		}
	}
	return true
}

// blocks are the runs whose code hangs, at most maxBlocked. A run has at most one hung attempt: its code is not run again until that
// ends. Nobody reports the end; whoever asks for the run finds out.
type blocks struct {
	n  atomic.Int32 // spares the lock while nothing hangs
	mu sync.Mutex
	of map[runKey]*block
}

// add blocks a run until ended reports true.
func (b *blocks) add(key runKey, what string, now time.Time, ended func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[runKey]*block{}
	}
	if known := b.of[key]; known != nil {
		known.ended = append(known.ended, ended)
		return
	}
	if len(b.of) >= maxBlocked {
		b.makeRoom()
	}
	b.of[key] = &block{what: what, since: now, ended: []func() bool{ended}}
	b.n.Store(int32(len(b.of)))
}

// makeRoom forgets all blocks that are over, and the oldest if none is.
func (b *blocks) makeRoom() {
	var oldest runKey
	for key, one := range b.of {
		if one.over() {
			delete(b.of, key)
		} else if first := b.of[oldest]; first == nil || one.since.Before(first.since) {
			oldest = key
		}
	}
	if len(b.of) >= maxBlocked {
		delete(b.of, oldest)
	}
}

// find returns what blocks a run, or false. It lifts a block that is over.
func (b *blocks) find(key runKey) (what string, since time.Time, blocked bool) {
	if b.n.Load() == 0 {
		return "", since, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of[key]
	if one == nil {
		return "", since, false
	}
	if one.over() {
		delete(b.of, key)
		b.n.Store(int32(len(b.of)))
		return "", since, false
	}
	return one.what, one.since, true
}

// workflows are the ids of the workflows whose code hangs, each once.
func (b *blocks) workflows() (ids []string) {
	if b.n.Load() == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, one := range b.of {
		if !one.over() && !slices.Contains(ids, key.workflowID) {
			ids = append(ids, key.workflowID)
		}
	}
	return ids
}

// HungWorkflows are the ids of the workflows with code that has not come back, local activities included, at most 1,000.
func (s *Service) HungWorkflows() []string { return s.blocks.workflows() }

// blocked returns why the code of a run is not run while some of it hangs, as the failure of its task. It is nil if the code may run.
func (s *Service) blocked(workflowID string, runID history.RunID) *failure.Failure {
	what, since, blocked := s.blocks.find(runKey{workflowID, runID})
	if !blocked {
		return nil
	}
	return &failure.Failure{
		Kind: failure.KindDeadlock,
		Message: fmt.Sprintf("%s of this run has not come back since %s; the run's code is not run again until it does: fix the code, or terminate or reset the run",
			what, since.UTC().Format(time.RFC3339)),
	}
}

// barred returns why code of a run is not run, because it is parked, or hangs. It is nil if the code may run.
func (s *Service) barred(kind CodeKind, workflowID string, runID history.RunID) *failure.Failure {
	if f := s.parkedFailure(kind, workflowID, runID); f != nil {
		return f
	}
	return s.blocked(workflowID, runID)
}

// refused returns the refusal of a request that needs code of a run which is not run now; nil if the code may run.
func (t *session) refused(run *engine.Run, kind CodeKind) error {
	f := t.barred(kind, t.workflowID, run.State.RunID)
	if f == nil {
		return nil
	}
	return api.NotReady.New("%s", f.Message).With(f)
}

// passOver returns what a task comes to whose code is not run, because of f: the task fails, and what it brought is kept. A message
// tries it again later.
func (t *session) passOver(run *engine.Run, w *engine.Writer, task engine.Task, f *failure.Failure) *engine.Transition {
	t.dropInstance() // it has not seen what the task brings
	return run.Fail(w, task, f)
}
