package deliveries

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// After the clock was set back, the copy of a message waits until the clock has caught up, in steps
// of at most LongTimer. A copy every two seconds, doubled by each duplicate, would become
// thousands.
func TestCopyAfter(t *testing.T) {
	t.Parallel()
	s := &session.Process{Options: session.Options{Grace: 2 * time.Minute, LongTimer: 15 * time.Minute}}
	for _, test := range []struct{ age, want time.Duration }{
		{0, activities.CopyDelay},
		{time.Minute, 15 * time.Second},
		{2*time.Minute - time.Second, activities.CopyDelay},
		{-time.Second, activities.CopyDelay},
		{-10 * time.Minute, 10 * time.Minute},
		{-time.Hour, 15 * time.Minute},
	} {
		if got := copyAfter(s, test.age); got != test.want {
			t.Errorf("age %v: the next copy comes after %v, want %v", test.age, got, test.want)
		}
	}
}
