package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/attempt"
)

// AttemptGrace is how long after its time an attempt is waited for before it is abandoned. Its
// context has ended, so it should have returned.
const AttemptGrace = 2 * time.Second

// Attempted is the outcome of an attempt at an activity.
type Attempted struct {
	Result  history.Payload
	Failure *failure.Failure // nil is success
	Pending bool             // it continues outside
}

// CallActivity calls the code of an activity.
func CallActivity(ctx context.Context, code engine.ActivityCode, input history.Payload) (a Attempted) {
	defer func() {
		if value := recover(); value != nil {
			a = Attempted{Failure: failure.Panic(value, debug.Stack())}
		}
	}()
	result, err := code(ctx, input)
	a = Attempted{result, failure.FromError(err), errors.Is(err, attempt.ErrPending)}
	if ctx.Err() == nil && errors.Is(err, context.Canceled) { // of a context of its own
		a.Failure.Uncancel()
	}
	return a
}

// GuardAttempt calls an activity's code, and waits a little longer than limit for it. If the code has not ended by then, hung
// reports whether it has since; otherwise hung is nil.
func (r *Runner) GuardAttempt(limit time.Duration, call func() Attempted) (a Attempted, hung func() bool) {
	returned := make(chan Attempted, 1) // not a variable: an attempt that does not return may still write to it
	ended := r.host.Guard(limit+AttemptGrace, func() {
		a := Attempted{Failure: &failure.Failure{Kind: failure.KindMisuse, Message: "the activity ended its goroutine"}}
		defer func() { returned <- a }()
		a = call()
	})
	if !ended {
		return Attempted{}, func() bool { return len(returned) > 0 }
	}
	return <-returned, nil
}

// Unregistered returns the failure of an attempt at an activity that this build does not register.
func Unregistered(activityType string) *failure.Failure {
	return &failure.Failure{
		Kind: failure.KindUnregistered, Message: fmt.Sprintf("activity type %q is not registered in this build: deploy one that registers it", activityType),
	}
}

// TimedOut returns the failure of an attempt that a limit of time has ended.
func TimedOut(limit, message string, cause *failure.Failure) *failure.Failure {
	return &failure.Failure{Kind: failure.KindTimeout, Timeout: limit, Message: message, Cause: cause}
}

// Truncate shortens a stack that is kept between attempts.
func Truncate(stack string) string {
	const most = 4 << 10
	if len(stack) > most {
		return stack[:most]
	}
	return stack
}
