package local

import (
	"errors"

	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// inMemory keeps everything for as long as the process lives.
func inMemory(string) (*backend, error) {
	s := storememory.New(storememory.Options{})
	q := queuememory.New(queue.Standard(), queuememory.Options{})
	return &backend{
		ports:    turn.Ports{Log: s, Attempts: s, Timers: s, Lister: s, Queue: q},
		receiver: q,
		close:    func() error { return nil },
	}, nil
}

func onDisk(dir string) (*backend, error) { return nil, errors.New("not yet") }
