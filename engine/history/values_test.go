package history_test

import (
	"fmt"
	"math"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// Sub gives the same results as arithmetic that does not overflow.
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

// A time out of range becomes the first or the last Timestamp. A timer for the last one never
// fires.
func TestAt(t *testing.T) {
	t.Parallel()
	for moment, want := range map[time.Time]history.Timestamp{
		{}: 0, time.UnixMicro(5).Add(999): 5, time.UnixMicro(-5): -5, time.Unix(math.MaxInt64/1_000_000-1, 0): 9223372036853000000,
		time.Unix(math.MaxInt64/1_000_000+1, 0): math.MaxInt64, time.Unix(math.MaxInt64/2, 0): math.MaxInt64,
		time.Unix(math.MinInt64/1_000_000-1, 0): math.MinInt64, time.Unix(math.MinInt64/2, 0): math.MinInt64,
	} {
		if got := history.At(moment); got != want {
			t.Errorf("%v: %d, want %d", moment, got, want)
		}
	}
}

// A time is written as RFC 3339, even if RFC 3339 cannot express it.
func TestTimestampText(t *testing.T) {
	t.Parallel()
	for stamp, want := range map[history.Timestamp]string{
		0: "0001-01-01T00:00:00Z", 1: "1970-01-01T00:00:00.000001Z", history.LastSecond: "9999-12-31T23:59:59Z", history.LastSecond + 1: "9999-12-31T23:59:59Z",
		math.MaxInt64: "9999-12-31T23:59:59Z", history.FirstSecond - 1: "0000-01-01T00:00:00Z", math.MinInt64: "0000-01-01T00:00:00Z",
	} {
		if got, err := stamp.MarshalText(); err != nil || string(got) != want {
			t.Errorf("%d: %s, %v, want %s", stamp, got, err, want)
		}
	}
}

// A request may have very many names. The time and memory for reading them do not grow with the
// square of their number.
func TestManyNames(t *testing.T) { // not parallel: it counts what the process allocates
	var text strings.Builder
	const names = 5000
	for i := range names {
		fmt.Fprintf(&text, `,"%04d":{"int":%d}`, names-i, i)
	}
	object := []byte("{" + text.String()[1:] + "}")
	for _, v := range []interface{ UnmarshalJSON([]byte) error }{&history.Header{}, &history.SearchAttributes{}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := v.UnmarshalJSON(object); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 50<<20 {
			t.Errorf("%T: %d names in %d bytes took %d bytes", v, names, len(object), took)
		}
	}
	h := history.Header{}
	if err := h.UnmarshalJSON(object); err != nil || len(h) != names {
		t.Fatalf("%d, %v", len(h), err)
	}
	for _, f := range h {
		if value, ok := h.Get(f.Name); !ok || string(value) != string(f.Value) {
			t.Errorf("%s is not found", f.Name)
		}
	}
}
