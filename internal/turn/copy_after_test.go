package turn

import (
	"testing"
	"time"
)

// After the clock went back, the copy of a message waits until the clock is where it was, in steps of LongTimer at most. With a copy each
// two seconds, doubled by each duplicate, there would be thousands.
func TestCopyAfter(t *testing.T) {
	t.Parallel()
	s := &Service{options: Options{Grace: 2 * time.Minute, LongTimer: 15 * time.Minute}}
	for _, test := range []struct{ age, want time.Duration }{
		{0, copyDelay},
		{time.Minute, 15 * time.Second},
		{2*time.Minute - time.Second, copyDelay},
		{-time.Second, copyDelay},
		{-10 * time.Minute, 10 * time.Minute},
		{-time.Hour, 15 * time.Minute},
	} {
		if got := s.copyAfter(test.age); got != test.want {
			t.Errorf("age %v: the next copy comes after %v, want %v", test.age, got, test.want)
		}
	}
}
