package history_test

import (
	"math"
	"math/big"
	"testing"
	"testing/quick"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// Sub against the arithmetic of numbers that do not run over.
func TestTimestampSub(t *testing.T) {
	t.Parallel()
	naive := func(a, b int64) time.Duration {
		d := new(big.Int).Sub(big.NewInt(a), big.NewInt(b))
		d.Mul(d, big.NewInt(int64(time.Microsecond)))
		switch {
		case d.IsInt64():
			return time.Duration(d.Int64())
		case d.Sign() > 0:
			return math.MaxInt64
		}
		return math.MinInt64
	}
	check := func(a, b int64) bool {
		return history.Timestamp(a).Sub(history.Timestamp(b)) == naive(a, b)
	}
	edges := []int64{0, 1, -1, 1000, math.MaxInt64 / 1000, math.MaxInt64/1000 + 1, math.MinInt64 / 1000, math.MinInt64/1000 - 1, math.MaxInt64, math.MinInt64}
	for _, a := range edges {
		for _, b := range edges {
			if !check(a, b) {
				t.Errorf("%d - %d = %v, want %v", a, b, history.Timestamp(a).Sub(history.Timestamp(b)), naive(a, b))
			}
		}
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}
