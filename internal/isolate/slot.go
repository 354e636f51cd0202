package isolate

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// slot is the place of a child: it runs one process after another.
type slot struct {
	pool *Pool
	name string
	// next offers the serving process to callers.
	next chan *process
	// alone says that it is the slot of the solo child.
	alone bool
	// serves says that the slot's process serves.
	serves atomic.Bool
}

// soloName is the name of the slot of the solo child.
const soloName = "solo"

const (
	// leastBackoff and mostBackoff bound the wait of a slot before it replaces a process that died.
	leastBackoff = 100 * time.Millisecond
	mostBackoff  = 10 * time.Second
	// lived is how long a process must live for the backoff to begin again at its shortest.
	lived = time.Minute
	// watchEvery is how often a process is checked.
	watchEvery = time.Second
	// silence is how long a process may not answer before it is killed, unless Options say
	// otherwise.
	silence = 30 * time.Second
	// startWithin is how long a child may take until it serves.
	startWithin = 2 * time.Minute
	// drainFor is how long a child with hung code keeps its other work.
	drainFor = 5 * time.Second
)

// take returns the slot's process, when there is one. The caller uses it in doing, once.
func (s *slot) take(ctx context.Context) (*process, error) {
	select {
	case c := <-s.next:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.pool.stopped:
		return nil, errStopped
	}
}

// run keeps a process running until ctx ends.
func (s *slot) run(ctx context.Context) {
	backoff := leastBackoff
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, startWithin)
		c, err := s.pool.start(limited, fmt.Sprintf("%s-%d", s.name, n), s.alone)
		cancel()
		if err == nil {
			if retired := s.watch(ctx, c); retired || ctx.Err() != nil {
				continue
			}
			err = fmt.Errorf("it ended: %v", c.why)
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lived {
			backoff = leastBackoff
		}
		s.pool.o.Log.Error("a child process died; another is started", "child", s.name, "error", err, "after", backoff)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
		}
		backoff = min(2*backoff, mostBackoff)
	}
}

// watch offers a process until it ends, or is retired because its code hangs. It kills a process
// that uses too much memory, or is silent.
func (s *slot) watch(ctx context.Context, c *process) (retired bool) {
	s.pool.o.Log.Debug("a child process serves", "child", s.name, "pid", c.cmd.Process.Pid)
	s.serves.Store(true)
	defer s.serves.Store(false)
	looks := make(chan []string, 1)
	watching, end := context.WithCancel(ctx)
	defer end()
	s.pool.all.Go(func() { s.look(watching, c, looks) })
	rows := s.pool.rows.WatchRows()
	s.pool.all.Go(func() { s.forwardRows(watching, c, rows) })
	for {
		c.work.Add(1) // it is counted before it begins: drain sees it
		select {
		case s.next <- c:
			continue
		case <-c.ended:
			c.work.Done()
			s.pool.blameFor(c)
			return false
		case hung := <-looks:
			c.work.Done()
			s.pool.o.Log.Warn("code in a child process hangs: the process is replaced, and killed", "child", s.name, "pid", c.cmd.Process.Pid, "workflowIds", hung)
			halves := 0
			if s.alone {
				halves = certain
			}
			for _, workflow := range hung {
				s.pool.blame(workflow, c.runOf(workflow), halves)
			}
			s.pool.suspects.save()
			s.pool.all.Go(func() {
				c.drain(drainFor)
				s.pool.o.Log.Info("a child process with hung code was killed", "child", s.name, "pid", c.cmd.Process.Pid)
			})
			return true
		case <-ctx.Done():
			c.work.Done()
			c.stop()
			return false
		}
	}
}

// look checks a process from time to time. It reports that its code hangs, with the workflows whose
// code still does.
func (s *slot) look(ctx context.Context, c *process, hangs chan<- []string) {
	heard := time.Now()
	for ticks := time.NewTicker(watchEvery); ; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return
		case <-ticks.C:
		}
		if most := s.pool.o.Memory; most > 0 && resident(c.cmd.Process.Pid) > most {
			s.pool.o.Log.Error("a child process has more memory than it may: it is killed", "child", s.name, "limit", most)
			c.kill()
			return
		}
		limited, cancel := context.WithTimeout(ctx, s.pool.o.Silence)
		got, err := call[none, status](limited, c.client, pathStatus, none{})
		cancel()
		switch {
		case err == nil && (got.Hung > 0 || len(got.Workflows) > 0):
			hangs <- got.Workflows
			return
		case err == nil:
			heard = time.Now()
		case time.Since(heard) > s.pool.o.Silence && ctx.Err() == nil:
			s.pool.o.Log.Error("a child process does not answer: it is killed", "child", s.name)
			c.kill()
			return
		}
	}
}
