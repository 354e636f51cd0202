// Package backend lets a program give Weft a store, queues and blobs of its own: adapters of the
// ports that are written outside this module.
//
//	weft.Main(registry, weft.Options{Backend: postgres.Open(url)})                    // the local server
//	adapter.Settings{Backend: aurora.Open}.Main(adapter.FromEnvironment(), cart.Run)  // a Lambda function
//
// Each port states its guarantees: [store.Store], [queue.Queue] and [blob.Blobs]. An adapter gives
// them if it passes the port's suite: store/storetest, queue/queuetest and blob/blobtest.
// examples/postgres is a complete one, to copy.
package backend

import (
	"context"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Backend is where a deployment stores everything. All of it is safe for concurrent use.
type Backend struct {
	// Store holds the histories. If it is also a [store.Lister], workflows can be listed. If it is
	// also a [store.Expirer], the local server makes it delete what has expired. Nil means DynamoDB
	// in a function; the local server requires a Store. Weft logs at its start which of these two a
	// Store is not.
	Store store.Store
	// Queue has the queues of [queue.Standard] for the task queues that Open was given. A message
	// is durable when Send returns, unless the store can lose a write only together with everything
	// that was sent to the queue later. Nil means SQS in a function; the local server requires a
	// Queue.
	Queue queue.Queue
	// Blobs holds what is too large for the store and the queues. Nil means WEFT_BUCKET in a
	// function. The local server requires Blobs unless weft.Options.SmallPayloads is set.
	Blobs blob.Blobs
	// Close is called once, after the last use of the other fields; nil does nothing. A function
	// calls it only if it fails to start: Lambda ends the process.
	Close func() error
}

// Open opens a backend with the queues of a deployment that has these task queues besides the
// default one. The local server calls it once, before it serves. If ctx ends, Open soon returns an
// error. A function calls it at each cold start, so an Open for functions connects at the first
// call of a port.
type Open func(ctx context.Context, taskQueues []string) (*Backend, error)
