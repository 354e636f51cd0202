package engine

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// Listed reports whether the list has a row of a commit, the run's next: it opens or closes the
// run, or changes what the list has of it. Runs of the probe have no rows.
func (r *Run) Listed(c *history.Commit) bool {
	if opened := r.opened(c); opened == nil || opened.WorkflowType == history.ProbeWorkflow {
		return false
	}
	return c.Slot == 0 || c.Status.Closed() || r.Pinned(c) != r.State.Pinned || !r.Visibility(c).Equal(r.State.Visibility) || !r.Facts(c).Equal(r.State.Facts())
}

// probeRetention is how long a run of the probe is kept.
const probeRetention = 24 * time.Hour

// RetentionOf returns how long a run of a workflow type is kept after it has closed, in a
// deployment that keeps runs for this long: less for the probe.
func RetentionOf(workflowType string, usual time.Duration) time.Duration {
	if workflowType == history.ProbeWorkflow {
		return min(probeRetention, usual)
	}
	return usual
}

// Spent returns the work that the run has caused with a commit, its next, of this stored size.
func (r *Run) Spent(c *history.Commit, size int) *Counts {
	counts := r.State.Counts
	counts.countArrival(r, c)
	counts.countCommit(r, c, size, r.rowBytes(c))
	return &counts
}

// opened returns the event that opened the run, or that a commit opens it with; nil if the run was
// never opened.
func (r *Run) opened(c *history.Commit) *history.WorkflowExecutionStarted {
	if c.Slot == 0 {
		return c.Opens()
	}
	return r.State.Started
}

// rowBytes returns the size of the list's row of a commit, the run's next, or 0 if it has none.
func (r *Run) rowBytes(c *history.Commit) int64 {
	if !r.Listed(c) {
		return 0
	}
	started, build, visibility, facts := r.opened(c), r.Pinned(c), r.Visibility(c), r.Facts(c)
	size := rowBytes + len(started.WorkflowType) + len(c.RunID) + len(c.Status.String())
	if build != "" {
		size += len("build") + 1 + len(build)
	}
	if c.Status.Closed() {
		size += len("closed") + 1 + timeBytes + spentBytes
	}
	if n := len(visibility.SearchAttributes); n > 0 {
		size += len("attributes") + 1 + bodyBytes(visibility.SearchAttributes)
	}
	if n := len(visibility.Memo); n > 0 {
		size += len("memo") + 1 + bodyBytes(visibility.Memo)
	}
	if !facts.Empty() {
		size += len("facts") + 1 + bodyBytes(facts)
	}
	return int64(size)
}

// bodyBytes returns the size of a value in its stored form.
func bodyBytes(v any) int {
	body, err := history.EncodeBody(v)
	if err != nil {
		return 0 // it cannot be stored
	}
	return len(body)
}
