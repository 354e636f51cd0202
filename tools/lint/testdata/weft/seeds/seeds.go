// Package seeds breaks a rule of each linter.
package seeds

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/lib"
	"github.com/seed-41655fb1/weft/workflow"
)

// It is not the name of the function.
func Vet() {
	fmt.Printf("%d\n", "one")
	lib.Logf("%d\n", "two")
}

// Staticcheck is a comment.
func Staticcheck(on bool) error {
	if on == true {
		lib.Twice(lib.Old(1))
	}
	return errors.New("ends with a dot.")
}

// Ignored has directives.
func Ignored(on bool) bool {
	//lint:ignore S1002 it is about this
	if on == true {
		return false
	}
	//lint:ignore S1002 there is nothing
	on = !on
	//lint:ignore S1002
	return on != true
}

// Workflow is workflow code.
func Workflow(_ workflow.Context, _ string) (time.Time, error) { return time.Now(), nil }

// Kind names one kind.
func Kind(k engine.MessageKind) string {
	switch k {
	case engine.RunActivity:
		return "activity"
	default:
		return ""
	}
}
