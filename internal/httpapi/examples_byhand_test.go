package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// playByHand plays an operator who retries a stuck run, and retries and ends activities.
func (s *story) playByHand(d *testbed.Deployment) {
	runs := make(chan struct{})
	label := activity.New("label", func(_ context.Context, fails bool) (string, error) {
		if fails {
			return "", errors.New("no paper")
		}
		<-runs
		return "", nil
	}, activity.Options{StartToClose: time.Hour})
	prints := workflow.NewWorkflow[bool, string]("prints")
	code := func(broken bool) workflow.Registration {
		return workflow.Bind(prints, func(ctx workflow.Context, fails bool) (string, error) {
			if broken {
				panic("not today")
			}
			result, _ := label.Run(ctx, fails) // a failure is no reason to end
			return result, workflow.Sleep(ctx, time.Minute)
		})
	}
	d.Idle(executor.Options{Build: "build-1"}, label, code(true)).Do(http.MethodPost, workflows, `{"type":"prints","workflowId":"cart-42","input":true}`)
	p := d.Start(executor.Options{Build: "build-2"}, label, code(false))
	s.play(p,
		step{"retryWorkflow", "/cart-42/retry", "", "", 200, "retried"},
		step{"retryWorkflow", "/cart-42/retry", "", "", 409, "notStuck"})
	synctest.Wait()
	var run struct{ RunID string }
	p.Do(http.MethodGet, workflows+"/cart-42", "").Into(s.t, &run)
	s.play(p,
		step{"retryActivity", "/cart-42/activities/8/retry", "", "", 202, "begins"})
	synctest.Wait()
	s.play(p,
		step{"completeActivityByHand", "/cart-42/activities/8/complete?runId=" + run.RunID, "skipped", "", 200, "done"},
		step{"completeActivityByHand", "/cart-42/activities/8/complete?runId=" + run.RunID, "skipped", "", 200, "repeated"})
	s.play(p,
		step{"pauseWorkflow", "/cart-42/pause", "reason", "", 200, "paused"},
		step{"resumeWorkflow", "/cart-42/resume", "reason", "", 200, "resumed"})
	for id, end := range map[string]step{
		"cart-43": {"completeActivityByHand", "/cart-43/activities/5/complete?runId=", "skipped", "", 200, "running"},
		"cart-44": {"failActivityByHand", "/cart-44/activities/5/fail?runId=", "declined", "", 200, "running"},
	} {
		p.Do(http.MethodPost, workflows, `{"type":"prints","workflowId":"`+id+`","input":false}`).Into(s.t, &run)
		s.play(p, step{"retryActivity", "/" + id + "/activities/5/retry", "", "", 409, "notFailed"})
		end.target += run.RunID
		s.play(p, end)
	}
	close(runs)
}
