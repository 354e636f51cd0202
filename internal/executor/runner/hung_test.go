package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// At most maxBlocked runs are remembered. Runs whose code has ended are forgotten first, and then
// the oldest.
func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	var b blocks
	key := func(i int) runKey { return runKey{fmt.Sprint("w", i), history.NewRunID(1, [8]byte{})} }
	blocked := func(i int) bool { _, _, blocked := b.find(key(i)); return blocked }
	ended := false
	for i := range maxBlocked {
		over := func() bool { return false }
		if i == 7 {
			over = func() bool { return ended }
		}
		b.add(key(i), "code", time.Unix(int64(i), 0), over)
	}
	if !blocked(7) || len(b.of) != maxBlocked {
		t.Fatalf("run 7 is blocked: %v, of %d blocked runs", blocked(7), len(b.of))
	}
	ended = true
	b.add(key(maxBlocked), "code", time.Unix(maxBlocked, 0), func() bool { return false })
	if !blocked(0) || blocked(7) || !blocked(maxBlocked) || len(b.of) != maxBlocked {
		t.Errorf("a run whose code has ended is still blocked, of %d", len(b.of))
	}
	b.add(key(maxBlocked+1), "code", time.Unix(maxBlocked+1, 0), func() bool { return false })
	if blocked(0) || !blocked(1) || !blocked(maxBlocked+1) || len(b.of) != maxBlocked {
		t.Errorf("the oldest run is still blocked, of %d", len(b.of))
	}
}

// A run is blocked until all of its hanging code has ended.
func TestBlockOfSeveral(t *testing.T) {
	t.Parallel()
	var b blocks
	key, first, second := runKey{"w", "1-0"}, false, false
	b.add(key, "code", time.Time{}, func() bool { return first })
	b.add(key, "code", time.Time{}, func() bool { return second })
	first = true
	if _, _, blocked := b.find(key); !blocked {
		t.Error("the run is unblocked although the second code hangs")
	}
	second = true
	if _, _, blocked := b.find(key); blocked || b.n.Load() != 0 {
		t.Error("the run is still blocked")
	}
}
