//go:build !race

// The race detector makes sync.Pool drop things at random.
package host

import (
	"context"
	"testing"
	"time"
)

// A wait and a guard of a server reuse their timers and goroutines and allocate nothing.
func TestGuardsAreReused(t *testing.T) {
	w, woken := NewMachine(), make(chan struct{})
	defer w.Close()
	close(woken)
	wait, guard := func() { _ = w.Wait(context.Background(), time.Hour, woken) }, func() { w.Guard(time.Hour, func() {}) }
	for name, fn := range map[string]func(){"wait": wait, "guard": guard} {
		fn()
		if n := testing.AllocsPerRun(100, fn); n != 0 {
			t.Errorf("a %s allocates %v times", name, n)
		}
	}
}
