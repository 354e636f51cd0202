package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// answerMargin is how long after its caller's deadline an answer may arrive. Three things are not
// counted: the rest of a running call of a port, the reads of the last look, and time in which the
// process is frozen. The ports of the simulation ignore deadlines, and those of AWS do not.
const answerMargin = 2 * time.Second

// silentTry is a connection that has gone silent. The SDK's client repeats the request after the
// timeout of a try.
var silentTry = newFault("network: a try stays silent",
	"AWS SDKs and Tools Reference Guide, retry behavior and socket timeouts: a request whose connection has gone gets no answer, and is made again when its "+
		"time is over. AWS Lambda Developer Guide, best practices: connections that were idle are dropped.", 0.15, 0.02)

// tryTime is how long a try may take (store/dynamo, queue/sqs).
const tryTime = 3 * time.Second

// silence lets the running actor wait for a try that gets no answer.
func (s *simulation) silence(call string) {
	if s.running == nil || !s.hits(silentTry) {
		return
	}
	s.log("a try of %s stays silent", call)
	s.stall(s.now.Add(tryTime), slices.Contains(lookUps, call))
}

// stall keeps the running actor in a call of a port until a moment. The rest of a call after its
// caller's deadline is not counted. Neither are reads, because a poller looks a last time.
func (s *simulation) stall(until time.Time, reads bool) {
	me, began := s.running, s.now
	s.pause(wait{until: until})
	if (reads || began.Before(me.due)) && s.now.After(me.due) {
		me.excused += s.now.Sub(maxTime(began, me.due))
	}
}

// within demands that a process answers a request within a time limit.
func (s *simulation) within(limit time.Duration, what string, ask func() error) error {
	me := s.running
	began, slept, lurched := s.now, me.process.slept, s.lurched
	me.due, me.excused = began.Add(limit), 0
	err := ask()
	took := s.now.Sub(began) - me.excused - (me.process.slept - slept) - (s.lurched - lurched)
	if most := limit + answerMargin + s.clockGap(); took > most {
		s.fail("%s was answered after %v (%v), and the caller waits for %v: %v", what, took, s.now.Sub(began), limit, err)
	}
	return err
}

// startImpatient starts clients who wait for a fraction of a second, or for nothing.
func (s *simulation) startImpatient() {
	for i := range s.plan.workflows {
		id := fmt.Sprintf("w%d", i)
		if r := s.stream("impatient " + id); r.oneIn(4) {
			s.spawn(s.name("impatient client of %s", id), nil, func() { s.impatient(id, r) })
		}
	}
}

// impatient is the life of such a client. It updates a workflow, asks for its result, and polls an
// update.
func (s *simulation) impatient(id string, r *draws) {
	for op := range 1 + r.IntN(5) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(8000)) * time.Millisecond)})
		short := []time.Duration{5 * time.Second, time.Second, 200 * time.Millisecond, 0}[r.IntN(4)]
		update, n := fmt.Sprintf("hurried-%d", op), 1+r.IntN(9)
		name := []string{"add", "addSlow"}[r.IntN(2)]
		ask := func(what string, fn func(context.Context, edge.Service) error) error {
			_, err := s.call(nil, s.name("%s %s of %s within %v", what, update, id, short), func(ctx context.Context, t edge.Service) error {
				return s.within(max(short, turnLeast), what+" of "+id, func() error { return fn(ctx, t) })
			})
			return err
		}
		input, _ := json.Marshal(n) // a number always encodes
		switch r.IntN(4) {
		case 0:
			_ = ask("result", func(ctx context.Context, t edge.Service) error {
				_, err := t.Result(ctx, id, "", short)
				return err
			})
		case 1:
			_ = ask("poll", func(ctx context.Context, t edge.Service) error {
				_, err := t.PollUpdate(ctx, id, "", "shared-"+id, short)
				return err
			})
		default:
			s.audit.adding(id, update, n)
			err := ask("update", func(ctx context.Context, t edge.Service) error {
				_, err := t.Update(ctx, id, "", name, schema.UpdateRequest{UpdateID: update, Input: input, Timeout: timeout(short)})
				return err
			})
			if errors.Is(err, errDied) || errors.Is(err, refusal.OutcomeUnknown) || errors.Is(err, refusal.Busy) {
				s.update(id, name, update, n) // the update may have been accepted
			}
		}
	}
}

// turnLeast is how long a request that does not wait may take (internal/executor, leastTime).
const turnLeast = time.Second
