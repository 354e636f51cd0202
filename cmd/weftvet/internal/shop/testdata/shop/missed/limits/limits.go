// Package limits has what the package missed uses.
package limits

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Changed is changed by the package user.
var Changed int

// AtMost returns a validator that waits.
func AtMost(ctx workflow.Context, most int) func(int) error {
	return func(int) error { return workflow.Sleep(ctx, time.Duration(most)) }
}
