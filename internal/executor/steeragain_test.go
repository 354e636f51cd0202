package executor_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A resumption is no repetition of the pause that has the same request id: people take the number
// of an incident for both.
func TestPauseAndResumeWithOneRequestID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits := workflow.NewWorkflow[string, string]("waits")
		d := testbed.New(t)
		p := d.Start(executor.Options{}, workflow.Bind(waits, func(ctx workflow.Context, _ string) (string, error) {
			return "done", workflow.Sleep(ctx, time.Hour)
		}))
		if _, err := waits.Start(t.Context(), p.Client, "w", ""); err != nil {
			t.Fatal(err)
		}
		same := client.PauseOptions{RequestID: "incident-42"}
		if err := p.Client.Pause(t.Context(), "w", same); err != nil {
			t.Fatal(err)
		}
		if err := p.Client.Resume(t.Context(), "w", same); err != nil {
			t.Fatal(err)
		}
		what, err := p.Client.Describe(t.Context(), "w", "")
		if err != nil || what.Paused != nil {
			t.Errorf("a run that was resumed is paused: %+v, %v", what.Paused, err)
		}
	})
}

// A resumption that is sent again, because its answer was lost, is answered as before, also if the
// run has closed or has continued since.
func TestResumptionIsRepeatedAfterTheRun(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"close", "continue"} {
		synctest.Test(t, func(t *testing.T) {
			one := workflow.NewWorkflow[string, string]("one")
			d := testbed.New(t)
			p := d.Start(executor.Options{}, workflow.Bind(one, func(ctx workflow.Context, in string) (string, error) {
				if in == "again" {
					return "", workflow.Sleep(ctx, time.Hour)
				}
				if err := workflow.Sleep(ctx, time.Minute); err != nil || in == "close" {
					return "", err
				}
				return one.ContinueAsNew(ctx, "again")
			}))
			if _, err := one.Start(t.Context(), p.Client, "w", then); err != nil {
				t.Fatal(err)
			}
			if err := p.Client.Pause(t.Context(), "w", client.PauseOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			for range 2 {
				if err := p.Client.Resume(t.Context(), "w", client.PauseOptions{RequestID: "r"}); err != nil {
					t.Errorf("%s: %v", then, err)
				}
			}
			what, err := p.Client.Describe(t.Context(), "w", "")
			if err != nil || (then == "continue") != strings.HasPrefix(string(what.RunID), "2-") {
				t.Errorf("%s: the latest run is %s, %v", then, what.RunID, err)
			}
			if err := p.Client.Resume(t.Context(), "w", client.PauseOptions{RequestID: "another"}); err == nil {
				t.Errorf("%s: a run that is not paused is resumed", then)
			}
		})
	}
}

// A pause or a resumption that is sent again changes nothing in the run that continues its own,
// whatever has been done to that run meanwhile.
func TestPauseIsRepeatedInTheNextRun(t *testing.T) {
	t.Parallel()
	for _, pinned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			one := workflow.NewWorkflow[string, string]("one")
			d := testbed.New(t)
			p := d.Start(executor.Options{}, workflow.Bind(one, func(ctx workflow.Context, in string) (string, error) {
				if err := workflow.Sleep(ctx, time.Minute); err != nil || in == "again" {
					return "", err
				}
				return one.ContinueAsNew(ctx, "again")
			}))
			run, err := one.Start(t.Context(), p.Client, "w", "")
			if err != nil {
				t.Fatal(err)
			}
			paused, resumed := client.PauseOptions{RequestID: "p"}, client.PauseOptions{RequestID: "r"}
			if pinned {
				paused.RunID, resumed.RunID = run.RunID, run.RunID
			}
			is := func(want bool) {
				t.Helper()
				what, err := p.Client.Describe(t.Context(), "w", "")
				if err != nil || (what.Paused != nil) != want || !strings.HasPrefix(string(what.RunID), "2-") {
					t.Errorf("run %s is paused: %+v, %v, want %v", what.RunID, what.Paused, err, want)
				}
			}
			for _, err := range []error{p.Client.Pause(t.Context(), "w", paused), p.Client.Resume(t.Context(), "w", resumed)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(90 * time.Second) // the run has continued as new
			if err := p.Client.Pause(t.Context(), "w", paused); err != nil {
				t.Error(err)
			}
			is(false)
			if err := p.Client.Pause(t.Context(), "w", client.PauseOptions{RequestID: "another"}); err != nil {
				t.Error(err)
			}
			is(true)
			if err := p.Client.Resume(t.Context(), "w", resumed); err != nil {
				t.Error(err)
			}
			is(true)
			cold := d.Start(executor.Options{}, workflow.Bind(one, func(workflow.Context, string) (string, error) { return "", nil }))
			if err := cold.Client.Resume(t.Context(), "w", resumed); err != nil {
				t.Error(err)
			}
			is(true)
		})
	}
}
