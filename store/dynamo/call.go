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
	// tries is how often a request is made at most, where the context does not end before.
	tries = 10
	// The wait before a further try is drawn from between nothing and a span that doubles from
	// firstWait to maxWait.
	firstWait = 25 * time.Millisecond
	maxWait   = time.Second
)

// option is what a request is made with.
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

// once makes a request with do, a single time: after a connection that broke and a throttle, say,
// the SDK's own retries would report the throttle alone, and that nothing was done.
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

// write makes a request that changes something, again as long as it is throttled and the context's
// deadline allows. What it returns wraps the port's errors; a condition that does not hold is
// returned as a failure. A request whose outcome is unknown is the caller's to repeat, who can tell
// its own item from another's.
func write(ctx context.Context, do func(ctx context.Context, o option) error) error {
	return wrap(try(ctx, func(v verdict) bool { return v == throttled }, do), store.ErrUnknown)
}

// read makes a request that changes nothing. It is made again after every error that may pass,
// since it cannot do anything twice, and has no outcome that could be unknown.
func read(ctx context.Context, do func(ctx context.Context, o option) error) error {
	return wrap(try(ctx, func(v verdict) bool { return v == throttled || v == unknown }, do), errRead)
}

// errRead is what a read failed with, again and again.
var errRead = errors.New("store/dynamo: the read failed")

// try makes a request until it succeeds, its failure is not one after which it is made again, or
// there is no time left.
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

// wrap makes the port's errors of failures.
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

// wait waits after the nth try, and reports whether there is time for another.
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
