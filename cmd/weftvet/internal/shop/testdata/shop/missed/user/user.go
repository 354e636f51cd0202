// Package user changes a variable of another package.
package user

import (
	"example.com/shop/missed/limits"
	"github.com/seed-41655fb1/weft/workflow"
)

func change() { limits.Changed = 3 }

func run(ctx workflow.Context) int {
	return limits.Changed // want `reads limits.Changed, which change changes`
}
