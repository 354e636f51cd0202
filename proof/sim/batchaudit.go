package sim

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/batch/acts"
	"github.com/seed-41655fb1/weft/internal/batch/flow"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/store"
)

// batchAudit has what is known of a simulation's batches.
type batchAudit struct {
	s   *simulation
	all map[string]*batch
}

// batch is what is known of one batch.
type batch struct {
	*order
	accepted []string       // the request ids whose starts were answered with success
	before   time.Time      // the batch acts on runs that started before; zero until its first step
	stopped  int            // the simulation's step at which the log of the batch had its stop; 0 means never
	due      map[place]bool // runs that the list had when the batch began, and that its filter has selected ever since
	attempts []*witness     // the attempts at its steps
}

func newBatchAudit(s *simulation) *batchAudit { return &batchAudit{s: s, all: map[string]*batch{}} }

// ordered notes a batch before its start is sent.
func (b *batchAudit) ordered(o *order) { b.all[o.id] = &batch{order: o} }

// began notes that the start of a batch was answered with success.
func (b *batchAudit) began(id, requestID string) {
	b.all[id].accepted = append(b.all[id].accepted, requestID)
}

// of returns the batch of a workflow id, or nil.
func (b *batchAudit) of(workflow string) *batch {
	id, is := strings.CutPrefix(workflow, stored.IDPrefix)
	if !is {
		return nil
	}
	return b.all[id]
}

// landed looks at a commit of a batch's workflow: the first one that schedules a step, the one that
// has its stop, and the one that closes it.
func (b *batchAudit) landed(run *engine.Run, c *history.Commit) {
	one := b.of(run.WorkflowID)
	if one == nil {
		return
	}
	for _, e := range c.Events() {
		switch e := e.Attributes.(type) {
		case *history.ActivityTaskScheduled:
			var in stored.Step
			if err := json.Unmarshal(e.Input, &in); err != nil {
				b.s.fail("a step of batch %s has %s: %v", one.id, e.Input, err)
			} else if !one.before.Equal(in.Before) { // it begins, or begins again after a restore
				one.before = in.Before
				b.expect(one)
			}
		case *history.WorkflowExecutionUpdateAccepted:
			if e.UpdateName == stored.UpdateStop && one.stopped == 0 {
				one.stopped = max(b.s.steps, 1)
			}
		}
	}
	if run.State.Status == history.Completed {
		b.closed(one, run)
	}
}

// expect notes the runs that a batch has to act on: those that the list has now.
func (b *batchAudit) expect(one *batch) {
	one.due = map[place]bool{}
	if one.stuck {
		return
	}
	b.s.list.follow()
	for at, r := range b.s.list.rows {
		if one.selectsRow(b.s.audit.opened(r.Summary)) {
			one.due[at] = true
		}
	}
}

// selectsRow reports whether a row is one of those that a batch acts on.
func (one *batch) selectsRow(r store.Summary) bool {
	return one.selects(r.Type, r.Status) && r.Started.Before(one.before)
}

// changed notes that the list has a change of a row, which is nil if it was deleted.
func (b *batchAudit) changed(at place, r *store.Summary) {
	for _, one := range b.all {
		if one.due[at] && (r == nil || !one.selectsRow(b.s.audit.opened(*r))) {
			delete(one.due, at)
		}
	}
}

// closed demands that a batch that has completed has acted on each run that it had to act on. What
// its actions did is checked at the end.
func (b *batchAudit) closed(one *batch, run *engine.Run) {
	result, _ := run.State.Outcome()
	var d stored.Description
	if err := json.Unmarshal(result, &d); err != nil {
		b.s.fail("batch %s has the result %s: %v", one.id, result, err)
		return
	}
	if d.Phase == stored.PhaseStopped || b.s.restore.done {
		return
	}
	b.s.list.follow()
	if one.request.DryRun {
		b.s.count("a dry run has counted")
		if most := b.s.audit.eligible(one); d.Counts.Matched < len(one.due) || d.Counts.Matched > most {
			b.s.fail("batch %s is a dry run and has matched %d runs; the list had %d all the time, and there were never more than %d", one.id, d.Counts.Matched, len(one.due), most)
		}
		return
	}
	for _, at := range slices.SortedFunc(maps.Keys(one.due), func(x, y place) int { return strings.Compare(x.workflow, y.workflow) }) {
		b.s.count("a batch has acted on a run that it had to act on")
		acted := slices.ContainsFunc(one.attempts, func(w *witness) bool {
			return slices.ContainsFunc(w.deeds, func(d *deed) bool {
				return d.on.WorkflowID == at.workflow && history.RunID(d.on.RunID).Number() == at.run
			})
		})
		if !acted {
			b.s.fail("batch %s has completed with %+v, and has not acted on run %d of %s, which its filter selects", one.id, d.Counts, at.run, at.workflow)
			return
		}
	}
}

// eligible returns how many runs there have been that a batch may select.
func (a *audit) eligible(one *batch) (n int) {
	for _, runs := range a.runs {
		for _, run := range runs {
			n += oneIf(!run.Void() && slices.Contains(one.types, run.State.Started.WorkflowType) && run.State.StartTime.Time().Before(one.before))
		}
	}
	return n
}

// witness is between an attempt at a step of a batch and the deployment. It sees what the step
// does.
type witness struct {
	flow.Deployment
	s     *simulation
	of    *batch
	info  activity.Info
	deeds []*deed
}

// batchActs begins the names of the counts of actions.
const batchActs = "a batch acts on a run: "

// deed is what a step does with a run.
type deed struct {
	on      stored.Run
	request string
	outcome flow.Outcome
	ended   bool // it has returned
	late    bool // it has returned after the step's time
	paused  bool // the run was paused when it returned
}

// witnessed lets the steps of batches act through a witness.
func (s *simulation) witnessed(p *process) {
	before := p.Service.Process.Own
	p.Service.Process.Own = func(ctx context.Context) context.Context {
		ctx = before(ctx)
		var d flow.Deployment = acts.Deployment{Service: p.Service}
		info := activity.InfoOf(ctx)
		one := s.audit.batches.of(info.WorkflowID)
		if one == nil {
			return flow.With(ctx, d)
		}
		if one.stopped > 0 && s.running.began > one.stopped && info.Attempt > 1 && !s.has(restored) && !s.has(restoredWhole) {
			s.fail("attempt %d at event %d of batch %s begins, and the batch was stopped before its message was received", info.Attempt, info.EventID, one.id)
		}
		w := &witness{Deployment: d, s: s, of: one, info: info}
		one.attempts = append(one.attempts, w)
		return flow.With(ctx, w)
	}
}

// World implements flow.Deployment.
func (w *witness) World() flow.World { return concurrent{w.Deployment.World(), w.s} }

// concurrent is the world of a step, whose actions are in progress at the same time.
type concurrent struct {
	flow.World
	s *simulation
}

// Together lets an actor of the process call each function.
func (c concurrent) Together(fns ...func()) {
	s, me := c.s, c.s.running
	var all []*actor
	for _, fn := range fns {
		all = append(all, s.spawn(me.name, me.process, fn))
	}
	for _, a := range all {
		for !a.ended {
			s.pause(wait{until: s.now.Add(time.Hour), wake: a.gone})
		}
		me.did.add(a.did)
	}
}

// Act implements flow.Deployment. It demands that the batch may act on the run.
func (w *witness) Act(ctx context.Context, a *stored.Action, on stored.Run, requestID string) flow.Outcome {
	s, me := w.s, w.s.running
	run := s.audit.runOf(on.WorkflowID, history.RunID(on.RunID))
	switch {
	case w.of.request.DryRun:
		s.fail("batch %s is a dry run, and acts on %s", w.of.id, on.RunID)
	case run == nil && !s.restore.done:
		s.fail("batch %s acts on %s, which never was", w.of.id, on.RunID)
	case run != nil && !(slices.Contains(w.of.types, run.State.Started.WorkflowType) && run.State.StartTime.Time().Before(w.of.before)):
		s.fail("batch %s acts on %s, a %s from %v, which its filter does not select", w.of.id, on.RunID, run.State.Started.WorkflowType, run.State.StartTime.Time())
	}
	if s.events != nil {
		s.events.asked(s.running)
	}
	s.log("batch %s acts on %s: %s", w.of.id, on.RunID, a.Kind)
	d := &deed{on: on, request: requestID}
	w.deeds = append(w.deeds, d)
	if a.Kind == stored.Delete && !s.mayErase() {
		d.outcome = flow.Outcome{Verdict: flow.Refused, Reason: "as in erase"}
	} else {
		d.outcome = s.actAnywhere(func() flow.Outcome { return w.Deployment.Act(ctx, a, on, requestID) })
	}
	if me.dead {
		panic(killed{}) // the action has recovered the panic that unwinds it
	}
	d.ended, d.late, d.paused = true, ctx.Err() != nil, run != nil && run.State.Paused != nil
	s.log("batch %s has acted on %s: %+v", w.of.id, on.RunID, d.outcome)
	s.count(batchActs + string(a.Kind))
	return d.outcome
}

// runOf returns a run, or nil if it never was.
func (a *audit) runOf(workflow string, id history.RunID) *engine.Run {
	i := slices.IndexFunc(a.runs[workflow], func(r *engine.Run) bool { return !r.Void() && r.State.RunID == id })
	if i < 0 {
		return nil
	}
	return a.runs[workflow][i]
}

// checkBatches demands that batches keep what docs/batches.md promises.
func (a *audit) checkBatches() {
	for _, id := range a.batches.ids() {
		one := a.batches.all[id]
		var runs []*engine.Run
		starts := 0
		for _, run := range a.runs[stored.IDPrefix+id] {
			if run.Void() {
				continue
			}
			runs = append(runs, run)
			starts += oneIf(run.State.Started.ContinuedFrom == "" && !a.going[run])
		}
		if a.s.restore.done {
			continue // what was promised and counted before may be gone
		}
		if starts > 1 || len(one.accepted) > 0 && len(runs) == 0 {
			a.s.fail("batch %s was started %d times", id, starts)
		}
		if slices.Contains(one.accepted, "other-"+id) && slices.Contains(one.accepted, one.request.RequestID) {
			a.s.fail("two starts of batch %s with other request ids were both answered with success", id)
		}
		for _, run := range runs {
			a.checkBatch(one, run)
		}
		if starts == 1 {
			a.checkMost(one, runs)
		}
		for _, w := range one.attempts {
			for _, d := range w.deeds {
				a.checkDeed(one, d)
			}
		}
	}
	a.checkMarks()
}

// checkBatch demands that the counts of a batch are those of its steps, and those of each step what
// the step did.
func (a *audit) checkBatch(one *batch, run *engine.Run) {
	name := "batch " + one.id + " " + string(run.State.RunID)
	var state stored.State
	if err := json.Unmarshal(run.State.Started.Input, &state); err != nil {
		a.s.fail("%s: %v", name, err)
		return
	}
	sum, stopped := state.Counts, false
	for _, c := range run.Log {
		for _, e := range c.Events() {
			switch e := e.Attributes.(type) {
			case *history.WorkflowExecutionUpdateAccepted:
				stopped = stopped || e.UpdateName == stored.UpdateStop
			case *history.ActivityTaskScheduled:
				if stopped {
					a.s.fail("%s was stopped, and takes another step", name)
				}
			case *history.ActivityTaskCompleted:
				var out stored.Stepped
				if err := json.Unmarshal(e.Result, &out); err != nil {
					a.s.fail("%s: %v", name, err)
					return
				}
				a.checkStep(one, name, run, e, out)
				sum.Add(out.Counts)
				if done := sum.Settled(); !one.request.DryRun && sum.Matched != done+len(out.Left) {
					a.s.fail("%s has matched %d runs, of which %d have an outcome and %d are left", name, sum.Matched, done, len(out.Left))
				}
			}
		}
	}
	switch run.State.Status {
	case history.Completed:
		result, _ := run.State.Outcome()
		var d stored.Description
		if err := json.Unmarshal(result, &d); err != nil || d.Counts != sum {
			a.s.fail("%s has the counts %+v, and its steps %+v: %v", name, d.Counts, sum, err)
		}
		grouped := 0
		for _, g := range d.Groups {
			grouped += g.Count
		}
		if one.request.DryRun && grouped != d.Counts.Matched {
			a.s.fail("%s has counted %d runs, and %d in its groups", name, d.Counts.Matched, grouped)
		}
		if d.Phase == stored.PhaseCompleted && (len(d.Left) > 0 || !d.Ended) {
			a.s.fail("%s has completed, and %d runs are left", name, len(d.Left))
		}
	case history.Failed, history.TimedOut:
		a.s.fail("%s is %s", name, run.State.Status)
	}
}

// checkStep compares the result of a step with what one of its attempts did.
func (a *audit) checkStep(one *batch, name string, run *engine.Run, e *history.ActivityTaskCompleted, out stored.Stepped) {
	if one.request.DryRun {
		return
	}
	same := slices.ContainsFunc(one.attempts, func(w *witness) bool {
		return w.info.RunID == string(run.State.RunID) && w.info.EventID == e.ScheduledEventID && w.mayReturn(out.Counts)
	})
	if !same {
		a.s.fail("%s: the step of event %d has the counts %+v, which no attempt at it can have returned", name, e.ScheduledEventID, out.Counts)
	}
}

// mayReturn reports whether an attempt may have returned these counts. An action that returned late
// may be counted as failed, or tried again.
func (w *witness) mayReturn(c stored.Counts) bool {
	var by [flow.Again + 1]int
	late, spent := 0, 0
	for _, d := range w.deeds {
		switch {
		case !d.ended || d.late:
			late++
		case d.outcome.Verdict == flow.Again && d.on.Tries == mostTries:
			spent++
		default:
			by[d.outcome.Verdict]++
		}
	}
	has := func(n, least int) bool { return least <= n && n <= least+late }
	return has(c.Done, by[flow.Done]) && has(c.Already, by[flow.Already]) && has(c.Refused, by[flow.Refused]) && has(c.Failed, by[flow.Failed]+spent)
}

// mostTries is how often a batch tries a run (internal/batch/flow), and stepRuns how many runs a
// step acts on.
const (
	mostTries = 3
	stepRuns  = 100
)

// checkMost demands that a batch acts on no more runs than it may, and those of one step more for
// each attempt that has acted and whose result is not in the log.
func (a *audit) checkMost(one *batch, runs []*engine.Run) {
	most := one.request.MostRuns
	if most == 0 || one.request.DryRun {
		return
	}
	results, tries, on := 0, 0, map[string]bool{}
	for _, run := range runs {
		for _, c := range run.Log {
			for _, e := range c.Events() {
				done, is := e.Attributes.(*history.ActivityTaskCompleted)
				var out stored.Stepped
				if is && json.Unmarshal(done.Result, &out) == nil && out.Counts.Settled() > 0 {
					results++
				}
			}
		}
	}
	for _, w := range one.attempts {
		tries += oneIf(len(w.deeds) > 0)
		for _, d := range w.deeds {
			on[d.on.RunID] = true
		}
	}
	if may := most + max(tries-results, 0)*min(stepRuns, most); len(on) > may {
		a.s.fail("batch %s may act on %d runs, %d attempts have no result, and it has acted on %d", one.id, most, tries-results, len(on))
	}
}

// checkDeed demands that the log has what an action is said to have done.
func (a *audit) checkDeed(one *batch, d *deed) {
	run := a.runOf(d.on.WorkflowID, history.RunID(d.on.RunID))
	if run == nil || !d.ended || d.outcome.Verdict != flow.Done {
		return
	}
	has := true
	switch stored.Kind(one.request.Action.Kind) {
	case stored.Signal:
		has = run.State.Signaled(d.request)
		if !a.replaced(d.on.WorkflowID) {
			a.checkSignaled(ack{workflow: d.on.WorkflowID, request: d.request})
		}
	case stored.Cancel:
		has = run.State.CancelRequested || run.State.Status.Closed()
	case stored.Terminate:
		has = run.State.Status.Closed()
	case stored.Pause:
		has = d.paused || run.State.Steered(history.TypeWorkflowExecutionPaused, d.request)
	case stored.Resume:
		has = run.State.Steered(history.TypeWorkflowExecutionUnpaused, d.request)
	case stored.Reset:
		has = slices.ContainsFunc(a.runs[run.WorkflowID], func(r *engine.Run) bool { return r.State.Reset != nil && r.State.Reset.RequestID == d.request })
	case stored.Delete:
		has = a.going[run]
	case stored.Retry, stored.Move:
	}
	if !has && !a.going[run] || !has && one.request.Action.Kind == string(stored.Delete) {
		a.s.fail("batch %s says that it did %s with %s, and the log has nothing of that", one.id, one.request.Action.Kind, d.on.RunID)
	}
}

// checkMarks demands that each trace of a batch in a log is of a run that the batch acted on, and
// that it is there once. The traces are request ids, and the reasons of batches.
func (a *audit) checkMarks() {
	for _, workflow := range slices.Sorted(maps.Keys(a.runs)) {
		for _, run := range a.runs[workflow] {
			if run.Void() {
				continue
			}
			seen, times := map[mark]int{}, map[mark]int{}
			for _, c := range run.Log {
				for _, e := range c.Events() {
					if m, is := markOf(e.Event); is {
						seen[m]++
						m.request = "" // a batch does the same with a run once, by whatever request
						times[m]++
					}
				}
			}
			for m, n := range times {
				if n > 1 {
					a.s.fail("%s %s has %s of batch %s %d times", workflow, run.State.RunID, m.typ, m.batch, n)
				}
			}
			for m := range seen {
				a.checkMark(run, m)
			}
			a.checkResetOnce(run)
		}
	}
}

// checkResetOnce demands that a run that was opened by a reset of a batch is the only one that the
// batch has opened from its base run.
func (a *audit) checkResetOnce(run *engine.Run) {
	if run.State.Reset == nil {
		return
	}
	for _, id := range a.batches.ids() {
		one, opened := a.batches.all[id], 0
		if !one.asked(run.State.Reset.RequestID) {
			continue
		}
		for _, other := range a.runs[run.WorkflowID] {
			if r := other.State.Reset; r != nil && !other.Void() && r.BaseRunID == run.State.Reset.BaseRunID && one.asked(r.RequestID) {
				opened++
			}
		}
		if opened > 1 {
			a.s.fail("batch %s has reset %s %d times", id, run.State.Reset.BaseRunID, opened)
		}
	}
}

// asked reports whether a batch has acted with a request id.
func (one *batch) asked(request string) bool {
	return slices.ContainsFunc(one.attempts, func(w *witness) bool {
		return slices.ContainsFunc(w.deeds, func(d *deed) bool { return d.request == request })
	})
}

// mark is a trace of a batch in a log.
type mark struct {
	batch   string
	typ     history.Type
	request string // empty for actions that have none
}

// byBatch begins the reasons and the inputs of the requests of batches.
const byBatch = "by batch "

func markOf(e history.Event) (m mark, is bool) {
	var reason string
	m.typ = e.Type()
	switch e := e.Attributes.(type) {
	case *history.WorkflowExecutionSignaled:
		_ = json.Unmarshal(e.Input, &reason) // what is no text is of no batch
		m.request = e.RequestID
	case *history.WorkflowExecutionCancelRequested:
		reason = e.Reason
	case *history.WorkflowExecutionTerminated:
		reason = e.Reason
	case *history.WorkflowExecutionPaused:
		reason, m.request = e.Reason, e.RequestID
	case *history.WorkflowExecutionUnpaused:
		reason, m.request = e.Reason, e.RequestID
	}
	m.batch, is = strings.CutPrefix(reason, byBatch)
	return m, is
}

// checkMark checks a trace that is in a run.
func (a *audit) checkMark(run *engine.Run, m mark) {
	name := run.WorkflowID + " " + string(run.State.RunID)
	one := a.batches.all[m.batch]
	if one.request.DryRun {
		a.s.fail("%s has %s of batch %s, which is a dry run", name, m.typ, m.batch)
	}
	acted := slices.ContainsFunc(one.attempts, func(w *witness) bool {
		return slices.ContainsFunc(w.deeds, func(d *deed) bool {
			if d.on.WorkflowID != run.WorkflowID || m.request != "" && d.request != m.request {
				return false
			}
			on := a.runOf(d.on.WorkflowID, history.RunID(d.on.RunID))
			return on == nil || a.root(on) == a.root(run) // a run that continues another, or that was reset from it, has its signals
		})
	})
	if !acted {
		a.s.fail("%s has %s of batch %s, which has not acted on it", name, m.typ, m.batch)
	}
}

// checkMember demands that each note that a member got has taken effect once.
func (a *audit) checkMember(name string, run *engine.Run, result history.Payload) {
	got, err := decodeInt(result)
	want, ended := 0, false
	for _, c := range run.Log {
		for _, e := range c.Events() {
			if signal, is := e.Attributes.(*history.WorkflowExecutionSignaled); is && !ended {
				var text string
				_ = json.Unmarshal(signal.Input, &text) // each note is a text
				ended = text == finish
				want += oneIf(!ended)
			}
		}
	}
	if err != nil || got != want {
		a.s.fail("%s has counted %d notes, and its log has %d: %v", name, got, want, err)
	}
}
