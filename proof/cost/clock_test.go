package main

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/probe"
)

// A clock that is ahead shows a minute without a beat, and has three more before the next one,
// whatever the time is.
func TestUntilSweepAlone(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for at := begin; at.Before(begin.Add(2 * probe.Every)); at = at.Add(7 * time.Second) {
		ahead := untilSweepAlone(at)
		if past := at.Add(ahead).Sub(at.Add(ahead).Truncate(probe.Every)); past != outbox.SweepEvery || ahead <= 0 {
			t.Errorf("at %v the clock is %v ahead, and %v after a beat", at, ahead, past)
		}
	}
}
