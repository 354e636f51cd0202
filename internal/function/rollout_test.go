package function

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/batch/acts"
	"github.com/seed-41655fb1/weft/internal/batch/flow"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// Which build owns a run, by the weight and the build of its last task. A run of the young build
// stays with it.
func TestOwner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		split      Split
		last, want string
	}{
		{Split{}, "old", ""},
		{Split{Old: "old", Young: "young"}, "old", "old"},
		{Split{Old: "old", Young: "young"}, "older", "old"},
		{Split{Old: "old", Young: "young"}, "young", "young"},
		{Split{"old", "young", 1}, "old", "young"},
		{Split{"old", "young", 1}, "older", "young"},
		{Split{"old", "young", 1}, "young", "young"},
	} {
		if got := c.split.Owner("w", c.last); got != c.want {
			t.Errorf("%+v: a run of %s belongs to %q, want %q", c.split, c.last, got, c.want)
		}
	}
}

// The young build's share of the workflows is its weight, within 1 % of all. A workflow that it
// owns at a weight it also owns at any higher one.
func TestShares(t *testing.T) {
	t.Parallel()
	const all = 100_000
	for _, weight := range []float64{0, 0.01, 0.1, 0.5, 0.9, 1} {
		young := 0
		for i := range all {
			if (Split{"old", "young", weight}).Owner(fmt.Sprint("order-", i), "old") == "young" {
				young++
			}
		}
		if share := float64(young) / all; share < weight-0.01 || share > weight+0.01 || weight == 0 && young > 0 || weight == 1 && young < all {
			t.Errorf("at %v the young build owns %v", weight, share)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id, less, more := rapid.String().Draw(t, "id"), rapid.Float64Range(0, 1).Draw(t, "less"), rapid.Float64Range(0, 1).Draw(t, "more")
		less, more = min(less, more), max(less, more)
		if (Split{"old", "young", less}).Owner(id, "old") == "young" && (Split{"old", "young", more}).Owner(id, "old") != "young" {
			t.Errorf("%q belongs to young at %v, and not at %v", id, less, more)
		}
	})
}

// rollout is a deployment of two builds, old and young, with a split that both know.
type rollout struct {
	t          *testing.T
	d          *testbed.Deployment
	random     *rand.Rand
	split      Split
	owner      func(split Split, workflowID, lastBuild string) string // nil is Split.Owner
	fns        map[string]map[Role]*Function                          // by build and role
	forwarded  int
	failed     []string // tasks whose code failed
	mu         sync.Mutex
	streams    *Function // of the young build, for a function URL that streams
	unmarked   bool      // events lose their mark, as on LocalStack
	refuse     error     // of forwarding
	registered func(build string) []workflow.Registration
	hooks      *testbed.Hooks // of the log, under both builds
}

// Observe implements observe.Sink.
func (r *rollout) Observe(_ context.Context, e observe.Event) {
	if task, is := e.(*observe.Task); is && task.Failure != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.failed = append(r.failed, task.WorkflowID+": "+task.Failure)
	}
}

func newRollout(t *testing.T, registered func(build string) []workflow.Registration) *rollout {
	t.Helper()
	r := &rollout{t: t, d: testbed.New(t), random: rand.New(rand.NewPCG(1, 2)), fns: map[string]map[Role]*Function{}, registered: registered}
	r.hooks = r.d.Hook()
	for _, build := range []string{"old", "young"} {
		p := r.d.Idle(executor.Options{Build: build, Observe: observe.New(r), Owner: func(_ context.Context, workflowID, lastBuild string) string {
			owner := r.split.Owner(workflowID, lastBuild)
			if r.owner != nil {
				owner = r.owner(r.split, workflowID, lastBuild)
			}
			if owner == "" {
				return build
			}
			return owner
		}}, registered(build)...)
		r.fns[build] = map[Role]*Function{}
		for _, role := range []Role{API, Workflow, Activity} {
			o := Options{Forward: func(ctx context.Context, to string, event []byte) ([]byte, error) {
				if r.refuse != nil {
					return nil, r.refuse
				}
				r.forwarded++
				deadline, _ := ctx.Deadline()
				lc := &lambdacontext.LambdaContext{ClientContext: Mark(to, deadline)}
				if r.unmarked {
					lc = &lambdacontext.LambdaContext{}
				}
				return r.fns[to][role].Invoke(lambdacontext.NewContext(context.Background(), lc), event)
			}}
			r.fns[build][role] = function(t, role, p, o)
			if role == API {
				r.streams = streamingFunction(t, p, o)
			}
		}
	}
	return r
}

// any returns the function that the alias passes an event to.
func (r *rollout) any(role Role) *Function {
	build := "old"
	if r.split.Young != "" && r.random.Float64() < r.split.Weight {
		build = "young"
	}
	return r.fns[build][role]
}

// post sends a request to a function.
func (r *rollout) post(f *Function, path, body string) httpAnswer {
	return ask(r.t, f, requested(r.t, formats[0], "POST", path, "", body))
}

// deliver plays the event source mappings once.
func (r *rollout) deliver() {
	for _, name := range []string{queue.Activities, queue.Workflow, queue.Timers} {
		role := Workflow
		if name == queue.Activities {
			role = Activity
		}
		if r.d.Queue.Ready(name) {
			mapping(r.t, r.d, r.any(role), name)
		}
	}
}

var (
	rolled = workflow.NewWorkflow[int, int]("rolled")
	step   = workflow.NewUpdate[int, int]("step")
	stop   = workflow.NewSignal[int]("stop")
	toil   = activity.New("toil", func(_ context.Context, n int) (int, error) { return n, nil })
)

// changed is code whose young build does more at each step than the old one knows.
func changed(build string) []workflow.Registration {
	return []workflow.Registration{toil, workflow.Bind(rolled, func(ctx workflow.Context, _ int) (int, error) {
		step.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
			if build == "young" && workflow.Patched(ctx, fmt.Sprint("step-", n)) {
				if err := workflow.Sleep(ctx, time.Second); err != nil {
					return 0, err
				}
			}
			return toil.Run(ctx, n)
		})
		return stop.Receive(ctx)
	}, workflow.Names(step, stop))}
}

// roll rolls the young build out and partly back while callers update runs, and returns the tasks
// that failed.
func roll(t *testing.T, change func(r *rollout)) *rollout {
	t.Helper()
	r := newRollout(t, changed)
	change(r)
	const runs, steps = 20, 15
	next := make([]int, runs)
	for i := range runs {
		r.post(r.any(API), "/v1/workflows", fmt.Sprintf(`{"workflowId":"r%d","type":"rolled","input":0}`, i))
	}
	for _, weight := range []float64{0, 0.1, 0.5, 1, 0.5, 0.1, 1} {
		if weight > 0 {
			r.split = Split{"old", "young", weight}
		}
		for range runs * steps / 5 {
			switch r.random.IntN(3) {
			case 0:
				i := r.random.IntN(runs)
				next[i]++
				r.post(r.any(API), fmt.Sprintf("/v1/workflows/r%d/updates/step", i), fmt.Sprintf(`{"updateId":"u%d","input":%d,"waitFor":"accepted"}`, next[i], next[i]))
			case 1:
				r.deliver()
			default:
				time.Sleep(time.Duration(r.random.IntN(2000)) * time.Millisecond)
			}
		}
	}
	for range 200 {
		r.deliver()
		time.Sleep(time.Second)
	}
	return r
}

// While a deployment is rolled out and back, no task fails although the young build does what the
// old one does not know, and each update completes. This also holds if events lose their marks.
// Otherwise tasks fail: without owners, and if the build of the last task does not count.
func TestRollout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *rollout)
		fails  bool
	}{
		"owners":           {func(*rollout) {}, false},
		"no marks":         {func(r *rollout) { r.unmarked = true }, false},
		"no owners":        {func(r *rollout) { r.owner = func(Split, string, string) string { return "" } }, true},
		"no last build":    {func(r *rollout) { r.owner = func(s Split, id, _ string) string { return s.Owner(id, "") } }, true},
		"nothing forwards": {func(r *rollout) { r.refuse = ErrNotForwarded }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := roll(t, c.change)
				if fails := len(r.failed) > 0; fails != c.fails {
					t.Errorf("tasks fail: %t\n%s", fails, strings.Join(r.failed, "\n"))
				}
				if c.fails {
					return
				}
				if r.forwarded == 0 {
					t.Error("nothing was forwarded")
				}
				for _, name := range []string{queue.Workflow, queue.Activities, queue.Timers} {
					if n := r.d.Queue.Len(name); n > 0 {
						t.Errorf("%d messages are left in the queue %s", n, name)
					}
				}
			})
		})
	}
}

// owned is a run that the old build has begun and owns, while all events reach the young one.
func owned(t *testing.T) *rollout {
	t.Helper()
	r := newRollout(t, testbed.Workload)
	r.post(r.fns["old"][API], "/v1/workflows", `{"workflowId":"c","type":"counter"}`)
	r.post(r.fns["old"][API], "/v1/workflows/c/updates/add", `{"updateId":"first","input":0}`)
	r.split = Split{"old", "young", 0}
	return r
}

// A request for a run of another build goes there. If that build cannot be reached, the request is
// carried out here. If nobody knows what became of it, the caller learns that.
func TestRequestsOfARollout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for what, c := range map[string]struct {
			refuse error
			status int
			kind   string
			by     string // the build of the last task
		}{
			"reached":       {nil, 200, "", "old"},
			"no version":    {ErrNoVersion, 200, "", "young"},
			"not forwarded": {fmt.Errorf("%w: throttled", ErrNotForwarded), 200, "", "young"},
			"no answer":     {errLostAnswer, 503, "outcome-unknown", "old"},
		} {
			r := owned(t)
			r.refuse = c.refuse
			a := r.post(r.fns["young"][API], "/v1/workflows/c/updates/add", `{"updateId":"u1","input":3}`)
			if a.StatusCode != c.status || c.kind != "" && !strings.Contains(a.Body, "urn:weft:problem:"+c.kind) || c.kind == "" && !strings.Contains(a.Body, `"result":3`) || a.header("Weft-Owner") != "" {
				t.Errorf("%s: %d %s", what, a.StatusCode, a.Body)
			}
			if got := lastBuild(t, r, "c"); got != c.by {
				t.Errorf("%s: the last task ran under %s, want %s", what, got, c.by)
			}
			r = owned(t)
			r.refuse = c.refuse
			a = stream(t, r.streams, requested(t, "function-url.json", "POST", "/v1/workflows/c/updates/add", "", `{"updateId":"u1","input":3}`))
			if a.StatusCode != c.status || c.kind != "" && !strings.Contains(a.Body, "urn:weft:problem:"+c.kind) || c.kind == "" && !strings.Contains(a.Body, `"result":3`) || a.header("Weft-Owner") != "" {
				t.Errorf("%s, streamed: %d %s", what, a.StatusCode, a.Body)
			}
		}
	})
}

// Updates of a run that wait for each other share a task. One of them may be carried out by a build
// that does not own the run, after it could not be forwarded, while others have not been forwarded
// yet. Each is carried out.
func TestUpdatesOfARolloutTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := owned(t)
		r.refuse = ErrNoVersion
		r.hooks.Always(testbed.OnRead, func(do func() error) error {
			time.Sleep(100 * time.Millisecond)
			return do()
		})
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if a := r.post(r.fns["young"][API], "/v1/workflows/c/updates/add", fmt.Sprintf(`{"updateId":"u%d","input":1}`, i)); a.StatusCode != 200 {
					t.Errorf("update %d: %d %s", i, a.StatusCode, a.Body)
				}
			})
			time.Sleep(30 * time.Millisecond)
		}
		all.Wait()
	})
}

// A run stays with its owner if another build has run a task in its place, and failed: the owner
// runs the next try.
func TestFailedTaskMovesNoRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRollout(t, changed)
		r.split = Split{"old", "young", 1}
		r.post(r.fns["young"][API], "/v1/workflows", `{"workflowId":"a","type":"rolled","input":0}`)
		r.post(r.fns["young"][API], "/v1/workflows/a/updates/step", `{"updateId":"u1","input":1,"waitFor":"accepted"}`)
		r.split, r.refuse = Split{"old", "young", 0}, ErrNoVersion
		r.post(r.fns["old"][API], "/v1/workflows/a/signals/stop", `{"input":3,"requestId":"s1"}`)
		if len(r.failed) != 1 {
			t.Fatalf("these tasks failed: %q", r.failed)
		}
		r.refuse = nil
		for range 20 {
			r.deliver()
			time.Sleep(10 * time.Second)
		}
		a := ask(t, r.fns["young"][API], requested(t, formats[0], "GET", "/v1/workflows/a", "", ""))
		if len(r.failed) != 1 || !strings.Contains(a.Body, `"status":"completed"`) {
			t.Errorf("these tasks failed: %q; the run is %s", r.failed, a.Body)
		}
	})
}

// A batch acts on the runs of the other build, too: nothing forwards what an activity does.
func TestBatchOfARollout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := owned(t)
		d := acts.Deployment{Service: r.fns["young"][Activity].process.Service}
		if o := d.Act(t.Context(), &stored.Action{Kind: stored.Cancel}, stored.Run{WorkflowID: "c", Type: "counter"}, "b1"); o.Verdict != flow.Done {
			t.Errorf("%+v", o)
		}
	})
}

// A forwarded event is handled where it arrives, whoever owns the run: no event goes back.
func TestMarkedEventsOfARollout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := owned(t)
		text, err := json.Marshal(requested(t, formats[0], "POST", "/v1/workflows/c/updates/add", "", `{"updateId":"u1","input":3}`))
		if err != nil {
			t.Fatal(err)
		}
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{ClientContext: Mark("young", time.Time{})})
		out, err := r.fns["young"][API].Invoke(ctx, text)
		if err != nil || !strings.Contains(string(out), `result\":3`) || r.forwarded > 0 || lastBuild(t, r, "c") != "young" {
			t.Errorf("%s, %v; forwarded %d times", out, err, r.forwarded)
		}
		r = owned(t)
		r.post(r.fns["old"][API], "/v1/workflows/c/updates/nap", `{"updateId":"n1","input":"1m","waitFor":"accepted"}`)
		time.Sleep(time.Minute)
		event := batch(t, queue.Timers, take(t, r.d, queue.Timers)...)
		answer := invoke[struct{ BatchItemFailures []object }](ctx, t, r.fns["young"][Workflow], event)
		if len(answer.BatchItemFailures) > 0 || r.forwarded > 0 || lastBuild(t, r, "c") != "young" {
			t.Errorf("%v are redelivered; forwarded %d times", answer.BatchItemFailures, r.forwarded)
		}
	})
}

// If the run has moved to the other build while an activity ran here, its result goes there through
// the workflow's queue, even if the activity's message was forwarded. No task fails.
func TestResultsOfARollout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, marked := range []bool{false, true} {
			slow := activity.New("toil", func(ctx context.Context, n int) (int, error) {
				time.Sleep(10 * time.Second)
				return n, nil
			})
			r := newRollout(t, func(build string) []workflow.Registration { return append(changed(build)[1:], slow) })
			r.post(r.fns["old"][API], "/v1/workflows", `{"workflowId":"a","type":"rolled","input":0}`)
			add := func(build string, n int) {
				r.post(r.fns[build][API], "/v1/workflows/a/updates/step", fmt.Sprintf(`{"updateId":"u%d","input":%d,"waitFor":"accepted"}`, n, n))
			}
			add("old", 1)
			event := batch(t, queue.Activities, take(t, r.d, queue.Activities)...)
			lc := &lambdacontext.LambdaContext{}
			if marked {
				lc.ClientContext = Mark("old", time.Time{})
			}
			var attempt sync.WaitGroup
			attempt.Go(func() {
				answer := invoke[struct{ BatchItemFailures []object }](lambdacontext.NewContext(t.Context(), lc), t, r.fns["old"][Activity], event)
				if len(answer.BatchItemFailures) > 0 {
					t.Errorf("%v are redelivered", answer.BatchItemFailures)
				}
			})
			time.Sleep(time.Second)
			r.split = Split{"old", "young", 1}
			add("young", 2)
			attempt.Wait()
			for range 10 {
				r.deliver()
				time.Sleep(time.Minute)
			}
			if len(r.failed) > 0 || lastBuild(t, r, "a") != "young" {
				t.Errorf("marked %t: the last task ran under %s, and these failed: %q", marked, lastBuild(t, r, "a"), r.failed)
			}
			a := ask(t, r.fns["young"][API], requested(t, formats[0], "GET", "/v1/workflows/a/updates/u1", "", ""))
			if !strings.Contains(a.Body, `"result":1`) {
				t.Errorf("marked %t: the update is %s", marked, a.Body)
			}
		}
	})
}

// lastBuild returns the build of a run's last task.
func lastBuild(t *testing.T, r *rollout, id string) (build string) {
	t.Helper()
	a := ask(t, r.fns["young"][API], requested(t, formats[0], "GET", "/v1/workflows/"+id+"/history", "", ""))
	for _, found := range regexp.MustCompile(`"build": ?"(\w+)"`).FindAllStringSubmatch(a.Body, -1) {
		build = found[1]
	}
	return build
}

// Messages for runs of another build go there. If that build cannot be reached, they are handled
// here, and if nobody knows what became of them, they are redelivered.
func TestMessagesOfARollout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for what, c := range map[string]struct {
			refuse error
			left   []string
			by     string
		}{
			"reached":       {nil, nil, "old"},
			"no version":    {ErrNoVersion, nil, "young"},
			"not forwarded": {ErrNotForwarded, nil, "young"},
			"no answer":     {errLostAnswer, []string{"0", "1"}, "old"},
		} {
			r := owned(t)
			r.split = Split{}
			for _, update := range []string{"n1", "n2"} {
				r.post(r.fns["old"][API], "/v1/workflows/c/updates/nap", `{"updateId":"`+update+`","input":"1m","waitFor":"accepted"}`)
			}
			time.Sleep(time.Minute)
			r.split, r.refuse = Split{"old", "young", 0}, c.refuse
			event := batch(t, queue.Timers, take(t, r.d, queue.Timers)...)
			want(t, what, failures(t, r.fns["young"][Workflow], event), c.left...)
			if got := lastBuild(t, r, "c"); got != c.by {
				t.Errorf("%s: the last task ran under %s, want %s", what, got, c.by)
			}
		}
	})
}
