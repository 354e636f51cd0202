// Package memory is the queue of tests and simulations: the queues of a deployment in memory. They
// give the port's guarantees and no others, and check their callers; see package lines, which
// implements them.
package memory

import (
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/internal/lines"
)

// Options are the options of a queue. The zero value works.
type Options = lines.Options

// Kept is a message in the form that [Queue.Dump] returns and [Queue.Restore] takes.
type Kept = lines.Kept

// Queue holds the queues of a deployment. It is safe for concurrent use.
type Queue = lines.Queue

// New returns empty queues with these settings. It panics if a queue has a limit of receives and
// there is no queue of the same kind for its dead letters.
func New(settings map[string]queue.Settings, o Options) *Queue { return lines.New(settings, o) }
