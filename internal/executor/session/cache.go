package session

import (
	"container/list"
	"sync"

	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

// entry is what a process keeps of a workflow between sessions. A session has it alone.
type entry struct {
	known *runlog.Known
	kept  runner.Kept
	// size is about how many bytes it keeps, besides what the code keeps in variables.
	size int
}

// instanceSize is about what the coroutines of an instance keep.
const instanceSize = 16 << 10

// cache keeps the entries that were used last. It may be emptied at any moment: nothing but speed depends on it.
type cache struct {
	mu         sync.Mutex
	maxEntries int
	maxBytes   int
	logBytes   int64
	bytes      int
	byID       map[string]*list.Element
	order      *list.List // of *entry, the one used last in front
}

func newCache(maxEntries, maxBytes, logBytes int) *cache {
	return &cache{maxEntries: maxEntries, maxBytes: maxBytes, logBytes: int64(logBytes), byID: map[string]*list.Element{}, order: list.New()}
}

// take removes an entry from the cache and returns it; nil where there is none. The taker has it alone.
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

// put gives an entry back and returns those that had to go for it. Commits of a run whose log is longer than logBytes do not stay, nor
// those of the run before: what is asked of that its state answers.
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
