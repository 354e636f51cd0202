package function

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

var (
	// ErrNoVersion is wrapped by what a Forward returns that finds no version with the build.
	// Nothing was done.
	ErrNoVersion = errors.New("function: no version of this function has the build")
	// ErrNotForwarded is wrapped by what a Forward returns for an event that no other function has
	// begun with.
	ErrNotForwarded = errors.New("function: the event could not be handed on")
)

// Forward hands an event to the version of this function that has a build, and returns its answer.
// An error that wraps neither of the two above says nothing about what that version did. The
// context has the mark of [Mark].
type Forward func(ctx context.Context, build string, event []byte) ([]byte, error)

// forwardMargin is how much earlier than this invocation one ends that it waits for: there has to
// be time for the answer.
const forwardMargin = time.Second

// What the client context of an invocation says that another version of the function has made: for
// which build, and when that one will wait no longer, in milliseconds since 1970.
const (
	markBuild    = "weft-build"
	markDeadline = "weft-deadline"
)

// Mark is the client context of an invocation that hands an event on to a build. What is marked is
// not handed on again.
func Mark(build string, deadline time.Time) lambdacontext.ClientContext {
	custom := map[string]string{markBuild: build}
	if !deadline.IsZero() {
		custom[markDeadline] = strconv.FormatInt(deadline.UnixMilli(), 10)
	}
	return lambdacontext.ClientContext{Custom: custom}
}

// marked returns the build for which an event was handed on; it is empty for one that came from
// elsewhere.
func marked(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.ClientContext.Custom[markBuild]
	}
	return ""
}

// waitedFor ends the context of an invocation when the one that waits for it gives up.
func waitedFor(ctx context.Context) (context.Context, context.CancelFunc) {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return ctx, func() {}
	}
	ms, err := strconv.ParseInt(lc.ClientContext.Custom[markDeadline], 10, 64)
	if err != nil {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, time.UnixMilli(ms))
}

// forward hands an event on, once, to the version that has a build: it is given the time that this
// invocation has left.
func (f *Function) forward(ctx context.Context, a allowance, build string, event []byte) ([]byte, error) {
	if f.options.Forward == nil {
		return nil, fmt.Errorf("%w %q: versions are off, see WEFT_PINNING", ErrNoVersion, build)
	}
	if before := marked(ctx); before != "" {
		return nil, fmt.Errorf("%w: it was handed to build %q, and the run has moved to %q meanwhile", ErrNotForwarded, before, build)
	}
	ctx = context.WithoutCancel(ctx)
	if !a.deadline.IsZero() {
		end := a.deadline.Add(-forwardMargin)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	return f.options.Forward(ctx, build, event)
}
