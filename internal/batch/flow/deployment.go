package flow

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/internal/batch/stored"
)

// Deployment is what a step needs of the deployment that runs it. Package acts implements it.
type Deployment interface {
	// List returns at most limit runs that a filter selects, from a place of the list on, and the
	// place of the rest; an empty one is the end. It leaves out workflows of Weft's own, unless the
	// filter names their type, and the batch itself. An error that is final says that the filter,
	// or the place, is wrong.
	List(ctx context.Context, q Query) (rows []Row, next string, err error)
	// Act acts on a run. requestID is the same each time that a batch acts on a run. It does not
	// panic.
	Act(ctx context.Context, a *stored.Action, on stored.Run, requestID string) Outcome
	// World is the clock and the goroutines of the process.
	World() World
}

// World is the part of host.Host that a step needs. A simulation has one of its own.
type World interface {
	Now() time.Time
	Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	Within(limit time.Duration, fn func()) bool
	Together(fns ...func())
}

// Query says which runs a step asks for.
type Query struct {
	Batch, Filter, Place string
	// Before selects the runs that started before: those that the batch itself has caused, by
	// resets say, started later.
	Before time.Time
	Limit  int
}

// Row is a run in the list.
type Row struct {
	stored.Run
	Status string
}

// Verdict says how an action went.
type Verdict uint8

// The verdicts.
const (
	// Done is a run that was acted on.
	Done Verdict = iota
	// Already is a run with which there was nothing to do, because it has closed, say.
	Already
	// Refused is a run that the action is not possible for.
	Refused
	// Failed is a run that the action failed for.
	Failed
	// Again is a run that the deployment was too busy for, or whose outcome is not known.
	Again
)

// Outcome is how an action went, and why, unless it is Done.
type Outcome struct {
	Verdict Verdict
	Reason  string
}

type key struct{}

// With returns a context whose steps act on a deployment.
func With(ctx context.Context, d Deployment) context.Context {
	return context.WithValue(ctx, key{}, d)
}

func deploymentOf(ctx context.Context) Deployment {
	d, _ := ctx.Value(key{}).(Deployment)
	return d
}
