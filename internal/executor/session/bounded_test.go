package session

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

type decoded struct{}

func (*decoded) UnmarshalJSON([]byte) error { return nil }

// A bounded number of checks of a type hang at once. Further ones are refused without a wait, until
// one of those has ended. Checks of other types go on.
func TestHangingChecksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Process{World: host.Machine{}, Options: Options{QueryFor: time.Second}}
		value, begun, release := payload.ValueOf[decoded](), atomic.Int32{}, make(chan struct{})
		check := func(of engine.Value, fn func()) error {
			return Bounded(p, of, fn, func(fn func()) error { fn(); return nil })
		}
		at := time.Now()
		for range 2 * mostHanging {
			if err := check(value, func() { begun.Add(1); <-release }); !errors.Is(err, refusal.NotReady) {
				t.Error(err)
			}
		}
		if waited := time.Since(at); begun.Load() != mostHanging || waited != mostHanging*time.Second {
			t.Errorf("%d checks hang, and their callers have waited for %v", begun.Load(), waited)
		}
		for _, of := range []engine.Value{payload.ValueOf[*decoded](), payload.ValueOf[int](), {}} {
			if err := check(of, func() {}); err != nil {
				t.Error(err)
			}
		}
		close(release)
		synctest.Wait()
		if err := check(value, func() {}); err != nil {
			t.Error(err)
		}
	})
}
