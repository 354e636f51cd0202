package host

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A guard's goroutine serves the next guard, unless its function panics, ends the goroutine, or
// does not return.
func TestGuard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, hang := NewMachine(), make(chan struct{})
		for range 2 {
			if !w.Guard(time.Second, func() {}) {
				t.Error("a function that returns has not ended")
			}
			if n := len(w.guards); n != 1 {
				t.Errorf("%d goroutines wait for the next guard, want one", n)
			}
		}
		if !w.Guard(time.Second, runtime.Goexit) {
			t.Error("a function that ends its goroutine has not ended")
		}
		func() {
			defer func() {
				if e, ok := recover().(Panic); !ok || e.Value != "a defect" {
					t.Errorf("the panic of a function came out as %v", e.Value)
				}
			}()
			w.Guard(time.Second, func() { panic("a defect") })
		}()
		if w.Guard(time.Second, func() { <-hang }) {
			t.Error("a function that hangs has ended")
		}
		if n := len(w.guards); n != 0 {
			t.Errorf("%d goroutines wait for the next guard after those that are gone or hang, want none", n)
		}
		close(hang)
		var used bool
		w.Together(func() { w.Guard(time.Second, func() { used = true }) }, func() { w.Guard(time.Second, func() {}) })
		if n := len(w.guards); !used || n < 1 || n > 2 {
			t.Errorf("%d goroutines wait for the next guard after two", n)
		}
		w.Close() // otherwise the bubble would not end
	})
}
