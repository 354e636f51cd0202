package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// The defaults of a retry policy. Its longest interval is this multiple of the first.
const (
	DefaultInitialInterval    = time.Second
	DefaultBackoffCoefficient = 2.0
	maxIntervalFactor         = 100
)

// CompleteRetry returns a retry policy with its defaults filled in, or an error that says what is
// wrong with it.
func CompleteRetry(p history.RetryPolicy) (history.RetryPolicy, error) {
	switch {
	case p.InitialInterval < 0, p.MaximumInterval < 0:
		return p, errors.New("an interval of its retry policy is negative")
	case p.BackoffCoefficient != 0 && !(p.BackoffCoefficient >= 1):
		return p, fmt.Errorf("its backoff coefficient is %v: give at least 1", p.BackoffCoefficient)
	case p.MaximumAttempts < 0:
		return p, errors.New("its number of attempts is negative")
	case slices.Contains(p.NonRetryableTypes, ""):
		return p, errors.New("an error that it does not retry has no type: make it with NewError")
	}
	if p.InitialInterval == 0 {
		p.InitialInterval = history.Duration(DefaultInitialInterval)
	}
	if p.BackoffCoefficient == 0 {
		p.BackoffCoefficient = DefaultBackoffCoefficient
	}
	if p.MaximumInterval == 0 {
		p.MaximumInterval = maxIntervalFactor * p.InitialInterval
	}
	return p, nil
}

// backoff returns the wait after this many attempts: the first interval, grown by the coefficient
// with each further attempt, up to the longest.
func backoff(p history.RetryPolicy, attempts int) time.Duration {
	first, longest := float64(p.InitialInterval), float64(p.MaximumInterval)
	grown := first * math.Pow(max(p.BackoffCoefficient, 1), float64(attempts-1))
	if longest <= 0 {
		longest = float64(100 * first)
	}
	if math.IsNaN(grown) || grown > longest {
		grown = longest
	}
	return time.Duration(min(grown, float64(maxBackoff)))
}

// maxBackoff keeps the arithmetic of times within what they can hold.
const maxBackoff = 365 * 24 * time.Hour
