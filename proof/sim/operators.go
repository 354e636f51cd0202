package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// broken is the amount at which the handler of addSlow panics in build 1, after its update was
// accepted, in ledgers with a poison.
const broken = 9

// refusedHere is the amount at which the handler of add panics in build 1 before it is accepted, in
// the same ledgers: the run refuses the update.
const refusedHere = 8

// whim is the reason of an operator who fails an update.
const whim = "a whim"

// startOperators starts operators who fail updates that are in flight. They draw from a random
// stream of their own.
func (s *simulation) startOperators() {
	r := rand.New(rand.NewPCG(s.seed, 0x0fa11))
	for i := range s.plan.workflows {
		if r.IntN(3) == 0 {
			id := fmt.Sprintf("w%d", i)
			s.spawn(s.name("operator who fails updates of %s", id), nil, func() { s.failUpdates(id, r) })
		}
	}
}

// failUpdates is the life of an operator who fails the updates in flight.
func (s *simulation) failUpdates(id string, r *rand.Rand) {
	for range 1 + r.IntN(6) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(20_000)) * time.Millisecond)})
		run := s.audit.latest(id)
		if s.calm || run == nil {
			continue
		}
		var open []string
		for _, update := range slices.Sorted(maps.Keys(run.State.Updates)) {
			if run.State.Updates[update].Completed == nil {
				open = append(open, update)
			}
		}
		if len(open) == 0 {
			continue
		}
		update := open[r.IntN(len(open))]
		var answer *schema.UpdateResponse
		_, err := s.insist(s.name("fail %s of %s", update, id), func(ctx context.Context, t edge.Service) (err error) {
			answer, err = t.FailUpdate(ctx, id, run.State.RunID, update, whim)
			return err
		})
		switch {
		case err == nil && answer.Stage != schema.StageCompleted:
			s.fail("update %s of %s was failed, and is %s", update, id, answer.Stage)
		case err == nil:
			s.audit.told[id+"/"+update] = append(s.audit.told[id+"/"+update], answer)
		case !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NotReady):
			s.fail("fail %s of %s: %v", update, id, err)
		}
	}
}

// checkCanceledUpdates demands that each accepted update of a canceled run has an outcome. Handlers
// may not have ended if they wait for the end of what they have canceled.
func (a *audit) checkCanceledUpdates(name string, run *engine.Run) {
	p := programOf(a.s, run)
	if p.waits() || p.Local {
		return
	}
	for id, u := range run.State.Updates {
		if u.Completed == nil {
			a.s.fail("%s was canceled, and its update %s has no outcome", name, id)
		}
	}
}
