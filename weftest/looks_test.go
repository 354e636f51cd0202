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

// SkipReplay is for code that is not deterministic: no check of a validator runs it again either.
func TestSkipReplaySkipsChecks(t *testing.T) {
	t.Parallel()
	shops, buy := workflow.Declare[workflow.None, int]("shop"), workflow.NewUpdate[int, int]("buy")
	for name, test := range map[string]struct {
		skip   func(env *weftest.Env)
		checks bool
	}{
		"with checks":                      {func(*weftest.Env) {}, true},
		"without":                          {(*weftest.Env).SkipReplay, false},
		"without, and with small payloads": {func(env *weftest.Env) { env.SkipReplay(); env.SmallPayloads() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			shop := workflow.Bind(shops, func(ctx workflow.Context, _ workflow.None) (int, error) {
				buy.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
					calls++
					return n, nil
				}, workflow.Validate(func(int) error { return nil }))
				return 0, workflow.Await(ctx, func() bool { return false })
			})
			synctest.Test(t, func(t *testing.T) {
				env := weftest.New(t, shop)
				test.skip(env)
				if _, err := shops.Start(t.Context(), env.Client(), "w", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					if n, err := buy.Call(t.Context(), env.Client(), "w", i); n != i || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				}
				if checked := calls > 3; checked != test.checks {
					t.Errorf("the handler ran %d times for three updates; checks are to be made: %v", calls, test.checks)
				}
			})
		})
	}
}
