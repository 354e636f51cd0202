package limits_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/seed-41655fb1/weft/internal/limits"
)

// Any value from an operator is refused, or is a limit that can be kept.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"none", "7", "0", "-1", "50/s", "30/m+100", "NaN/s", "Inf/h", "1e-400/s", "2@50/s", "@50/s", "2@", "reports=2;slow=8@50/s", "=", "a=;", "a=1;a=2", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var limit limits.Limit
		if limit.UnmarshalText(text) == nil && limit == 0 {
			t.Errorf("%q is the limit 0, which is the default", text)
		}
		var rate limits.Rate
		if err := rate.UnmarshalText(text); err == nil && (!(rate.PerSecond > 0) || math.IsInf(rate.PerSecond, 0)) {
			t.Errorf("%q is the rate %v", text, rate)
		}
		var most limits.PerSecond
		if most.UnmarshalText(text) == nil && most < 0 {
			t.Errorf("%q is %v in a second", text, most)
		}
		var burst limits.Burst
		if burst.UnmarshalText(text) == nil && burst < 0 {
			t.Errorf("%q is a burst of %v", text, burst)
		}
		var one limits.TaskQueue
		if one.UnmarshalText(text) == nil && one.AtOnce < 0 {
			t.Errorf("%q is %v", text, one)
		}
		var all limits.TaskQueues
		if all.UnmarshalText(text) == nil {
			for name, q := range all {
				if name == "" && len(all) > 1 || q.AtOnce < 0 || math.IsNaN(q.Rate.PerSecond) {
					t.Errorf("%q is %v", text, all)
				}
			}
		}
	})
}

// Any size is read as a number of bytes that is not negative, or is an error.
func FuzzSize(f *testing.F) {
	for _, text := range []string{"512MiB", "2GiB", "1000000", "8TiB", "-1", "MiB", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, same limits.Size
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := same.UnmarshalText([]byte(strconv.FormatInt(int64(s), 10))); err != nil || same != s || s < 0 {
			t.Errorf("%q is %d bytes, and that is %d, %v", text, s, same, err)
		}
	})
}
