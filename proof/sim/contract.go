package sim

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// brokenID is the id of each request that breaks a contract.
const brokenID = "broken"

// breakContract sends a ledger a request that its contract does not have. It demands that the
// request is refused, and that it leaves no event, no message and no record.
func (s *simulation) breakContract(r *rand.Rand, id string) {
	var what string
	var send func(context.Context, edge.Service) error
	signal := func(name, value string) func(context.Context, edge.Service) error {
		return func(ctx context.Context, t edge.Service) error {
			_, err := t.Signal(ctx, id, "", name, schema.SignalRequest{Input: []byte(value), RequestID: brokenID})
			return err
		}
	}
	update := func(name, value string) func(context.Context, edge.Service) error {
		return func(ctx context.Context, t edge.Service) error {
			answer, err := t.Update(ctx, id, "", name, schema.UpdateRequest{UpdateID: brokenID, Input: []byte(value)})
			if err == nil && answer.Stage == schema.StageRejected {
				return refusal.Invalid
			}
			return err
		}
	}
	kind := r.IntN(5)
	together := kind == 2 || kind == 3
	switch kind {
	case 0:
		what, send = "a signal of an unknown name", signal("nte", `"x"`)
	case 1:
		what, send = "a signal of a wrong value", signal(note.Name(), `{"x":1}`)
	case 2:
		what, send = "an update of an unknown name", update("ad", "1")
	case 3:
		what, send = "an update of a wrong input", update(add.Name(), `"1"`)
	case 4:
		what, send = "a query of an unknown name", func(ctx context.Context, t edge.Service) error {
			_, err := t.Query(ctx, id, "", "totl", nil)
			return err
		}
	}
	did, err := s.insist(s.name("%s to %s", what, id), send)
	refused := errors.Is(err, refusal.Invalid) || errors.Is(err, refusal.NotFound) || errors.Is(err, refusal.NotReady) || isPaused(err)
	if !refused && !s.restore.done {
		s.fail("%s to %s: %v, want a refusal", what, id, err)
	}
	// A process that carries out an update also carries out those that wait for the same lock.
	if !together && did.landed+did.lost+did.lied+did.sent > 0 {
		s.fail("%s to %s was refused, and has done %+v", what, id, did)
	}
	s.count("a request breaks a contract")
}

// checkContract demands that no request that breaks the contract is in the log of a run.
func (a *audit) checkContract(name string, run *engine.Run) {
	if run.State.Updates[brokenID] != nil || run.State.Signaled(brokenID) {
		a.s.fail("%s has a request that its contract does not have", name)
	}
}
