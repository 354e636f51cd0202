package isolate

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// visible is a Receiver that remembers which messages were made visible at once.
type visible struct {
	queue.Receiver
	receipts []string
}

func (v *visible) Extend(_ context.Context, _, receipt string, after time.Duration) error {
	if after == 0 {
		v.receipts = append(v.receipts, receipt)
	}
	return nil
}

// A postponed delivery is visible again when it is its workflow's turn, or when its workflow is no
// longer a suspect. It never becomes visible later than the queue redelivers it.
func TestPostponedDeliveriesAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := alone(t)
		v := &visible{}
		p.o.Receiver = v
		for _, w := range []string{"culprit", "a", "b", "late", "parked"} {
			p.suspects.add(w, 0)
		}
		p.suspects.add("parked", parkedAt)
		wants := func(when string, want ...string) {
			t.Helper()
			if !slices.Equal(v.receipts, want) {
				t.Errorf("%s: visible are %q, want %q", when, v.receipts, want)
			}
			v.receipts = nil
		}
		_, end, err := p.reserve(t.Context(), job{workflow: "culprit", runsCode: true})
		if err != nil {
			t.Fatal(err)
		}
		put := func(workflow string, by time.Duration, receipts ...string) {
			p.putOff(t.Context(), delivery{workflow: workflow, queue: queue.Workflow, receipts: receipts}, by)
		}
		put("parked", queue.MaxDelay, "parked")
		put("late", time.Second, "late")
		put("a", time.Minute, "a1", "a2")
		put("b", time.Minute, "b")
		put("a", time.Minute, "a3")
		time.Sleep(2 * time.Second)
		wants("while it is another's turn")
		end()
		wants("when it is nobody's turn", "a1", "a2")
		put("culprit", time.Minute, "culprit")
		wants("what is postponed when nobody has the turn", "b")
		p.clear("a")
		wants("when it is no suspect any more, and it is nobody's turn", "a3", "culprit")
		p.clear("parked")
		wants("when what was parked is terminated", "parked")

		p.suspects.add("c", 0)
		_, _, err = p.reserve(t.Context(), job{workflow: "c", runsCode: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{"b", "late"} {
			put(w, time.Minute, w)
		}
		p.inTurn.Store("culprit")
		p.blameFor(&process{alone: true, ended: make(chan struct{}), inFlight: map[string]flight{"culprit": {n: 1}}})
		wants("when the culprit is known", "b", "late")
	})
}

// The number of remembered deliveries is bounded. Those that the queue has redelivered are
// forgotten.
func TestPostponedDeliveriesAreBounded(t *testing.T) {
	var l delayed
	now := time.Now()
	for i := range mostDelayed + 10 {
		l.add(delivery{workflow: fmt.Sprint(i), until: now.Add(time.Minute)}, now)
	}
	if len(l.list) != mostDelayed {
		t.Errorf("%d are remembered, want %d", len(l.list), mostDelayed)
	}
	l.add(delivery{workflow: "next", until: now.Add(time.Hour)}, now.Add(time.Minute))
	if len(l.list) != 1 {
		t.Errorf("%d are remembered when all others were redelivered", len(l.list))
	}
}
