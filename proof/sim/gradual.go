package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/batch/flow"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// A gradual deploy (docs/decisions/0049-account.md, 3.2) has processes of two builds. The alias
// gives each request, each try of it, and each batch of messages to one of the builds at random.
// The weight moves up, and in some seeds back. Each process reads the alias and caches what it
// read, so processes may disagree for a minute. Requests and messages go through the code of the
// Lambda functions, which forwards those of runs of the other build (forwards.go).
//
// Build 2 does what build 1 does not know (code.changed). So a task of build 1 fails if build 2 ran
// the task before.
//
// Checks:
//
//   - No build puts a task, also one that failed, of a run that it does not own by what the process
//     may have read of the alias since it got the request or the message. docs/decisions/0049 has
//     the exceptions: the event was forwarded, or could not be, or the alias could not be read.
//     A request that moves a run is another: it replays the whole history first.
//     (Further tries of a failed task put nothing. Their process may not know yet that the other
//     build has moved the run on.)
//   - No caller learns that another build owns a run. An event is forwarded once.
//   - No message becomes a dead letter because it was forwarded.
//   - All of what every simulation checks: each request is answered, each run ends, no message is
//     left. If build 1 stays, an operator resets the runs of build 2 to before it.
var (
	weighted = ofGradual(newFault("lambda: an alias with weights",
		"AWS Lambda Developer Guide, weighted aliases: an alias has two versions at most, and gives each invocation to one of them at random, "+
			"by a simple probabilistic model; with little traffic the shares differ from the weights.", 1, 1))
	aliasUnread = ofGradual(newFault("lambda: an alias cannot be read",
		"AWS Lambda Developer Guide, Lambda quotas: the requests of the control plane, GetAlias among them, are 15 a second for an account and Region. "+
			"Those above are throttled.", 0.25, 0.3))
	versionBusy = ofGradual(newFault("lambda: a version is throttled",
		"AWS Lambda API Reference, Invoke: TooManyRequestsException says that the function has not begun. All versions of a function share its concurrency.", 0.3, 0.15))
	versionGone = ofGradual(newFault("lambda: a version is gone",
		"AWS Lambda API Reference, Invoke: ResourceNotFoundException says that the version does not exist. A published version may be deleted at any time.", 0.15, 0.15))
	versionSilent = ofGradual(newFault("lambda: a version does not answer",
		"AWS Lambda API Reference, Invoke: a connection that ends, and an error of the function, do not say whether the function has done its work.", 0.3, 0.15))
)

// ofGradual marks a fault that only gradual deploys have.
func ofGradual(f *fault) *fault {
	f.gradual = true
	return f
}

// plays reports whether simulations of this kind have a fault.
func (s *simulation) plays(f *fault) bool {
	if s.gradual == nil {
		return !f.gradual
	}
	return f != rolledBack // its messages have another format, which is not read below the functions
}

// gradual is a gradual deploy.
type gradual struct {
	old    int     // how many processes run build 1; the others run build 2
	stages []stage // what comes, with the present one
	since  time.Time
	splits []held // what the alias said, with the present split
	claims map[history.CommitID]claim
	back   bool // build 1 stays
	// returned is how messages were returned to their queues, by their bodies.
	returned map[string]returns
	requests []*clientCall
}

// stage is a time in which the alias does not change.
type stage struct {
	weight float64
	shifts bool          // the alias has two versions
	steps  int           // how many steps it lasts at least
	length time.Duration // how long it lasts at least
	until  int           // the step at which it may end
}

// held is a split that was in force, or that a process held, for some time.
type held struct {
	split       function.Split
	from, until time.Time // until is zero if it still is
}

// live is what a process of a gradual deploy has.
type live struct {
	functions map[function.Role]*function.Function
	held      []held
}

// claim is what the process of a put may have known when it made the put.
type claim struct {
	build int
	free  bool // the process may put commits of any run
	held  []held
	what  string
}

// returns counts how often a message was returned to its queue: after it was forwarded although
// nothing was disturbed, and otherwise.
type returns struct{ forwarded, otherwise int }

// planGradual draws the gradual deploy of a simulation that has one.
func (s *simulation) planGradual() {
	g := s.gradual
	if g == nil {
		return
	}
	r := s.stream("weights")
	g.old, g.claims, g.returned = 1+r.IntN(2), map[history.CommitID]claim{}, map[string]returns{}
	s.plan.processes = g.old + 1 + r.IntN(2)
	add := func(weight float64, shifts bool) {
		g.stages = append(g.stages, stage{
			weight: weight, shifts: shifts, steps: 20 + r.IntN(150*s.plan.most),
			length: []time.Duration{0, 30 * time.Second, 3 * time.Minute, 15 * time.Minute}[r.IntN(4)],
		})
	}
	add(0, false)
	for range 1 + r.IntN(3) {
		for range 1 + r.IntN(3) {
			add([]float64{0.1, 0.5, 0.9, 1, 0.3, 0}[r.IntN(6)], true)
		}
		if r.oneIn(2) {
			add(0, false) // rolled back
		}
	}
	// Pinned runs stay with build 2, and would be stranded without it.
	if g.back = r.oneIn(3) && !s.plan.pinned; g.back {
		add(0, false)
	} else {
		add(1, false)
	}
	s.enterStage()
}

// shift moves the alias to its next weight when it is time.
func (s *simulation) shift() {
	g := s.gradual
	if len(g.stages) == 1 {
		s.tidyRuns()
	}
	if now := g.stages[0]; len(g.stages) == 1 || s.steps < now.until || s.now.Before(g.since.Add(now.length)) || s.calm {
		return
	}
	g.stages = g.stages[1:]
	s.enterStage()
}

// tidyRuns lets an operator take care of runs that cannot go on, some time after the weights rest:
// those that are pinned to build 1, or those that build 1 does not know.
func (s *simulation) tidyRuns() {
	if s.calm || s.now.Before(maxTime(maxTime(s.gradual.since.Add(time.Hour), s.drainAt), s.outages.offUntil)) {
		return
	}
	s.drainAt = s.now.Add(3 * time.Hour)
	if s.plan.pinned {
		s.drain()
	}
	s.resetYoung()
}

// enterStage lets the first of the stages begin.
func (s *simulation) enterStage() {
	g := s.gradual
	now := &g.stages[0]
	g.since, now.until = s.now, s.steps+now.steps
	split := function.Split{}
	if now.shifts {
		split = function.Split{Old: buildName(1), Young: buildName(2), Weight: now.weight}
		s.happens(weighted)
	}
	s.log("the alias passes on %v to build 2 (shifting: %v)", now.weight, now.shifts)
	s.count(fmt.Sprintf("an alias gives build 2 a weight of %v", now.weight))
	if n := len(g.splits); n > 0 {
		g.splits[n-1].until = s.now
	}
	g.splits = append(g.splits, held{split: split, from: s.now})
}

// firstBuild returns the build of the simulation's first processes.
func (s *simulation) firstBuild(number int) int {
	if s.gradual != nil && number >= s.gradual.old {
		return 2
	}
	return s.build
}

// lastBuild returns the build of the processes at the end. In a gradual deploy the weights rest
// then.
func (s *simulation) lastBuild() int {
	g := s.gradual
	if g == nil {
		return 2
	}
	for len(g.stages) > 1 {
		g.stages = g.stages[1:]
		s.enterStage()
	}
	if g.back {
		return 1
	}
	return 2
}

// routed returns a process to which the alias gives an invocation. If all of its build are frozen,
// the invocation waits for one of them.
func (s *simulation) routed() *process {
	build := 1 + oneIf(s.random.chance(s.gradual.stages[0].weight))
	if p := s.versionOf(build); p != nil {
		return p
	}
	return s.anyProcess() // the processes at the end have one build
}

// versionOf returns a process of a build, rather one that is not frozen, or nil if there is none.
func (s *simulation) versionOf(build int) *process {
	all := slices.DeleteFunc(slices.Clone(s.processes), func(p *process) bool { return p.build != build })
	if awake := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return s.now.Before(p.frozen) }); len(awake) > 0 {
		all = awake
	}
	if len(all) == 0 {
		return nil
	}
	return all[s.random.IntN(len(all))]
}

// splitFor is how long a process uses what it has read of the alias, give or take a sixth
// (functions/adapter).
const splitFor = time.Minute

// owners returns executor.Options.Owner of a process; nil if no deploy is gradual.
func (s *simulation) owners(p *process) func(ctx context.Context, workflowID, lastBuild string) string {
	if s.gradual == nil {
		return nil
	}
	return func(_ context.Context, workflowID, lastBuild string) string {
		if owner := s.readAlias(p).Owner(workflowID, lastBuild); owner != "" {
			return owner
		}
		return buildName(p.build)
	}
}

// readAlias returns what a process knows of the alias. It reads the alias if that is too old.
func (s *simulation) readAlias(p *process) function.Split {
	if n := len(p.live.held); n > 0 && s.now.Before(p.live.held[n-1].until) {
		return p.live.held[n-1].split
	}
	split := s.gradual.splits[len(s.gradual.splits)-1].split
	if s.hits(aliasUnread) {
		s.log("process %d cannot read the alias", p.number)
		split = function.Split{}
	}
	length := splitFor + time.Duration(s.of(weighted).Int64N(int64(splitFor/3))) - splitFor/6
	p.live.held = append(p.live.held, held{split, s.now, s.now.Add(length)})
	return split
}

// ownerBy returns which build owns a run by a split, as docs/decisions/0049-account.md has it: 0 if
// each build owns what it gets.
func ownerBy(h function.Split, workflowID string, last int) int {
	if h == (function.Split{}) {
		return 0
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(workflowID)) // writing to a hash never fails
	if last == 2 || float64(sum.Sum32()%10_000) < 10_000*h.Weight {
		return 2
	}
	return 1
}

// claimOf returns what the running actor may know of the alias.
func (s *simulation) claimOf(p *process) claim {
	me := s.running
	c := claim{build: p.build, free: me.anywhere, what: me.name}
	if me.queue == "" { // updates that wait for the same run share a task, and one may be free
		c.free = c.free || slices.ContainsFunc(s.actors, func(a *actor) bool { return a.process == p && a.queue == "" && a.anywhere })
	}
	for _, h := range slices.Concat(s.gradual.splits, p.live.held) {
		if h.until.IsZero() || !h.until.Before(me.since) {
			c.held = append(c.held, h)
		}
	}
	return c
}

// owns reports whether the actor of a claim may run a task of a run.
func (c claim) owns(run *engine.Run) bool {
	last := lastToSucceed(run)
	return c.free || last == 0 || last == c.build || slices.ContainsFunc(c.held, func(h held) bool {
		owner := ownerBy(h.split, run.WorkflowID, last)
		return owner == 0 || owner == c.build
	})
}

// lastToSucceed returns the build of the last task of a run that did not fail, or that opened the
// run by a reset. It returns that of the first one if all failed, and 0 if there was none.
func lastToSucceed(run *engine.Run) (build int) {
	for _, c := range slices.Backward(run.Log) {
		for _, part := range slices.Backward(slices.Collect(c.Parts())) {
			if part.Task == nil {
				continue
			}
			build = buildNumber(part.Task.Build)
			if part.Task.Failure == nil || part.Task.Reset != nil {
				return build
			}
		}
	}
	return build
}

// claim notes what the process of a put may know.
func (s *simulation) claim(p *process, items []store.Item) {
	if s.gradual == nil || s.running == nil {
		return
	}
	c := s.claimOf(p)
	for _, item := range items {
		s.gradual.claims[history.CommitID(item.Commit)] = c
	}
}

// checkOwner demands that the build of a task owned the run. The commit is not in the run yet. A
// move may be put by a build that has lost the run meanwhile: it has replayed the whole history.
func (a *audit) checkOwner(at store.Key, run *engine.Run, c *history.Commit) {
	if a.s.gradual == nil || c.Task == nil || run.State.Pinned != "" || movesRun(c) {
		return
	}
	claim, known := a.s.gradual.claims[c.ID]
	if !known || lastToSucceed(run) == 0 {
		return
	}
	if claim.build != lastToSucceed(run) {
		a.s.count("a run moves to " + c.Task.Build)
	}
	if c.Failed() && c.Task.Failure.Kind == failure.KindNonDeterminism {
		a.s.count("a task fails at what the other build did")
	}
	if !claim.owns(run) {
		a.s.fail("%s: %s put a task of a run whose last one build %d ran, and does not own it: %s, %+v", at, c.Task.Build, lastToSucceed(run), claim.what, claim.held)
	}
}

// movesRun reports whether a commit moves its run to a build.
func movesRun(c *history.Commit) bool {
	return slices.ContainsFunc(c.Events(), func(e history.Numbered) bool { return e.Type() == history.TypeWorkflowExecutionOptionsUpdated })
}

// staysBack reports whether build 1 is the one that stays.
func (s *simulation) staysBack() bool { return s.gradual != nil && s.gradual.back }

// bugs takes the bug of build 1 out of a program if build 1 stays.
func (s *simulation) bugs(p program) program {
	if s.staysBack() {
		p.Poison = 0
	}
	return p
}

// pace and more let the clients of a gradual deploy send more requests, over a longer time.
func (s *simulation) pace() time.Duration {
	if s.gradual != nil {
		return 10
	}
	return 1
}

func (s *simulation) more() int {
	if s.gradual != nil {
		return 4
	}
	return 1
}

// resetYoung lets an operator reset the runs of build 2 after the last rollback, as
// docs/operations.md has it.
func (s *simulation) resetYoung() {
	if !s.staysBack() {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.audit.programs)) {
		s.spawn(s.name("operator who resets %s", id), nil, func() {
			for {
				run := s.audit.latest(id)
				if run == nil || run.State.Status.Closed() || !ranYoung(run) {
					return
				}
				requestID := "before-2-" + string(run.State.RunID)
				if !s.resetBefore(id, requestID, run.State.RunID, nil) && !s.resetBefore(id, requestID+"-bare", run.State.RunID, []string{"updates", "signals"}) {
					_, _ = s.insist("terminate "+id, func(ctx context.Context, t edge.Service) error {
						return t.Terminate(ctx, id, run.State.RunID, "its history is too large for a reset")
					})
				}
			}
		})
	}
}

// ranYoung reports whether a task of a run has succeeded under build 2.
func ranYoung(run *engine.Run) bool {
	return slices.ContainsFunc(run.Log, func(c *history.Commit) bool {
		for part := range c.Parts() {
			if part.Task != nil && part.Task.Failure == nil && buildNumber(part.Task.Build) == 2 {
				return true
			}
		}
		return false
	})
}

// resetBefore resets a run to before build 2. It returns false if it is too large for that.
func (s *simulation) resetBefore(id, requestID string, run history.RunID, exclude []string) bool {
	var answer *schema.ResetResponse
	_, err := s.insist("reset "+id+" to before build 2", func(ctx context.Context, t edge.Service) (err error) {
		answer, err = t.Reset(ctx, id, run, schema.ResetRequest{RequestID: requestID, Build: buildName(2), Exclude: exclude})
		return err
	})
	switch latest := s.audit.latest(id); {
	case errors.Is(err, refusal.NotFound) && (latest == nil || latest.State.RunID != run):
		return true // it has closed meanwhile, and another run has begun
	case errors.Is(err, refusal.TooLarge):
		return false
	case err != nil:
		s.fail("reset of %s to before build 2: %v", id, err)
		return false
	}
	s.count("an operator resets a run to before build 2")
	s.audit.reset(id, requestID, answer.RunID, exclude)
	return true
}

// isDead reports whether a queue has dead letters.
func isDead(name string) bool { return strings.HasSuffix(name, queue.DeadLetters("")) }

// becameDead demands that dead letters were not returned because of the builds. A process that is
// an hour behind returns messages, too.
func (s *simulation) becameDead(name string, all []queue.Delivery) {
	for _, d := range all {
		if n := s.gradual.returned[string(d.Body)]; n.forwarded > n.otherwise && s.clockGap() == 0 {
			s.fail("a message became a dead letter in %s: it was returned %d times after it was forwarded, and nothing was disturbed, and %d times otherwise", name, n.forwarded, n.otherwise)
		}
	}
}

// actAnywhere lets the running actor act on a run for a batch: on those of the other build, too,
// because nothing forwards what an activity does. The batch does not learn of builds.
func (s *simulation) actAnywhere(act func() flow.Outcome) flow.Outcome {
	me := s.running
	before := me.anywhere
	me.anywhere = true
	o := act()
	me.anywhere = before
	if s.gradual != nil && o.Verdict == flow.Refused && strings.Contains(o.Reason, "while it is rolled out") {
		s.fail("an action of a batch is refused because of a gradual deploy: %s", o.Reason)
	}
	return o
}
