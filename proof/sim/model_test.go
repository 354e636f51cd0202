package sim

import (
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/proof/model"
	"github.com/seed-41655fb1/weft/proof/shortform"
)

// spoil simulates seeds and changes the events that the model gets. It returns how many seeds the
// model rejected because of that.
func spoil(t *testing.T, many int, watch func() func(model.Event) (model.Event, bool)) (rejected int) {
	t.Helper()
	for seed := range uint64(many) {
		s := &simulation{seed: seed + 1, watch: watch()}
		s.perform()
		if strings.Contains(strings.Join(s.wrong, " "), "no trace of the model") {
			rejected++
		}
	}
	return rejected
}

// The model accepts the trace of every seed (TestSeeds). It rejects a trace that lacks an event or
// has events in another order.
func TestTheModelRejectsSpoiltTraces(t *testing.T) {
	t.Parallel()
	many := shortform.Or(12, 4)
	drop := func(n int, spoils func(*model.Event) bool) func() func(model.Event) (model.Event, bool) {
		return func() func(model.Event) (model.Event, bool) {
			seen := 0
			return func(e model.Event) (model.Event, bool) {
				if spoils(&e) {
					seen++
					return e, seen != n
				}
				return e, true
			}
		}
	}
	change := func(spoil func(*model.Event)) func() func(model.Event) (model.Event, bool) {
		return func() func(model.Event) (model.Event, bool) {
			return func(e model.Event) (model.Event, bool) {
				spoil(&e)
				return e, true
			}
		}
	}
	for _, c := range []struct {
		name  string
		watch func() func(model.Event) (model.Event, bool)
	}{
		{"no sending", drop(1, func(e *model.Event) bool { return e.Do == model.Send && e.Message.Kind == model.RunActivity })},
		{"a put is missing", drop(2, func(e *model.Event) bool { return e.Do == model.Put })},
		{"requests are messages of another causation id", change(func(e *model.Event) {
			if e.Do == model.Receive {
				for i := range e.Messages {
					e.Messages[i].CausationID += 1 << 20
				}
			}
		})},
		{"messages are deleted as soon as they come", change(func(e *model.Event) {
			if e.Do == model.Receive {
				e.Do, e.Actor = model.Delete, 0
			}
		})},
	} {
		rejected := spoil(t, many, c.watch)
		if t.Logf("%s: %d of %d seeds were rejected", c.name, rejected, many); rejected == 0 {
			t.Errorf("%s: every trace was accepted", c.name)
		}
	}
}
