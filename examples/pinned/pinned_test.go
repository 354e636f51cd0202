package pinned_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/pinned"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// Two builds are deployed at the same time, like two versions of a function. A run ends with the
// code that began it. A run can be moved while both versions have done the same, and then ends with
// the other code. A run that cannot be moved stays.
func TestPinned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, d := t.Context(), testbed.New(t)
		takeTime := activity.Intercept(func(ctx context.Context, next func(context.Context) error) error {
			time.Sleep(time.Second) // so that a run does not end before it is moved
			return next(ctx)
		})
		before := d.Start(executor.Options{Build: "before"}, append(pinned.With(pinned.Before), takeTime)...)
		for _, id := range []string{"ada", "bob", "eve"} {
			if _, err := pinned.Workflow.Start(ctx, before.Client, id, "ada"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		now := d.Start(executor.Options{Build: "now"}, pinned.Registrations()...)
		sign := func(id string, c *client.Client) {
			if err := pinned.Sign.Send(ctx, c, id, "eve"); err != nil {
				t.Fatal(err)
			}
		}
		wants := func(id string, rest ...string) {
			t.Helper()
			got, err := pinned.Workflow.Get(now.Client, id).Result(ctx)
			if want := append([]string{"counted ada's money", "signed by eve"}, rest...); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v; want %q", id, got, err, want)
			}
		}
		if err := pinned.Sign.Send(ctx, now.Client, "ada", "eve"); !errors.Is(err, client.ErrOtherBuild) {
			t.Errorf("a build to which the run is not pinned accepted a signal: %v", err)
		}
		sign("ada", before.Client)
		wants("ada", "read ada's letters")

		move := func(id string) error { return pinned.Workflow.Get(now.Client, id).Move(ctx, workflow.MoveOptions{}) }
		if err := move("bob"); err != nil {
			t.Error(err)
		}
		sign("bob", now.Client)
		wants("bob", "limited ada's cards", "counted ada's money")

		sign("eve", before.Client)
		if err := move("eve"); !errors.Is(err, client.ErrNotReady) {
			t.Errorf("a run whose history the newer code does not replay was moved: %v", err)
		}
		wants("eve", "read ada's letters")
	})
}
