package turn

import (
	"encoding/binary"
	"time"

	"github.com/seed-41655fb1/weft/engine"
)

// rivals is what a session that has lost a race knows of those who win: other processes that write to the same run. Nobody
// tells how many they are. But each of them takes a slot when it is done, and the read that begins a try shows how many slots
// have been taken since the last.
//
// With n rivals, each of whom waits anywhere between no time and w and then needs the time t for a try, about 2tn/w of them try
// at any moment. A wait of four times t for each slot that was taken keeps that at a half where nobody leaves: enough are let
// through, and few of those who try meet. While there are more rivals than that, the slots are taken as fast as can be, so that
// each wait is about twice the one before; when they have gone, it becomes shorter by itself.
type rivals struct {
	// lost is how many races were lost, one after the other.
	lost int
	// try is the time of a try: the shortest so far, since one may be held up by anything. The first counts only until there
	// is another: it may have been spared the read, or have had to connect.
	try time.Duration
	// run and slot are where the log ended when the last try read it; run is 0 where it did not read.
	run, slot uint32
	// taken is how many slots were taken between the last two tries.
	taken int
}

const (
	// shortestTry is what a try is taken to take at least.
	shortestTry = 2 * time.Millisecond
	// triesPerSlot is how many times as long as a try the longest wait is, for each slot that was taken.
	triesPerSlot = 4
)

// won notes a race that others have won: a try of this session on the latest run, which it has read (fresh) or not.
func (r *rivals) won(took time.Duration, latest *engine.Run, fresh bool) {
	if r.lost++; r.lost <= 2 || took < r.try {
		r.try = took
	}
	before := *r
	r.run, r.slot, r.taken = 0, 0, 1
	if latest == nil || !fresh {
		return
	}
	r.run, r.slot = latest.Number, latest.State.NextSlot
	switch {
	case before.run == r.run:
		r.taken = max(1, int(r.slot-before.slot))
	case before.run != 0:
		r.taken = max(1, int(r.slot)) // of a run that others have opened meanwhile
	}
}

// wait is how long to wait before the next try, where this much time is left: anything up to the time of four tries for each
// slot that was taken, up to that of 2, 4, 8, ... tries where this is more, and up to a quarter of what is left in any case.
func (r *rivals) wait(w World, left time.Duration) time.Duration {
	tries := max(triesPerSlot*r.taken, 1<<min(r.lost, 20))
	most := min(max(r.try, shortestTry)*time.Duration(tries), max(left/4, shortestTry))
	id := w.ID()
	return time.Duration(float64(most) * float64(binary.BigEndian.Uint32(id[:])) / (1 << 32))
}
