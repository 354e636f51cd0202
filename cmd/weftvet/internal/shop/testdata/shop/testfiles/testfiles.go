// Package testfiles has a variable that only its tests change.
package testfiles

import "github.com/seed-41655fb1/weft/workflow"

var limit = 3

func run(ctx workflow.Context) int { return limit }
