package session

import (
	"container/list"
	"sync"

	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

// entry is what a process keeps of a workflow between sessions. Only one session uses it at a time.
type entry struct {
	known *runlog.Known
	kept  runner.Kept
	// size is about how many bytes it keeps, besides the variables of the code.
	size int
}

// instanceSize is about how many bytes the coroutines of an instance keep.
const instanceSize = 16 << 10

// cache keeps the most recently used entries. It may be emptied at any moment: only speed depends
// on it.
type cache struct {
	mu         sync.Mutex
	maxEntries int
	maxBytes   int
	logBytes   int64
	bytes      int
	byID       map[string]*list.Element
	order      *list.List // of *entry, the most recently used in front
}

func newCache(maxEntries, maxBytes, logBytes int) *cache {
	return &cache{maxEntries: maxEntries, maxBytes: maxBytes, logBytes: int64(logBytes), byID: map[string]*list.Element{}, order: list.New()}
}

// take removes an entry from the cache and returns it, or nil if there is none. The caller owns it.
func (c *cache) take(workflowID string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.byID[workflowID]
	if element == nil {
		return nil
	}
	return c.remove(element)
}

func (c *cache) remove(element *list.Element) *entry {
	e := c.order.Remove(element).(*entry)
	delete(c.byID, e.known.WorkflowID)
	c.bytes -= e.size
	return e
}

// put gives an entry back, and returns the entries that it evicted. Commits of a run whose log is
// longer than logBytes are dropped, and so are those of the previous run: its state answers all
// questions about it.
func (c *cache) put(e *entry) (evicted []*entry) {
	e.size = e.known.Trim(c.logBytes) + 1<<10
	if e.kept.Instance != nil {
		e.size += instanceSize
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[e.known.WorkflowID] = c.order.PushFront(e)
	c.bytes += e.size
	for c.order.Len() > 0 && (c.order.Len() > c.maxEntries || c.bytes > c.maxBytes) {
		evicted = append(evicted, c.remove(c.order.Back()))
	}
	return evicted
}

// KeptCommits returns how many commits of a workflow's latest run this process keeps in memory, and how many the run
// has; 0 and 0 if it keeps nothing of the workflow.
func (s *Process) KeptCommits(workflowID string) (kept, all int) {
	e := s.cache.take(workflowID)
	if e == nil {
		return 0, 0
	}
	defer s.cache.put(e)
	for _, c := range e.known.Run.Log {
		if c != nil {
			kept++
		}
	}
	return kept, len(e.known.Run.Log)
}

// clear empties the cache and returns what was in it.
func (c *cache) clear() (all []*entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.order.Len() > 0 {
		all = append(all, c.remove(c.order.Back()))
	}
	return all
}
