package lock

import "sync"

// Watchers wakes those who wait for the next commit that this process makes to a workflow, or to
// the list. The zero value works.
type Watchers struct {
	mu      sync.Mutex
	watched map[string]*watched
	rows    *watched // of those who wait for a change of the list; nil if nobody does
}

// watched is a workflow that somebody watches.
type watched struct {
	changed chan struct{}
	holders int
}

// Watch is a wait for the next commit of a workflow. The zero value watches nothing.
type Watch struct {
	// Changed is closed by the next commit.
	Changed <-chan struct{}
	stop    func()
}

// Stop ends the watch.
func (w Watch) Stop() {
	if w.stop != nil {
		w.stop()
	}
}

// Watch begins to watch a workflow.
func (w *Watchers) Watch(workflowID string) Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched == nil {
		w.watched = map[string]*watched{}
	}
	one := w.watched[workflowID]
	if one == nil {
		one = &watched{changed: make(chan struct{})}
		w.watched[workflowID] = one
	}
	one.holders++
	return Watch{one.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if one.holders--; one.holders == 0 && w.watched[workflowID] == one {
			delete(w.watched, workflowID)
		}
	}}
}

// Detach returns the channel of those who watch a workflow, for the caller to close, or nil if
// nobody does. A later Watch waits for the commit after that.
func (w *Watchers) Detach(workflowID string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.watched[workflowID]
	if one == nil {
		return nil
	}
	delete(w.watched, workflowID)
	return one.changed
}

// WatchRows begins to watch for the next commit of any workflow that changes the list.
func (w *Watchers) WatchRows() Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows == nil {
		w.rows = &watched{changed: make(chan struct{})}
	}
	one := w.rows
	one.holders++
	return Watch{one.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if one.holders--; one.holders == 0 && w.rows == one {
			w.rows = nil
		}
	}}
}

// DetachRows is Detach for those who watch for a change of the list.
func (w *Watchers) DetachRows() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.rows
	if one == nil {
		return nil
	}
	w.rows = nil
	return one.changed
}

// Len returns how much is watched: workflows, and the list.
func (w *Watchers) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows != nil {
		return len(w.watched) + 1
	}
	return len(w.watched)
}
