package client

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Retry says whether and when a failed activity or workflow is retried. The zero value retries for
// ever, after 1 s, 2 s, 4 s and so on up to 100 s.
type Retry struct {
	// InitialInterval is the wait before the second attempt; 0 is 1 s.
	InitialInterval time.Duration
	// BackoffCoefficient is the factor by which the wait grows with each attempt; 0 is 2.
	BackoffCoefficient float64
	// MaxInterval is the longest wait; 0 is 100 times the initial interval.
	MaxInterval time.Duration
	// MaxAttempts is the largest number of attempts, the first included; 0 is no limit. With 1, an
	// activity that is interrupted by a crash ends as timed out: nobody knows how far it got.
	MaxAttempts int
	// NonRetryable are errors that end the attempts. They are returned by NewError, and compared by
	// their types.
	NonRetryable []*failure.Error
}

// request returns the retry policy in a request, or nil if there is none.
func (r *Retry) request() *schema.RetryPolicy {
	if r == nil {
		return nil
	}
	return schema.RetryOf(bridge.Retry(*r).Policy())
}

// stored returns the retry policy of a schedule's action, or nil if there is none.
func (r *Retry) stored() *stored.Retry {
	if r == nil {
		return nil
	}
	return stored.RetryOf(bridge.Retry(*r).Policy())
}
