package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/seed-41655fb1/weft/store"
)

const (
	// tries is the highest number of tries of a request, if the context does not end earlier.
	tries = 10
	// The wait before another try is random, between zero and a span that doubles from firstWait to
	// maxWait.
	firstWait = 25 * time.Millisecond
	maxWait   = time.Second
)

// option changes the options of one request.
type option = func(*dynamodb.Options)

// failure is an error with its verdict.
type failure struct {
	verdict verdict
	err     error
}

// Error is the SDK's, which names the operation and the request.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap lets callers find the exception that DynamoDB answered with.
func (f *failure) Unwrap() error { return f.err }

// once sends a request with do, a single time. The SDK's own retries are off: after a broken
// connection and a throttle, for instance, they would report only the throttle, which says that
// nothing was done.
func once(ctx context.Context, do func(ctx context.Context, o option) error) *failure {
	sent := false
	err := do(ctx, func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("weft/sent", func(
				ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
			) (middleware.DeserializeOutput, middleware.Metadata, error) {
				sent = true
				return next.HandleDeserialize(ctx, in)
			}), middleware.After) // the last before the network
		})
	})
	if err == nil {
		return nil
	}
	return &failure{judge(err, sent), err}
}

// write sends a request that changes something. It repeats it while DynamoDB throttles it and the
// context's deadline allows. Its errors wrap the port's errors, except that it returns a failed
// condition as a failure. If the outcome is unknown, the caller repeats the request, because only
// the caller can recognize its own item.
func write(ctx context.Context, do func(ctx context.Context, o option) error) error {
	return wrap(try(ctx, func(v verdict) bool { return v == throttled }, do), store.ErrUnknown)
}

// read sends a request that changes nothing. It repeats it after every error that may be temporary,
// because a repeated read is harmless and its outcome is never unknown.
func read(ctx context.Context, do func(ctx context.Context, o option) error) error {
	return wrap(try(ctx, func(v verdict) bool { return v == throttled || v == unknown }, do), errRead)
}

// errRead is wrapped by the error of a read that failed at every try.
var errRead = errors.New("store/dynamo: the read failed")

// try sends a request until it succeeds, again refuses another try, or there is no time left.
func try(ctx context.Context, again func(verdict) bool, do func(ctx context.Context, o option) error) error {
	if err := ctx.Err(); err != nil {
		return err // nothing was sent
	}
	for n := 1; ; n++ {
		f := once(ctx, do)
		if f == nil {
			return nil
		}
		if !again(f.verdict) || n == tries || !wait(ctx, n) {
			return f
		}
	}
}

// wrap converts a failure to an error of the port. open is the error for an unknown outcome.
func wrap(err, open error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	switch f.verdict {
	case throttled:
		return fmt.Errorf("%w: %w", store.ErrThrottled, f.err)
	case tooLarge:
		return fmt.Errorf("%w: %w", store.ErrTooLarge, f.err)
	case unknown:
		return fmt.Errorf("%w: %w", open, f.err)
	case standing:
		return f
	}
	return fmt.Errorf("store/dynamo: %w", f.err)
}

// wait waits after the nth try. It returns false if there is no time for another.
func wait(ctx context.Context, n int) bool {
	d := rand.N(min(firstWait<<(n-1), maxWait))
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
