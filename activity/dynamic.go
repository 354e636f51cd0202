package activity

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
	"github.com/seed-41655fb1/weft/workflow"
)

// Dynamic is the code of all activity types that are not registered, of types that are known only
// when a workflow starts them (Named). typ is the type that the workflow gave. Register one at
// most. A type that is registered takes precedence. The options are those of the call.
func Dynamic(run func(ctx context.Context, typ string, in workflow.Raw) (workflow.Raw, error)) workflow.Registration {
	at := where.Caller()
	return bridge.PartOf(func(r *engine.Registry) error {
		return r.SetDynamicActivity(&engine.Activity{
			Where: at, StartToClose: DefaultStartToClose,
			Run: func(ctx context.Context, input history.Payload) (history.Payload, error) {
				typ := InfoOf(ctx).ActivityType
				out, err := run(ctx, typ, workflow.Raw(input))
				if err != nil {
					return nil, err
				}
				result, err := payload.EncodeRaw(out)
				if err != nil {
					return nil, failure.Newf("BadResult", "the result of activity %q: %v", typ, err).Final()
				}
				return result, nil
			},
		})
	})
}

// Named returns an activity for calls by a name that is known only when the workflow runs:
//
//	receipt, err := activity.Named[Order, Receipt](step.Activity).Run(ctx, order)
//
// It has no code: the activity of that name runs, or the one of all types (Dynamic). Registering it
// fails. The name must be the same on replay.
func Named[In, Out any](name string, sets ...Options) Activity[In, Out] {
	return Activity[In, Out]{name: name, where: where.Caller(), named: true}.tuned(options.Of(sets))
}

// errNamed is the error of registering an activity that has no code.
func errNamed(name, where string) error {
	return fmt.Errorf("activity %q (at %s) is only a name for calls: register the activity itself, or activity.Dynamic", name, where)
}
