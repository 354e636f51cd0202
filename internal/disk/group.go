package disk

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2"
)

// group is the changes of the operations of one group. An operation reads its own changes and those
// of earlier operations. Nobody else reads them before they are in the tables. The next group
// reuses the memory.
type group struct {
	tables  *pebble.DB
	changes []change // of all operations that did not refuse, in order
	records []record // one for each of those that changed something
	bytes   int      // of the stored values
	arena   []byte   // keys and stored values, as far as it reaches
	index   map[uint64]int
	before  []int // for each change, the one before it whose key has the same hash; -1 is none
	// scanned is the changes once more, for operations that read ranges; nil until one does.
	scanned *pebble.Batch
}

// largestArena is how much memory a group keeps for the next one.
const largestArena = 1 << 20

var hashSeed = maphash.MakeSeed()

func newGroup(tables *pebble.DB) *group { return &group{tables: tables, index: map[uint64]int{}} }

// clear begins a new group.
func (g *group) clear() {
	clear(g.changes)
	clear(g.records)
	clear(g.index)
	g.changes, g.records, g.before, g.bytes = g.changes[:0], g.records[:0], g.before[:0], 0
	if g.arena = g.arena[:0]; cap(g.arena) > largestArena {
		g.arena = nil
	}
	g.dropScanned()
}

func (g *group) dropScanned() {
	if g.scanned != nil {
		_ = g.scanned.Close() // it is in memory
		g.scanned = nil
	}
}

// run runs an operation. If the operation refuses, the group is as it was before.
func (g *group) run(op Op, report func(error)) error {
	from, bytes := len(g.changes), g.bytes
	if err := call(op, &Tx{from: g.tables, group: g, report: report}); err != nil {
		g.undo(from)
		g.bytes = bytes
		return err
	}
	if len(g.changes) == from {
		return nil
	}
	r := record{list: g.changes[from:len(g.changes):len(g.changes)]}
	if err := r.fits(); err != nil {
		g.undo(from)
		g.bytes = bytes
		return err
	}
	g.records = append(g.records, r)
	return nil
}

// call calls an operation. It returns the panic of one that panics as an error, and logs the stack.
func call(op Op, tx *Tx) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v", ErrPanicked, value)
			tx.report(fmt.Errorf("%w\n%s", err, debug.Stack()))
		}
	}()
	return op(tx)
}

// undo removes the changes from an index on.
func (g *group) undo(from int) {
	if len(g.changes) == from {
		return
	}
	for i := len(g.changes) - 1; i >= from; i-- {
		if h := maphash.Bytes(hashSeed, g.changes[i].key); g.before[i] < 0 {
			delete(g.index, h)
		} else {
			g.index[h] = g.before[i]
		}
	}
	clear(g.changes[from:])
	g.changes, g.before = g.changes[:from], g.before[:from]
	g.dropScanned()
}

// alloc returns n bytes of the arena. They stay where they are until the next group.
func (g *group) alloc(n int) []byte {
	if cap(g.arena)-len(g.arena) < n {
		g.arena = make([]byte, 0, max(n, 2*cap(g.arena), 8<<10)) // what was handed out keeps the old one
	}
	at := len(g.arena)
	g.arena = g.arena[:at+n]
	return g.arena[at : at : at+n]
}

// add adds a change.
func (g *group) add(c change) {
	h := maphash.Bytes(hashSeed, c.key)
	last, there := g.index[h]
	if !there {
		last = -1
	}
	g.index[h] = len(g.changes)
	g.changes, g.before = append(g.changes, c), append(g.before, last)
	g.bytes += len(c.value)
	if g.scanned != nil {
		set(g.scanned, c)
	}
}

// find returns the last change of a key; nil if there is none.
func (g *group) find(key []byte) *change {
	i, there := g.index[maphash.Bytes(hashSeed, key)]
	for ; there && i >= 0; i = g.before[i] {
		if bytes.Equal(g.changes[i].key, key) {
			return &g.changes[i]
		}
	}
	return nil
}

// whole is the tables with the changes.
func (g *group) whole() pebble.Reader {
	if g.scanned == nil {
		g.scanned = g.tables.NewIndexedBatch()
		for _, c := range g.changes {
			set(g.scanned, c)
		}
	}
	return g.scanned
}

// set makes a change in a batch. A batch is in memory, and takes every change.
func set(b *pebble.Batch, c change) {
	if c.value == nil {
		_ = b.Delete(c.key, nil)
	} else {
		_ = b.Set(c.key, c.value, nil)
	}
}
