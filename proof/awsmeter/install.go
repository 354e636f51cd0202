package awsmeter

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Options are the options of Install. The zero value works.
type Options struct {
	// Units makes DynamoDB report its consumption with each answer. That costs only the bytes.
	Units bool
}

// Install returns the middleware that counts every request of a client, in total and in the meters
// of each request's context. total may be nil:
//
//	config.APIOptions = append(config.APIOptions, awsmeter.Install(total, awsmeter.Options{}))
func Install(total *Meter, o Options) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		input := middleware.InitializeMiddlewareFunc("weft/awsmeter/input", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if o.Units {
				in.Parameters = asking(in.Parameters)
			}
			return next.HandleInitialize(middleware.WithStackValue(ctx, inputKey{}, in.Parameters), in)
		})
		count := middleware.DeserializeMiddlewareFunc("weft/awsmeter", func(
			ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
		) (middleware.DeserializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleDeserialize(ctx, in)
			c := costOf(middleware.GetStackValue(ctx, inputKey{}), out.Result, fateOf(err))
			add(ctx, c)
			if total != nil {
				total.add(c)
			}
			return out, metadata, err
		})
		// The first middleware of this step sees the answer as the deserializer has read it.
		return errors.Join(stack.Initialize.Add(input, middleware.After), stack.Deserialize.Add(count, middleware.Before))
	}
}

type inputKey struct{}

// fate is how a request ended.
type fate int

const (
	done      fate = iota // it was carried out
	open                  // it may have been carried out
	failed                // its condition did not hold
	throttled             // it was refused for now
	refused               // it was refused
)

func fateOf(err error) fate {
	var condition *types.ConditionalCheckFailedException
	var canceled *types.TransactionCanceledException
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	switch {
	case err == nil:
		return done
	case errors.As(err, &condition):
		return failed
	case errors.As(err, &canceled):
		for _, reason := range canceled.CancellationReasons {
			if reason.Code != nil && *reason.Code == "ConditionalCheckFailed" {
				return failed
			}
		}
		return refused
	case !errors.As(err, &api) || !errors.As(err, &response) || response.HTTPStatusCode() >= 500:
		return open
	}
	if _, ok := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; ok {
		return throttled
	}
	return refused
}
