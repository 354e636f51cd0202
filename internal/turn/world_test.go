//go:build !race

// The race detector has sync.Pool drop things at random.
package turn

import (
	"context"
	"testing"
	"time"
)

// A wait and a guard of a server make no timer of their own.
func TestTimersAreUsedAgain(t *testing.T) {
	w, woken := NewRealWorld(), make(chan struct{})
	close(woken)
	wait := func() { _ = w.Wait(context.Background(), time.Hour, woken) }
	wait()
	if n := testing.AllocsPerRun(100, wait); n != 0 {
		t.Errorf("a wait allocates %v times", n)
	}
	guard := func() { w.Guard(time.Hour, func() {}) }
	pooled := testing.AllocsPerRun(100, guard)
	w = RealWorld{}
	if plain := testing.AllocsPerRun(100, guard); plain != pooled+3 {
		t.Errorf("a guard allocates %v times with timers that are used again, and %v times with new ones; want three less", pooled, plain)
	}
}
