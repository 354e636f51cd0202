package activity

import (
	"context"

	"github.com/seed-41655fb1/weft/internal/attempt"
)

// Info is what an activity can read about the attempt that it is.
type Info = attempt.Info

// InfoOf returns what an activity can read about the attempt that it is. In a unit test, which calls the activity's
// function with a context of its own, it is the zero value.
func InfoOf(ctx context.Context) Info { return attempt.From(ctx) }
