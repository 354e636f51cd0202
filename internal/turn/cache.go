package turn

import (
	"container/list"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// entry is what a process remembers of a workflow: its latest run as far as it has seen it, and perhaps the run's code,
// stopped where it waits. Whoever holds the workflow's gate has it alone.
type entry struct {
	workflowID string
	run        *engine.Run
	instance   *engine.Instance // nil, or at the end of run's log, or before it
	// before is the run that the latest one continues, as far as somebody has asked: looked says that it was read. It has
	// closed, so it never changes; nil is one that is gone.
	before *engine.Run
	looked history.RunID
	// highest is the highest run number that was seen, whatever became of the run.
	highest uint32
	// vanishing has, by its number, the commit in the first slot of each run that was seen and is void or gone: it may be deleted at
	// any moment. The id is zero where the slot is empty.
	vanishing map[uint32][16]byte
	// beside is the highest number of a run that a void run was put beside, and besideAt when that was.
	beside   uint32
	besideAt history.Timestamp
	// proved is when what is known was last the truth: it was read, or a put of its next commit landed.
	proved time.Time
	// size is about how many bytes it keeps, besides what the code keeps in variables.
	size int
	// grown is how many bytes the process has allocated while the instance's code ran: at least what the code keeps. See pressure.
	grown int64
}

// maxAge is how long an entry is used after it was proved: an hour. A run is deleted two hours after it has closed at the earliest, so
// no slot becomes empty that an entry has as taken.
const maxAge = time.Hour

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
	delete(c.byID, e.workflowID)
	c.bytes -= e.size
	return e
}

// prove notes that the entry was the truth at a moment. One that knows of void runs or of those that are gone stays as old as it is: they
// may be deleted earlier.
func (e *entry) prove(at time.Time) {
	if e.run != nil && len(e.vanishing) == 0 && e.beside == 0 {
		e.proved = at
	}
}

// put gives an entry back and returns those that had to go for it. Commits of a run whose log is longer than logBytes do not stay, nor
// those of the run before: what is asked of that its state answers.
func (c *cache) put(e *entry) (evicted []*entry) {
	e.run.Trim(c.logBytes)
	e.size = e.run.Footprint() + 1<<10
	if e.before != nil {
		e.before.Trim(0)
		e.size += e.before.Footprint()
	}
	if e.instance != nil {
		e.size += instanceSize
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[e.workflowID] = c.order.PushFront(e)
	c.bytes += e.size
	for c.order.Len() > 0 && (c.order.Len() > c.maxEntries || c.bytes > c.maxBytes) {
		evicted = append(evicted, c.remove(c.order.Back()))
	}
	return evicted
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
