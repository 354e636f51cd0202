package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// Each error says what its caller may do next, what it failed by, and what operators should see.
func TestCauses(t *testing.T) {
	t.Parallel()
	denied := errors.New("access denied")
	for _, c := range []struct {
		err   error
		is    error
		cause refusal.Cause
		text  string
		seen  error // wrapped by what operators see; nil if they see nothing
	}{
		{outcome.OfStore("put", denied), outcome.ErrBusy, refusal.ByStore, "executor: the store refuses for now: put: access denied", denied},
		{outcome.OfQueue("send to activities", denied), outcome.ErrBusy, refusal.ByQueue, "executor: a queue refuses for now: send to activities: access denied", denied},
		{outcome.OfContention(), outcome.ErrBusy, refusal.ByContention, "executor: too many others write to the workflow", nil},
		{outcome.OfRead(denied), outcome.ErrBusy, refusal.ByStore, "executor: the store refuses for now: read: access denied", denied},
		{outcome.OfRead(store.ErrThrottled), outcome.ErrBusy, refusal.ByStore, "executor: the store refuses for now", nil},
		{outcome.OfRead(context.DeadlineExceeded), outcome.ErrBusy, refusal.ByStore, "executor: the store refuses for now", nil},
		{outcome.OfReadFrom(refusal.ByQueue, denied), outcome.ErrBusy, refusal.ByQueue, "executor: a queue refuses for now: read: access denied", denied},
		{outcome.OfReadFrom(refusal.ByBuild, denied), outcome.ErrBusy, refusal.ByBuild, "executor: the builds of the program are not known for now: read: access denied", denied},
		{&outcome.Unknown{Cause: refusal.ByStore}, outcome.ErrUnknown, refusal.ByStore, "executor: the outcome of the put is not known", nil},
		{&outcome.Unknown{Cause: refusal.ByStore, Err: denied}, outcome.ErrUnknown, refusal.ByStore, "executor: the outcome of the put is not known: access denied", denied},
		{outcome.ErrLost, outcome.ErrLost, refusal.ByContention, outcome.ErrLost.Error(), nil},
		{outcome.ErrStale, outcome.ErrStale, refusal.ByContention, outcome.ErrStale.Error(), nil},
		{denied, denied, "", "access denied", nil},
	} {
		cause, seen := outcome.CauseOf(fmt.Errorf("some layer: %w", c.err))
		if !errors.Is(c.err, c.is) || c.err.Error() != c.text || cause != c.cause || !errors.Is(seen, c.seen) {
			t.Errorf("%q is %v: %t; its cause is %q, and operators see %v", c.err, c.is, errors.Is(c.err, c.is), cause, seen)
		}
		for _, other := range []error{outcome.ErrBusy, outcome.ErrUnknown} {
			if other != c.is && errors.Is(c.err, other) {
				t.Errorf("%q is %v", c.err, other)
			}
		}
	}
}
