// Package awsuse records, for tests, the rights that a program's requests to AWS need: in the SDK's middleware, as the requests are
// made, so that nothing that goes through a client is missed. An operation that rights.go does not know is an error of the
// recorder's.
package awsuse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/seed-41655fb1/weft/internal/seal/awskms"
	"github.com/seed-41655fb1/weft/proof/iam"
)

// Use is a right that a request needs.
type Use struct {
	// Operation is what was asked for, as the SDK names it: DynamoDB.TransactWriteItems/Put is a part of one.
	Operation string
	// Action and Resource are what IAM asks about.
	Action, Resource string
	// Keys are the partition keys of the items that it is about, the prefix of the objects that are listed, or the namespace in
	// KMS's encryption context; nil where it names none.
	Keys []string
}

// Request is what a policy is asked about the use, with the one context key that is known of it.
func (u Use) Request() iam.Request {
	key := LeadingKeys
	switch {
	case strings.HasPrefix(u.Action, "kms:"):
		key = EncryptionContext
	case u.Action == "s3:ListBucket":
		key = "s3:prefix"
	}
	return iam.Request{Action: u.Action, Resource: u.Resource, Context: map[string][]string{key: u.Keys}}
}

// EncryptionContext is the context key for the namespace in a request to KMS.
const EncryptionContext = "kms:EncryptionContext:" + awskms.Context

// LeadingKeys is the context key for the partition keys of a request.
const LeadingKeys = "dynamodb:LeadingKeys"

// String is the use in words.
func (u Use) String() string {
	text := fmt.Sprintf("%s (%s) on %s", u.Action, u.Operation, u.Resource)
	if len(u.Keys) > 0 {
		text += " of " + strings.Join(u.Keys, ", ")
	}
	return text
}

// Recorder keeps uses, each once. Its zero value is ready to use, by many goroutines.
type Recorder struct {
	mu   sync.Mutex
	uses map[string]Use
	errs map[string]error
}

// Uses are the uses so far, in the order of their texts.
func (r *Recorder) Uses() []Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Use
	for _, text := range slices.Sorted(maps.Keys(r.uses)) {
		all = append(all, r.uses[text])
	}
	return all
}

// Errs are the requests that could not be recorded, each once.
func (r *Recorder) Errs() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.errs))
}

// Record records a request, whose operation is named as in Use. Install does it for all requests of a client.
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

// ARN is the ARN of a resource of a service: ARN("sqs", "orders").
type ARN func(service, resource string) string

// Install returns what records all requests of the clients that are made with it, whatever becomes of them, each with the
// recorder of its context; where that is nil, a request is not recorded.
//
//	config.APIOptions = append(config.APIOptions, awsuse.Install(arn, func(context.Context) *awsuse.Recorder { return r }))
func Install(arn ARN, of func(context.Context) *Recorder) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("weft/awsuse", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if r := of(ctx); r != nil {
				r.Record(awsmiddleware.GetServiceID(ctx)+"."+awsmiddleware.GetOperationName(ctx), in.Parameters, arn)
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	}
}
