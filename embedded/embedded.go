// Package embedded opens the data directory of the local server as a store, queues and blobs, for a
// program that wraps them in something of its own, or that tests an adapter beside them.
package embedded

import (
	"errors"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskblobs"
	"github.com/seed-41655fb1/weft/internal/embedded/diskqueue"
	"github.com/seed-41655fb1/weft/internal/embedded/diskstore"
	"github.com/seed-41655fb1/weft/queue"
)

// Open opens the data directory dir, and creates it if it does not exist, with the queues of a
// deployment that has these task queues besides the default one. The directory belongs to this
// process alone until Close: a second Open of it fails. It has the format of the directory in
// weft.Options.Data.
//
// What is durable:
//
//   - Writes of the store and of blobs are flushed to the disk when they return. A crash before
//     that leaves all of a write or none.
//   - Send does not wait for the disk. All three share one log, and a crash only takes away its
//     end: if anything that was written after a Send survives, the message does. So a message is
//     durable when a later write of the store returns.
//   - That a message was received, and how often, is durable before Receive returns it, except for
//     its first receive in the process that sent it.
//   - Delete and Extend of the queue do not wait for the disk: after a crash a message may be
//     delivered again.
//
// If the disk fails so that only another process can find out what is on it, all writes return
// errors from then on, and reads still work. Damage that it finds is logged to slog.Default. Use
// the three together: a queue that is combined with another store loses messages in a crash.
func Open(dir string, taskQueues ...string) (*backend.Backend, error) {
	db, err := disk.Open(dir, disk.Options{})
	if err != nil {
		return nil, err
	}
	q, err := diskqueue.New(db, queue.Standard(taskQueues...), diskqueue.Options{})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &backend.Backend{Store: diskstore.New(db), Queue: q, Blobs: diskblobs.New(db, nil), Close: db.Close}, nil
}
