package httpapi_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/internal/version"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// playDeployment plays requests about a deployment without task queues.
func (s *story) playDeployment(d *testbed.Deployment) {
	process := func(build string, o ...workflow.BindOptions) *testbed.Process {
		var options executor.Options
		options.Build, options.Engine.TaskQueues = build, []string{}
		options.Webhooks, _ = guard.Parse("hooks.example.com")
		return d.Idle(options, append([]workflow.Registration{workflow.Bind(cart.Workflow, cart.Run, append(o, cart.Names)...)}, cart.Registrations()[1:]...)...)
	}
	p, pinned := process("build-1"), process("build-1", workflow.BindOptions{Pinned: true})
	pinned.Do(http.MethodPost, workflows, `{"workflowId":"cart-41","type":"cart","input":{"owner":"ada"}}`)
	p.Do(http.MethodPost, workflows, `{"workflowId":"cart-42","type":"cart","input":{"owner":"ada"}}`)
	p.Do(http.MethodPost, workflows, `{"workflowId":"cart-43","type":"cart","input":{"owner":"ada"}}`)
	p.Do(http.MethodPost, workflows+"/cart-42/updates/addItem", `{"input":{"sku":"tea","quantity":1}}`)
	p.Do(http.MethodPost, workflows+"/cart-42/updates/checkout", `{"waitFor":"accepted"}`)
	s.play(p,
		step{"getDeployment", "/v1/deployment", "", "", 200, "here"},
		step{"listTypes", "/v1/types", "", "", 200, "cart"},
		step{"getType", "/v1/types/charge", "", "", 200, "charge"},
		step{"listQueues", "/v1/queues", "", "", 200, "idle"},
		step{"getWebhookSecret", "/v1/webhooks/secret", "orders", "", 200, "one"},
		step{"redriveQueue", "/v1/queues/activities/redrive", "", "", 202, "started"})
	s.play(process("build-2"), step{"listBuilds", "/v1/builds", "", "", 200, "pinned"})
}

// inspector counts what it is told, or fails.
type inspector struct {
	depths map[string]queue.Depth
	err    error
}

// Depth implements queue.Inspector.
func (i inspector) Depth(_ context.Context, name string) (queue.Depth, error) {
	d, ok := i.depths[name]
	switch {
	case i.err != nil && !ok:
		return d, i.err
	case !ok:
		return d, queue.ErrInvalid
	}
	return d, nil
}

// redriver returns an error.
type redriver struct{ err error }

// Redrive implements queue.Redriver.
func (r redriver) Redrive(context.Context, string) error { return r.err }

// A queue that does not tell everything says so, and does not hide the others.
func TestQueuesThatDoNotTell(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, _ *testbed.Process) {
		var o executor.Options
		o.Engine.TaskQueues = []string{"slow"}
		o.Rate = func(taskQueue string) limits.Rate {
			return map[string]limits.Rate{"slow": {PerSecond: 0.5, Burst: 3}}[taskQueue]
		}
		ask := func() (got []schema.QueueSummary) {
			var answer schema.QueueListResponse
			a := d.Idle(o, testbed.Workload("build-1")...).Do(http.MethodGet, "/v1/queues", "")
			if a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			a.Into(t, &answer)
			return answer.Queues
		}
		const why = "not all of this queue can be read; the log of the server says why"
		three, none := &schema.QueueDepth{Waiting: 3}, &schema.QueueDepth{}
		d.Ports.Inspector = inspector{depths: map[string]queue.Depth{
			queue.Workflow: {Waiting: 3}, queue.DeadLetters(queue.Workflow): {}, queue.Timers: {}, queue.ForTasks("slow"): {Waiting: 3},
		}, err: errors.New("access denied")}
		want := []schema.QueueSummary{
			{Name: queue.Activities, Problem: why},
			{Name: queue.ForTasks("slow"), TaskQueue: "slow", Rate: &schema.QueueRate{PerSecond: 0.5, Burst: 3}, Messages: three, Problem: why},
			{Name: queue.Timers, Messages: none, Problem: why},
			{Name: queue.Workflow, Messages: three, Dead: none},
		}
		if diff := gocmp.Diff(want, ask()); diff != "" {
			t.Error(diff)
		}
		d.Ports.Inspector = inspector{}
		for i := range want {
			want[i].Messages, want[i].Dead, want[i].Problem = nil, nil, ""
		}
		if diff := gocmp.Diff(want, ask()); diff != "" {
			t.Errorf("queues that do not exist: %s", diff)
		}
		d.Ports.Inspector = nil
		if diff := gocmp.Diff(want, ask()); diff != "" {
			t.Errorf("queues that count nothing: %s", diff)
		}
	})
}

// Dead letters are shown with what they ask for, and move back when somebody asks.
func TestDeadLettersAreListedAndMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{}, cart.Registrations()...)
		p.Do(http.MethodPost, workflows, `{"workflowId":"cart-1","type":"cart","input":{"owner":"ada"}}`)
		p.Do(http.MethodPost, workflows+"/cart-1/updates/addItem", `{"input":{"sku":"tea","quantity":1}}`)
		p.Do(http.MethodPost, workflows+"/cart-1/updates/checkout", `{"waitFor":"accepted"}`)
		settings := queue.Standard()[queue.Activities]
		for range settings.MaxReceives {
			if got, err := d.Queue.Receive(t.Context(), queue.Activities, 1); err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			time.Sleep(settings.Visibility)
			synctest.Wait()
		}
		ask := func() schema.QueueSummary {
			var answer schema.QueueListResponse
			p.Do(http.MethodGet, "/v1/queues", "").Into(t, &answer)
			return answer.Queues[slices.IndexFunc(answer.Queues, func(q schema.QueueSummary) bool { return q.Name == queue.Activities })]
		}
		dead := ask()
		if len(dead.DeadLetters) != 1 || dead.Dead.Waiting != 1 || dead.Messages.Waiting != 0 {
			t.Fatalf("%+v", dead)
		}
		if l := dead.DeadLetters[0]; l.WorkflowID != "cart-1" || l.Kind != "activity" || l.EventID == 0 || l.Attempt != 1 || l.FirstSent.IsZero() || l.RunID == "" {
			t.Errorf("the dead letter is shown as %+v", l)
		}
		if a := p.Do(http.MethodPost, "/v1/queues/activities/redrive", ""); a.Status != http.StatusAccepted {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if q := ask(); q.Dead.Waiting != 0 || q.Messages.Waiting != 1 || q.DeadLetters != nil {
			t.Errorf("after the move: %+v", q)
		}
		if got, err := d.Queue.Receive(t.Context(), queue.Activities, 1); err != nil || got[0].Received != 1 {
			t.Errorf("%v, %v; want a message that has not been received before", got, err)
		}
	})
}

// A redrive is refused if the deployment or the queue has none, and is harmless if one goes on.
func TestRedriveAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, _ *testbed.Process) {
		for what, c := range map[string]struct {
			redriver queue.Redriver
			path     string
			status   int
		}{
			"no such right":      {nil, "/v1/queues/activities/redrive", http.StatusNotFound},
			"no such queue":      {redriver{}, "/v1/queues/activities-dead/redrive", http.StatusNotFound},
			"no dead letters":    {redriver{queue.ErrInvalid}, "/v1/queues/activities/redrive", http.StatusNotFound},
			"a queue that fails": {redriver{errors.New("access denied")}, "/v1/queues/activities/redrive", http.StatusServiceUnavailable},
			"one that goes on":   {redriver{queue.ErrRedriving}, "/v1/queues/activities/redrive", http.StatusAccepted},
		} {
			d.Ports.Redriver = c.redriver
			a := d.Idle(executor.Options{}, testbed.Workload("build-1")...).Do(http.MethodPost, c.path, "")
			if a.Status != c.status || a.Status == http.StatusAccepted && string(a.Body) != "{\"started\":false}\n" {
				t.Errorf("%s: %d %s, want %d", what, a.Status, a.Body, c.status)
			}
		}
	})
}

// pages is a list in pages of two rows.
type pages struct{ store.Lister }

// ListRuns implements store.Lister.
func (l pages) ListRuns(ctx context.Context, f store.Filter, token string, _ int) ([]store.Summary, string, error) {
	return l.Lister.ListRuns(ctx, f, token, 2)
}

// slow is a list whose pages take some time.
type slow struct {
	store.Lister
	page time.Duration
}

// ListRuns implements store.Lister.
func (l slow) ListRuns(ctx context.Context, f store.Filter, token string, limit int) ([]store.Summary, string, error) {
	time.Sleep(l.page)
	return l.Lister.ListRuns(ctx, f, token, limit)
}

// The pages of the builds add up to all open runs, whether a page has many or few, and only the
// first one has the versions.
func TestBuildsAddUp(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, _ *testbed.Process) {
		for i, build := range []string{"build-1", "build-2", "build-2", "build-1", "build-2", "build-1", "build-2"} {
			p := d.Idle(executor.Options{Build: build}, testbed.Workload(build)...)
			kind := []string{"pinned", "counter"}[i/6]
			start(t, p, `{"workflowId":"w`+string(rune('a'+i))+`","type":"`+kind+`"}`)
		}
		closed := d.Idle(executor.Options{Build: "build-2"}, testbed.Workload("build-2")...)
		closed.Do(http.MethodPost, workflows+"/wb/terminate", "")
		var none schema.BuildListResponse
		if a := testbed.New(t).Idle(executor.Options{}).Do(http.MethodGet, "/v1/builds", ""); !strings.Contains(string(a.Body), `"openRuns":[]`) {
			t.Errorf("without open runs: %s", a.Body)
		}
		d.Ports.Lister = nil
		d.Idle(executor.Options{}, testbed.Workload("build-1")...).Do(http.MethodGet, "/v1/builds", "").Into(t, &none)
		if none.OpenRuns != nil || none.Here == "" {
			t.Errorf("without a list: %+v", none)
		}
		d.Ports.Lister = slow{pages{d.Store}, 3 * time.Second}
		versions := map[string]string{"build-1": "1", "build-2": "2"}
		p := d.Idle(executor.Options{Build: "build-2", Versions: func(context.Context) (map[string]string, error) { return versions, nil }}, testbed.Workload("build-2")...)
		sums, answers := map[string]int{}, 0
		for token := ""; ; answers++ {
			var answer schema.BuildListResponse
			a := p.Do(http.MethodGet, "/v1/builds?pageToken="+token, "")
			if a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			a.Into(t, &answer)
			for _, b := range answer.OpenRuns {
				sums[b.Build] += b.Runs
			}
			if answer.Here != "build-2" || (token == "") != (len(answer.Versions) == 2) {
				t.Errorf("the page with the token %q is %+v", token, answer)
			}
			if token = answer.NextPageToken; token == "" {
				break
			}
		}
		if want := map[string]int{"build-1": 3, "build-2": 2, "": 1}; !maps.Equal(sums, want) || answers == 0 {
			t.Errorf("%v after %d pages, want %v after several", sums, answers+1, want)
		}
		p = d.Idle(executor.Options{Versions: func(context.Context) (map[string]string, error) { return nil, errors.New("no") }}, testbed.Workload("build-1")...)
		if a := p.Do(http.MethodGet, "/v1/builds", ""); a.Status != http.StatusServiceUnavailable {
			t.Errorf("versions that cannot be listed: %d %s", a.Status, a.Body)
		}
	})
}

// Each answer has the version of Weft, refusals too.
func TestVersionHeader(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		for _, path := range []string{"/v1/deployment", "/v1/openapi.yaml", "/v1/nothing", "/v1/workflows/nobody"} {
			if got := p.Do(http.MethodGet, path, "").Header.Get(version.Header); got != version.Weft() {
				t.Errorf("%s has the version %q", path, got)
			}
		}
	})
}
