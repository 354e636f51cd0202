package runner

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// maxBlocked is the largest number of runs that are remembered as hung. If more hang, the one that
// has hung for the longest time is forgotten: its code may run once more.
const maxBlocked = 1000

// runKey names a run.
type runKey struct {
	workflowID string
	runID      history.RunID
}

// block keeps the code of a run from running, because some of it has not returned.
type block struct {
	what  string // that hangs
	since time.Time
	// ended report whether the code has ended, one for each goroutine that hangs. Several hang at
	// once only if they ran at the same time, as local activities do.
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

// blocks has the runs whose code hangs, at most maxBlocked. A run has at most one hung task: its
// code does not run again until that ends. Nothing reports the end; find asks.
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

// find returns what blocks a run. It removes a block that is over.
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

// workflows returns the ids of the workflows whose code hangs, each once.
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

// Blocked returns why the code of a run is not run while some of it hangs, as the failure of its
// task. It returns nil if the code may run.
func (r *Runner) Blocked(workflowID string, runID history.RunID) *failure.Failure {
	what, since, blocked := r.blocks.find(runKey{workflowID, runID})
	if !blocked {
		return nil
	}
	return &failure.Failure{
		Kind: failure.KindDeadlock,
		Message: fmt.Sprintf("%s of this run has not come back since %s; the run's code is not run again until it does: fix the code, or terminate or reset the run",
			what, since.UTC().Format(time.RFC3339)),
	}
}

// Barred returns why code of a run is not run: it is parked, or hangs. It returns nil if the code
// may run.
func (r *Runner) Barred(kind CodeKind, workflowID string, runID history.RunID) *failure.Failure {
	if reason := r.Parked(kind, workflowID, runID, 0); reason != "" {
		return &failure.Failure{Kind: failure.KindMisuse, Message: reason}
	}
	return r.Blocked(workflowID, runID)
}
