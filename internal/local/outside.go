package local

import (
	"context"
	"errors"
	"fmt"
	"os"

	backendport "github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/store"
)

// errOutside is wrapped by the error of the probe of a backend that is not Weft's.
var errOutside = errors.New("the backend does not answer")

// openOutside stores everything in ports that a program provides. It creates the data directory for
// the token and the crash records.
func openOutside(ctx context.Context, o *Options, taskQueues []string) (*backend, error) {
	if o.Dir != "" {
		const access = 0o700
		if err := os.MkdirAll(o.Dir, access); err != nil {
			return nil, err
		}
	}
	given, err := o.Backend(ctx, taskQueues)
	if err != nil {
		return nil, fmt.Errorf("the backend does not open: %w", err)
	}
	if err := o.checkBackend(given); err != nil {
		return nil, errors.Join(err, closeOutside(given))
	}
	assembly.Optional{Store: given.Store, Queue: given.Queue, Deletes: true}.LogMissing(o.Log)
	s := given.Store
	lister, _ := s.(store.Lister)
	tidy := func(context.Context, int) (int, error) { return 0, nil }
	if expirer, ok := s.(store.Expirer); ok {
		tidy = func(ctx context.Context, atOnce int) (int, error) {
			return deleteExpired(ctx, expirer, o.now(), atOnce)
		}
	}
	return &backend{
		ports:    executor.Ports{Log: s, Attempts: s, Timers: s, Lister: lister, Scanner: s, Keys: s, Rates: s}.Over(given.Queue),
		receiver: given.Queue, taskQueues: taskQueues,
		blobs: given.Blobs, tidy: tidy,
		probe: func() error { return probe(s) },
		close: func() error { return closeOutside(given) },
	}, nil
}

// checkBackend returns what a backend lacks, or nil.
func (o *Options) checkBackend(given *backendport.Backend) error {
	switch {
	case given == nil:
		return errors.New("the backend is nil")
	case given.Store == nil || given.Queue == nil:
		return errors.New("the backend has no store, or no queue: the local server needs both")
	case given.Blobs == nil && o.LargePayloads:
		return errors.New("the backend has no blobs, so there is no place for large payloads: give it some, or set the option SmallPayloads (--no-large-payloads)")
	}
	return nil
}

func closeOutside(given *backendport.Backend) error {
	if given == nil || given.Close == nil {
		return nil
	}
	return given.Close()
}

// probe reads from a store. Only a write could show whether the store accepts writes.
func probe(s store.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	if _, err := s.ReadMark(ctx); err != nil {
		return fmt.Errorf("%w: %w", errOutside, err)
	}
	return nil
}
