package client_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// What a client learns about a deployment.
func TestDeployment(t *testing.T) {
	t.Parallel()
	d := testbed.New(t)
	c := d.Idle(executor.Options{Build: "build-7", Namespace: "shop"}, testbed.Workload("build-7")...).Client
	for _, kind := range []string{"pinned", "counter"} {
		if _, _, err := c.Start(t.Context(), kind, kind, nil, client.StartOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	described, err := c.Deployment(t.Context())
	if err != nil || described.Build != "build-7" || described.Namespace != "shop" || !described.Features.Queues || described.Now.IsZero() {
		t.Errorf("the deployment is %+v, %v", described, err)
	}
	types, err := c.Types(t.Context())
	if err != nil || !slices.Equal(types.TaskQueues, testbed.TaskQueues) {
		t.Errorf("the types are %+v, %v", types, err)
	} else if i := slices.IndexFunc(types.Workflows, func(w client.WorkflowType) bool { return w.Name == "pinned" }); i < 0 || !types.Workflows[i].Pinned {
		t.Errorf("the workflow types are %+v", types.Workflows)
	}
	all, err := c.Contract(t.Context(), client.ContractOptions{Build: "build-7"})
	if err != nil || len(all.Workflows) != len(types.Workflows) || all.Workflows["counter"].Input == nil {
		t.Errorf("the contract is %+v, %v", all, err)
	}
	one, err := c.TypeContract(t.Context(), "counter")
	if err != nil || len(one.Workflows) != 1 || !one.Workflows["counter"].Result.Type.Has("integer") {
		t.Errorf("the contract of counter is %+v, %v", one, err)
	}
	for name, want := range map[string]error{"nobody": failure.ErrNotFound, "a/b": failure.ErrNotFound, "weft.schedule": failure.ErrNotFound} {
		if _, err := c.TypeContract(t.Context(), name); !errors.Is(err, want) || !strings.Contains(err.Error(), `"counter"`) {
			t.Errorf("the contract of %q: %v, want %v, and the names", name, err, want)
		}
	}
	if _, err := c.TypeContract(t.Context(), "counter", client.ContractOptions{Build: "build-6"}); !errors.Is(err, failure.ErrOtherBuild) {
		t.Errorf("the contract of another build: %v", err)
	}
	builds, err := c.Builds(t.Context(), "")
	if err != nil || builds.Here != "build-7" || len(builds.OpenRuns) != 2 || builds.OpenRuns[1] != (client.BuildRuns{Build: "build-7", Runs: 1}) {
		t.Errorf("the builds are %+v, %v", builds, err)
	}
	if _, err := c.Builds(t.Context(), "x"); !errors.Is(err, failure.ErrInvalid) {
		t.Errorf("builds from a token that nobody returned: %v", err)
	}
	queues, err := c.Queues(t.Context())
	if err != nil || len(queues) != 3+len(testbed.TaskQueues) || queues[0].Messages == nil || queues[0].Dead == nil {
		t.Errorf("the queues are %+v, %v", queues, err)
	}
	if started, err := c.Redrive(t.Context(), queue.Timers); err != nil || !started {
		t.Errorf("a redrive: %v, %v", started, err)
	}
	for name, want := range map[string]error{"nobody": failure.ErrNotFound, "": failure.ErrInvalid, "..": failure.ErrInvalid, "a/b": failure.ErrNotFound} {
		if _, err := c.Redrive(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("a redrive of %q: %v, want %v", name, err, want)
		}
	}
}

// stranger answers each request with an empty object, as something else than Weft might.
type stranger struct{}

// RoundTrip implements http.RoundTripper.
func (stranger) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

func TestDeploymentOfAStranger(t *testing.T) {
	t.Parallel()
	c := client.New("http://weft.test", client.Options{HTTP: &http.Client{Transport: bridge.Transport{RoundTripper: stranger{}}}})
	for what, ask := range map[string]func() error{
		"Deployment": func() error { _, err := c.Deployment(t.Context()); return err },
		"Types":      func() error { _, err := c.Types(t.Context()); return err },
		"Contract": func() error {
			_, err := c.TypeContract(t.Context(), "counter")
			return err
		},
		"Builds":  func() error { _, err := c.Builds(t.Context(), ""); return err },
		"Queues":  func() error { _, err := c.Queues(t.Context()); return err },
		"Redrive": func() error { _, err := c.Redrive(t.Context(), "timers"); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "this is not the answer") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
