package workflow_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// mute is an error whose text panics.
type mute struct{}

func (mute) Error() string { panic("mute") }

// An error whose text panics counts as a panic of the code that returned it. So does an error that
// holds a nil *workflow.Error. Here a query returns such an error, and a validator refuses an
// update with it.
func TestErrorsWhoseTextPanics(t *testing.T) {
	for name, returned := range map[string]error{"a method that panics": mute{}, "a nil pointer": (*workflow.Error)(nil)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				typ := workflow.NewWorkflow[none, none]("mute")
				query := workflow.NewQuery[none, none]("query")
				update := workflow.NewUpdate[none, none]("update")
				ctx, p := t.Context(), testbed.One(t, workflow.Bind(typ, func(ctx workflow.Context, _ none) (none, error) {
					query.Handle(ctx, func(none) (none, error) { return none{}, returned })
					update.Handle(ctx, func(workflow.Context, none) (none, error) { return none{}, nil }, workflow.Validate(func(none) error { return returned }))
					_, err := word.Receive(ctx)
					return none{}, err
				}, workflow.Names(query, update, word)))
				if _, err := typ.Start(ctx, p.Client, "w", none{}); err != nil {
					t.Fatal(err)
				}
				var panicked *failure.PanicError
				if _, err := query.Ask(ctx, p.Client, "w", none{}); !errors.Is(err, client.ErrQueryFailed) || !errors.As(err, &panicked) {
					t.Errorf("the query: %v", err)
				}
				if _, err := update.Call(ctx, p.Client, "w", none{}); client.AsRejected(err) == nil || !errors.As(err, &panicked) {
					t.Errorf("the update: %v", err)
				}
				if err := word.Send(ctx, p.Client, "w", "end"); err != nil {
					t.Error(err)
				}
				if _, err := typ.Get(p.Client, "w").Result(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
