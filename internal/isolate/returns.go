package isolate

import (
	"sync"

	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

// returns is the runner.Recorder of a solo child, which does one job at a time. It remembers, for
// the parent, the workflow whose code returned last. The parent knows the code that has ended
// processes, and does not send it.
type returns struct {
	mu      sync.Mutex
	next    int
	running map[int]string
	last    string
}

var _ runner.Recorder = (*returns)(nil)

// Await implements runner.Recorder. The parent gives the turns.
func (r *returns) Await(runner.CodeRef) (turn int) { return runner.NoTurn }

// Leave implements runner.Recorder.
func (r *returns) Leave(int) {}

// Begin implements runner.Recorder.
func (r *returns) Begin(c runner.CodeRef, _ int) (note int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	r.running[r.next] = c.WorkflowID
	return r.next
}

// End implements runner.Recorder.
func (r *returns) End(note int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = r.running[note]
	delete(r.running, note)
}

// Parked implements runner.Recorder.
func (r *returns) Parked(runner.CodeRef) string { return "" }

// Forget implements runner.Recorder.
func (r *returns) Forget(string, uint32) {}

// workflow returns the id of the workflow whose code returned last.
func (r *returns) workflow() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
