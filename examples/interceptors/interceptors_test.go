package interceptors_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/interceptors"
	"github.com/seed-41655fb1/weft/weftest"
)

func TestTheTenantTravels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, slices.Concat(interceptors.Interceptors(), interceptors.Registrations())...)
		ctx := interceptors.WithTenant(t.Context(), "acme")
		run, err := interceptors.Workflow.Start(ctx, env.Client(), "order-1", "tea")
		if err != nil {
			t.Fatal(err)
		}
		const want = "tea of acme, packed by interceptors.shipping"
		if result, err := run.Result(ctx); err != nil || result != want {
			t.Errorf("%q, %v; want %q", result, err, want)
		}
	})
}

func TestNobodysOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, slices.Concat(interceptors.Interceptors(), interceptors.Registrations())...)
		run, err := interceptors.Workflow.Start(t.Context(), env.Client(), "order-1", "tea")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); !errors.Is(err, interceptors.ErrNoTenant) {
			t.Errorf("the run ended with %v", err)
		}
	})
}
