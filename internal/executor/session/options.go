package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Memory measures the memory of the process, so that the cache is bounded by what runs really keep.
type Memory interface {
	// InUse returns the bytes of the heap and of the stacks: what is live, and what has become
	// garbage since the last collection.
	InUse() int64
	// Allocated returns how many bytes of heap the process has allocated since it began.
	Allocated() int64
	// Collect collects garbage. It returns when InUse no longer counts it.
	Collect()
}

// maxReset is the largest put of a reset, in bytes: a DynamoDB transaction takes 4 MB, names and
// keys included. It may be larger if large commits are offloaded.
const maxReset = 3500 << 10

// Ports are the stores and queues that a service works on. Some may be nil:
//
//   - Lister: there is no list of workflows.
//   - Scanner: Maintain does nothing.
//   - Keys: no activity can be completed from outside.
//   - Rates: no task queue has a rate.
//   - Inspector, Redriver, Browser: nobody learns how many messages a queue has, moves dead letters
//     back, or sees them.
//   - Keeper: dead letters that cannot be read are deleted.
type Ports struct {
	Log      store.Log
	Attempts store.Attempts
	Timers   store.Timers
	Lister   store.Lister
	Scanner  store.Scanner
	Keys     store.Keys
	Rates    store.Rates
	// Eraser is the scanner, if there is one.
	Eraser store.Eraser
	Queue  queue.Sender
	// Inspector, Redriver, Browser and Keeper are the optional parts of the queues.
	Inspector queue.Inspector
	Redriver  queue.Redriver
	Browser   queue.Browser
	Keeper    queue.Keeper
}

// Over returns the ports with these queues, and with what they can do besides sending.
func (p Ports) Over(q queue.Sender) Ports {
	p.Queue = q
	p.Inspector, _ = q.(queue.Inspector)
	p.Redriver, _ = q.(queue.Redriver)
	p.Browser, _ = q.(queue.Browser)
	p.Keeper, _ = q.(queue.Keeper)
	return p
}

// Options are the settings of a service. Zero fields take the defaults of [Defaults].
type Options struct {
	// Build names the code that runs, so that a run that fails under one build is tried again under
	// the next.
	Build string
	// Engine are the limits of the engine. A negative limit is no limit.
	Engine engine.Options
	// Rate returns how many attempts at activities of a task queue may begin; nil is no limit. The
	// default queue has an empty name. All processes that make attempts for a queue must have the
	// same rate.
	Rate func(taskQueue string) limits.Rate
	// SoftLimit is how long a request is retried, or waits for something that has not happened yet.
	SoftLimit time.Duration
	// WaitHold is how long this process holds the requests of one call that waits, together: their
	// callers pause between them. 0 holds each request until the soft limit, and a negative value
	// holds none.
	WaitHold time.Duration
	// SlowRequest is how long a request may take before it counts as slow, without the time for
	// which it waits on purpose; a negative value counts none.
	SlowRequest time.Duration
	// MaxWaiters is how many requests that wait the process holds at once, from their arrival on.
	// One more is answered after one look, as if its wait were over. Readers of server-sent events
	// do not count.
	MaxWaiters int
	// DeadlockAfter is how long workflow code may run before it counts as stuck.
	DeadlockAfter time.Duration
	// ValidateFor is how long a validator may run before its task fails.
	ValidateFor time.Duration
	// QueryFor is how long the handler of a query may run before the query fails. Replaying the run
	// before has DeadlockAfter.
	QueryFor time.Duration
	// Grace is how long a message waits for the commit that schedules it before its slot is fenced.
	Grace time.Duration
	// LongTimer is the delay from which a message is kept in the store until it is near.
	LongTimer time.Duration
	// Retention is how long a run is kept after it has closed: two hours at least. It is fixed when
	// the run opens.
	Retention time.Duration
	// CheckEvery is how often Maintain goes through all runs, at most, and CheckAtOnce how many
	// commits one call looks at.
	CheckEvery  time.Duration
	CheckAtOnce int
	// MaxPayload is the largest input or result, and MaxCommit the largest commit, in bytes.
	MaxPayload, MaxCommit int
	// CacheEntries and CacheBytes bound the runs that are kept in memory; a negative value keeps
	// none. CacheAge is how long one is used. It may exceed the default only if nothing is deleted.
	CacheEntries int
	CacheBytes   int
	CacheAge     time.Duration
	// LogBytes is the size, in stored bytes, of the longest log that memory keeps decoded. Of a
	// longer log, memory keeps the state, the code and the last commits. Any other commit is read
	// from the store when it is needed. 0 is an eighth of CacheBytes, so that one run takes at most
	// half of the cache.
	LogBytes int
	// Memory measures the process. CacheBytes then also bounds what runs keep, as measured: the
	// process grows by at most about twice that for them. Nil measures nothing, and variables of
	// workflow code do not count.
	Memory Memory
	// CheckLooks is how many tasks after each validator and query handler are checked for a change
	// of state that it made: see engine.Check. A check replays the run, so a run with more than
	// maxChecked events or maxCheckedBytes is not checked. 0 checks nothing.
	CheckLooks int
	// CheckAlways makes a check wait for a running one in the process. Otherwise the check is
	// skipped, and not counted.
	CheckAlways bool
	// UpdatesTogether is how many waiting updates may share a task.
	UpdatesTogether int
	// SendsAtOnce is how many concurrent requests to queues the messages of a commit may use. With
	// more than one, messages of a queue may change places.
	SendsAtOnce int
	// WhyRefused returns, for callers, why a store or a queue that returned this error refuses, or
	// "" if that is unknown. It may be nil.
	WhyRefused func(err error) string
	// Recoded says that the store has bodies in another form than is counted: compressed, encrypted
	// or offloaded. Write units are an estimate then.
	Recoded bool
	// Namespace is the part of a table that the deployment uses; empty if there is no table.
	Namespace string
	// Versions returns the published versions of the program by their builds; nil if work for other
	// builds is not forwarded to them.
	Versions func(ctx context.Context) (map[string]string, error)
	// Owner returns the build that owns a run while a deployment is rolled out, by its workflow and
	// the build of its last task; nil if none is rolled out. A build does no work of a run that
	// another one owns: see commit.OtherBuild.
	Owner func(ctx context.Context, workflowID, lastBuild string) string
	// NoBatches says that the deployment runs no batches: it refuses to start one, and the steps of
	// those that there are fail.
	NoBatches bool
	// Webhooks are the receivers that may be notified of the ends of runs. WebhookEpoch counts the
	// changes of their secrets, from 1 on; 0 is 1.
	Webhooks     guard.Policy
	WebhookEpoch int
	// EventBus says that the deployment has an event bus, which may be notified of the ends of
	// runs.
	EventBus bool
	// Logger takes what operators should know; nil is slog.Default.
	Logger *slog.Logger
	// LogTexts logs the texts of the failures of users' code, which may hold payloads. Otherwise
	// their lines have only kinds, types and places.
	LogTexts bool
	// CommandFlags are the flags of weft's commands that name this deployment, quoted for a shell,
	// for the commands that log lines have; empty if none are known, or none are needed.
	CommandFlags string
	// Recorder records which code runs, for the process that follows one which code has ended; nil
	// records nothing.
	Recorder runner.Recorder
	// Observe gets events; nil if nobody wants them.
	Observe *observe.Hub
}

// Defaults returns the default settings of a service.
func Defaults() Options {
	return Options{
		Engine: engine.Options{
			Limits:             engine.Limits{UpdatesInFlight: 10, UpdateBytesInFlight: 20 << 20},
			SuggestAfterEvents: 10_000, SuggestAfterBytes: 4 << 20,
		},
		SoftLimit:     20 * time.Second,
		SlowRequest:   2 * time.Second,
		MaxWaiters:    10_000,
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

// MaxPut returns how many bytes the commits of one put may have together.
func (o *Options) MaxPut() int { return max(maxReset, 2*o.MaxCommit) }

// localTime is how long the local activities of a session may take together, and at most half of
// the soft limit. The rest waits for a task of its own.
const localTime = 10 * time.Second

// counted returns ports that count their costs.
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
