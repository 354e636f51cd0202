// Package clock asks for the time.
package clock

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Stamp is the time.
func Stamp() int64 { return now().Unix() }

func now() time.Time { return time.Now() }

// Of is generic.
type Of[T any] struct{ v T }

// Stamp is the time.
func (Of[T]) Stamp() time.Time { return time.Now() }

// Watch has a method.
type Watch struct{}

// Stamp is the time.
func (*Watch) Stamp() time.Time { return time.Now() }

type hidden struct{}

func (hidden) Stamp() time.Time { return time.Now() }

// Default is of a type that has no name elsewhere.
var Default hidden

// Checked is workflow code.
func Checked(ctx workflow.Context) {
	_ = time.Now() // want `calls time.Now`
}
