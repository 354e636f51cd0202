// Package times has what the rule time finds, and what it does not.
package times

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

func run(ctx workflow.Context, due time.Time) (time.Duration, error) {
	now := time.Now()                                      // want `workflow code calls time.Now: use workflow.Now, which is the same on replay \[time\]`
	time.Sleep(time.Second)                                // want `calls time.Sleep: use workflow.Sleep, .* \[time\]`
	left := time.Until(due) + time.Since(now)              // want `calls time.Until: subtract from workflow.Now` `calls time.Since`
	t := time.NewTimer(left)                               // want `calls time.NewTimer: use workflow.NewTimer`
	defer time.AfterFunc(left, func() { t.Stop() }).Stop() // want `calls time.AfterFunc`
	_ = time.NewTicker(left)                               // want `calls time.NewTicker`
	_, _ = time.After(left), time.Tick(left)               // want `calls time.After:` `calls time.Tick`
	_, cancel := context.WithTimeout(nil, time.Hour)       // want `calls context.WithTimeout: use workflow.NewTimer`
	_, cancel = context.WithDeadline(nil, due)             // want `calls context.WithDeadline`
	cancel()
	return left, workflow.Sleep(ctx, left)
}

// A function that is handed on is as good as called.
func handed(ctx workflow.Context) time.Time {
	clock := struct{ now func() time.Time }{now: time.Now} // want `calls time.Now`
	return clock.now()
}

// What computes with times is the same each time.
func fine(ctx workflow.Context, in string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, in)
	if err != nil || at.After(workflow.Now(ctx)) {
		return time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC), err
	}
	return at.Add(time.Hour).Truncate(24 * time.Hour), nil
}

// Not workflow code.
func outside() time.Time { return time.Now() }
