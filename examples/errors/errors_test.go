package errors_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	examples "github.com/seed-41655fb1/weft/examples/errors"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// deliver returns the outcome of a parcel as its caller gets it.
func deliver(t *testing.T, wrong string, pays ...int) (result string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.One(t, examples.Registrations()...)
		run, startErr := examples.Workflow.Start(t.Context(), p.Client, "parcel-1", examples.Parcel{Wrong: wrong, Pays: append(pays, 0)[0]})
		if startErr != nil {
			t.Fatal(startErr)
		}
		result, err = run.Result(t.Context())
	})
	return result, err
}

func TestDelivered(t *testing.T) {
	for wrong, want := range map[string]string{"": "signed for", "nobody home": "left with the neighbors"} {
		if result, err := deliver(t, wrong); err != nil || result != want {
			t.Errorf("%q: %q, %v; want %q", wrong, result, err, want)
		}
	}
}

func TestAnErrorWithData(t *testing.T) {
	_, err := deliver(t, "undeclared")
	var failed *workflow.ActivityError
	if !errors.Is(err, examples.ErrUndeclared) || errors.Is(err, examples.ErrNobodyHome) || !errors.As(err, &failed) || failed.ActivityType != "errors.deliver" {
		t.Errorf("%v, want a failure of activity errors.deliver with %v", err, examples.ErrUndeclared)
	}
	if fee, ok := workflow.DetailsOf[examples.Fee](err, examples.ErrUndeclared); !ok || fee.Cents != 1200 {
		t.Errorf("fee %+v, %v", fee, ok)
	}
	if other, ok := workflow.DetailsOf[string](err, examples.ErrUndeclared); ok {
		t.Errorf("the fee is a string %q", other)
	}
	if result, err := deliver(t, "undeclared", 1200); err != nil || result != "signed for" {
		t.Errorf("the workflow did not pay the fee: %q, %v", result, err)
	}
}

func TestAnOrdinaryErrorKeepsItsText(t *testing.T) {
	_, err := deliver(t, "flat tire")
	const want = "the parcel comes back: activity errors.deliver failed: the van has a flat tire"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestAPanicIsAnErrorWithItsStack(t *testing.T) {
	_, err := deliver(t, "crash")
	var panicked *workflow.PanicError
	if !errors.As(err, &panicked) {
		t.Fatalf("%v, want a panic", err)
	}
	if !strings.Contains(panicked.Message, "index out of range") || !strings.Contains(panicked.Stack, "errors.deliver") {
		t.Errorf("%q at\n%s", panicked.Message, panicked.Stack)
	}
}
