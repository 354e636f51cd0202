package activity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
	"github.com/seed-41655fb1/weft/workflow"
)

// None is the type of an input or result that carries nothing.
type None = payload.None

// Options tunes the execution of an activity. The zero value is the default.
type Options struct {
	// StartToClose is how long one attempt may take; 0 is DefaultStartToClose. The attempt's
	// context ends then.
	StartToClose time.Duration
	// ScheduleToClose is how long all attempts together may take, the waits between them included;
	// 0 is no limit.
	ScheduleToClose time.Duration
	// ScheduleToStart is how long the activity may wait for its first attempt; 0 is no limit. If it
	// waited longer, it ends as timed out without an attempt when a function receives its message.
	// On a task queue that nobody serves, only ScheduleToClose ends it.
	ScheduleToStart time.Duration
	// Heartbeat is how long an attempt may go without a call of Heartbeat; 0 is for its whole time.
	// An attempt that is silent for longer has failed, and is retried. So is one whose process
	// died, after half a minute more (a minute if the attempts are limited).
	Heartbeat time.Duration
	// Pending is how long an attempt that returns ErrPending may take, from its beginning until
	// somebody completes it; 0 is StartToClose, which bounds the activity's function. It may be far
	// longer than any function runs.
	Pending time.Duration
	// Retry says whether and when a failed attempt is retried.
	Retry Retry
	// TaskQueue names the task queue whose functions run the attempts, for example with more
	// memory, another role, or a limit of how many run at once. Empty is the default queue. If the
	// deployment lacks the queue, a workflow that starts the activity waits until the queue exists,
	// and its description says what to do. A name is at most 28 characters of a-z, 0-9 and -.
	TaskQueue string
	// Inline lets the process that ran the activity before this one run this one too, if nothing
	// else follows from that result and there is time. It saves one message and one invocation, and
	// the same is durable.
	//
	//   - If the process dies meanwhile, the activity begins anew when the message of the first
	//     activity of the chain is redelivered. That may take as long as that queue's visibility
	//     time-out, so Inline is for short activities.
	//   - An activity that has only one attempt (Retry.MaxAttempts is 1), that has a task queue, or
	//     that follows one with a task queue is never run inline.
	Inline bool
	// Queued sends a message for the activity in any case, also in a deployment that treats all
	// activities as if they were Inline, as one does by default. Set it for an activity that needs
	// most of an invocation's time or memory, which the activities of a chain share. It excludes
	// Inline.
	Queued bool
	// WaitCancellation makes code whose context is canceled wait until the activity has ended, with
	// its result, its failure, or an error that is workflow.ErrCanceled. By default, the code
	// continues at once with a *CanceledError. Either way the activity is asked to end.
	//
	//   - A running attempt learns of it at its next call of Heartbeat. An attempt that calls none
	//     takes its time.
	//   - An activity that waits for its next attempt ends when that attempt is due, without
	//     running it.
	//   - A Select still ends with its own context: give it a Disconnected one.
	WaitCancellation bool
	// Converter encodes the input and the result; nil is encoding/json. Give it at New: calls and
	// attempts have to have the same.
	Converter workflow.Converter
}

// Retry says whether and when a failed attempt is retried. The zero value retries for ever, after 1
// s, 2 s, 4 s and so on up to 100 s.
type Retry = workflow.Retry

// The defaults of Options and Retry.
const (
	DefaultStartToClose       = 30 * time.Second
	DefaultInitialInterval    = engine.DefaultInitialInterval
	DefaultBackoffCoefficient = engine.DefaultBackoffCoefficient
)

// Activity is an activity type: its name, its code, and the options with which workflows start it.
type Activity[In, Out any] struct {
	part
	name    string
	where   string
	run     func(context.Context, In) (Out, error)
	options Options
	named   bool // it has no code
}

// part makes an activity a workflow.Registration, with the options that the activity had then.
type part = bridge.Part

// New declares an activity. Declare each once, as a package variable, and register it with
// weft.Register. Several sets of options are merged: lists are joined, and of any other field the
// last that is given counts.
func New[In, Out any](name string, run func(context.Context, In) (Out, error), sets ...Options) Activity[In, Out] {
	return Activity[In, Out]{name: name, run: run, where: where.Caller()}.tuned(options.Of(sets))
}

// tuned returns the activity with other options, and registers it with them.
func (a Activity[In, Out]) tuned(o Options) Activity[In, Out] {
	a.options, a.part = o, part{}
	a.part = bridge.PartOf(a.register)
	return a
}

// Name is the activity's name.
func (a Activity[In, Out]) Name() string { return a.name }

// With returns the activity with the given options, for one call or for many. A field that is zero
// keeps its value, so With changes only what it names: With(Options{Retry: Retry{MaxAttempts: 3}})
// also keeps the other fields of Retry.
func (a Activity[In, Out]) With(changed Options) Activity[In, Out] {
	return a.tuned(options.Merge(a.options, changed))
}

// On returns the activity on another task queue, with its other options unchanged; "" is the
// default queue.
func (a Activity[In, Out]) On(taskQueue string) Activity[In, Out] {
	o := a.options
	o.TaskQueue = taskQueue
	return a.tuned(o)
}

// Run starts the activity from workflow code and waits for its result. It returns a
// *workflow.ActivityError that wraps why the activity failed, and a *workflow.CanceledError as soon
// as ctx is canceled; see Options.WaitCancellation.
func (a Activity[In, Out]) Run(ctx workflow.Context, in In) (Out, error) {
	return a.Start(ctx, in).Get(ctx)
}

// Start starts the activity from workflow code and returns the future of its result. When ctx is
// canceled, the activity is asked to end, and the future is canceled; see Options.WaitCancellation.
func (a Activity[In, Out]) Start(ctx workflow.Context, in In) workflow.Future[Out] {
	if err := a.check(); err != nil { // With may have set other options than those that were registered
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
	return bridge.StartActivity[workflow.Future[Out]](&start[In]{ctx, in, a.options.Converter}, engine.ActivityCall{
		ActivityTaskScheduled: a.options.scheduled(a.name), WaitCancellation: a.options.WaitCancellation, Queued: a.options.Queued,
	})
}

// start implements bridge.Start.
type start[In any] struct {
	ctx workflow.Context
	in  In
	by  workflow.Converter
}

// Context returns the context that the activity is started under.
func (s *start[In]) Context() workflow.Context { return s.ctx }

// Encode returns the encoded input.
func (s *start[In]) Encode() history.Payload { return payload.MustEncodeBy(s.by, s.in) }

// Converter returns the converter of the activity's values, or nil.
func (s *start[In]) Converter() workflow.Converter { return s.by }

// register adds the activity to the registry.
func (a Activity[In, Out]) register(r *engine.Registry) error {
	if a.named {
		return errNamed(a.name, a.where)
	}
	if err := cmp.Or(a.check(), r.AddTaskQueue(a.options.TaskQueue)); err != nil {
		return err
	}
	by := a.options.Converter
	input, result := payload.ValueBy[In](by), payload.ValueBy[Out](by)
	if err := payload.Verify(input, result); err != nil {
		return fmt.Errorf("activity type %q (declared at %s): %w", a.name, a.where, err)
	}
	return r.AddActivity(&engine.Activity{
		Name: a.name, Where: a.where, Run: code(a.name, by, a.run), CheckResult: checkResult[Out](by),
		Input: input, Result: result,
		StartToClose: orDefault(a.options.StartToClose, DefaultStartToClose), TaskQueue: a.options.TaskQueue,
	})
}

// checkResult returns a function that returns an error if a result is no Out.
func checkResult[Out any](by workflow.Converter) func(history.Payload) error {
	return func(result history.Payload) error {
		_, err := payload.DecodeOrZeroBy[Out](by, result)
		return err
	}
}

// code returns an activity's function as the engine calls it.
func code[In, Out any](name string, by workflow.Converter, run func(context.Context, In) (Out, error)) engine.ActivityCode {
	return func(ctx context.Context, input history.Payload) (history.Payload, error) {
		in, err := payload.DecodeOrZeroBy[In](by, input)
		if err != nil {
			return nil, failure.Newf("BadInput", "the input of activity %q does not decode: %v", name, err).Final()
		}
		out, err := run(ctx, in)
		if err != nil {
			return nil, err
		}
		result, err := payload.EncodeBy(by, out)
		if err != nil {
			return nil, failure.Newf("BadResult", "the result of activity %q: %v", name, err).Final()
		}
		return result, nil
	}
}

// TaskQueues registers task queues that only calls name (see On). The local server and weftest have
// those, and the ones that activities are declared with.
func TaskQueues(names ...string) workflow.Registration {
	return bridge.PartOf(func(r *engine.Registry) error {
		for _, name := range names {
			if err := r.AddTaskQueue(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// scheduled returns the event that records the options, with the defaults filled in.
func (o Options) scheduled(name string) history.ActivityTaskScheduled {
	retry, _ := engine.CompleteRetry(bridge.Retry(o.Retry).Policy()) // check has accepted it
	return history.ActivityTaskScheduled{
		ActivityType:    name,
		Inline:          o.Inline,
		TaskQueue:       o.TaskQueue,
		StartToClose:    history.Duration(orDefault(o.StartToClose, DefaultStartToClose)),
		ScheduleToClose: history.Duration(o.ScheduleToClose),
		ScheduleToStart: history.Duration(o.ScheduleToStart),
		Heartbeat:       history.Duration(o.Heartbeat),
		Pending:         history.Duration(o.Pending),
		Retry:           retry,
	}
}

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// check returns what is wrong with the activity's options, or nil.
func (a Activity[In, Out]) check() error {
	if err := a.options.check(); err != nil {
		return fmt.Errorf("activity %q: %w (at %s)", a.name, err, a.where)
	}
	return nil
}

func (o Options) check() error {
	if o.StartToClose < 0 || o.ScheduleToClose < 0 || o.ScheduleToStart < 0 || o.Heartbeat < 0 || o.Pending < 0 {
		return errors.New("a time in its options is negative")
	}
	if o.Inline && o.Queued {
		return errors.New("its options have both Inline and Queued: set one of them")
	}
	_, err := engine.CompleteRetry(bridge.Retry(o.Retry).Policy())
	return cmp.Or(err, engine.CheckTaskQueue(o.TaskQueue))
}

// Error is an application error. Workflows and clients compare its type with errors.Is.
type Error = failure.Error

// NewError returns an application error. Declare those that callers branch on once, as variables.
// Final() returns one that ends the attempts. NewError panics for the types NotFound,
// AlreadyStarted, Invalid and TooLarge and those that begin with "weft.": they are Weft's own.
func NewError(typ, message string) *Error { return failure.NewForProgram(typ, message) }

// The conditions that activities and their callers branch on with errors.Is. Packages client and
// workflow have the same values under the same names. An activity gets most of them from a client
// that it uses, and its workflow gets those that the activity returns. docs/semantics.md lists
// them.
var (
	// ErrCanceled is what Heartbeat and RecordHeartbeat return if the workflow no longer waits for
	// the activity. Heartbeat and Publish return it if another execution of the attempt has
	// published items.
	ErrCanceled error = failure.ErrCanceled
	// ErrTimeout matches every *workflow.TimeoutError.
	ErrTimeout error = failure.ErrTimeout
	// ErrTerminated matches the end of a terminated run, a child's too.
	ErrTerminated error = failure.ErrTerminated
	// ErrRunClosed matches the outcome of an accepted update whose run closed before its handler
	// finished.
	ErrRunClosed error = failure.ErrRunClosed
	// ErrNotFound matches a workflow, run, update, query or schedule that does not exist, and a
	// request that a run refuses because it has closed.
	ErrNotFound error = failure.ErrNotFound
	// ErrAlreadyStarted matches a start, a child's too, whose workflow id is taken.
	ErrAlreadyStarted error = failure.ErrAlreadyStarted
	// ErrActivityEnded matches what Complete, Fail and RecordHeartbeat return if the attempt has
	// ended otherwise.
	ErrActivityEnded error = failure.ErrActivityEnded
	// ErrInvalid matches a request that is wrong in itself. Complete, Fail and RecordHeartbeat
	// return it for an invalid token, and for a result that is not of the activity's type.
	ErrInvalid error = failure.ErrInvalid
	// ErrTooLarge matches a request or a payload above a limit of size.
	ErrTooLarge error = failure.ErrTooLarge
	// ErrRejected matches every *client.Rejected.
	ErrRejected error = failure.ErrRejected
	// ErrUnauthorized matches a request without a token that the server accepts.
	ErrUnauthorized error = failure.ErrUnauthorized
	// ErrForbidden matches a request that the server does not allow.
	ErrForbidden error = failure.ErrForbidden
	// ErrClosedRecently matches the deletion of a run that closed too recently.
	ErrClosedRecently error = failure.ErrClosedRecently
	// ErrNotReady matches a request to a run whose workflow task fails; the error wraps why.
	ErrNotReady error = failure.ErrNotReady
	// ErrOtherBuild matches a request to a run that only another build may run, if that build
	// cannot be reached.
	ErrOtherBuild error = failure.ErrOtherBuild
	// ErrPaused matches a request that needs the code of a run which is paused.
	ErrPaused error = failure.ErrPaused
	// ErrNothingToDo matches a request to retry what does not wait for a retry, to resume a run
	// that is not paused, or to pause one that has not begun.
	ErrNothingToDo error = failure.ErrNothingToDo
	// ErrQueryFailed matches a query whose handler returned an error, which the error wraps.
	ErrQueryFailed error = failure.ErrQueryFailed
	// ErrUpdateLimit matches an update of a run that has accepted as many as it may.
	ErrUpdateLimit error = failure.ErrUpdateLimit
	// ErrUpdatesInFlight matches an update of a run that has as many unfinished ones as it may.
	ErrUpdatesInFlight error = failure.ErrUpdatesInFlight
	// ErrBusy matches a request that was refused because of load until its time was over. It did
	// nothing.
	ErrBusy error = failure.ErrBusy
	// ErrOutcomeUnknown matches a request that may have been carried out, or not.
	ErrOutcomeUnknown error = failure.ErrOutcomeUnknown
)
