package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var troubled = workflow.NewWorkflow[workflow.None, workflow.None]("troubled")

// troubledLines returns the lines that a run logs whose code calls this activity, without run ids
// and stacks. during runs while the activity does.
func troubledLines(t *testing.T, called workflow.Registration, call func(ctx workflow.Context) error, during func(p *testbed.Process)) string {
	t.Helper()
	var warnings testbed.Warnings
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{Logger: warnings.Logger()}, called, workflow.Bind(troubled, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
			return workflow.None{}, call(ctx)
		}))
		if a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"troubled"}`); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		synctest.Wait()
		if during != nil {
			during(p)
		}
		time.Sleep(2 * time.Hour)
	})
	return regexp.MustCompile(`( runId=\S+| stack="[^"]*"| workflowId=a workflowType=troubled activityType=trouble| see="weft describe a")`).ReplaceAllString(warnings.Take(), "")
}

// Each failed attempt at an activity is one line, with what follows from it, however it failed. An
// attempt that was canceled has not failed.
func TestFailedAttemptsAreLogged(t *testing.T) {
	t.Parallel()
	ends := func(code func(ctx context.Context) error, o activity.Options) (workflow.Registration, func(ctx workflow.Context) error) {
		a := activity.New("trouble", func(ctx context.Context, _ workflow.None) (workflow.None, error) { return workflow.None{}, code(ctx) }, o)
		return a, func(ctx workflow.Context) error {
			_, err := a.Run(ctx, workflow.None{})
			return err
		}
	}
	fails := func(context.Context) error { return workflow.NewError("refused", "a secret") }
	taken := &tokens{}
	for name, test := range map[string]struct {
		code    func(ctx context.Context) error
		options activity.Options
		during  func(p *testbed.Process)
		want    string
	}{
		"errors": {fails, activity.Options{StartToClose: time.Minute, Retry: activity.Retry{MaxAttempts: 3}}, nil, `
level=WARN msg="activity attempt failed" attempt=1 nextIn=1s kind=application failureType=refused eventId=5
level=WARN msg="activity attempt failed" attempt=2 nextIn=2s kind=application failureType=refused eventId=5
level=WARN msg="activity attempt failed" attempt=3 last=true kind=application failureType=refused eventId=5`},
		"a panic": {func(context.Context) error { panic("a secret") }, activity.Options{StartToClose: time.Minute, Retry: activity.Retry{MaxAttempts: 1}}, nil, `
level=WARN msg="activity attempt failed" attempt=1 last=true kind=panic at=executor/failurelog_test.go:LINE eventId=5`},
		"a time-out": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, activity.Options{StartToClose: time.Minute, Retry: activity.Retry{MaxAttempts: 1}}, nil, `
level=WARN msg="activity attempt failed" attempt=1 last=true kind=timeout timeout=startToClose eventId=5`},
		"the time of all attempts": {fails, activity.Options{StartToClose: time.Minute, ScheduleToClose: 90 * time.Second, Retry: activity.Retry{InitialInterval: time.Minute}}, nil, `
level=WARN msg="activity attempt failed" attempt=1 nextIn=1m0s kind=application failureType=refused eventId=5
level=WARN msg="activity attempt failed" attempt=2 last=true kind=application failureType=refused eventId=5`},
		"outside": {func(ctx context.Context) error { _, err := taken.take(ctx); return err }, activity.Options{Pending: time.Hour, Retry: activity.Retry{MaxAttempts: 2}}, func(p *testbed.Process) {
			if err := activity.New("trouble", func(context.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil }, activity.Options{}).Fail(context.Background(), p.Client, taken.at(0), errors.New("a secret")); err != nil {
				panic(err)
			}
		}, `
level=WARN msg="activity attempt failed" attempt=1 nextIn=1s kind=application eventId=5
level=WARN msg="activity attempt failed" attempt=2 last=true kind=timeout timeout=startToClose eventId=5`},
		"the time of all attempts, in the middle of one": {func(ctx context.Context) error {
			_, err := activity.Token(ctx)
			return errors.Join(err, activity.ErrPending)
		}, activity.Options{Pending: time.Hour, ScheduleToClose: 30 * time.Minute}, nil, `
level=WARN msg="activity timed out" last=true kind=timeout timeout=scheduleToClose eventId=5`},
		"canceled": {func(ctx context.Context) error {
			for ctx.Err() == nil {
				activity.Heartbeat(ctx, 1)
				time.Sleep(time.Second)
			}
			return ctx.Err()
		}, activity.Options{StartToClose: time.Hour, Heartbeat: time.Minute}, func(p *testbed.Process) { p.Do(http.MethodPost, "/v1/workflows/a/cancel", "{}") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registration, call := ends(test.code, test.options)
			got := regexp.MustCompile(`_test\.go:\d+`).ReplaceAllString(troubledLines(t, registration, call, test.during), "_test.go:LINE")
			if want := strings.TrimPrefix(test.want, "\n"); strings.TrimSpace(got) != want {
				t.Errorf("logged\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// So is each failed attempt at a local activity.
func TestFailedLocalAttemptsAreLogged(t *testing.T) {
	t.Parallel()
	local := activity.NewLocal("trouble", func(context.Context, workflow.None) (workflow.None, error) {
		return workflow.None{}, fmt.Errorf("a secret")
	}, activity.LocalOptions{Retry: activity.Retry{MaxAttempts: 2}})
	got := troubledLines(t, local, func(ctx workflow.Context) error {
		_, err := local.Run(ctx, workflow.None{})
		return err
	}, nil)
	const want = `level=WARN msg="activity attempt failed" attempt=1 nextIn=100ms kind=application local=true
level=WARN msg="activity attempt failed" attempt=2 last=true kind=application local=true
`
	if got != want {
		t.Errorf("logged\n%s\nwant\n%s", got, want)
	}
}
