package campaigns_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/campaigns"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

const day = 24 * time.Hour

func TestCampaigns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, campaigns.Registrations()...)
		announced := time.Now()
		run, err := campaigns.Announce(ctx, p.Client, "bridge", 100, day)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * day)
		pledge := func(amount, want int) {
			t.Helper()
			if total, err := campaigns.Pledge.Call(ctx, p.Client, "bridge", amount); err != nil || total != want {
				t.Errorf("a total of %d, %v, want %d", total, err, want)
			}
		}
		pledge(30, 30)
		pledge(40, 70)
		if run, err = campaigns.Undo(ctx, run); err != nil {
			t.Fatal(err)
		}
		s, err := campaigns.Standing.Ask(ctx, p.Client, "bridge", workflow.None{})
		if want := (campaigns.State{Opened: announced.Add(day).UTC(), Total: 30}); err != nil || s != want {
			t.Errorf("%+v, %v, want %+v", s, err, want)
		}
		pledge(10, 40)

		time.Sleep(31 * day) // nobody pledges any more
		var timeout *workflow.TimeoutError
		if _, err := run.Result(ctx); !errors.As(err, &timeout) {
			t.Errorf("%v, want a run timeout", err)
		}
		time.Sleep(3 * time.Hour)
		if err := campaigns.Forget(ctx, run); err != nil {
			t.Error(err)
		}
		if _, err := run.Result(ctx); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%v, want that the workflow does not exist", err)
		}
	})
}

// A campaign that should not exist is terminated, whatever its code does. It can be deleted only
// later.
func TestTerminated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, campaigns.Registrations()...)
		run, err := campaigns.Announce(ctx, p.Client, "tower", 100, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Terminate(ctx, "there is no such tower"); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); !errors.Is(err, workflow.ErrTerminated) {
			t.Errorf("%v, want a termination", err)
		}
		if err := campaigns.Forget(ctx, run); err == nil {
			t.Error("the run was deleted at once")
		}
	})
}
