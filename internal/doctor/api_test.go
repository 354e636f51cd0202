package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/version"
)

// recorded is a deployment with recorded answers.
type recorded struct {
	deployment client.Deployment
	noStore    error
	runs       []client.Summary
	next       string
	noList     error
	states     map[string]client.RunState // of runs, if they cannot be filtered by it
	queues     []client.Queue
	noQueues   error
	builds     map[string]client.Builds // by token
	noBuilds   error
	beats      *client.History // of the probe
	noBeats    error
	err        error // of the deployment
}

func (r *recorded) Deployment(context.Context) (*client.Deployment, error) {
	if r.err != nil {
		return nil, r.err
	}
	return &r.deployment, nil
}

func (r *recorded) Describe(_ context.Context, id, _ string, _ ...client.DescribeOptions) (*client.Description, error) {
	if state, ok := r.states[id]; ok {
		return &client.Description{State: state}, nil
	}
	if r.noStore != nil {
		return nil, r.noStore
	}
	return nil, problem.Of(refusal.NotFound.New("there is no workflow %q", id))
}

func (r *recorded) List(_ context.Context, filter, _ string) ([]client.Summary, string, error) {
	if r.states != nil && strings.Contains(filter, "Stuck") {
		return nil, "", problem.Of(refusal.Invalid.New("no run has Stuck"))
	}
	return r.runs, r.next, r.noList
}

func (r *recorded) Queues(context.Context) ([]client.Queue, error) { return r.queues, r.noQueues }

func (r *recorded) Builds(_ context.Context, token string) (*client.Builds, error) {
	page, ok := r.builds[token]
	if !ok || r.noBuilds != nil {
		return nil, errors.Join(r.noBuilds, fmt.Errorf("no page %q", token))
	}
	return &page, nil
}

func (r *recorded) History(_ context.Context, id, _ string) (*client.History, error) {
	if id != "weft.probe:0" || r.noBeats != nil {
		return nil, cmp.Or(r.noBeats, fmt.Errorf("nobody asks for %s", id))
	}
	return r.beats, nil
}

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// healthy is a deployment without anything to do.
func healthy() *recorded {
	none := &client.QueueDepth{}
	return &recorded{
		deployment: client.Deployment{
			Version: version.Weft(), Build: "b2", Now: noon.Add(time.Second),
			Features: client.DeploymentFeatures{List: true, Queues: true, Redrive: true},
		},
		queues: []client.Queue{{Name: "timers", Messages: &client.QueueDepth{Waiting: 3, InFlight: 2, Delayed: 1}, Dead: none}, {Name: "workflow", Messages: none, Dead: none}},
		builds: map[string]client.Builds{
			"": {Here: "b2", Versions: []client.BuildVersion{{Build: "b1", Version: "7"}}, OpenRuns: []client.BuildRuns{{Runs: 4}, {Build: "b1", Runs: 1}}},
		},
	}
}

// command returns commands for a deployment at another address than usual.
func command(name string, args ...string) string {
	return "weft " + name + " --url U " + strings.Join(args, " ")
}

// text returns findings as lines.
func text(all []Finding) (lines []string) {
	for _, f := range all {
		line := fmt.Sprintf("%s %s: %s", f.Verdict, f.Check, f.Seen)
		if f.Do != "" {
			line += " -> " + f.Do
		}
		lines = append(lines, line)
	}
	return lines
}

func check(t *testing.T, r *recorded) []Finding {
	t.Helper()
	found, _, err := CheckAPI(t.Context(), r, func() time.Time { return noon }, command)
	want := r.err
	if errors.Is(want, client.ErrNotFound) { // it has answered, and is too old
		want = nil
	}
	if !errors.Is(err, want) {
		t.Errorf("the deployment answers with %v, and the error is %v", r.err, err)
	}
	return found
}

func TestHealthyAPI(t *testing.T) {
	t.Parallel()
	found := check(t, healthy())
	want := []string{
		"ok api: it answered in 0s",
		"ok version: the server has Weft (devel), build b2, and this command is " + version.Weft() + ": a version that is no release is not compared",
		"ok clock: the server's clock is 1s ahead of this machine's",
		"ok store: the server reads its store",
		"ok list: runs are listed",
		"ok stuck runs: none",
		"ok queue timers: 3 wait, 2 are in flight, 1 are delayed, no dead letters",
		"ok queue workflow: 0 wait, 0 are in flight, 0 are delayed, no dead letters",
		"ok builds: 5 open runs, each of a build that runs",
	}
	if diff := gocmp.Diff(want, text(found)); diff != "" || Worst(found) != OK {
		t.Errorf("%s: %s", Worst(found), diff)
	}
}

// Each trouble has one finding that is not ok, which says what was seen and what to do.
func TestTroubledAPI(t *testing.T) {
	t.Parallel()
	denied := errors.New("access denied")
	page := func(token string, runs ...client.BuildRuns) client.Builds {
		return client.Builds{Here: "b2", OpenRuns: runs, NextPageToken: token}
	}
	for what, c := range map[string]struct {
		change  func(r *recorded)
		verdict Verdict
		check   string
		seen    string
		do      string
	}{
		"no answer":       {func(r *recorded) { r.err = denied }, Bad, "api", "access denied", "authorization"},
		"an older server": {func(r *recorded) { r.err = problem.Of(refusal.NotFound.New("nothing")) }, Bad, "api", "older", "deploy"},
		"a clock ahead":   {func(r *recorded) { r.deployment.Now = noon.Add(11 * time.Second) }, Bad, "clock", "11s ahead", "correct"},
		"a clock behind":  {func(r *recorded) { r.deployment.Now = noon.Add(-6 * time.Second) }, Warn, "clock", "6s behind", "correct"},
		"no rights":       {func(r *recorded) { r.noStore = denied }, Bad, "store", "access denied", "log"},
		"no list":         {func(r *recorded) { r.deployment.Features.List = false }, Warn, "list", "not listed", "WEFT_LIST"},
		"a stuck run that is described": {func(r *recorded) {
			r.runs, r.states = runsOf("gone", "order-6", "order-7"), map[string]client.RunState{"order-6": client.StateWaiting, "order-7": client.StateStuck}
		}, Bad, "stuck runs", "1 run is stuck, because code fails; the latest is order-7", "weft describe --url U order-7"},
		"a list that fails": {func(r *recorded) { r.noList = denied }, Bad, "stuck runs", "access denied", "log"},
		"a stuck run": {func(r *recorded) {
			r.runs = runsOf("order-7")
		}, Bad, "stuck runs", "1 run is stuck", "weft describe --url U order-7"},
		"many stuck runs": {func(r *recorded) {
			r.runs, r.next = runsOf("order-7", "order-8"), "more"
		}, Bad, "stuck runs", "2 or more runs are stuck", "weft describe --url U order-7"},
		"no counts":            {func(r *recorded) { r.deployment.Features.Queues = false }, Warn, "queues", "does not count", "Inspector"},
		"queues that fail":     {func(r *recorded) { r.noQueues = denied }, Bad, "queues", "access denied", "log"},
		"a queue that fails":   {func(r *recorded) { r.queues[0].Problem = "not all can be read" }, Warn, "queue timers", "not all", "GetQueueAttributes"},
		"a queue that is gone": {func(r *recorded) { r.queues[0].Messages = nil }, Bad, "queue timers", "does not exist", "create"},
		"no dead letters":      {func(r *recorded) { r.queues[0].Dead = nil }, Warn, "queue timers", "no dead letters", "redrive policy"},
		"dead letters":         {func(r *recorded) { r.queues[0].Dead = &client.QueueDepth{Waiting: 1, InFlight: 1} }, Warn, "queue timers", "2 dead letters", "weft dead redrive --url U timers"},
		"a dead letter, no redrive": {func(r *recorded) {
			r.deployment.Features.Redrive = false
			r.queues[0].Dead, r.queues[0].DeadLetters = &client.QueueDepth{Delayed: 1}, []client.DeadLetter{{WorkflowID: "order-9"}}
		}, Warn, "queue timers", "1 dead letter, the oldest of order-9", "if it works"},
		"messages that cannot be read": {func(r *recorded) {
			r.queues = append(r.queues, client.Queue{Name: "unreadable", Messages: &client.QueueDepth{Waiting: 2, InFlight: 1}})
		}, Warn, "queue unreadable", "3 messages that cannot be read", "weft queue unreadable"},
		"no queue for them": {func(r *recorded) {
			r.queues = append(r.queues, client.Queue{Name: "unreadable"})
		}, Bad, "queue unreadable", "does not exist", "deploy"},
		"a backlog": {func(r *recorded) { r.queues[1].Messages = &client.QueueDepth{Waiting: 1001} }, Warn, "queue workflow", "1001 messages wait", "throttled"},
		"lost builds": {func(r *recorded) {
			r.builds = map[string]client.Builds{"": page("", client.BuildRuns{Build: "b0", Runs: 3})}
		}, Bad, "builds", "b0 (3 runs)", "move"},
		"lost builds of a later page": {func(r *recorded) {
			r.builds = map[string]client.Builds{"": page("2", client.BuildRuns{Build: "b0", Runs: 3}), "2": page("", client.BuildRuns{Build: "b0", Runs: 1})}
		}, Bad, "builds", "b0 (4 runs)", "move"},
		"builds that cannot be counted": {func(r *recorded) { r.noBuilds = denied }, Warn, "builds", "access denied", "log"},
	} {
		r := healthy()
		c.change(r)
		var wrong []Finding
		for _, f := range check(t, r) {
			if f.Verdict != OK {
				wrong = append(wrong, f)
			} else if f.Do != "" {
				t.Errorf("%s: %s is ok, and asks to %s", what, f.Check, f.Do)
			}
		}
		if len(wrong) != 1 || wrong[0].Verdict != c.verdict || wrong[0].Check != c.check || !strings.Contains(wrong[0].Seen, c.seen) || !strings.Contains(wrong[0].Do, c.do) {
			t.Errorf("%s: found %q, want %s of %s with %q and %q", what, text(wrong), c.verdict, c.check, c.seen, c.do)
		}
		if Worst(check(t, r)) != c.verdict {
			t.Errorf("%s: the worst is %s", what, Worst(check(t, r)))
		}
	}
}

// Builds with more pages than are counted say so.
func TestManyBuilds(t *testing.T) {
	t.Parallel()
	r := healthy()
	r.builds = map[string]client.Builds{}
	for _, pair := range [][2]string{{"", "1"}, {"1", "2"}, {"2", "3"}} {
		r.builds[pair[0]] = client.Builds{Here: "b2", OpenRuns: []client.BuildRuns{{Runs: 50_000}}, NextPageToken: pair[1]}
	}
	found := check(t, r)
	if last := found[len(found)-1]; last.Seen != "150000 or more open runs, each of a build that runs" {
		t.Errorf("found %q", last.Seen)
	}
}

// The clock is compared with the middle of the request, and what the request took is uncertain.
func TestClockOfASlowAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		took, ahead time.Duration
		want        Verdict
	}{{4 * time.Second, 6 * time.Second, OK}, {4 * time.Second, 8 * time.Second, Warn}, {4 * time.Second, 13 * time.Second, Bad}} {
		r := healthy()
		r.deployment.Now = noon.Add(c.took/2 + c.ahead)
		times := []time.Time{noon, noon.Add(c.took)}
		found, _, _ := CheckAPI(t.Context(), r, func() time.Time {
			now := times[0]
			times = times[1:]
			return now
		}, command)
		for _, f := range found {
			if f.Check == "clock" && f.Verdict != c.want {
				t.Errorf("an answer after %v with a clock that is %v ahead: %s, want %s", c.took, c.ahead, f.Verdict, c.want)
			}
		}
	}
}

// silent is a deployment that does not answer.
type silent struct{ recorded }

func (*silent) Deployment(ctx context.Context) (*client.Deployment, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A check ends after its time, and says so. It ends with its caller, too, and says why.
func TestSilentAPI(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		found, described, err := CheckAPI(t.Context(), &silent{}, time.Now, command)
		if described != nil || !errors.Is(err, context.DeadlineExceeded) || len(found) != 1 || !strings.Contains(found[0].Seen, "no answer within 8s") || time.Since(began) != perCheck {
			t.Errorf("after %v: %q", time.Since(began), text(found))
		}
		ctx, end := context.WithCancelCause(t.Context())
		end(errors.New("nobody listens there"))
		if found, _, _ := CheckAPI(ctx, &silent{}, time.Now, command); len(found) != 1 || !strings.Contains(found[0].Seen, "nobody listens there") {
			t.Errorf("found %q", text(found))
		}
	})
}

// Of many open runs the latest are described, and the finding says so.
func TestManyOpenRuns(t *testing.T) {
	t.Parallel()
	r := healthy()
	r.states = map[string]client.RunState{}
	for i := range mostDescribed + 1 {
		id := fmt.Sprint("order-", i)
		r.runs, r.states[id] = append(r.runs, runsOf(id)...), client.StateWaiting
	}
	r.states[r.runs[mostDescribed].WorkflowID] = client.StateStuck // too old to be seen
	for _, f := range check(t, r) {
		if f.Check == "stuck runs" && (f.Verdict != OK || f.Seen != "none among the latest 20 open ones") {
			t.Errorf("found %+v", f)
		}
	}
}

// runsOf returns rows of the list.
func runsOf(ids ...string) (all []client.Summary) {
	for _, id := range ids {
		all = append(all, client.Summary{WorkflowRun: client.WorkflowRun{WorkflowID: id}})
	}
	return all
}
