package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// audit checks what must be true. It folds every commit that lands, and records what clients were
// told.
type audit struct {
	s         *simulation
	boots     int
	programs  map[string]program
	runs      map[string][]*engine.Run // all runs that ever existed
	current   current
	going     map[*engine.Run]bool                // runs of which a commit was deleted
	codec     *codec.Codec                        // has every key
	view      store.Log                           // returns bodies that were offloaded or encoded
	told      map[string][]*schema.UpdateResponse // answers by workflow and update id, with the stages accepted and completed
	amounts   map[string]int                      // by workflow and update id
	starts    []ack
	signals   []ack
	resets    []resetAck
	published []itemAck
	ends      endAudit
	runsOf    map[string]int // executions, by run and event
	rows      map[place]store.Summary
	schedules []string
	sendings  map[outbound]map[uint64]bool
	letters   *int           // letters that can be read, set when the last one has arrived
	gaps      map[string]int // by workflow: how often it has had no open run after a commit
	journal   []journaled    // what has landed and what was deleted, only in seeds with a restore
	attempts  attemptAudit
	pausedAt  map[*engine.Run]int // runs that are paused, each with the step at which the pause landed
	resumedAt map[*engine.Run]int // runs that were paused, each with the step at which its last pause ended
	batches   *batchAudit
	receivers *receivers
	members   []string
}

// ack is a request whose success was acknowledged to a client.
type ack struct {
	workflow, request string
	run               history.RunID
}

// resetAck is an acknowledged reset.
type resetAck struct {
	ack
	exclude []string
}

func newAudit(s *simulation) *audit {
	codec := s.codec(nil, nil)
	return &audit{
		codec: codec, view: codec.Log(s.store),
		s: s, programs: map[string]program{}, runs: map[string][]*engine.Run{}, current: current{}, going: map[*engine.Run]bool{}, told: map[string][]*schema.UpdateResponse{},
		amounts: map[string]int{}, runsOf: map[string]int{}, rows: map[place]store.Summary{}, sendings: map[outbound]map[uint64]bool{}, gaps: map[string]int{}, attempts: newAttemptAudit(), pausedAt: map[*engine.Run]int{}, resumedAt: map[*engine.Run]int{},
		batches: newBatchAudit(s), receivers: newReceivers(s), ends: newEndAudit(),
	}
}

// landed folds commits that have landed.
func (a *audit) landed(items []store.Item) {
	var runs []*engine.Run
	var commits []*history.Commit
	for _, item := range items {
		item = a.whole(item)
		c, err := history.Decode(item.Slot, item.Body)
		if err != nil {
			a.s.fail("%s: %v", item.Key, err)
			return
		}
		if a.s.tracing {
			a.s.log("%s landed: %s", item.Key, sketch(c))
		}
		a.s.count("a commit lands")
		a.overwritten(item, c)
		commits = append(commits, c)
		if c = placed(c); c.Slot != item.Slot {
			a.s.count("a void commit replaces the last one of several")
		}
		run := a.run(item.Key, c)
		if run == nil {
			return
		}
		if ran := c.Task != nil && c.Task.Reset == nil; ran && run.Pinned(c) != "" && run.Pinned(c) != c.Task.Build {
			a.s.fail("%s: %s ran a task of a run that is pinned to %s", item.Key, c.Task.Build, run.Pinned(c))
		}
		a.checkOwner(item.Key, run, c)
		a.checkTime(run, c)
		a.checkPaused(run, c)
		a.interrupted(run, c)
		a.checkEnds(item.Key, run, c)
		before := *run.State
		if err := run.Append(c, len(item.Body)); err != nil {
			a.s.fail("%s: %v", item.Key, err)
		}
		a.checkItemBatch(item.Key, c, &before, run.State)
		a.checkUnpaused(run, c)
		a.checkPending(run)
		a.batches.landed(run, c)
		a.receivers.landed(run, before.Status)
		a.note(journaled{Item: item, commit: c, size: len(item.Body)})
		runs = append(runs, run)
		a.checkSpeculative(item.Key, c, before.Refused() != nil)
	}
	a.s.events.put(runs, commits, items)
	for _, item := range items {
		a.checkRow(item)
	}
	a.noteGaps(items)
}

// checkSpeculative demands that a speculative task which did nothing has committed only to say that
// the code of a run which has refused updates works again.
func (a *audit) checkSpeculative(at store.Key, c *history.Commit, refused bool) {
	if c.Task == nil || c.Task.Kind != history.Speculative {
		return
	}
	switch {
	case c.Failed():
		a.s.count("an update is refused because the code fails")
	case len(c.Commands) > 0:
	case !refused:
		a.s.fail("%s: a speculative task committed, and did nothing", at)
	default:
		a.s.count("a task confirms that the code works")
	}
}

// checkRow demands that a run's row in the list matches its log after each change.
func (a *audit) checkRow(item store.Item) {
	run, at := a.current[place{item.Workflow, item.Run}], place{item.Workflow, item.Run}
	if item.Summary != nil {
		a.rows[at] = a.opened(*item.Summary)
		a.s.list.changed(at, item.Summary)
	}
	row, s := a.rows[at], run.State
	if run.Void() {
		return
	}
	memo, err := json.Marshal(decoded[history.Memo](row.Memo))
	want, wantErr := json.Marshal(s.Visibility.Memo)
	attributes, attributesErr := json.Marshal(decoded[history.SearchAttributes](row.Attributes))
	wantAttributes, wantAttributesErr := json.Marshal(s.Visibility.SearchAttributes)
	if err := errors.Join(err, wantErr, attributesErr, wantAttributesErr); err != nil {
		a.s.fail("%s: %v", item.Key, err)
	}
	facts, wantFacts := fmt.Sprintf("%+v", factsOf(decoded[engine.Facts](row.Facts))), fmt.Sprintf("%+v", factsOf(s.Facts()))
	if ended := run.Log[len(run.Log)-1]; s.Facts().Stuck != nil && ended.Task != nil && !ended.Failed() {
		a.s.fail("%s: the list has the run as stuck, and its last task has succeeded", item.Key)
	}
	if facts != wantFacts {
		a.s.fail("%s: the list has the facts %s; the log says %s", item.Key, facts, wantFacts)
	}
	if row.Status != s.Status.String() || row.Build != s.Pinned || string(memo) != string(want) || string(attributes) != string(wantAttributes) {
		a.s.fail("%s: the list has %s, build %q, memo %s and search attributes %s; the log says %s, %q, %s and %s",
			item.Key, row.Status, row.Build, memo, attributes, s.Status, s.Pinned, want, wantAttributes)
	}
}

// factsOf returns the facts of a run without pointers.
func factsOf(f engine.Facts) (all struct {
	stuck engine.StuckFact
	spent engine.Counts
	rest  engine.Facts
},
) {
	if f.Stuck != nil {
		all.stuck = *f.Stuck
	}
	if f.Spent != nil {
		all.spent = *f.Spent
	}
	f.Stuck, f.Spent = nil, nil
	all.rest = f
	return all
}

// decoded returns a part of a row. It returns the zero value if there is none or if it cannot be
// read.
func decoded[T any](body string) (v T) {
	_ = history.DecodeBody([]byte(body), &v)
	return v
}

// run returns the run that a commit belongs to. The first commit of a run may land only after the
// earlier runs have closed, unless it makes the run void.
func (a *audit) run(k store.Key, c *history.Commit) *engine.Run {
	runs, at := a.runs[k.Workflow], place{k.Workflow, k.Run}
	if run := a.current[at]; run != nil {
		return run
	}
	for _, before := range runs {
		if !before.State.Status.Closed() && c.Status != history.Void {
			a.s.fail("%s: run %d is open while another begins", k, before.Number)
			return nil
		}
	}
	run := engine.NewRun(k.Workflow, k.Run)
	a.runs[k.Workflow], a.current[at] = append(runs, run), run
	return run
}

func sketch(c *history.Commit) string {
	text := ""
	for _, e := range slices.Concat(c.InputEvents, c.Commands) {
		text += " " + e.Type().String()
	}
	if len(c.Copied) > 0 {
		text += fmt.Sprintf(" after %d copied commits", len(c.Copied))
	}
	switch {
	case c.Fence():
		return "fence, " + c.Status.String()
	case c.Task == nil:
		return "no task," + text
	case c.Failed():
		return c.Task.Kind.String() + " task failed," + text
	}
	return c.Task.Kind.String() + " task," + text
}

func (a *audit) executed(info activity.Info) { a.runsOf[info.RunID]++ }

// accepted reports whether a run has accepted an update addSlow by this amount.
func (a *audit) accepted(workflow, run string, n int) bool {
	for _, r := range a.runs[workflow] {
		if string(r.State.RunID) != run {
			continue
		}
		for id, u := range r.State.Updates {
			if u.Name == "addSlow" && a.amounts[workflow+"/"+id] == n {
				return true
			}
		}
	}
	return false
}

// completed demands that the result of an activity is in the log after somebody outside was told
// that the activity is completed.
func (a *audit) completed(info activity.Info) {
	for _, run := range a.runs[info.WorkflowID] {
		if string(run.State.RunID) == info.RunID && run.State.Activities[info.EventID] != nil {
			a.s.fail("event %d of %s was completed, and its result is not in the log", info.EventID, info.RunID)
		}
	}
}

func (a *audit) started(workflow, request string, run history.RunID) {
	a.starts = append(a.starts, ack{workflow, request, run})
}

func (a *audit) signaled(workflow, request string) {
	a.signals = append(a.signals, ack{workflow: workflow, request: request})
}

func (a *audit) reset(workflow, request string, run history.RunID, exclude []string) {
	a.resets = append(a.resets, resetAck{ack{workflow, request, run}, exclude})
}

func (a *audit) adding(workflow, update string, n int) { a.amounts[workflow+"/"+update] = n }

// answered checks the answer to an update. A rejection must be correct: the sum of everything that
// was begun by now would be too large.
func (a *audit) answered(workflow, update string, n int, answer *schema.UpdateResponse, did deeds) {
	if answer.Stage != schema.StageRejected {
		a.told[workflow+"/"+update] = append(a.told[workflow+"/"+update], answer)
		return
	}
	if most := a.begun(workflow); most <= a.programs[workflow].Most {
		a.s.fail("update %s of %s was rejected, although the sum is at most %d", update, workflow, most)
	}
	if did.landed+did.lost+did.lied == 0 && did.sent > 0 {
		a.s.fail("update %s of %s was rejected, and sent %d messages", update, workflow, did.sent)
	}
}

// begun returns the largest possible sum.
func (a *audit) begun(workflow string) (sum int) {
	for key, n := range a.amounts {
		if w, _, _ := cut(key); w == workflow {
			sum += n
		}
	}
	return sum
}

func cut(key string) (workflow, update string, ok bool) {
	for i := range key {
		if key[i] == '/' {
			return key[:i], key[i+1:], true
		}
	}
	return key, "", false
}

// latest returns the last run of a workflow that is not void.
func (a *audit) latest(workflow string) *engine.Run {
	for _, r := range slices.Backward(a.runs[workflow]) {
		if !r.Void() {
			return r
		}
	}
	return nil
}

// floor is a sum below which the answer to a query must not be.
type floor struct {
	run history.RunID
	sum int
}

// acknowledged returns the sum of the latest run's updates that clients know as completed.
func (a *audit) acknowledged(workflow string) (f floor) {
	run := a.latest(workflow)
	if run == nil {
		return f
	}
	f.run = run.State.RunID
	for key, answers := range a.told {
		w, _, _ := cut(key)
		if w == workflow && slices.ContainsFunc(answers, func(r *schema.UpdateResponse) bool {
			return r.RunID == f.run && r.Stage == schema.StageCompleted && r.Failure == nil
		}) {
			f.sum += a.amounts[key]
		}
	}
	return f
}

// asked compares an answer with what was acknowledged before the question, and with what was begun
// by now.
func (a *audit) asked(workflow string, least floor, answer history.Payload) {
	sum, err := decodeInt(answer)
	if err != nil {
		a.s.fail("query of %s answered %q", workflow, answer)
	}
	if run := a.latest(workflow); run != nil && run.State.RunID == least.run && sum < least.sum && !a.going[run] { // otherwise an earlier run may have answered
		a.s.fail("query of %s answered %d, although updates of %d in all had been acknowledged", workflow, sum, least.sum)
	}
	if most := a.begun(workflow); sum > most {
		a.s.fail("query of %s answered %d, although there were updates of only %d", workflow, sum, most)
	}
}

// end checks what must hold when nothing more can happen.
func (s *simulation) end() {
	defer s.close()
	if len(s.wrong) > 0 {
		return
	}
	for _, name := range queue.All(taskQueues...) {
		if n := s.queue.Len(name) + s.queue.Len(queue.DeadLetters(name)); n > 0 {
			s.fail("%d messages are left in %s", n, name)
		}
	}
	a := s.audit
	for _, workflow := range slices.Sorted(maps.Keys(a.runs)) {
		for _, run := range a.runs[workflow] {
			a.checkRun(run)
		}
	}
	a.checkAcks()
	a.checkChildren()
	a.checkSchedules()
	a.checkLetters()
	s.checkGarbage()
	a.checkPace()
	a.checkBatches()
	a.checkNotifications()
	if s.plan.maintenance && len(s.wrong) == 0 {
		s.endMaintenance()
	}
	s.store.Check()
	s.queue.Check()
}

func (a *audit) checkRun(run *engine.Run) {
	name := run.WorkflowID + " " + string(run.State.RunID)
	if run.Void() {
		return
	}
	if !run.State.Status.Closed() && a.s.maintenance.purged && a.expired(run) {
		return // the check runs after a day, and nothing is kept that long in this seed
	}
	if !run.State.Status.Closed() {
		a.s.fail("%s is stranded: open, and nothing more can happen; it waits for activities %v, timers %v, children %v and others %v, pending %d",
			name, slices.Collect(maps.Keys(run.State.Activities)), slices.Collect(maps.Keys(run.State.Timers)),
			slices.Collect(maps.Keys(run.State.Children)), slices.Collect(maps.Keys(run.State.Externals)), run.State.Pending)
		return
	}
	a.checkSignals(name, run)
	a.checkContract(name, run)
	a.checkDeadline(name, run)
	in := engine.NewInstance(registry(a.s, 2).Workflow(run.State.Started.WorkflowType), run.WorkflowID, run.State.RunID)
	if err := run.CatchUp(in); err != nil {
		a.s.fail("%s does not replay: %v", name, err)
	}
	in.Close()
	if result, _ := run.State.Outcome(); run.State.Started.WorkflowType == member.Name() && run.State.Status == history.Completed {
		a.checkMember(name, run, result)
	}
	if run.State.Started.WorkflowType != ledger.Name() {
		return
	}
	switch result, _ := run.State.Outcome(); run.State.Status {
	case history.Completed:
		a.checkResult(name, run, result)
		a.checkCron(name, run, result)
	case history.ContinuedAsNew:
		if next := a.follows(name, run); next != nil && !a.sum(name, run).has(programOf(a.s, next).Base) {
			a.s.fail("%s continued with the sum %d; its log implies %v", name, programOf(a.s, next).Base, a.sum(name, run))
		} else if next != nil && !(engine.Visibility{Memo: next.State.Started.Memo, SearchAttributes: next.State.Started.SearchAttributes}).Equal(run.State.Visibility) {
			a.s.fail("%s continued, and the next run begins with other attributes", name)
		}
	case history.Failed:
		a.checkRetry(name, run)
	case history.Canceled:
		a.checkCanceled(name, run)
	}
}

// checkCanceled demands that a canceled run waited for the end of a step if its program says so.
func (a *audit) checkCanceled(name string, run *engine.Run) {
	a.checkCanceledUpdates(name, run)
	if !programOf(a.s, run).waits() {
		return
	}
	for id, pending := range run.State.Activities {
		if strings.HasPrefix(string(pending.Input), `"step`) {
			a.s.fail("%s was canceled and closed before its activity of event %d had ended", name, id)
		}
	}
}

// follows returns the run after one that continued as new or failed. It has to exist, unless the
// run was asked to end.
func (a *audit) follows(name string, run *engine.Run) *engine.Run {
	if run.State.CancelRequested && run.State.Next() == "" {
		return nil
	}
	next := a.runs[run.WorkflowID][slices.Index(a.runs[run.WorkflowID], run)+1:]
	next = slices.DeleteFunc(slices.Clone(next), (*engine.Run).Void)
	if len(next) == 0 || next[0].State.Started.ContinuedFrom != run.State.RunID || next[0].State.RunID != run.State.Next() {
		a.s.fail("%s is %s, and no run follows it", name, run.State.Status)
		return nil
	}
	return next[0]
}

// programOf returns the input of a run.
func programOf(s *simulation, run *engine.Run) (p program) {
	if err := json.Unmarshal(run.State.Started.Input, &p); err != nil {
		s.fail("%s: %v", run.State.RunID, err)
	}
	return p
}

// implied is the range of sums that a log implies. A handler that an operator ended may have added
// its amount before: it may have been waiting to complete because its task was large.
type implied struct{ least, most int }

func (i implied) has(sum int) bool { return i.least <= sum && sum <= i.most }

// sum returns the range that a run's log implies if all of its updates have ended.
func (a *audit) sum(name string, run *engine.Run) implied {
	base := programOf(a.s, run).Base
	i := implied{base, base}
	for id, u := range run.State.Updates {
		amount := a.amounts[run.WorkflowID+"/"+id]
		if u.Completed == nil {
			a.s.fail("%s ended, but its update %s did not", name, id)
			continue
		}
		if _, f, _ := run.State.UpdateOutcome(u); f == nil {
			i.least, i.most = i.least+amount, i.most+amount
		} else if strings.Contains(f.Message, whim) {
			i.most += amount
		}
	}
	return i
}

// checkSignals demands that no signal arrived twice.
func (a *audit) checkSignals(name string, run *engine.Run) {
	seen := map[string]bool{}
	for _, c := range run.Log {
		for _, e := range c.Events() {
			if signal, ok := e.Attributes.(*history.WorkflowExecutionSignaled); ok {
				if seen[signal.RequestID] {
					a.s.fail("%s has signal %s twice", name, signal.RequestID)
				}
				seen[signal.RequestID] = true
			}
		}
	}
}

// checkResult compares the result of a ledger with what its log implies.
func (a *audit) checkResult(name string, run *engine.Run, result history.Payload) {
	var got tally
	if err := json.Unmarshal(result, &got); err != nil {
		a.s.fail("%s: %v", name, err)
		return
	}
	sum, p := a.sum(name, run), programOf(a.s, run)
	if !sum.has(got.Sum) || len(got.Done) != p.Steps+p.Fan || len(got.Kids) != p.Kids && !p.Leave {
		a.s.fail("%s has the result %+v; its log implies the sum %v, %d activities and %d children", name, got, sum, p.Steps+p.Fan, p.Kids)
	}
}

func (a *audit) checkAcks() {
	for _, s := range a.starts {
		a.expect(1, "start "+s.request+" of "+s.workflow, s.workflow, func(r *engine.Run) bool {
			return r.State.RunID == s.run && r.State.Started.RequestID == s.request
		})
		a.checkOnce(s)
	}
	for _, s := range a.signals {
		if a.replaced(s.workflow) {
			continue // repeated after two other runs began, the signal is a new one
		}
		a.checkSignaled(s)
	}
	for _, r := range a.resets {
		a.checkReset(r)
	}
	a.checkItems()
	for key, answers := range a.told {
		workflow, update, _ := cut(key)
		for _, answer := range answers {
			a.checkTold(workflow, update, answer)
		}
	}
}

// checkOnce demands that a start has opened one run. A start that is repeated after two other runs
// began is a new start, because its request id is looked for only in the latest run and in the one
// before it (docs/semantics.md).
func (a *audit) checkOnce(s ack) {
	var opened []int
	n := 0
	for _, r := range a.runs[s.workflow] {
		if r.Void() {
			continue
		}
		n++
		if r.State.Started.RequestID == s.request && r.State.Started.ContinuedFrom == "" && r.State.Started.OriginalRunID == "" {
			if i := len(opened); i > 0 && n-opened[i-1] <= 2 {
				a.s.fail("start %s of %s was acknowledged, and has opened another run: %s", s.request, s.workflow, r.State.RunID)
			}
			opened = append(opened, n)
		}
	}
	if len(opened) == 0 {
		a.s.fail("start %s of %s was acknowledged, and has opened no run", s.request, s.workflow)
	}
}

// checkSignaled demands that a signal is in one run of a chain. A signal that is repeated after a
// start has begun another chain is a new signal. A request id is looked for only in its run and in
// the run that this one continues (docs/semantics.md).
func (a *audit) checkSignaled(s ack) {
	in := map[history.RunID]int{}
	for _, r := range a.runs[s.workflow] {
		if !r.Void() && r.State.Signaled(s.request) && !a.carried(r, s.request) {
			in[a.root(r)]++
		}
	}
	if len(in) == 0 {
		a.s.fail("signal %s of %s was acknowledged, and is in no run", s.request, s.workflow)
	}
	for root, n := range in {
		if n > 1 {
			a.s.fail("signal %s of %s was acknowledged, and is in %d runs of the chain of %s", s.request, s.workflow, n, root)
		}
	}
}

// root returns the first run of a run's chain. The runs of a chain continue each other or were
// reset from each other.
func (a *audit) root(run *engine.Run) history.RunID {
	from := run.State.Started.ContinuedFrom
	if run.State.Reset != nil {
		from = run.State.Reset.BaseRunID
	}
	i := slices.IndexFunc(a.runs[run.WorkflowID], func(r *engine.Run) bool { return !r.Void() && r.State.RunID == from })
	if from == "" || i < 0 {
		return run.State.RunID
	}
	return a.root(a.runs[run.WorkflowID][i])
}

// carried reports whether a signal was passed on to a run that continues another, or that was reset
// from it.
func (a *audit) carried(run *engine.Run, request string) bool {
	return slices.ContainsFunc(a.runs[run.WorkflowID], func(r *engine.Run) bool {
		from := r.State.RunID == run.State.Started.ContinuedFrom || run.State.Reset != nil && r.State.RunID == run.State.Reset.BaseRunID
		return from && r.State.Signaled(request)
	})
}

// checkReset demands that a reset has opened one run. The run begins as the base run did. It has
// all signals of the base run, and all updates that it has seen, unless they were left out. A
// repeated reset may have opened another run only if the earlier one was no longer the latest by
// then.
func (a *audit) checkReset(r resetAck) {
	var made []*engine.Run
	for _, run := range a.runs[r.workflow] {
		if run.State.Reset != nil && run.State.Reset.RequestID == r.request {
			if n := len(made); n > 0 && made[n-1].Number+1 == run.Number {
				a.s.fail("reset %s of %s made run %s beside %s", r.request, r.workflow, run.State.RunID, made[n-1].State.RunID)
			}
			made = append(made, run)
		}
	}
	if len(made) == 0 || made[len(made)-1].State.RunID != r.run {
		a.s.fail("reset %s of %s was acknowledged with run %s, and made %d runs", r.request, r.workflow, r.run, len(made))
		return
	}
	run := made[len(made)-1]
	i := slices.IndexFunc(a.runs[r.workflow], func(b *engine.Run) bool { return b.State.RunID == run.State.Reset.BaseRunID })
	base, events := a.runs[r.workflow][i], run.Log[0].Events()
	for j, e := range base.Log[0].Events() {
		if j == len(events) || events[j].Type() == history.TypeWorkflowTaskFailed {
			break // the first commit of one reset may have fewer of the copied events than that of another
		}
		if e.Type() != events[j].Type() {
			a.s.fail("%s begins with %s at event %d, and the run that was reset with %s", r.run, events[j].Type(), j+1, e.Type())
			return
		}
	}
	a.checkInputEvents(r, base, run)
}

// checkInputEvents compares the input events of a base run with those of the run that a reset
// opened from it.
func (a *audit) checkInputEvents(r resetAck, base, run *engine.Run) {
	has := map[string]bool{}
	for _, c := range run.Log {
		for _, e := range c.Events() {
			switch e := e.Attributes.(type) {
			case *history.WorkflowExecutionUpdateAdmitted:
				has[e.UpdateID] = true
			case *history.WorkflowExecutionUpdateAccepted:
				has[e.UpdateID] = true
			}
		}
	}
	for _, c := range base.Log {
		for _, e := range c.Events() {
			switch e := e.Attributes.(type) {
			case *history.WorkflowExecutionUpdateAccepted:
				if !has[e.UpdateID] && !slices.Contains(r.exclude, "updates") {
					a.s.fail("update %s of %s is lost with a reset", e.UpdateID, r.workflow)
				}
			case *history.WorkflowExecutionSignaled:
				if !run.State.Signaled(e.RequestID) && !slices.Contains(r.exclude, "signals") {
					a.s.fail("signal %s of %s is lost with a reset", e.RequestID, r.workflow)
				}
			}
		}
	}
}

func (a *audit) expect(want int, what, workflow string, holds func(*engine.Run) bool) {
	n := 0
	for _, r := range a.runs[workflow] {
		if !r.Void() && holds(r) {
			n++
		}
	}
	if n != want {
		a.s.fail("%s was acknowledged, and is in %d runs", what, n)
	}
}

// checkTold compares an answer to the caller of an update with the log.
func (a *audit) checkTold(workflow, update string, answer *schema.UpdateResponse) {
	i := slices.IndexFunc(a.runs[workflow], func(r *engine.Run) bool { return r.State.RunID == answer.RunID })
	if i < 0 || a.runs[workflow][i].State.Updates[update] == nil {
		a.s.fail("update %s of %s was acknowledged, and is not in the log", update, workflow)
		return
	}
	run := a.runs[workflow][i]
	result, f, done := run.State.UpdateOutcome(run.State.Updates[update])
	if answer.Stage == schema.StageCompleted && (!done || cmp.Compare(string(result), string(answer.Result)) != 0 || !f.Same(answer.Failure)) {
		a.s.fail("update %s of %s was answered %s %+v; the log has %s %+v", update, workflow, answer.Result, answer.Failure, result, f)
	}
}
