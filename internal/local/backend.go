package local

import (
	"context"
	"errors"
	"time"

	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskblobs"
	"github.com/seed-41655fb1/weft/internal/embedded/diskqueue"
	"github.com/seed-41655fb1/weft/internal/embedded/diskstore"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// backend opens the place where everything is stored.
func (o *Options) backend(ctx context.Context, taskQueues []string) (*backend, error) {
	switch {
	case o.Backend != nil:
		return openOutside(ctx, o, taskQueues)
	case o.Dir == "":
		return inMemory(o, taskQueues)
	}
	return onDisk(o, taskQueues)
}

// inMemory keeps everything for as long as the process lives.
func inMemory(_ *Options, taskQueues []string) (*backend, error) {
	s := storememory.New(storememory.Options{})
	q := queuememory.New(queue.Standard(taskQueues...), queuememory.Options{})
	return &backend{
		ports:    assembly.PortsOf(s, s, q),
		receiver: q, taskQueues: taskQueues,
		blobs: blobmemory.New(nil),
		tidy:  func(context.Context, int) (int, error) { return 0, nil },
		probe: func() error { return nil },
		close: func() error { return nil },
	}, nil
}

// onDisk keeps everything in a file of the data directory, which belongs to this process alone.
func onDisk(o *Options, taskQueues []string) (*backend, error) {
	db, err := disk.Open(o.Dir, disk.Options{Log: o.Log, Memory: o.budgets.disk})
	if err != nil {
		return nil, err
	}
	return over(db, o, taskQueues)
}

// over keeps everything in an open data directory, and closes it.
func over(db *disk.DB, o *Options, taskQueues []string) (*backend, error) {
	s := diskstore.New(db)
	q, err := diskqueue.New(db, queue.Standard(taskQueues...), diskqueue.Options{Clock: o.Clock, BodyBytes: o.budgets.messages})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	b := diskblobs.New(db, o.Clock)
	var tick func()
	if o.Clock != nil {
		tick = q.Tick
	}
	return &backend{
		ports:    assembly.PortsOf(s, s, q),
		receiver: q, taskQueues: q.TaskQueues(),
		blobs: b, backup: db.Backup,
		tick:  tick,
		tidy:  func(ctx context.Context, atOnce int) (int, error) { return deleteExpired(ctx, s, o.now(), atOnce) },
		probe: func() error { return db.Write(func(*disk.Tx) error { return nil }) },
		ended: db.Ended(), why: db.Err,
		close: db.Close,
	}, nil
}

// deleteExpired deletes everything that has expired, this many items in a write, and returns how
// many it deleted. Other writes run in between.
func deleteExpired(ctx context.Context, s store.Expirer, now time.Time, atOnce int) (deleted int, err error) {
	for {
		n, err := s.DeleteExpired(ctx, now, atOnce)
		deleted += n
		if err != nil || n < atOnce {
			return deleted, err
		}
	}
}
