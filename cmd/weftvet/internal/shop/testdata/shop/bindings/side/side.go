// Package side handles names for others.
package side

import "github.com/seed-41655fb1/weft/workflow"

// Audit is handled by Watch.
var (
	Audit  = workflow.NewQuery[workflow.None, int]("audit")
	hidden = workflow.NewSignal[string]("hidden")
)

// Watch handles Audit.
func Watch(ctx workflow.Context) {
	Audit.Handle(ctx, func(workflow.None) (int, error) { return 0, nil })
}

// Hide receives what nobody else can name.
func Hide(ctx workflow.Context) { _, _ = hidden.Receive(ctx) }

// Last returns the last of the signals.
func Last[T any](ctx workflow.Context, signal workflow.Signal[T]) (last T) {
	for {
		v, ok, err := signal.TryReceive(ctx)
		if !ok || err != nil {
			return last
		}
		last = v
	}
}

// Any waits for one of the signals.
func Any(ctx workflow.Context, signals ...workflow.Signal[string]) {
	for _, s := range signals {
		_ = workflow.Select(ctx, workflow.OnSignal(s, nil))
	}
}
