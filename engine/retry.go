package engine

import (
	"math"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// backoff is the wait after this many attempts: the first interval, grown by the coefficient with each further attempt,
// up to the longest.
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
