package children_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/children"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

func TestATripIsBooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, children.Registrations()...)
		run, err := children.Workflow.Start(ctx, p.Client, "trip-1", children.Trip{Traveller: "Ada", Parts: []string{"a flight", "a room"}})
		if err != nil {
			t.Fatal(err)
		}
		tickets, err := run.Result(ctx)
		if want := []string{"a flight for Ada", "a room for Ada"}; err != nil || !slices.Equal(tickets, want) {
			t.Errorf("tickets %q, %v", tickets, err)
		}
		events, err := p.History(ctx, "trip-1")
		if err != nil || testbed.Count(events, history.TypeChildWorkflowExecutionCompleted) != 2 {
			t.Errorf("the history is %v, %v; want two children that completed", events, err)
		}
	})
}

func TestATripThatCannotBeHadIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, children.Registrations()...)
		run, err := children.Workflow.Start(ctx, p.Client, "trip-1", children.Trip{Traveller: "Ada", Parts: []string{"a flight", "a room with a view"}})
		if err != nil {
			t.Fatal(err)
		}
		tickets, err := run.Result(ctx)
		var part *workflow.ChildWorkflowError
		if !errors.Is(err, children.ErrSoldOut) || !errors.As(err, &part) {
			t.Fatalf("tickets %q, %v; want the error of the room", tickets, err)
		}
		events, err := p.History(ctx, "trip-1")
		if err != nil || testbed.Count(events, history.TypeChildWorkflowExecutionCanceled) != 1 {
			t.Errorf("the history is %v, %v; want the flight canceled", events, err)
		}
	})
}

// A test of the trip alone replaces the code of its parts. Code of another type would not compile.
func TestATripWithoutItsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(children.Workflow, children.Run, workflow.Names(children.Held)),
			workflow.Bind(children.Part, func(ctx workflow.Context, b children.Booking) (string, error) {
				if err := workflow.Sleep(ctx, 24*time.Hour); err != nil {
					return "", err
				}
				return "", children.ErrSoldOut
			}))
		run, err := children.Workflow.Start(t.Context(), env.Client(), "trip-1", children.Trip{Traveller: "Ada", Parts: []string{"a flight"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); !errors.Is(err, children.ErrSoldOut) {
			t.Errorf("%v, want sold out", err)
		}
	})
}
