package cancellation_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/cancellation"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

const day = 24 * time.Hour

var booked = []string{"booked flight", "booked hotel", "booked car"}

func TestACanceledTripIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, cancellation.Registrations()...)
		run, err := cancellation.Workflow.Start(ctx, p.Client, "trip-1", 100*day)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(36 * time.Hour)
		if err := run.Cancel(ctx, "the traveler is ill"); err != nil {
			t.Fatal(err)
		}
		_, err = run.Result(ctx)
		var canceled *workflow.CanceledError
		if !errors.As(err, &canceled) || canceled.Reason != "the traveler is ill" {
			t.Errorf("%v, want a cancellation with the reason", err)
		}
		want := slices.Concat(booked, []string{"looked at the weather", "looks no more", "refunded car", "refunded hotel", "refunded flight"})
		if log, err := cancellation.Log.Ask(ctx, p.Client, "trip-1", workflow.None{}); err != nil || !slices.Equal(log, want) {
			t.Errorf("%q, %v; want %q", log, err, want)
		}
		events, err := p.History(ctx, "trip-1")
		if err != nil || events[len(events)-1] != history.TypeWorkflowExecutionCanceled {
			t.Errorf("the history ends with %v, %v", events[len(events)-1], err)
		}
	})
}

// A booking that is in progress when the trip is canceled succeeds, and is undone.
func TestATripThatIsCanceledWhileItIsBooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, cancellation.Registrations()...)
		run, err := cancellation.Workflow.Start(ctx, p.Client, "trip-1", 100*day)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		if err := run.Cancel(ctx, "the traveler is ill"); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); !errors.Is(err, workflow.ErrCanceled) {
			t.Errorf("%v, want a cancellation", err)
		}
		want := []string{"booked flight", "booked hotel", "refunded hotel", "refunded flight"}
		if log, err := cancellation.Log.Ask(ctx, p.Client, "trip-1", workflow.None{}); err != nil || !slices.Equal(log, want) {
			t.Errorf("%q, %v; want %q", log, err, want)
		}
	})
}

func TestATripThatTakesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, cancellation.Registrations()...)
		run, err := cancellation.Workflow.Start(ctx, p.Client, "trip-1", 36*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(37 * time.Hour)
		log, err := run.Result(ctx)
		if want := append(slices.Clone(booked), "looked at the weather"); err != nil || !slices.Equal(log, want) {
			t.Errorf("%q, %v; want %q", log, err, want)
		}
		// The branch had a timer of its own. It was canceled with the branch's context, before the
		// run ended.
		events, err := p.History(ctx, "trip-1")
		if n := testbed.Count(events, history.TypeTimerCanceled); err != nil || n != 1 {
			t.Errorf("%d timers were canceled, %v; want 1: %v", n, err, events)
		}
	})
}
