package weftest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// A validator that reserves what it should only look at fails the update after it, and is named.
func TestImpureValidator(t *testing.T) {
	t.Parallel()
	shops, buy := workflow.Declare[int, string]("shop"), workflow.NewUpdate[int, int]("buy")
	shop := workflow.Bind(shops, func(ctx workflow.Context, stock int) (string, error) {
		buy.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }, workflow.Validate(func(n int) error {
			if n > stock {
				return errors.New("there are not so many")
			}
			stock -= n //weftvet:ignore readonly the test wants it
			return nil
		}))
		return "", workflow.Await(ctx, func() bool { return stock == 0 })
	})
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, shop)
		if _, err := shops.Start(t.Context(), env.Client(), "w", 3); err != nil {
			t.Fatal(err)
		}
		if n, err := buy.Call(t.Context(), env.Client(), "w", 2); n != 2 || err != nil {
			t.Errorf("the first: %d, %v", n, err)
		}
		_, err := buy.Call(t.Context(), env.Client(), "w", 2)
		if err == nil || !strings.Contains(err.Error(), `the validator of update "buy" changes the workflow's state`) {
			t.Errorf("the second: %v; want the validator's name", err)
		}
	})
}
