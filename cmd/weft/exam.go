package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/diff"
	"github.com/seed-41655fb1/weft/internal/doctor"
	"github.com/seed-41655fb1/weft/internal/precheck"
)

// exam is the check of a program against a deployment.
type exam struct {
	check
	api        *client.Client
	program    *candidate
	manifest   *precheck.Manifest
	deployment *client.Deployment
	aws        *doctor.AWS // nil if it is not known to be on AWS
	changes    doctor.Changes

	found []doctor.Finding
	// open are the open runs by type, and here those that the program is to continue: the others
	// are pinned to other builds.
	open, here map[string]int
	// missing are the activity types that pending activities need and the program does not have,
	// with the workflows.
	missing map[string][]string
}

func (e *exam) add(v doctor.Verdict, check, do, format string, args ...any) {
	e.found = append(e.found, doctor.Finding{Check: check, Verdict: v, Seen: fmt.Sprintf(format, args...), Do: do})
}

// run carries out all checks. An error ends them.
func (e *exam) run(ctx context.Context) error {
	m := e.manifest
	e.add(doctor.OK, "program", "", "build %s, Weft %s, with %s and %s", m.Build, m.Weft,
		counted(int64(len(m.Contract.Workflows)), "workflow type"), counted(int64(len(m.Activities)), "activity type"))
	if e.deployment.Features.List {
		if err := e.runs(ctx); err != nil {
			return err
		}
	} else {
		e.add(doctor.Warn, "histories", "set List to on (WEFT_LIST): runs that are open by then are listed with their next commit", "not checked: runs are not listed, so open ones are not found")
	}
	if err := e.contract(ctx); err != nil || e.aws == nil {
		return err
	}
	return e.functions(ctx)
}

// functions checks the functions and queues on AWS.
func (e *exam) functions(ctx context.Context) error {
	cli.Waiting(ctx, "what AWS says about %s", e.aws.Name)
	p := doctor.Program{Activities: e.manifest.Activities, TaskQueues: e.manifest.TaskQueues, Changes: e.changes}
	if e.deployment.Features.Versions {
		page, err := e.api.Builds(ctx, "") // the first page has all versions
		if err != nil {
			return err
		}
		p.Builds = append(p.Builds, page.Here)
		for _, v := range page.Versions {
			p.Builds = append(p.Builds, v.Build)
		}
	}
	e.found = append(e.found, e.aws.CheckProgram(ctx, p)...)
	return ctx.Err()
}

// runs checks the open runs.
func (e *exam) runs(ctx context.Context) (err error) {
	cli.Waiting(ctx, "the count of open runs")
	if e.open, err = e.count(ctx, running); err != nil {
		return err
	}
	if e.here, err = e.count(ctx, running+e.ofBuild()); err != nil {
		return err
	}
	e.missing = map[string][]string{}
	total := outcomes{}
	for _, name := range slices.Sorted(maps.Keys(e.open)) {
		total.pinned += max(0, e.open[name]-e.here[name])
		switch {
		case e.here[name] == 0:
		case !e.has(name):
			total.without += e.here[name]
			if err := e.withoutType(ctx, name); err != nil {
				return err
			}
		default:
			if err := e.ofType(ctx, name, &total); err != nil {
				return err
			}
		}
	}
	e.types()
	e.summary(&total)
	return nil
}

// running selects open runs.
const running = "ExecutionStatus = 'Running'"

// ofBuild selects the runs that the program is to continue.
func (e *exam) ofBuild() string {
	return " AND (BuildId IS NULL OR BuildId = " + client.Quote(e.manifest.Build) + ")"
}

// sum returns how many runs there are of all types.
func sum(byType map[string]int) (all int) {
	for _, n := range byType {
		all += n
	}
	return all
}

// count counts runs by their types.
func (e *exam) count(ctx context.Context, filter string) (map[string]int, error) {
	all := map[string]int{}
	for token := ""; ; {
		page, err := e.api.Count(ctx, client.CountOptions{Filter: filter, GroupBy: "WorkflowType", PageToken: token})
		if err != nil {
			return nil, err
		}
		for _, g := range page.Groups {
			all[g.Value] += g.Count
		}
		if token = page.NextPageToken; token == "" {
			return all, nil
		}
	}
}

// has reports whether the program has a workflow type. Each program has those of Weft's own.
func (e *exam) has(name string) bool {
	return e.manifest.Contract.Workflows[name] != nil || e.manifest.Contract.AnyWorkflow != nil || engine.OwnType(name)
}

// withoutType reports open runs of a type that the program does not have.
func (e *exam) withoutType(ctx context.Context, name string) error {
	all, err := e.list(ctx, name, "", 1)
	if err != nil || len(all) == 0 { // they have closed meanwhile
		return err
	}
	filter := "WorkflowType = " + client.Quote(name) + " AND " + running
	e.add(doctor.Bad, "type "+name, "register it until its last run has closed: "+e.Command("count", filter),
		"the program does not have the workflow type, and %s would be stuck, the latest is %s", counted(int64(e.here[name]), "open run"), all[0].WorkflowID)
	return nil
}

// list returns open runs of a type that the program is to continue, at most most of them.
func (e *exam) list(ctx context.Context, name, order string, most int) (all []client.Summary, err error) {
	filter := "WorkflowType = " + client.Quote(name) + " AND " + running + e.ofBuild() + order
	for token := ""; len(all) < most; {
		page, err := e.api.ListPage(ctx, client.ListOptions{Filter: filter, PageToken: token, PageSize: min(most-len(all), largestPage)})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Workflows...)
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	return all, nil
}

// sample returns the runs of a type that are replayed.
func (e *exam) sample(ctx context.Context, name string) ([]client.Summary, error) {
	const all = 1 << 30
	switch {
	case e.All:
		return e.list(ctx, name, "", all)
	case e.here[name] <= e.Most:
		return e.list(ctx, name, "", e.Most)
	}
	newest, err := e.list(ctx, name, "", (e.Most+1)/2)
	if err != nil {
		return nil, err
	}
	oldest, err := e.list(ctx, name, " ORDER BY StartTime", e.Most/2)
	for _, run := range oldest {
		if !slices.ContainsFunc(newest, func(r client.Summary) bool { return r.RunID == run.RunID && r.WorkflowID == run.WorkflowID }) {
			newest = append(newest, run)
		}
	}
	return newest, err
}

// outcomes counts what came of open runs.
type outcomes struct {
	// replayed are those that the program continues, broken those that would become stuck, and
	// stays those that are stuck and stay so.
	replayed, broken, stays int
	// without are those whose type the program does not have. They and the following are not
	// replayed.
	without, left, pinned, closed, newer int
	// fixed are stuck runs that replay, and unsure those of them whose failure was no difference
	// from the history.
	fixed, unsure int
	unsureOf      string // one of them
}

// trouble are runs that the program does not continue for the same reason.
type trouble struct {
	answer *precheck.Answer
	stuck  bool // they are stuck already
	runs   []client.Summary
}

// ofType replays open runs of a type.
func (e *exam) ofType(ctx context.Context, name string, total *outcomes) error {
	runs, err := e.sample(ctx, name)
	if err != nil {
		return err
	}
	total.left += max(0, e.here[name]-len(runs))
	answers := make([]*precheck.Answer, len(runs)) // nil is one that is not counted
	err = e.replay(ctx, name, runs, total, answers)
	var troubles []*trouble
	for i, a := range answers {
		switch run := runs[i]; {
		case a == nil:
		case a.OK:
			e.continues(run, total)
		default:
			stuck := run.State == client.StateStuck
			if stuck {
				total.stays++
			} else {
				total.broken++
			}
			same := slices.IndexFunc(troubles, func(t *trouble) bool {
				return t.stuck == stuck && t.answer.Problem == a.Problem && t.answer.Kind == a.Kind && t.answer.Place == a.Place
			})
			if same < 0 {
				same, troubles = len(troubles), append(troubles, &trouble{answer: a, stuck: stuck})
			}
			troubles[same].runs = append(troubles[same].runs, run)
		}
		if a != nil {
			for _, activity := range a.Missing {
				e.missing[activity] = append(e.missing[activity], runs[i].WorkflowID)
			}
		}
	}
	e.troubles(name, troubles)
	return err
}

// continues counts a run that replays.
func (e *exam) continues(run client.Summary, total *outcomes) {
	total.replayed++
	switch {
	case run.State != client.StateStuck:
	case run.Stuck != nil && (run.Stuck.FailureType == "nonDeterminism" || run.Stuck.FailureType == "unregistered"):
		total.fixed++
	default:
		total.unsure++
		total.unsureOf = cmp.Or(total.unsureOf, run.WorkflowID)
	}
}

// mostTroubles is how many reasons are reported for a type.
const mostTroubles = 5

// troubles reports the runs of a type that the program does not continue, those first that are not
// stuck yet.
func (e *exam) troubles(name string, all []*trouble) {
	slices.SortStableFunc(all, func(a, b *trouble) int {
		if a.stuck != b.stuck {
			return map[bool]int{false: -1, true: 1}[a.stuck]
		}
		return len(b.runs) - len(a.runs)
	})
	check := "histories of " + name
	for i, t := range all {
		verdict, becomes := doctor.Bad, "would become stuck"
		switch {
		case t.stuck && len(t.runs) == 1:
			verdict, becomes = doctor.Warn, "is stuck, and stays so"
		case t.stuck:
			verdict, becomes = doctor.Warn, "are stuck, and stay so"
		}
		if i == mostTroubles {
			more := 0
			for _, t := range all[i:] {
				more += len(t.runs)
			}
			e.add(verdict, check, "", "%s for other reasons: the first is %s", counted(int64(more), "more run"), t.runs[0].WorkflowID)
			return
		}
		e.add(verdict, check, adviceFor(t.answer), "%s %s, the first is %s (run %s): %s%s", counted(int64(len(t.runs)), "open run"), becomes,
			t.runs[0].WorkflowID, t.runs[0].RunID, t.answer.Text, at(t.answer.Place))
	}
}

// at returns a place in a sentence.
func at(place string) string {
	if place == "" {
		return ""
	}
	return ", at " + place
}

// adviceFor returns what to do about a run that the program does not continue.
func adviceFor(a *precheck.Answer) string {
	switch {
	case a.Problem == precheck.Unreadable:
		return "deploy the version of Weft that wrote it, or a later one"
	case a.Problem == precheck.Hangs:
		return "find out why the code does not return there: workflow code waits only with package workflow, and does not end its process"
	case a.Kind == "nonDeterminism":
		return "keep what the code does, and put workflow.Patched around the new code; " + "weft history and weftest.Replay make a test of it"
	}
	return "correct the code: it has run for these histories before"
}

// replay replays runs. An answer stays nil if its run is only counted.
func (e *exam) replay(ctx context.Context, name string, runs []client.Summary, total *outcomes, answers []*precheck.Answer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // guards what follows, and the program
	done, next := 0, make(chan int)
	var readers sync.WaitGroup
	for range min(e.AtOnce, len(runs)) {
		readers.Go(func() {
			for i := range next {
				h, err := e.api.History(ctx, runs[i].WorkflowID, string(runs[i].RunID))
				mu.Lock()
				cli.Waiting(ctx, "the replay of %s (%d of %d done)", name, done, len(runs))
				answers[i], err = e.answer(ctx, h, err, total)
				done++
				mu.Unlock()
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range runs {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	readers.Wait()
	return context.Cause(ctx)
}

// answer has the program replay the history that a request returned. It counts a run without a
// history to replay, and returns nil for it.
func (e *exam) answer(ctx context.Context, h *client.History, err error, total *outcomes) (*precheck.Answer, error) {
	var p *client.Problem
	switch {
	case errors.Is(err, client.ErrNotFound), err == nil && h.Closed:
		total.closed++
		return nil, nil
	case errors.Is(err, client.ErrNotReady) && errors.As(err, &p) && strings.Contains(p.Detail, "newer version of Weft"):
		total.newer++
		return nil, nil
	case err != nil:
		return nil, err
	}
	return e.program.replay(ctx, h)
}

// types reports the activity types that the program does not have.
func (e *exam) types() {
	lacks := false
	for _, f := range e.found {
		lacks = lacks || strings.HasPrefix(f.Check, "type ")
	}
	for _, name := range slices.Sorted(maps.Keys(e.missing)) {
		runs := e.missing[name]
		lacks = true
		e.add(doctor.Bad, "type "+name, "register it until no activity of it is pending, in a program of the deployment",
			"the program does not have the activity type, and it is pending in %s, the first is %s", counted(int64(len(runs)), "run"), runs[0])
	}
	switch {
	case lacks:
	case sum(e.here) == 0:
		e.add(doctor.None, "types", "", "no open run needs a type of the program")
	default:
		e.add(doctor.OK, "types", "", "the program has the types of all open runs that were looked at, and of their pending activities")
	}
}

// summary reports what came of all open runs.
func (e *exam) summary(total *outcomes) {
	verdict, text := doctor.OK, []string{counted(int64(total.replayed), "open run") + " can be continued"}
	switch {
	case total.broken > 0 || total.without > 0:
		verdict = doctor.Bad
	case total.stays > 0 || total.newer > 0:
		verdict = doctor.Warn
	case total.replayed == 0:
		verdict = doctor.None
	}
	if total.replayed+total.broken+total.stays == 0 {
		text[0] = "nothing was replayed"
		if sum(e.open) == 0 {
			text[0] += ": there are no open runs"
		}
	}
	for _, more := range []struct {
		n    int
		what string
	}{
		{total.fixed, "of them stuck so far, and fixed"},
		{total.broken, "would become stuck"},
		{total.stays, "stuck, and not fixed"},
		{total.without, "of types that the program does not have"},
		{total.left, "more not looked at (--all, --most)"},
		{total.pinned, "pinned to other builds"},
		{total.closed, "closed meanwhile"},
		{total.newer, "of a newer version of Weft than the deployment's"},
	} {
		if more.n > 0 {
			text = append(text, fmt.Sprintf("%d %s", more.n, more.what))
		}
	}
	do := ""
	if total.newer > 0 {
		do = "deploy the version of Weft that wrote them, and check again"
	}
	e.add(verdict, "histories", do, "%s", strings.Join(text, ", "))
	if total.pinned > 0 && !e.deployment.Features.Versions {
		e.add(doctor.Warn, "pinned runs", "set Pinning to on, which keeps earlier builds, or move the runs (weft move): weft builds has their builds",
			"%s to other builds, and the deployment keeps no versions: no build continues them once this one is deployed", isOrAre(total.pinned, "open run", "pinned"))
	}
	if total.unsure > 0 {
		e.add(doctor.Warn, "stuck runs", "deploy it, and see whether they go on: "+e.Command("describe", total.unsureOf),
			"%s so far, and replay: their code failed in a task that is not in the history, so a replay does not show whether the program fixes it; one is %s",
			isOrAre(total.unsure, "run", "stuck"), total.unsureOf)
	}
}

// contract compares the contract of the program with that of the deployment, as far as open runs
// are concerned.
func (e *exam) contract(ctx context.Context) error {
	cli.Waiting(ctx, "the contract of the deployment")
	const check = "contract"
	before, err := e.api.Contract(ctx)
	if errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrNotFound) {
		e.add(doctor.Warn, check, "compare it with weft contract check", "not checked: the deployment does not publish its contract")
		return nil
	}
	if err != nil {
		return err
	}
	after, broken, callers := e.manifest.Contract, 0, 0
	for _, c := range diff.Compare(e.concerned(before, after), e.concerned(after, before)) {
		if c.Runs == diff.Breaks {
			broken++
			e.add(doctor.Bad, check, c.Instead, "%s %s: %s", c.At, c.What, c.Why)
		}
	}
	for _, c := range diff.Compare(before, after) {
		if c.Callers == diff.Breaks {
			callers++
		}
	}
	if callers > 0 {
		e.add(doctor.Warn, check, "weft contract check says which, and how to get there without harm", "%s what callers send or read", isOrAre(callers, "change", "breaking"))
	} else if broken == 0 {
		e.add(doctor.OK, check, "", "nothing that open runs or callers rely on has changed")
	}
	return nil
}

// concerned returns the part of a contract whose changes concern open runs: the workflow types that
// have some, and the activity types, of those that the other contract has as well. Types that it
// does not have are checks of their own.
func (e *exam) concerned(d, other *contract.Document) *contract.Document {
	part := &contract.Document{Version: d.Version, Workflows: map[string]*contract.Workflow{}, Activities: map[string]*contract.Activity{}, Defs: d.Defs}
	for name, w := range d.Workflows {
		if other.Workflows[name] != nil && (e.here == nil || e.here[name] > 0) {
			part.Workflows[name] = w
		}
	}
	for name, a := range d.Activities {
		if other.Activities[name] != nil {
			part.Activities[name] = a
		}
	}
	return part
}

// isOrAre returns a number with what it counts, and what that is.
func isOrAre(n int, one, what string) string {
	if n == 1 {
		return "1 " + one + " is " + what
	}
	return fmt.Sprintf("%d %ss are %s", n, one, what)
}
