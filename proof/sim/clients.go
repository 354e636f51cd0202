package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/workflow"
)

var errDied = errors.New("the process died")

// call lets a process carry out a request, and waits for the answer or the process's death. If p is
// nil, it picks a process at random.
func (s *simulation) call(p *process, name string, fn func(context.Context, edge.Service) error) (deeds, error) {
	if p == nil && s.gradual != nil {
		p = s.routed()
	} else if p == nil {
		p = s.anyProcess()
	}
	err, restored := errDied, s.restore.done
	a := s.spawn(s.name("p%d %s", p.number, name), p, func() {
		s.events.asked(s.running)
		if s.gradual != nil {
			err = s.request(p, fn)
			return
		}
		err = fn(context.Background(), edge.Of(p.Service))
	})
	s.await(a)
	for i := 0; i < len(a.forwards); i++ { // what it has forwarded may outlive it, and still answer
		s.await(a.forwards[i])
	}
	if a.dead || restored != s.restore.done { // the effect of the request may have been undone
		err = errDied
	}
	s.log("%s: %v", name, err)
	s.count("a request is made")
	return a.did, err
}

// quickTries is after how many tries clients wait longer and longer: what they wait for, the rule
// that sweeps say, may be away for a day.
const quickTries = 100

// insist repeats a request while its outcome is unknown, and returns the last answer. If only
// another build can serve the request, it sends it to a process of that build, or moves the run if
// there is no such process.
func (s *simulation) insist(name string, fn func(context.Context, edge.Service) error) (deeds, error) {
	var p *process
	for tries := 0; ; tries++ {
		did, err := s.call(p, name, fn)
		var other *executor.OtherBuild
		if p = nil; errors.As(err, &other) {
			if other.Soft {
				s.fail("%s: a caller learns that another build owns the run: %v", name, err)
			}
			if p = s.processOf(other.Build); p == nil && other.Moves {
				return did, err
			} else if p == nil {
				s.move(other.WorkflowID, schema.MoveRequest{})
			}
			continue
		}
		if !errors.Is(err, errDied) && !errors.Is(err, refusal.Busy) && !errors.Is(err, refusal.OutcomeUnknown) && !s.held(err) {
			return did, err
		}
		s.pause(wait{until: s.now.Add(s.patient(s.random) * time.Duration(1+max(0, tries-quickTries)))})
	}
}

// startClients starts the clients of each workflow.
func (s *simulation) startClients() {
	for i := range s.plan.workflows {
		id := fmt.Sprintf("w%d", i)
		r := s.stream("workflow " + id)
		program := s.bugs(s.counted(id, s.timeouts(id, s.program(r))))
		s.audit.programs[id] = program
		for c := range 1 + r.IntN(1+s.plan.most) {
			s.spawn(s.name("client %s.%d", id, c), nil, func() { s.client(id, c, program) })
		}
		if s.plan.maintenance && r.oneIn(2) {
			for c := range 1 + r.IntN(2) {
				s.spawn(s.name("returning client %s", id), nil, func() { s.returns(id, 10+c, program) })
			}
		}
	}
}

// returns is the life of a client that sends requests again while the runs of a workflow are being
// deleted, or after that.
func (s *simulation) returns(id string, number int, p program) {
	r := s.ofClient(id, number)
	s.pause(wait{until: s.now.Add(retention + time.Duration(r.IntN(4))*checkEvery + time.Duration(r.IntN(4000))*time.Millisecond)})
	if r.oneIn(2) {
		s.erase(r, id)
	}
	s.client(id, number, p)
}

// erase lets one of a workflow's runs be deleted.
func (s *simulation) erase(r *draws, id string) {
	runs := s.audit.runs[id]
	if len(runs) == 0 {
		return
	}
	run := runs[r.IntN(len(runs))].State.RunID
	if !s.mayErase() {
		return
	}
	_, err := s.insist(fmt.Sprintf("delete %s of %s", run, id), func(ctx context.Context, t edge.Service) error { return t.Delete(ctx, id, run) })
	if err != nil && !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.AlreadyOpen) && !errors.Is(err, refusal.ClosedRecently) {
		s.fail("delete %s of %s: %v", run, id, err)
	}
}

// mayErase reports whether a run may be deleted. After a long outage its messages may have waited
// for as long as it has been closed. When they arrive, nobody can read which other log they
// concern. The slow check of that log sends what it owes.
func (s *simulation) mayErase() bool {
	if s.outages.excuse <= time.Hour {
		return true
	}
	s.maintenance.purged = s.maintenance.purged || s.plan.maintenance
	return s.plan.maintenance
}

func (s *simulation) program(r *draws) program {
	p := program{
		Steps: r.IntN(4), Fan: []int{0, 0, 2, 5, 12}[r.IntN(5)], Nap: []time.Duration{0, time.Second, 10 * time.Minute, 40 * time.Minute, 26 * time.Hour}[r.IntN(5)],
		Most: 5 + r.IntN(60), Poison: []int{0, 0, 1, 2}[r.IntN(4)], Flaky: r.IntN(3), Once: r.oneIn(6), Inline: r.oneIn(3),
		Laps: []int{0, 0, 1}[r.IntN(3)], Notes: r.IntN(3), Ask: r.oneIn(4),
		Kids: []int{0, 0, 1, 2, 5}[r.IntN(5)], Leave: r.oneIn(3), Policy: workflow.ParentClosePolicy(r.IntN(3)),
		Tells: []string{"", "", fmt.Sprint("w", r.IntN(s.plan.workflows))}[r.IntN(3)],
	}
	p.Local = r.oneIn(4)
	if p.Laps == 0 && r.oneIn(3) {
		p.Fails = 1 + r.IntN(3)
	}
	if r.oneIn(4) {
		p.Whole = []time.Duration{10 * time.Second, time.Hour, 5 * time.Hour}[r.IntN(3)]
	}
	if p.Laps == 0 && r.oneIn(6) {
		p.Cron, p.Whole = true, 5*time.Hour
	}
	if r.oneIn(3) {
		p.Queue = taskQueues[0]
	}
	return p
}

// timeouts adds timeouts to a program. Runs that are retried for ever, or that run each hour, have
// no run timeouts, because nothing would end them.
func (s *simulation) timeouts(id string, p program) program {
	r := s.stream("timeouts of " + id)
	p.Run = []time.Duration{0, 0, 0, 5 * time.Second, 5 * time.Minute, 2 * time.Hour}[r.IntN(6)]
	if (p.Fails > 0 || p.Cron) && p.Whole == 0 {
		p.Run = 0
	}
	p.Close = []time.Duration{0, 0, 0, 2 * time.Second, 2 * time.Minute, time.Hour}[r.IntN(6)]
	return p
}

// client is the life of one client of one workflow.
func (s *simulation) client(id string, number int, p program) {
	r := s.ofClient(id, number)
	s.start(id, fmt.Sprintf("start-%d", number), p)
	for op := range s.more() + r.IntN(3*s.plan.most) {
		name := fmt.Sprintf("%d-%d", number, op)
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			s.update(id, "add", "add-"+name, 1+r.IntN(9))
		case 4, 5:
			s.update(id, "addSlow", "slow-"+name, 1+r.IntN(9))
		case 6, 7:
			s.signal(id, "note-"+name, "hello")
		case 8, 9:
			s.ask(id)
		case 10:
			s.update(id, "add", "shared-"+id, 3) // several clients send the same update
		case 11:
			s.rare(r, id, number, p)
		}
		s.pause(wait{until: s.now.Add(s.pace() * time.Duration(r.IntN(5000)) * time.Millisecond)})
	}
}

// ofClient returns the random stream of a client.
func (s *simulation) ofClient(id string, number int) *draws {
	return s.stream(fmt.Sprintf("client %s.%d", id, number))
}

// rare sends the requests that end a run.
func (s *simulation) rare(r *draws, id string, number int, p program) {
	switch r.IntN(7) {
	case 0:
		_, _ = s.insist("terminate "+id, func(ctx context.Context, t edge.Service) error { return t.Terminate(ctx, id, "", "a whim") })
	case 1:
		_, _ = s.insist("cancel "+id, func(ctx context.Context, t edge.Service) error { return t.Cancel(ctx, id, "", "a whim") })
	case 2:
		s.start(id, fmt.Sprintf("again-%d", number), p)
	case 3, 4:
		s.reset(r, id, fmt.Sprintf("reset-%d-%d", number, s.steps)) // a restore forgets acknowledged resets, and not the steps
	case 5:
		s.erase(r, id)
	case 6:
		if s.plan.pinned {
			s.move(id, []schema.MoveRequest{{}, {Unpin: true}, {Build: "build-1"}, {Build: "build-2"}}[r.IntN(4)])
		}
	}
}

// move tries to move a run to another build.
func (s *simulation) move(id string, r schema.MoveRequest) {
	_, err := s.insist("move "+id, func(ctx context.Context, t edge.Service) error {
		_, err := t.Move(ctx, id, "", r)
		return err
	})
	if err != nil && !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NotReady) && !errors.Is(err, refusal.OtherBuild) {
		s.fail("move of %s: %v", id, err)
	}
}

// reset resets a workflow to some task. The audit checks which events of the earlier run are in the
// new one.
func (s *simulation) reset(r *draws, id, requestID string) {
	request := schema.ResetRequest{RequestID: requestID, Exclude: [][]string{nil, nil, {"updates"}, {"signals"}, {"updates", "signals"}}[r.IntN(5)]}
	switch r.IntN(4) {
	case 0:
		request.To = "firstTask"
	case 1:
		request.To = "lastTask"
	default:
		request.EventID = 1 + r.Int64N(30) // an event that may belong to no task, which is refused
	}
	var answer *schema.ResetResponse
	_, err := s.insist("reset "+id, func(ctx context.Context, t edge.Service) (err error) {
		answer, err = t.Reset(ctx, id, "", request)
		return err
	})
	if err == nil {
		s.audit.reset(id, requestID, answer.RunID, request.Exclude)
	} else if !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.Invalid) && !(errors.Is(err, refusal.TooLarge) && s.large) {
		s.fail("reset of %s: %v", id, err)
	}
}

func (s *simulation) start(id, requestID string, p program) {
	input, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	notify := s.notifications(id, requestID)
	var answer *schema.StartResponse
	_, err = s.insist("start "+id, func(ctx context.Context, t edge.Service) (err error) {
		r := startRequest(id, requestID, input, p)
		r.Notify = notify
		answer, err = t.Start(ctx, r)
		return err
	})
	if err == nil {
		s.audit.started(id, requestID, answer.RunID)
	} else if !errors.Is(err, refusal.AlreadyOpen) {
		s.fail("start of %s: %v", id, err)
	}
}

// hourly is the cron expression of the ledgers that have one.
const hourly = "0 * * * *"

// startRequest returns the start of a ledger. A ledger that is to fail is retried after a time that
// is short for a queue, or long.
func startRequest(id, requestID string, input []byte, p program) schema.StartRequest {
	r := schema.StartRequest{WorkflowID: &id, Type: ledger.Name(), Input: input, RequestID: requestID}
	if p.Cron {
		r.Cron = hourly
	}
	r.ExecutionTimeout, r.RunTimeout = schema.Duration(p.Whole), schema.Duration(p.Run)
	if p.Fails > 0 {
		r.Retry = &schema.RetryPolicy{InitialInterval: schema.Duration(10 * time.Minute)}
	}
	return r
}

func (s *simulation) signal(id, requestID, text string) {
	input, _ := json.Marshal(text)
	_, err := s.insist("signal "+id+" "+text, s.found(id, func(ctx context.Context, t edge.Service) error {
		_, err := t.Signal(ctx, id, "", note.Name(), schema.SignalRequest{Input: input, RequestID: requestID})
		return err
	}))
	if err == nil {
		s.audit.signaled(id, requestID)
	} else if !errors.Is(err, refusal.NotFound) {
		s.fail("signal to %s: %v", id, err)
	}
}

// update sends an update until its outcome is known, and reports it to the audit.
func (s *simulation) update(id, name, updateID string, n int) {
	input, _ := json.Marshal(n)
	s.audit.adding(id, updateID, n)
	var answer *schema.UpdateResponse
	did, err := s.insist(name+" "+id+" "+updateID, s.found(id, func(ctx context.Context, t edge.Service) error {
		return s.within(10*time.Second, "update of "+id, func() (err error) {
			answer, err = t.Update(ctx, id, "", name, schema.UpdateRequest{UpdateID: updateID, Input: input, Timeout: timeout(10 * time.Second)})
			return err
		})
	}))
	switch {
	case err == nil:
		s.audit.answered(id, updateID, n, answer, did)
	case errors.Is(err, refusal.NotFound), errors.Is(err, refusal.NotReady), errors.Is(err, refusal.UpdatesInFlight), isPaused(err):
		if did.landed+did.lost+did.lied == 0 && did.sent > 0 {
			s.fail("update %s of %s was refused (%v), wrote nothing, and sent %d messages", updateID, id, err, did.sent)
		}
	default:
		s.fail("update %s of %s: %v", updateID, id, err)
	}
}

// outsider is the life of somebody who holds the token of an attempt. They send heartbeats, and
// fail or complete the attempt.
func (s *simulation) outsider(info activity.Info, token, name string) {
	wait := func() { s.pause(wait{until: s.now.Add(time.Duration(s.random.IntN(40_000)) * time.Millisecond)}) }
	end := func(what string, fn func(context.Context, edge.Service) error) bool {
		_, err := s.insist(fmt.Sprintf("%s event %d attempt %d of %s", what, info.EventID, info.Attempt, info.WorkflowID), fn)
		if err != nil && !errors.Is(err, refusal.ActivityEnded) && !errors.Is(err, refusal.NotFound) && !s.restore.done {
			s.fail("%s of event %d of %s: %v", what, info.EventID, info.WorkflowID, err)
		}
		return err == nil
	}
	for range s.random.IntN(4) {
		wait()
		end("heartbeat", func(ctx context.Context, t edge.Service) error {
			_, err := t.HeartbeatActivity(ctx, schema.HeartbeatActivityRequest{Token: token, Details: []byte("1")})
			if s.restore.done && errors.Is(err, refusal.Busy) {
				// The restored table may not know that the function has returned. It will when the
				// slow check has made the attempt again, but nobody waits that long.
				return nil
			}
			return err
		})
	}
	wait()
	if !s.calm && s.random.oneIn(4) {
		end("fail", func(ctx context.Context, t edge.Service) error {
			_, err := t.FailActivity(ctx, schema.FailActivityRequest{Token: token, Message: "flaky"})
			return err
		})
		return
	}
	result, _ := json.Marshal(name)
	if end("complete", func(ctx context.Context, t edge.Service) error {
		_, err := t.CompleteActivity(ctx, schema.CompleteActivityRequest{Token: token, Result: result})
		return err
	}) {
		s.audit.completed(info)
	}
}

// ask queries the sum. The audit compares the answer with what was acknowledged before and begun by
// now.
func (s *simulation) ask(id string) {
	least, restored := s.audit.acknowledged(id), s.restore.done
	var answer *schema.QueryResponse
	_, err := s.insist("query "+id, s.found(id, func(ctx context.Context, t edge.Service) (err error) {
		answer, err = t.Query(ctx, id, "", total.Name(), nil)
		return err
	}))
	if err == nil && restored == s.restore.done {
		s.audit.asked(id, least, answer.Result)
	} else if err != nil && !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NotReady) && !isPaused(err) {
		s.fail("query of %s: %v", id, err)
	}
}

// finishWorkflows sends every workflow the signal to end.
func (s *simulation) finishWorkflows() {
	for _, id := range slices.Sorted(maps.Keys(s.audit.programs)) {
		s.spawn(s.name("finisher %s", id), nil, func() { s.signal(id, "the-end", finish) })
	}
	s.finishLetters()
	s.finishMembers()
	s.finishWaiters()
	for _, id := range s.audit.schedules {
		s.spawn(s.name("finisher %s", id), nil, func() { s.remove(id) })
	}
}

func decodeInt(p history.Payload) (n int, err error) {
	err = json.Unmarshal(p, &n)
	return n, err
}
