package isolate

import (
	"sync"

	"github.com/seed-41655fb1/weft/internal/turn"
)

// returns is the turn.Recorder of a solo child, which does one job at a time. It remembers the workflow whose code returned last, for the
// parent. What has ended processes is known to the parent, which does not hand it out.
type returns struct {
	mu      sync.Mutex
	next    int
	running map[int]string
	last    string
}

var _ turn.Recorder = (*returns)(nil)

// Begin implements turn.Recorder.
func (r *returns) Begin(c turn.Code) (note int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	r.running[r.next] = c.WorkflowID
	return r.next
}

// End implements turn.Recorder.
func (r *returns) End(note int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = r.running[note]
	delete(r.running, note)
}

// Parked implements turn.Recorder.
func (r *returns) Parked(turn.Code) string { return "" }

// Forget implements turn.Recorder.
func (r *returns) Forget(string, uint32) {}

// workflow is the id of the workflow whose code returned last.
func (r *returns) workflow() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
