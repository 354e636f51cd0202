package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/workflow"
)

// Schedules start jobs.
var job = workflow.NewWorkflow[shift, string]("job")

// shift is the input of a job.
type shift struct {
	Takes time.Duration // one job takes no time, one all of it, and one twice as long
	Fails bool          // one job in four fails
}

func (l *code) job(ctx workflow.Context, d shift) (string, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(workflow.InfoOf(ctx).WorkflowID)) // writing to a hash never fails
	n := h.Sum32()
	if err := workflow.Sleep(ctx, d.Takes*time.Duration(n%3)); err != nil {
		return "", err
	}
	if d.Fails && n%4 == 0 {
		return "", workflow.NewError("fails", "this job fails")
	}
	return workflow.InfoOf(ctx).WorkflowID, nil
}

// suggestAfter is the length of the history after which a schedule continues in another run.
const suggestAfter = 25

// rota is a schedule of a seed.
type rota struct {
	schedule stored.Schedule
	other    stored.Overlap // a policy of single requests; empty means none
	rests    bool           // it ends, and is deleted long after that
}

// rotas are the possible schedules of a seed.
var (
	policies = []stored.Overlap{"", stored.OverlapSkip, stored.OverlapBufferOne, stored.OverlapBufferAll, stored.OverlapAllowAll, stored.OverlapCancel, stored.OverlapTerminate}
	specs    = []stored.Spec{
		{Intervals: []stored.Interval{{Every: stored.Duration(10 * time.Minute)}}},
		{Intervals: []stored.Interval{{Every: stored.Duration(15 * time.Minute), Offset: stored.Duration(4 * time.Minute)}, {Every: stored.Duration(20 * time.Minute)}}},
		{Cron: []string{tens}},
		{Cron: []string{sevens, forenoon}, TimeZone: berlin},
		{Cron: []string{sevens}, Intervals: []stored.Interval{{Every: stored.Duration(30 * time.Minute)}}},
	}
)

// mostCatchUp is for how long a schedule runs in a seed whose outage is longer than that.
const mostCatchUp = 2 * 24 * time.Hour

// rota draws a schedule that begins now.
func (s *simulation) rota(r *draws) rota {
	one := rota{rests: r.IntN(3) == 0}
	n := &one.schedule
	n.Spec, n.Overlap, n.PauseOnFailure = specs[r.IntN(len(specs))], policies[r.IntN(len(policies))], r.IntN(3) == 0
	n.Spec.Jitter = []stored.Duration{0, 0, stored.Duration(3 * time.Minute)}[r.IntN(3)]
	n.CatchUpWindow = []stored.Duration{0, 0, stored.Duration(2 * time.Minute), stored.Duration(20 * time.Minute)}[r.IntN(4)]
	if one.rests || r.IntN(4) == 0 {
		end := s.now.Add(time.Duration(30+r.IntN(90)) * time.Minute)
		n.Spec.EndAt = &end
	}
	if n.Spec.EndAt == nil && slices.ContainsFunc(s.outages.planned, func(o *outage) bool { return o.length > mostCatchUp }) {
		end := s.now.Add(mostCatchUp) // otherwise thousands of runs would be caught up with, and nothing else would happen
		n.Spec.EndAt = &end
	}
	if r.IntN(4) == 0 {
		start := s.now.Add(time.Duration(r.IntN(30)) * time.Minute)
		n.Spec.StartAt = &start
	}
	if r.IntN(3) == 0 {
		one.other = policies[r.IntN(len(policies))]
	}
	d := shift{Takes: []time.Duration{0, time.Second, 8 * time.Minute, 25 * time.Minute}[r.IntN(4)], Fails: r.IntN(2) == 0}
	if (n.Overlap == stored.OverlapCancel || n.Overlap == stored.OverlapTerminate) && r.IntN(2) == 0 {
		d.Takes = 5 * time.Hour
	}
	n.Action = stored.Action{Type: job.Name(), Input: encoded(d)}
	if r.IntN(4) == 0 {
		n.Action.Retry = &stored.Retry{InitialInterval: stored.Duration(time.Minute), MaximumAttempts: 2}
	}
	return one
}

func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// startSchedules starts the keepers of a seed's schedules. Few seeds have any.
func (s *simulation) startSchedules() {
	for i := range s.plan.schedules {
		id := fmt.Sprintf("s%d", i)
		r := s.stream("keeper " + id)
		s.audit.schedules = append(s.audit.schedules, id)
		s.spawn(s.name("keeper %s", id), nil, func() { s.keeper(id, r) })
	}
}

// keeper is the life of the keeper of a schedule. When the schedule was deleted, the keeper may
// create a second one.
func (s *simulation) keeper(id string, r *draws) {
	for life := range 1 + r.IntN(2) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(600)) * time.Second)})
		one := s.rota(r)
		s.create(id, fmt.Sprintf("create-%d", life), one.schedule)
		for op := range 1 + r.IntN(6) {
			s.pause(wait{until: s.now.Add(time.Duration(r.IntN(1500)) * time.Second)})
			s.keep(id, fmt.Sprintf("%d-%d", life, op), one, r)
		}
		if one.rests {
			return
		}
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(1500)) * time.Second)})
		s.remove(id)
	}
}

// keep sends one request to a schedule.
func (s *simulation) keep(id, name string, one rota, r *draws) {
	o := []stored.Overlap{"", one.other}[r.IntN(2)]
	switch r.IntN(9) {
	case 0, 1:
		s.tell(id, stored.UpdatePause, name, stored.Note{})
	case 2, 3:
		s.tell(id, stored.UpdateUnpause, name, stored.Note{})
	case 4, 5:
		s.tell(id, stored.UpdateTrigger, name, stored.Trigger{Overlap: o})
	case 6:
		end := s.now.Add(time.Duration(r.IntN(20)-10) * time.Minute)
		s.tell(id, stored.UpdateBackfill, name, stored.Backfill{StartAt: end.Add(-time.Duration(r.IntN(50)) * time.Minute), EndAt: end, Overlap: o})
	case 7:
		other := s.rota(r).schedule
		other.Overlap, other.Spec.EndAt = one.schedule.Overlap, one.schedule.Spec.EndAt
		if other.Spec.EndAt != nil {
			other.Spec.StartAt = nil // the schedule must not begin after that
		}
		s.tell(id, stored.UpdateChange, name, stored.Change{Schedule: &other})
	case 8:
		_, err := s.insist("describe "+id, func(ctx context.Context, t edge.Service) error {
			_, err := t.Query(ctx, stored.IDPrefix+id, "", stored.QueryDescribe, nil)
			return err
		})
		if err != nil && !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NotReady) {
			s.fail("describe %s: %v", id, err)
		}
	}
}

func (s *simulation) create(id, requestID string, what stored.Schedule) {
	workflowID, input := stored.IDPrefix+id, encoded(stored.Input{ID: id, Schedule: what})
	var answer *schema.StartResponse
	start := func() error {
		_, err := s.insist("create "+id, func(ctx context.Context, t edge.Service) (err error) {
			answer, err = t.StartOwn(ctx, schema.StartRequest{WorkflowID: &workflowID, Type: stored.WorkflowType, Input: input, RequestID: requestID})
			return err
		})
		return err
	}
	err := start()
	for s.restore.done && errors.Is(err, refusal.AlreadyOpen) { // the earlier schedule exists again
		s.remove(id)
		err = start()
	}
	if err != nil {
		s.fail("create %s: %v", id, err)
		return
	}
	s.audit.started(workflowID, requestID, answer.RunID)
}

// tell sends an update to a schedule until its outcome is known.
func (s *simulation) tell(id, name, updateID string, input any) {
	workflowID, body := stored.IDPrefix+id, encoded(input)
	var answer *schema.UpdateResponse
	_, err := s.insist(fmt.Sprintf("%s %s %s", name, id, updateID), func(ctx context.Context, t edge.Service) (err error) {
		answer, err = t.Update(ctx, workflowID, "", name, schema.UpdateRequest{UpdateID: updateID, Input: body, Timeout: timeout(10 * time.Second)})
		return err
	})
	switch {
	case err == nil && (answer.Stage == schema.StageRejected || answer.Failure != nil):
		s.fail("%s %s of %s is refused: %+v", name, updateID, id, answer.Failure)
	case err == nil:
		s.audit.told[workflowID+"/"+updateID] = append(s.audit.told[workflowID+"/"+updateID], answer)
	case !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NotReady) && !errors.Is(err, refusal.UpdatesInFlight):
		s.fail("%s %s of %s: %v", name, updateID, id, err)
	}
}

// remove deletes a schedule. After the acknowledgement the schedule starts nothing.
func (s *simulation) remove(id string) {
	workflowID := stored.IDPrefix + id
	var before *engine.Run // the latest run when the answered request was sent
	_, err := s.insist("delete "+id, func(ctx context.Context, t edge.Service) error {
		before = s.audit.latest(workflowID)
		return t.Terminate(ctx, workflowID, "", "deleted")
	})
	if err != nil && !errors.Is(err, refusal.NotFound) {
		s.fail("delete %s: %v", id, err)
	}
	run := s.audit.latest(workflowID)
	if run == nil || run.State.Status.Closed() || s.restore.done && createdSince(before, run) {
		return
	}
	s.fail("schedule %s was deleted, and continues in %s", id, run.State.RunID)
}

// createdSince reports whether the latest run of a schedule belongs to another creation than the
// earlier latest run, which may be nil. After a restore a schedule has two keepers. One may create
// the schedule while the other deletes it, and the deletion need not see that.
func createdSince(before, run *engine.Run) bool {
	return before == nil || before.State.FirstRunID() != run.State.FirstRunID()
}
