package turn

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/attempts"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/lock"
	"github.com/seed-41655fb1/weft/internal/turn/outbox"
	"github.com/seed-41655fb1/weft/internal/turn/runlog"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Ports are the stores and queues that a service works on. Lister may be nil: there is no list of workflows then. So may
// Scanner: Maintain does nothing then; and Keys: no activity can be completed from outside then; and Rates, where no task queue
// has a rate.
type Ports struct {
	Log      store.Log
	Attempts store.Attempts
	Timers   store.Timers
	Lister   store.Lister
	Scanner  store.Scanner
	Keys     store.Keys
	Rates    store.Rates
	// Eraser is the scanner, where there is one.
	Eraser store.Eraser
	Queue  queue.Sender
}

// Options are the settings of a service. Zero fields take the defaults of [Defaults].
type Options struct {
	// Build names the code that runs, so that a run that fails under one build is tried again under the next.
	Build string
	// Engine are the limits of the engine. A negative one is none.
	Engine engine.Options
	// Rate is how many attempts at activities of a task queue, whose name is empty where it is the default one, may begin; nil is
	// any number of each. All processes that make attempts at activities of a queue have the same.
	Rate func(taskQueue string) limits.Rate
	// SoftLimit is how long a request is tried, or waits for what has not happened yet.
	SoftLimit time.Duration
	// DeadlockAfter is how long workflow code may run before it is taken to be stuck.
	DeadlockAfter time.Duration
	// ValidateFor is how long a validator may run before its task fails.
	ValidateFor time.Duration
	// QueryFor is how long the handler of a query may run before the query fails. Replaying the run before has DeadlockAfter.
	QueryFor time.Duration
	// Grace is how long a message waits for the commit that schedules it before its slot is fenced.
	Grace time.Duration
	// LongTimer is the delay from which a message is kept in the store until it is near.
	LongTimer time.Duration
	// Retention is how long a run is kept after it has closed: two hours at least. It is fixed when the run opens.
	Retention time.Duration
	// CheckEvery is how often Maintain goes through all runs, at most, and CheckAtOnce how many commits one call looks at.
	CheckEvery  time.Duration
	CheckAtOnce int
	// MaxPayload is the largest input or result, and MaxCommit the largest commit, in bytes.
	MaxPayload, MaxCommit int
	// CacheEntries and CacheBytes bound the runs that are kept in memory; negative keeps none. CacheAge is how long one is
	// used; longer than the default it may be only where nothing is deleted.
	CacheEntries int
	CacheBytes   int
	CacheAge     time.Duration
	// LogBytes is how many stored bytes the log of a run may have that is kept in memory, decoded. Of a longer one the state is kept, the
	// code, and the last commits; any other commit is read from the store when it is needed. 0 is an eighth of CacheBytes, so that one
	// run takes half of the cache at most.
	LogBytes int
	// Memory measures the process. What runs in memory keep is bounded by CacheBytes then, too, as measured: the process grows by no
	// more than about twice that for them. Nil measures nothing, and variables of workflow code do not count.
	Memory Memory
	// CheckLooks is how many tasks after each validator and query handler are checked for a change of state that it made: see
	// engine.Check. A check replays the run, so none is made in a run with more than maxChecked events or maxCheckedBytes. 0 is no check.
	CheckLooks int
	// CheckAlways has a check wait for another one that is under way in the process. Otherwise it is left out, and not counted.
	CheckAlways bool
	// UpdatesTogether is how many waiting updates share an activation at most.
	UpdatesTogether int
	// SendsAtOnce is how many requests to queues a commit's messages make at once, at most. With more than one, messages of a queue
	// change places.
	SendsAtOnce int
	// WhyRefused says to callers why a store or a queue that returned this error refuses; empty if it does not know. nil knows
	// nothing.
	WhyRefused func(err error) string
	// Logger takes what operators should know; nil is slog.Default.
	Logger *slog.Logger
	// Recorder records which code runs, for the process after one that code has ended; nil records nothing.
	Recorder runner.Recorder
	// Observe is told what happens; nil is nobody.
	Observe *observe.Hub
}

// Defaults are the settings of a service that is given none.
func Defaults() Options {
	return Options{
		Engine: engine.Options{
			Limits:             engine.Limits{UpdatesInFlight: 10, UpdateBytesInFlight: 20 << 20},
			SuggestAfterEvents: 10_000, SuggestAfterBytes: 4 << 20,
		},
		SoftLimit:     20 * time.Second,
		DeadlockAfter: 10 * time.Second,
		ValidateFor:   time.Second,
		QueryFor:      time.Second,
		Grace:         time.Minute,
		LongTimer:     queue.MaxDelay,
		Retention:     7 * 24 * time.Hour,
		CheckEvery:    24 * time.Hour, CheckAtOnce: 20_000,
		MaxPayload: engine.MaxPayload, MaxCommit: 380 << 10,
		CacheEntries: 10_000, CacheBytes: 256 << 20, CacheAge: runlog.MaxAge, LogBytes: 32 << 20,
		UpdatesTogether: 64, SendsAtOnce: 1,
	}
}

// maxPut is how many bytes the commits of one put may have together.
func (o *Options) maxPut() int { return max(maxReset, 2*o.MaxCommit) }

// localTime is how long the local activities of a session may take together, and no longer than half of the soft limit. What does not fit
// waits for a task of its own.
const localTime = 10 * time.Second

// Service carries out requests and messages: it loads a run, runs its code, commits, and sends. It is the only part of
// Weft that does these in order; see the package comment.
type Service struct {
	Ports
	registry *engine.Registry
	world    host.Host
	options  Options
	cache    *cache
	pressure pressure
	locks    *lock.Table[any] // of updates that wait together, see package requests
	logs     *runlog.Reader
	outbox   *outbox.Outbox
	attempts *attempts.Records
	watchers lock.Watchers
	runner   *runner.Runner
	refusals observe.Outage         // of requests, by a store or a queue
	signing  atomic.Pointer[[]byte] // the key that tokens are signed with; nil until it is needed
}

// New returns a service.
func New(ports Ports, registry *engine.Registry, world host.Host, o Options) *Service {
	d := Defaults()
	setDefault(&o.SoftLimit, d.SoftLimit)
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
	pressure := newPressure(o.Memory, o.CacheBytes)
	return &Service{
		Ports: ports, registry: registry, world: world, options: o, locks: lock.New[any](world),
		logs:     runlog.NewReader(ports.Log, world, runlog.Options{SoftLimit: o.SoftLimit, LogBytes: o.LogBytes, Logger: o.Logger}),
		attempts: attempts.NewRecords(ports.Attempts, world),
		runner: runner.New(registry, world, runner.Options{
			DeadlockAfter: o.DeadlockAfter, ValidateFor: o.ValidateFor, QueryFor: o.QueryFor, LocalFor: min(localTime, o.SoftLimit/2), Checks: o.CheckLooks, CheckAlways: o.CheckAlways,
			Recorder: o.Recorder, Allocated: pressure.allocated, Observe: o.Observe, Logger: o.Logger,
		}),
		outbox: outbox.New(ports.Queue, ports.Timers, world, outbox.Options{LongTimer: o.LongTimer, SendsAtOnce: o.SendsAtOnce, HasTaskQueue: o.Engine.HasTaskQueue, Logger: o.Logger}),
		cache:  newCache(o.CacheEntries, o.CacheBytes, o.LogBytes), pressure: pressure,
	}
}

// counted are ports whose costs are counted.
func counted(p Ports) Ports {
	p.Log, p.Attempts, p.Timers, p.Queue = meter.Log(p.Log), meter.Attempts(p.Attempts), meter.Timers(p.Timers), meter.Sender(p.Queue)
	if p.Lister != nil {
		p.Lister = meter.Lister(p.Lister)
	}
	if p.Keys != nil {
		p.Keys = meter.Keys(p.Keys)
	}
	if p.Rates != nil {
		p.Rates = meter.Rates(p.Rates)
	}
	if p.Scanner != nil {
		p.Eraser, p.Scanner = p.Scanner, meter.Scanner(p.Scanner)
	}
	if p.Eraser != nil {
		p.Eraser = meter.Eraser(p.Eraser)
	}
	return p
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// MaxPayload is the largest input, in bytes.
func (s *Service) MaxPayload() int { return s.options.MaxPayload }

func (s *Service) now() history.Timestamp { return history.At(s.world.Now()) }

// Sweep sends the messages of the store of timers that are due soon, and returns how many: see outbox.Outbox.Sweep.
func (s *Service) Sweep(ctx context.Context) (sent int, err error) {
	ctx, ended := s.metered(ctx)
	defer ended()
	return s.outbox.Sweep(ctx)
}

// Park keeps a message for some minutes whose build is not deployed: see outbox.Outbox.Park.
func (s *Service) Park(ctx context.Context, m *engine.Message) error { return s.outbox.Park(ctx, m) }

// Postpone sends a message again that has not reached its run's build: see outbox.Outbox.Postpone.
func (s *Service) Postpone(ctx context.Context, m *engine.Message) error {
	return s.outbox.Postpone(ctx, m)
}

// SkipChecks ends the checks of validators and query handlers.
func (s *Service) SkipChecks() { s.runner.SkipChecks() }

// Hung returns the number of instances whose code did not return.
func (s *Service) Hung() int { return s.runner.Hung() }

// HungWorkflows returns the ids of the workflows with code that has not returned: see runner.Runner.HungWorkflows.
func (s *Service) HungWorkflows() []string { return s.runner.HungWorkflows() }

// Close ends the code of all runs that are kept in memory. Nothing is lost; the service must not be used afterwards.
func (s *Service) Close() {
	s.closeEvicted(s.cache.clear())
}
