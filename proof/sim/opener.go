package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// opener is a client that sends each update and each signal with a start. It draws from a stream of
// its own.
type opener struct {
	*simulation
	random *draws
	id     string
	p      program
}

// startOpeners starts the openers of the seeds that have some.
func (s *simulation) startOpeners() {
	if !s.stream("openers").oneIn(3) {
		return
	}
	for i := range s.plan.workflows {
		id := fmt.Sprintf("w%d", i)
		o := &opener{s, s.stream("opener " + id), id, s.audit.programs[id]}
		s.spawn("opener "+id, nil, o.live)
	}
}

func (o *opener) live() {
	for op := range 2 + o.random.IntN(5) {
		o.pause(wait{until: o.now.Add(time.Duration(o.random.IntN(8000)) * time.Millisecond)})
		if o.random.IntN(2) == 0 {
			o.update(op)
		} else {
			o.signal(op)
		}
	}
}

// start returns a start with a policy.
func (o *opener) start(op int, policies ...string) *schema.StartRequest {
	input, err := json.Marshal(o.p)
	if err != nil {
		panic(err)
	}
	r := startRequest(o.id, fmt.Sprintf("open-%d", op), input, o.p)
	r.Notify = o.notifications(o.id, r.RequestID)
	r.IDConflictPolicy = policies[o.random.IntN(len(policies))]
	return &r
}

// update sends an update with a start. A start with a cron expression must be refused, without a
// write or a message.
func (o *opener) update(op int) {
	id, n := fmt.Sprintf("with-%d", op), 1+o.random.IntN(9)
	input, _ := json.Marshal(n)
	start := o.start(op, "useExisting", "terminateExisting", "fail")
	short := []*schema.Duration{nil, timeout(0), timeout(300 * time.Millisecond), timeout(3 * time.Second)}[o.random.IntN(4)]
	o.audit.adding(o.id, id, n)
	var answer *schema.UpdateResponse
	did, err := o.insist(o.name("update %s with a start of %s, %s", id, o.id, start.IDConflictPolicy), o.found(o.id, func(ctx context.Context, t edge.Service) (err error) {
		answer, err = t.Update(ctx, o.id, "", add.Name(), schema.UpdateRequest{UpdateID: id, Input: input, Start: start, Timeout: short})
		short = nil // a client has a deadline only once
		return err
	}))
	switch {
	case errors.Is(err, refusal.Invalid) && o.p.Cron:
		if did.landed+did.lost+did.lied+did.sent > 0 {
			o.fail("update %s with a start of %s was refused, and did %+v", id, o.id, did)
		}
	case err == nil && o.p.Cron:
		o.fail("update %s was taken with a start of %s that waits for a cron expression", id, o.id)
	case err == nil:
		o.audit.answered(o.id, id, n, answer, did)
	case !errors.Is(err, refusal.AlreadyOpen) && !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NotReady) && !errors.Is(err, refusal.UpdatesInFlight) && !isPaused(err):
		o.fail("update %s with a start of %s: %v", id, o.id, err)
	}
}

// signal sends a signal with a start. It demands that the signal is in the log when it is
// acknowledged.
func (o *opener) signal(op int) {
	id := fmt.Sprintf("with-%d", op)
	start := o.start(op, "useExisting", "terminateExisting")
	_, err := o.insist(o.name("signal %s with a start of %s, %s", id, o.id, start.IDConflictPolicy), o.found(o.id, func(ctx context.Context, t edge.Service) error {
		_, err := t.Signal(ctx, o.id, "", note.Name(), schema.SignalRequest{Input: []byte(`"hello"`), RequestID: id, Start: start})
		return err
	}))
	arrived := slices.ContainsFunc(o.audit.runs[o.id], func(r *engine.Run) bool { return r.State.Signaled(id) })
	if err == nil && !arrived || err != nil && !errors.Is(err, refusal.NotFound) {
		o.fail("signal %s with a start of %s was answered %v, and arrived: %v", id, o.id, err, arrived)
	}
}

// replaced reports whether a start has terminated a run of a workflow.
func (a *audit) replaced(workflow string) bool {
	return slices.ContainsFunc(a.runs[workflow], func(r *engine.Run) bool { return r.State.OpenedWith() != r.State.Next() })
}

// timeout returns the timeout of a request.
func timeout(d time.Duration) *schema.Duration { return (*schema.Duration)(&d) }
