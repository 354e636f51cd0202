package adapter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/seed-41655fb1/weft/internal/function"
)

// newProbe returns what sends events to the function with this name; nil if it is empty. It tries
// each once: the caller counts every failure.
func newProbe(c aws.Config, name string) function.Probe {
	if name == "" {
		return nil
	}
	client := sync.OnceValue(func() *lambda.Client {
		return lambda.NewFromConfig(c, func(o *lambda.Options) { o.Retryer = aws.NopRetryer{} })
	})
	return func(ctx context.Context, event []byte) ([]byte, error) {
		answer, err := client().Invoke(ctx, &lambda.InvokeInput{FunctionName: &name, Payload: event})
		var refused interface{ HTTPStatusCode() int }
		switch {
		case err == nil && answer.FunctionError != nil:
			return nil, fmt.Errorf("%w: %s ended with %s; its log has more", function.ErrFailed, name, *answer.FunctionError)
		case err == nil:
			return answer.Payload, nil
		case !errors.As(err, &refused):
		case refused.HTTPStatusCode() == http.StatusTooManyRequests:
			return nil, fmt.Errorf("%w: %w", function.ErrThrottled, err)
		case refused.HTTPStatusCode()/100 == 4:
			return nil, fmt.Errorf("%w: %w", function.ErrRefused, err)
		}
		return nil, fmt.Errorf("%s did not answer: %w", name, err)
	}
}
