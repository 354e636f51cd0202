package privilege

import (
	"context"
	"maps"
	"slices"
	"sync"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Recorder records uses, each once. Its zero value is ready for use by many goroutines.
type Recorder struct {
	mu   sync.Mutex
	uses map[string]Use
	errs map[string]error
}

// Uses returns the uses so far, sorted by their texts.
func (r *Recorder) Uses() []Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Use
	for _, text := range slices.Sorted(maps.Keys(r.uses)) {
		all = append(all, r.uses[text])
	}
	return all
}

// Errs returns the errors of requests that could not be recorded, each once.
func (r *Recorder) Errs() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.errs))
}

// Record records a request. The operation is named as in Use. Install does this for all requests of
// a client.
func (r *Recorder) Record(operation string, input any, arn ARN) {
	uses, err := usesOf(operation, input, arn)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uses == nil {
		r.uses, r.errs = map[string]Use{}, map[string]error{}
	}
	if err != nil {
		r.errs[err.Error()] = err
	}
	for _, u := range uses {
		r.uses[u.String()] = u
	}
}

// ARN returns the ARN of a resource of a service: ARN("sqs", "orders").
type ARN func(service, resource string) string

// Install returns the middleware that records every request of a client, whether or not it
// succeeds, with the recorder of its context. If that is nil, the request is not recorded.
//
//	config.APIOptions = append(config.APIOptions, Install(arn, func(context.Context) *Recorder { return r }))
func Install(arn ARN, of func(context.Context) *Recorder) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("weft/privilege", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if r := of(ctx); r != nil {
				r.Record(awsmiddleware.GetServiceID(ctx)+"."+awsmiddleware.GetOperationName(ctx), in.Parameters, arn)
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	}
}
