package conditions_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/conditions"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

func TestConditions(t *testing.T) {
	for name, test := range map[string]struct {
		late     time.Duration // how long after the last acceptance the guests sit down; 0 means never
		cold     bool
		took     time.Duration
		canceled int // the number of canceled timers
	}{
		"in time":        {late: 10 * time.Minute, took: 70 * time.Minute, canceled: 1},
		"too late":       {late: 50 * time.Minute, cold: true, took: 30 * time.Minute},
		"nobody at all":  {cold: true, took: 30 * time.Minute},
		"to the instant": {late: 30*time.Minute - time.Second, took: 90*time.Minute - time.Second, canceled: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { dine(t, test.late, test.cold, test.took, test.canceled) })
		})
	}
}

func dine(t *testing.T, late time.Duration, cold bool, took time.Duration, canceled int) {
	ctx, p := t.Context(), testbed.One(t, conditions.Registrations()...)
	run, err := conditions.Workflow.Start(ctx, p.Client, "dinner-1", conditions.Plan{Guests: 2, Wait: 30 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"ada", "bob"} {
		time.Sleep(24 * time.Hour)
		if n, err := conditions.Accept.Call(ctx, p.Client, "dinner-1", name); err != nil || n != i+1 {
			t.Fatalf("%d guests, %v", n, err)
		}
	}
	begun := time.Now()
	var guests sync.WaitGroup
	if late > 0 {
		guests.Go(func() {
			time.Sleep(late)
			said, err := conditions.Eat.Call(ctx, p.Client, "dinner-1", "ada")
			if over := err != nil; over != cold || !over && said != "ada has dined" {
				t.Errorf("%q, %v", said, err)
			}
		})
	}
	d, err := run.Result(ctx)
	if err != nil || d.Cold != cold || len(d.Guests) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	if after := time.Since(begun).Round(time.Second); after != took {
		t.Errorf("the dinner took %v, want %v", after, took)
	}
	guests.Wait()
	events, err := p.History(ctx, "dinner-1")
	if n := testbed.Count(events, history.TypeTimerCanceled); err != nil || n != canceled {
		t.Errorf("%d timers were canceled, %v; want %d", n, err, canceled)
	}
}
