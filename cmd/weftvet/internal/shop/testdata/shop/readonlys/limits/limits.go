// Package limits has validators for another package.
package limits

import (
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

var errLate = errors.New("late")

// Check refuses by the clock.
func Check(n int) error {
	if time.Now().Hour() > n {
		return errLate
	}
	return nil
}

// Wait returns a validator that waits. That its caller makes a validator of it is not seen from here.
func Wait(ctx workflow.Context) func(int) error {
	return func(int) error { return workflow.Sleep(ctx, time.Second) }
}
