// Package backend is how a program hands Weft a store, queues and blobs of its own: adapters of the
// ports that were written outside of this module.
//
//	weft.Main(registry, weft.Options{Backend: postgres.Open(url)})                    // the local server
//	adapter.Settings{Backend: aurora.Open}.Main(adapter.FromEnvironment(), cart.Run)  // a Lambda function
//
// Each port says what it promises: [store.Store], [queue.Queue] and [blob.Blobs]. An adapter keeps
// that promise if it passes the port's suite: store/storetest, queue/queuetest and blob/blobtest.
// examples/postgres is a whole one, to copy.
package backend

import (
	"context"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Backend is where a deployment keeps everything. All of it is safe for concurrent use.
type Backend struct {
	// Store keeps the histories. There is a list of workflows if it is a [store.Lister] too. The
	// local server has it delete what has expired if it is a [store.Expirer]. Nil is DynamoDB in a
	// function; the local server demands one.
	Store store.Store
	// Queue has the queues of [queue.Standard] for the task queues that were asked for. A message
	// is durable when Send returns, unless the store can only lose a write together with all that
	// the queue was sent later. Nil is SQS in a function; the local server demands one.
	Queue queue.Queue
	// Blobs keeps what is too large for the store and the queues. Nil is WEFT_BUCKET in a function.
	// The local server demands them unless weft.Options.SmallPayloads is set.
	Blobs blob.Blobs
	// Close is called once, after the last use of the rest; nil does nothing. A function calls it
	// only if it could not open: Lambda ends the process.
	Close func() error
}

// Open opens a backend whose queues are those of a deployment with these task queues, besides the
// default one. The local server calls it once, before it serves: when ctx ends, Open returns an
// error soon. A function calls it at each cold start, so there it connects at the first call of a
// port.
type Open func(ctx context.Context, taskQueues []string) (*Backend, error)
