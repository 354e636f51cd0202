package isolate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"golang.org/x/sync/semaphore"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/queue"
)

// Options are the settings of a pool.
type Options struct {
	// Children is how many child processes there are, besides the one that runs suspects.
	Children int
	// Memory is the hard limit of each, in bytes; 0 is half of the machine's or the container's,
	// divided by Children.
	Memory uint64
	// CPUs is the GOMAXPROCS of each; 0 is Go's default.
	CPUs int
	// TaskQueues are those of the server.
	TaskQueues []string
	// Ports are the parent's, and Receiver is the source of deliveries. Bodies that cross to a
	// child are neither compressed nor encrypted.
	Ports    executor.Ports
	Receiver queue.Receiver
	// File keeps the suspects and the parked workflows across a restart; empty keeps them in
	// memory.
	File string
	// Build names the program. A workflow is parked only as long as the same program runs.
	Build string
	// Silence is how long a child may not answer before it is killed; 0 is 30 seconds.
	Silence time.Duration
	// CommandFlags name the server to weft's commands: see executor.Options.
	CommandFlags string
	Log          *slog.Logger
}

// errStopped is the error of work that arrives when the pool has stopped.
var errStopped = errors.New("isolate: the server stops")

// Pool is the children of a server. It is the server's http.Handler.
type Pool struct {
	o        Options
	dir      string
	socket   string
	server   *http.Server
	slots    []*slot
	solo     *slot
	oneByOne chan struct{}
	inTurn   atomic.Value // of a string: the workflow whose turn it is in the solo child, or was last
	suspects suspects
	delayed  delayed
	// given is the budget of the bytes of the children's work, and waiting that of the requests
	// that wait for a child.
	given, waiting *semaphore.Weighted
	running        sync.WaitGroup // the slots
	all            sync.WaitGroup
	cancel         context.CancelFunc
	stopped        chan struct{}
	rows           lock.Watchers // of the slots, for the list
}

// Start starts the children of a server, and returns before they serve: work waits for them.
func Start(o Options) (*Pool, error) {
	o.Silence = cmp.Or(o.Silence, silence)
	if o.Memory == 0 {
		if total, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)(); err == nil {
			o.Memory = total / 2 / uint64(o.Children)
		}
	}
	// A Unix socket's path is short: it does not go into the data directory. MkdirTemp makes the
	// mode 0700.
	dir, err := os.MkdirTemp("", "weft-")
	if err != nil {
		return nil, err
	}
	p := &Pool{o: o, dir: dir, socket: filepath.Join(dir, "parent"), oneByOne: make(chan struct{}, 1), stopped: make(chan struct{})}
	p.given, p.waiting = semaphore.NewWeighted(budget), semaphore.NewWeighted(mostWaiting)
	p.suspects.open(o.File, o.Build, o.Log)
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	mux := http.NewServeMux()
	ports := o.Ports
	ports.Log = announced{ports.Log, &p.rows}
	serveStore(mux, ports)
	serveQueue(mux, o.Ports, o.Receiver)
	p.server = &http.Server{Handler: withinBudget(budget, mux), ReadHeaderTimeout: time.Minute}
	p.all.Go(func() {
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("child processes cannot reach the store any more", "error", err)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	for i := range o.Children {
		p.slots = append(p.slots, p.newSlot(ctx, fmt.Sprint(i)))
	}
	p.solo = p.newSlot(ctx, soloName)
	return p, nil
}

func (p *Pool) newSlot(ctx context.Context, name string) *slot {
	s := &slot{pool: p, name: name, next: make(chan *process), alone: name == soloName}
	p.running.Go(func() { s.run(ctx) })
	return s
}

// Close stops the children. Call it when the pool gets no more work. Running work gets some
// seconds.
func (p *Pool) Close() error {
	close(p.stopped)
	p.cancel()
	p.running.Wait() // the children stop first: what they are doing needs the store
	err := p.server.Close()
	p.all.Wait()
	return errors.Join(err, os.RemoveAll(p.dir))
}

// ErrNoChild says that no child process serves.
var ErrNoChild = errors.New("isolate: no child process serves")

// Ready returns ErrNoChild if no child process serves: they are starting, or end as soon as they
// start.
func (p *Pool) Ready() error {
	for _, s := range p.slots {
		if s.serves.Load() {
			return nil
		}
	}
	return ErrNoChild
}

// slotOf returns the slot of a workflow: the one with the highest hash.
func (p *Pool) slotOf(workflow string) *slot {
	var best *slot
	var highest uint64
	for _, s := range p.slots {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s.name + "/" + workflow)) // it never fails
		if sum := mix(h.Sum64()); best == nil || sum > highest {
			best, highest = s, sum
		}
	}
	return best
}

// mix spreads a hash over all of its bits: the high bits of FNV hardly depend on the first byte.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}
