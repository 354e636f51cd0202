package session

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// Process is what the sessions of one process share: the ports, the options, the locks, and what is
// cached of each workflow.
type Process struct {
	Ports
	Registry *engine.Registry
	World    host.Host
	Options  Options
	cache    *cache
	pressure pressure
	Locks    *lock.Table[any] // of updates that wait together, see package requests
	Logs     *runlog.Reader
	Outbox   *outbox.Outbox
	Attempts *attempts.Records
	Watchers lock.Watchers
	Runner   *runner.Runner
	parser   command.Parser
	hanging  hanging
	// Failures logs the failures of users' code.
	Failures *observe.Failures
	refusals observe.Outages        // of requests, by their causes
	Signing  atomic.Pointer[[]byte] // the key that tokens are signed with; nil until it is needed
	// Held is how many requests the process holds that wait: see Options.MaxWaiters.
	Held atomic.Int64
	// Own adds what Weft's own activities need to the context of an attempt; nil adds nothing. It
	// is set before the process does anything.
	Own func(context.Context) context.Context
}

// New returns a process without sessions. Zero fields of the options take the defaults.
func New(ports Ports, registry *engine.Registry, world host.Host, o Options) *Process {
	d := Defaults()
	setDefault(&o.SoftLimit, d.SoftLimit)
	setDefault(&o.SlowRequest, d.SlowRequest)
	setDefault(&o.MaxWaiters, d.MaxWaiters)
	setDefault(&o.DeadlockAfter, d.DeadlockAfter)
	setDefault(&o.ValidateFor, d.ValidateFor)
	setDefault(&o.QueryFor, d.QueryFor)
	setDefault(&o.Grace, d.Grace)
	setDefault(&o.LongTimer, d.LongTimer)
	setDefault(&o.Retention, d.Retention)
	setDefault(&o.CheckEvery, d.CheckEvery)
	setDefault(&o.CheckAtOnce, d.CheckAtOnce)
	setDefault(&o.MaxPayload, d.MaxPayload)
	o.Engine.MaxPayload = o.MaxPayload
	setDefault(&o.MaxCommit, d.MaxCommit)
	o.Engine.MaxCommit = o.MaxCommit
	setDefault(&o.CacheEntries, d.CacheEntries)
	setDefault(&o.CacheBytes, d.CacheBytes)
	setDefault(&o.CacheAge, d.CacheAge)
	if o.CacheBytes > 0 {
		setDefault(&o.LogBytes, o.CacheBytes/8)
	}
	setDefault(&o.LogBytes, d.LogBytes)
	setDefault(&o.UpdatesTogether, d.UpdatesTogether)
	setDefault(&o.SendsAtOnce, d.SendsAtOnce)
	setDefault(&o.Engine.Limits.UpdatesInFlight, d.Engine.Limits.UpdatesInFlight)
	setDefault(&o.Engine.Limits.UpdateBytesInFlight, d.Engine.Limits.UpdateBytesInFlight)
	setDefault(&o.Engine.SuggestAfterEvents, d.Engine.SuggestAfterEvents)
	setDefault(&o.Engine.SuggestAfterBytes, d.Engine.SuggestAfterBytes)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	ports = counted(ports)
	failures := &observe.Failures{Log: o.Logger, Texts: o.LogTexts, CommandFlags: o.CommandFlags}
	pressure := newPressure(o.Memory, o.CacheBytes)
	var p *Process
	own := func(ctx context.Context) context.Context {
		if p.Own == nil {
			return ctx
		}
		return p.Own(ctx)
	}
	p = &Process{
		Ports: ports, Registry: registry, World: world, Options: o, Locks: lock.New[any](world),
		Logs:     runlog.NewReader(ports.Log, world, runlog.Options{SoftLimit: o.SoftLimit, LogBytes: o.LogBytes, Logger: o.Logger}),
		Attempts: attempts.NewRecords(ports.Attempts, world),
		Runner: runner.New(registry, world, runner.Options{
			DeadlockAfter: o.DeadlockAfter, ValidateFor: o.ValidateFor, QueryFor: o.QueryFor, LocalFor: min(localTime, o.SoftLimit/2), Checks: o.CheckLooks, CheckAlways: o.CheckAlways,
			Recorder: o.Recorder, Allocated: pressure.allocated, Own: own, Observe: o.Observe, Logger: o.Logger, Failures: failures,
		}),
		Failures: failures,
		Outbox:   outbox.New(ports.Queue, ports.Timers, world, outbox.Options{LongTimer: o.LongTimer, SendsAtOnce: o.SendsAtOnce, HasTaskQueue: o.Engine.HasTaskQueue, Logger: o.Logger, Observe: o.Observe}),
		cache:    newCache(o.CacheEntries, o.CacheBytes, o.LogBytes), pressure: pressure,
		parser: command.Parser{Types: registry, MaxPayload: o.MaxPayload, SoftLimit: o.SoftLimit, Lists: ports.Lister != nil, NewID: world.ID, Now: world.Now, Webhooks: &o.Webhooks, EventBus: o.EventBus},
	}
	p.parser.Guard = func(of engine.Value, check func() error) error {
		return Bounded(p, of, check, func(check func() error) error { return check() })
	}
	return p
}

// Parser returns the parser of requests to this process.
func (s *Process) Parser() *command.Parser { return &s.parser }

// Timestamp returns the time of the clock of the process, as histories record it.
func (s *Process) Timestamp() history.Timestamp { return history.At(s.World.Now()) }

// Close ends the code of all runs that are kept in memory. Nothing is lost. The service must not be
// used afterwards.
func (s *Process) Close() {
	s.closeEvicted(s.cache.clear())
}

// Keep returns how long a closed run with this retention is kept; 0 is the retention of the
// deployment. It is longer than any cached knowledge of the run is used, so nobody finds a slot
// empty that was known to be taken.
func (s *Process) Keep(retention time.Duration) time.Duration {
	return max(cmp.Or(retention, s.Options.Retention), 2*runlog.MaxAge)
}

// Observed returns the hub of the service's observers. The handlers around the service report to
// the same hub.
func (s *Process) Observed() *observe.Hub { return s.Options.Observe }

// MaxLookBack is how many runs before the latest are searched for what an earlier attempt at a
// request did: the run that a reset opened, or a signal or a cancellation from another workflow.
const MaxLookBack = 10
