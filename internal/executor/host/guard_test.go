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
				t.Error("a function that returned is reported as not returned")
			}
			if n := len(w.guards); n != 1 {
				t.Errorf("%d goroutines wait for the next guard, want one", n)
			}
		}
		if !w.Guard(time.Second, runtime.Goexit) {
			t.Error("a function that ended its goroutine is reported as not returned")
		}
		func() {
			defer func() {
				if e, ok := recover().(Panic); !ok || e.Value != "a defect" {
					t.Errorf("the panic of a function reached the caller as %v", e.Value)
				}
			}()
			w.Guard(time.Second, func() { panic("a defect") })
		}()
		if w.Guard(time.Second, func() { <-hang }) {
			t.Error("a hanging function is reported as returned")
		}
		if n := len(w.guards); n != 0 {
			t.Errorf("after goroutines that ended or hang, %d wait for the next guard, want none", n)
		}
		close(hang)
		var used bool
		w.Together(func() { w.Guard(time.Second, func() { used = true }) }, func() { w.Guard(time.Second, func() {}) })
		if n := len(w.guards); !used || n < 1 || n > 2 {
			t.Errorf("after two guards %d goroutines wait for the next one", n)
		}
		w.Close() // the bubble would not end without this
	})
}
