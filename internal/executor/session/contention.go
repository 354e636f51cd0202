package session

import (
	"encoding/binary"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/host"
)

// contention decides how long a session waits after it has lost a race for a slot to other
// processes that write to the same run. Nobody counts those processes. Each of them takes a slot
// when it has finished, and the read that begins a try shows how many slots were taken since the
// last try.
//
// With n writers, each of which waits a random time up to w and then needs the time t for a try,
// about 2tn/w of them try at any moment. A longest wait of four times t for each slot that was
// taken keeps that at a half: enough tries succeed, and few collide. With more writers than that,
// slots are taken as fast as possible, so each wait is about twice the one before. When the others
// have gone, the wait becomes shorter by itself.
type contention struct {
	// lost counts the races that were lost in a row.
	lost int
	// try is the duration of the shortest try so far, since anything may delay a try. The first one
	// counts only until there is another: it may have needed no read, or have had to connect.
	try time.Duration
	// run and slot are the end of the log that the last try read. run is 0 if that try read
	// nothing.
	run, slot uint32
	// taken is the number of slots that were taken between the last two tries.
	taken int
}

const (
	// shortestTry is the least duration that is assumed for a try.
	shortestTry = 2 * time.Millisecond
	// triesPerSlot is the longest wait for each slot that was taken, in durations of a try.
	triesPerSlot = 4
)

// recordLoss records a lost race: a try that took this long, on the latest run. fresh says that the
// session has read that run.
func (c *contention) recordLoss(took time.Duration, latest *engine.Run, fresh bool) {
	if c.lost++; c.lost <= 2 || took < c.try {
		c.try = took
	}
	before := *c
	c.run, c.slot, c.taken = 0, 0, 1
	if latest == nil || !fresh {
		return
	}
	c.run, c.slot = latest.Number, latest.State.NextSlot
	switch {
	case before.run == c.run:
		c.taken = max(1, int(c.slot-before.slot))
	case before.run != 0:
		c.taken = max(1, int(c.slot)) // of a run that others have opened meanwhile
	}
}

// wait returns a random wait before the next try, of which this much time is left. The longest wait
// is the time of triesPerSlot tries for each slot that was taken, or of 2, 4, 8, ... tries if that
// is more, and a quarter of what is left at most.
func (c *contention) wait(h host.Host, left time.Duration) time.Duration {
	tries := max(triesPerSlot*c.taken, 1<<min(c.lost, 20))
	most := min(max(c.try, shortestTry)*time.Duration(tries), max(left/4, shortestTry))
	id := h.ID()
	return time.Duration(float64(most) * float64(binary.BigEndian.Uint32(id[:])) / (1 << 32))
}
