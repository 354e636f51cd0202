package failure_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
)

type sku struct{ SKU string }

// An error with typed details is sent as an ordinary one: a receiver finds it by its type, and
// decodes its details, whether the sender gave details or not.
func TestErrorOf(t *testing.T) {
	t.Parallel()
	unknown := failure.NewOf[sku]("unknownSKU", "there is no such article")
	for name, sent := range map[string]error{"alone": unknown, "with details": unknown.With(sku{"tea"}), "wrapped": fmt.Errorf("add: %w", unknown.With(sku{"tea"}))} {
		f := failure.FromError(sent)
		err := f.Err()
		if !errors.Is(err, unknown) || !errors.Is(sent, unknown) || !errors.Is(err, unknown.Plain()) || err.Error() != sent.Error() {
			t.Errorf("%s: %v does not match", name, err)
		}
		if errors.Is(err, failure.NewOf[sku]("other", "")) || errors.Is(err, failure.NewOf[int]("", "")) {
			t.Errorf("%s: matches another error", name)
		}
		if details, ok := unknown.DetailsOf(err); !ok || (details.SKU == "tea") != (name != "alone") {
			t.Errorf("%s: details %v, %v", name, details, ok)
		}
		if failure.Flat(sent).Type != "unknownSKU" || name == "alone" && (f.Type != "unknownSKU" || f.Cause != nil) {
			t.Errorf("%s: sent as %+v", name, f)
		}
	}
	if _, ok := failure.NewOf[int]("unknownSKU", "").DetailsOf(unknown.With(sku{"tea"})); ok {
		t.Error("details of another type were decoded")
	}
	if e, details := failure.Declaration(unknown); e.Type != "unknownSKU" || details != reflect.TypeFor[sku]() {
		t.Errorf("declared as %v with %v", e, details)
	}
	if e, details := failure.Declaration(failure.New("other", "x")); e.Type != "other" || details != nil {
		t.Errorf("declared as %v with %v", e, details)
	}
}

// A program cannot take the type of an error of Weft's own.
func TestErrorOfForProgram(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("the type NotFound was accepted")
		}
	}()
	failure.NewOf[int]("NotFound", "")
}
