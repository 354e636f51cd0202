// Package named has what the flags -trust and -forbid name.
package named

import (
	"os"

	"github.com/seed-41655fb1/weft/workflow"
)

type clock interface{ Now() int }

func region() string { return os.Getenv("REGION") }

var limit = 3

func run(ctx workflow.Context, c clock) (string, error) {
	_ = region()               // trusted
	_ = c.Now()                // want `workflow code calls clock.Now: -forbid names it \[forbidden\]`
	_ = limit                  // want `workflow code uses limit: -forbid names it`
	return os.Getenv("A"), nil // want `calls os.Getenv`
}
