package engine

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Instance is the live side of a run: its code, stopped where it waits. It can be rebuilt at any
// time by replaying the run's commits, and is discarded after an activation that was not committed,
// unless the code only looked ([Transition.Unchanged]). One activation uses it at a time.
type Instance struct {
	s coro.Scheduler
	// users counts its owner, until Close, and the goroutines that use it: see Enter.
	users atomic.Int32
	// gone is set when the last user has left and the code is unwound.
	gone     atomic.Bool
	root     *coro.Scope
	workflow *Workflow
	id       string        // the workflow's id
	runID    history.RunID // the run's id
	random   *rand.Rand
	largest  int // the largest payload, if it is more than usual

	slot uint32 // the slot of the next commit that it replays
	// failed is why the replay of that commit has failed, or nil.
	failed error
	carry  []history.Numbered // input events of failed tasks: the next task that completes delivers them again
	// cancel is the request to end, once it has been delivered.
	cancel     *history.WorkflowExecutionCancelRequested
	info       Info
	header     history.Header // of the run
	visibility Visibility     // what the run shows

	replaying bool
	// lastBlamed is the update whose handler ended last without returning.
	lastBlamed string
	rules      history.Rules // of the activation
	chain      bool          // Activation.Chain
	commands   []*command    // of this activation, in the order in which they were issued

	sequence   uint64 // counts activities, timers and so on, for an order that does not depend on maps
	activities map[int64]*activity
	timers     map[int64]*timer
	children   map[int64]*Child
	externals  map[int64]*external
	unnumbered []waiter // those of all these that this activation started and that have no id yet
	base       string   // the ids of calls begin with it
	// departed says that a reset has changed base to that of its own calls.
	departed bool
	calls    int // counts the requests of code to other workflows
	canceled map[history.Timestamp]*timer
	signals  map[string]*coro.Channel[history.Payload]
	// signaled are the signals that the code has not received, in the order of arrival, and some
	// that it has.
	signaled []history.Event
	// signaledIDs are the ids of their events.
	signaledIDs []int64
	// unforgotten is how many signals there were when the received ones were last dropped.
	unforgotten int
	receivers   map[string]receivers // by the name of the signal
	setAside    map[string]*SetAside // signals whose values did not decode, in this activation, by name
	queries     map[string]*QueryHandler
	updates     updates
	dynamic     dynamic
	markers     markers
	locals      locals
	topics      topics
	splits      splits
	// within runs a validator, and reports whether it has returned within validateFor; nil runs it
	// without a limit.
	within      func(fn func()) bool
	validateFor time.Duration
	// active is the activation that waits for local activities, or nil.
	active *activation
	// looks are the validators and query handlers that have run on the instance; nil if they are
	// not recorded.
	looks *looks
	// rehearses is set in an instance of a check: no update proceeds beyond its verdict, and the
	// code logs nothing. See Check.
	rehearses bool

	returned bool // the workflow's function has returned, and the run closes in this task, in the next one, or when no code waits for that
	finished bool // it has returned, and the run closes in this task
	ending   bool // it has returned, and the run closes in the next task
	result   history.Payload
	err      error
}

// Info is what workflow code can read about its own run. It is taken from the header of the commit
// that is being made or replayed, so that both are the same.
type Info struct {
	WorkflowID   string
	RunID        history.RunID
	WorkflowType string
	// Now is the time of the current workflow task.
	Now history.Timestamp
	// HistoryLength is the number of events up to the current task's WorkflowTaskStarted.
	HistoryLength int64
	// HistoryBytes is the stored size of the run before the current task.
	HistoryBytes int64
	// SuggestContinueAsNew is set if the history has become long.
	SuggestContinueAsNew bool
	// Parent is the run that waits for this one, or nil.
	Parent *history.Parent
	// Started is the event that opened the run. What it says about the chain of runs is the same on
	// replay.
	Started *history.WorkflowExecutionStarted
}

// NewInstance returns the instance of a run that has not run yet. A nil workflow is a type that
// this build does not have: every activation fails.
func NewInstance(workflow *Workflow, workflowID string, runID history.RunID) *Instance {
	in := &Instance{
		workflow: workflow, id: workflowID, runID: runID,
		activities: map[int64]*activity{},
		timers:     map[int64]*timer{},
		children:   map[int64]*Child{},
		externals:  map[int64]*external{},
		signals:    map[string]*coro.Channel[history.Payload]{},
		queries:    map[string]*QueryHandler{},
		receivers:  map[string]receivers{},
	}
	in.users.Store(1)
	in.seed(runID)
	in.updates.init()
	in.root = in.s.NewScope()
	in.s.OnCancel(in.cancelWaiters)
	in.s.SkipConditions(in.unchanged)
	in.info = Info{WorkflowID: workflowID, RunID: runID}
	return in
}

// seed sets the random numbers and the ids of calls to those of a run.
func (in *Instance) seed(runID history.RunID) {
	if !in.departed {
		in.base = string(runID)
	}
	seed := sha256.Sum256([]byte(in.id + "\x00" + string(runID)))
	in.random = rand.New(&source{in, rand.NewChaCha8(seed)})
}

// RunID returns the id of the instance's run.
func (in *Instance) RunID() history.RunID { return in.runID }

// Slot returns the slot of the commit that the instance makes or replays next.
func (in *Instance) Slot() uint32 { return in.slot }

// Scheduler returns the scheduler of the instance's coroutines.
func (in *Instance) Scheduler() *coro.Scheduler { return &in.s }

// Replaying reports whether the code runs to rebuild or to check what it did before.
func (in *Instance) Replaying() bool { return in.replaying || in.rehearses }

// Info returns what workflow code can read about its own run.
func (in *Instance) Info() Info { return in.info }

// Now returns the time of the current workflow task. Code that may only read (a validator, a query
// handler) must not call it.
func (in *Instance) Now() history.Timestamp {
	in.s.Guard("read the clock")
	return in.info.Now
}

// Random returns a source of random numbers that repeats the same numbers on replay.
func (in *Instance) Random() *rand.Rand { return in.random }

// PendingFutures returns the ids of the events whose futures the code waits for, in ascending
// order.
func (in *Instance) PendingFutures() []int64 {
	return slices.Sorted(slices.Values(slices.Concat(
		slices.Collect(maps.Keys(in.activities)), slices.Collect(maps.Keys(in.timers)), slices.Collect(maps.Keys(in.children)), slices.Collect(maps.Keys(in.externals)),
	)))
}

// source gives numbers only to code that may act: a validator, which does not run on replay, would
// change all numbers that follow.
type source struct {
	in    *Instance
	inner *rand.ChaCha8
}

// Uint64 draws a number.
func (r *source) Uint64() uint64 {
	r.in.s.MustRun("draw a random number")
	if r.in.looks != nil {
		r.in.looks.drawn++
	}
	return r.inner.Uint64()
}

// Enter registers a goroutine that uses the instance and that the owner may stop waiting for. The
// goroutine calls Leave when it is done.
func (in *Instance) Enter() { in.users.Add(1) }

// Leave ends Enter. If the owner has closed the instance meanwhile, the last goroutine to leave
// unwinds the code.
func (in *Instance) Leave() {
	if in.users.Add(-1) == 0 {
		defer in.gone.Store(true)
		in.s.Close()
	}
}

// Gone reports whether the instance is closed, all goroutines that used it have left, and its code
// is unwound: none of it runs any more.
func (in *Instance) Gone() bool { return in.gone.Load() }

// Close unwinds the code: its deferred functions run, and nothing they do has any effect. If
// another goroutine still uses the instance, Close leaves that to it. If code refuses to end, the
// goroutine that unwinds it ends with it. The owner calls Close once.
func (in *Instance) Close() { in.Leave() }

// Stuck returns the stack of the code that runs now, for a caller that has waited for it too long
// on another goroutine.
func (in *Instance) Stuck() string { return in.s.Stuck() }

// RunningUpdate returns the update whose code, or code that it has started, runs now; it is empty
// if other code runs. It is for a caller that has waited too long on another goroutine.
func (in *Instance) RunningUpdate() string { return in.s.RunningOwner() }

// Err returns why an activation ended without returning, after the code called runtime.Goexit.
func (in *Instance) Err() error { return in.s.Err() }

// start starts the coroutine of the workflow's function.
func (in *Instance) start(e *history.WorkflowExecutionStarted) {
	in.info.WorkflowType, in.info.Parent, in.info.Started = e.WorkflowType, e.Parent, e
	in.largest = e.MaxPayload
	in.header = e.Header
	in.visibility = Visibility{e.Memo, e.SearchAttributes}
	in.topics.continued(e.Topics)
	if e.OriginalRunID != "" {
		in.seed(e.OriginalRunID) // a reset has copied what follows from them
	}
	in.s.Go("main", func() {
		if in.workflow == nil {
			panic(&failure.OtherError{
				Kind:    failure.KindUnregistered,
				Message: fmt.Sprintf("workflow type %q is not registered in this build: deploy one that registers it", e.WorkflowType),
			})
		}
		in.result, in.err = in.workflow.Run(in, in.root, e.Input)
		in.checkNext()
		in.returned = true
		in.awaitSplits()
		in.ending = in.closesNext()
		in.finished = !in.ending
		if in.rules >= history.StopAtReturn {
			// The effects of other coroutines from here on would be lost with the run: a signal
			// that one takes, an outcome that one waits for.
			in.s.Stop()
		}
	})
}
