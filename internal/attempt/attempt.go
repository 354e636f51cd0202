// Package attempt carries what an activity can read about its own attempt through a context.Context.
package attempt

import "context"

// Info is what an activity can read about the attempt that it is.
type Info struct {
	WorkflowID   string
	RunID        string
	ActivityType string
	// EventID is the id of the activity's ActivityTaskScheduled event. With the run's id it names the activity, the same
	// in each attempt: use both as an idempotency key.
	EventID int64
	// Attempt is 1 for the first.
	Attempt int
}

type key struct{}

// With returns a context that carries the info.
func With(ctx context.Context, info Info) context.Context { return context.WithValue(ctx, key{}, info) }

// From returns the info that With put into the context, or the zero value.
func From(ctx context.Context) Info {
	info, _ := ctx.Value(key{}).(Info)
	return info
}
