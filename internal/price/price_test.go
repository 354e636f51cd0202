package price_test

import (
	"math"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/price"
)

// The counts of a run of three activities over SQS cost what docs/cost.md says, without storage:
// $7.53 a million.
func TestOf(t *testing.T) {
	t.Parallel()
	n := engine.Counts{Commits: 4, Units: 5, UnlistedUnits: 4, Rows: 2, RowUnits: 2, Requests: 1, Messages: 3, Sends: 3, Reads: 4, ReadUnits: 4}
	want := price.Cost{Writes: 4, WriteUnits: 4, Reads: 4, ReadUnits: 4, Messages: 3, Requests: 9, Invocations: 4}
	if got := price.Of(&n, false); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := 1e6 * want.Dollars(); math.Abs(got-7.53) > 0.01 {
		t.Errorf("a million cost $%.2f, want $7.53", got)
	}
	want.WriteUnits, want.IndexUnits = 5, 2
	if got := price.Of(&n, true); got != want {
		t.Errorf("with the list %+v, want %+v", got, want)
	}
}

// Results that the workflow queue batches are sent one by one, and received and deleted together.
// Messages that were kept in the table are a write and a deletion.
func TestOfQueuedAndKept(t *testing.T) {
	t.Parallel()
	n := engine.Counts{Messages: 201, Sends: 11, Results: 100, Batches: 10, Kept: 2, Released: 1, Records: 3}
	want := price.Cost{Writes: 6, WriteUnits: 6, Messages: 201, Requests: 11 + 2*101, OrderedRequests: 120, Invocations: 111}
	if got := price.Of(&n, true); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPlusAndMinus(t *testing.T) {
	t.Parallel()
	a := price.Cost{Writes: 1, WriteUnits: 2, IndexUnits: 3, Reads: 4, ReadUnits: 5, Messages: 6, Requests: 7, OrderedRequests: 8, Invocations: 9}
	b := a.Plus(a)
	if b != (price.Cost{Writes: 2, WriteUnits: 4, IndexUnits: 6, Reads: 8, ReadUnits: 10, Messages: 12, Requests: 14, OrderedRequests: 16, Invocations: 18}) || b.Minus(a) != a {
		t.Errorf("%+v, %+v", b, b.Minus(a))
	}
}
