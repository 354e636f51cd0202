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
	// ErrNoVersion is wrapped by the error of a Forward that finds no version with the build.
	// Nothing was done.
	ErrNoVersion = errors.New("function: no version of this function has the build")
	// ErrNotForwarded is wrapped by the error of a Forward if no other function has begun to handle
	// the event.
	ErrNotForwarded = errors.New("function: the event could not be forwarded")
)

// Forward sends an event to the version of this function that has a build, and returns its answer.
// If an error wraps neither of the two above, it is unknown what that version did. The context has
// the mark of [Mark].
type Forward func(ctx context.Context, build string, event []byte) ([]byte, error)

// notBegun reports whether nobody has begun to handle an event that could not be forwarded.
func notBegun(err error) bool { return errors.Is(err, ErrNoVersion) || errors.Is(err, ErrNotForwarded) }

// forwardMargin is how much earlier than this invocation the one ends that it waits for: this one
// needs time for the answer.
const forwardMargin = time.Second

// Fields of the client context of an invocation by another version of the function: the build that
// it is for, and when the caller stops waiting, in milliseconds since 1970.
const (
	markBuild    = "weft-build"
	markDeadline = "weft-deadline"
)

// Mark returns the client context of an invocation that forwards an event to a build. A marked
// event is not forwarded again.
func Mark(build string, deadline time.Time) lambdacontext.ClientContext {
	custom := map[string]string{markBuild: build}
	if !deadline.IsZero() {
		custom[markDeadline] = strconv.FormatInt(deadline.UnixMilli(), 10)
	}
	return lambdacontext.ClientContext{Custom: custom}
}

// marked returns the build to which an event was forwarded; empty if it was not.
func marked(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.ClientContext.Custom[markBuild]
	}
	return ""
}

// waitedFor returns a context that ends when the invocation that waits for this one gives up.
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

// forward forwards an event, once, to the version that has a build, with the time that this
// invocation has left.
func (f *Function) forward(ctx context.Context, a allowance, build string, event []byte) ([]byte, error) {
	if f.options.Forward == nil {
		return nil, fmt.Errorf("%w %q: versions are off, see WEFT_PINNING", ErrNoVersion, build)
	}
	if before := marked(ctx); before != "" {
		return nil, fmt.Errorf("%w: it was forwarded to build %q, and the run has since moved to %q", ErrNotForwarded, before, build)
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
