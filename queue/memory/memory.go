// Package memory is the queue of tests and simulations: the queues of a deployment in memory. They keep the promises of
// the port and no others, and check their callers; see package lines, which does the work.
package memory

import (
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/internal/lines"
)

// Options are the options of a queue. The zero value works.
type Options = lines.Options

// Kept is a message as [Queue.Dump] returns it, and [Queue.Restore] takes it.
type Kept = lines.Kept

// Queue holds the queues of a deployment. It is safe for concurrent use.
type Queue = lines.Queue

// New returns queues with these settings, all empty. It panics where a queue has a limit of receives and no queue of its
// kind for the dead letters.
func New(settings map[string]queue.Settings, o Options) *Queue { return lines.New(settings, o) }
