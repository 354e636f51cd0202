// Package memory is the queue of tests and simulations: the queues of a deployment in memory. They
// give the port's guarantees and no others, and check their callers; see package lines, which
// implements them.
package memory

import (
	"time"

	"github.com/seed-41655fb1/weft/internal/lines"
	"github.com/seed-41655fb1/weft/queue"
)

// MaxBody is the largest body that fits into a message of SQS in base64.
const MaxBody = lines.MaxBody

// Options are the options of a queue. The zero value works.
type Options struct {
	// Clock returns the time; nil means the system's clock, which needs no Tick.
	Clock func() time.Time
	// Violation is called with the rule of the port that a caller broke; nil panics. It must not
	// call the queue.
	Violation func(format string, args ...any)
	// MaxBody is the largest body; 0 means the constant MaxBody.
	MaxBody int
}

// Kept is a message in the form that [Queue.Dump] returns and [Queue.Restore] takes.
type Kept = lines.Kept

// Queue holds the queues of a deployment. It is safe for concurrent use.
type Queue = lines.Queue

// New returns empty queues with these settings. It panics if a queue has a limit of receives and
// there is no queue of the same kind for its dead letters.
func New(settings map[string]queue.Settings, o Options) *Queue {
	return lines.New(settings, lines.Options{Clock: o.Clock, Violation: o.Violation, MaxBody: o.MaxBody})
}
