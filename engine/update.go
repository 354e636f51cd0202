package engine

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// UpdateHandler handles the updates of one name.
type UpdateHandler struct {
	// Where is the place at which it was set, for messages.
	Where string
	// Decode decodes the input. It returns ErrMissingInput for a missing input that is required.
	Decode func(history.Payload) (any, error)
	// Validate may read the workflow's state and must not change it; an error refuses the update.
	// It runs only live, never on replay, and perhaps several times for one request. Nil accepts
	// all.
	Validate func(input any) error
	// Handle is the code of the update; it may wait.
	Handle func(scope *coro.Scope, input any) (history.Payload, error)
	// Abandon allows the run to close while the handler runs.
	Abandon bool
}

// UpdateRequest is an update that a caller sent.
type UpdateRequest struct {
	ID    string
	Name  string
	Input history.Payload

	// sequencing is the WorkflowExecutionUpdateAdmitted event of a request that a reset delivers.
	// On replay, it is the event after which the update was delivered. 0 is the
	// WorkflowTaskScheduled event of the task.
	sequencing int64
}

// Verdict is the outcome of an update request in an activation.
type Verdict uint8

const (
	// Unanswered is a request that the activation did not reach: the task failed, or the run closed
	// before.
	Unanswered Verdict = iota
	// Accepted is a request whose validator agreed. It counts once the activation's commit is in
	// the log.
	Accepted
	// Rejected is a request that was refused by its validator, has no handler, or does not decode.
	Rejected
	// Invalid is a request without the input that its handler needs.
	Invalid
	// TooManyInFlight is a request beyond a limit of updates that have been accepted and not
	// completed: of their number or of their bytes.
	TooManyInFlight
	// TooManyInTotal is a request beyond the limit of updates that a run accepts.
	TooManyInTotal
)

// UpdateResult is the verdict on one request; Failure says why it is not Accepted.
type UpdateResult struct {
	Verdict Verdict
	Failure *failure.Failure
	// Panic is the panic of the update's validator, with its stack; nil if that did not panic.
	Panic *failure.Failure
}

// Limits bounds what a run accepts. Zero or less is no limit.
type Limits struct {
	// UpdatesInFlight is how many updates may be accepted and not completed at any moment.
	UpdatesInFlight int
	// UpdateBytesInFlight is how many bytes the inputs of the updates in flight may have for
	// another one to be accepted, however large that is: their total is less than this and one
	// input more.
	UpdateBytesInFlight int
	// UpdatesInTotal is how many updates a run accepts in its life.
	UpdatesInTotal int
}

// updates is the part of an instance that has to do with updates.
type updates struct {
	handlers map[string]*UpdateHandler
	admitted []UpdateRequest // of a reset, and not seen by a task yet
	queue    []*update       // delivered before any handler was set, in order
	running  []*update       // being validated, or accepted and not completed
	inFlight int             // accepted and not completed
	bytes    int             // of the inputs of those
	accepted int             // accepted in the life of the run
	asked    int             // how often code has asked whether handlers run
	limits   Limits
}

type update struct {
	request    UpdateRequest
	coroutine  *coro.Coroutine
	scope      *coro.Scope // of its handler
	handler    *UpdateHandler
	acceptedID int64
	result     UpdateResult
}

func (u *updates) init() { u.handlers = map[string]*UpdateHandler{} }

// HandleUpdate sets the handler of the updates of one name. Updates of that name that were
// delivered before any handler was set run here and now. A second handler of the same name fails
// the task, and so does a name that the binding omits.
func (in *Instance) HandleUpdate(name string, h *UpdateHandler) {
	in.s.MustRun("set an update handler")
	in.mustName(UpdateName, name)
	if before := in.updates.handlers[name]; before != nil {
		panic(twice("update", name, before.Where, h.Where))
	}
	in.updates.handlers[name] = h
	in.releaseUpdates(func(u *update) bool { return u.request.Name == name })
	in.s.YieldToFront()
}

// RunningUpdates returns the number of update handlers that run, including the one that is being
// validated.
func (in *Instance) RunningUpdates() int {
	in.updates.asked++
	return len(in.updates.running)
}

// deliverUpdates delivers requests, those of a reset first. A request with the id of one of these
// is the same one, sent again. On replay there are only those that were accepted.
func (in *Instance) deliverUpdates(requests []UpdateRequest) (delivered []*update) {
	admitted := map[int64]UpdateRequest{}
	sent := map[string]*update{}
	for _, request := range in.updates.admitted {
		admitted[request.sequencing] = request
		if !in.replaying && sent[request.ID] == nil {
			sent[request.ID] = in.deliverUpdate(request)
		}
	}
	in.updates.admitted = nil
	for _, request := range requests {
		u := sent[request.ID]
		if u == nil {
			first := admitted[request.sequencing]
			if request.sequencing = first.sequencing; first.sequencing != 0 {
				request = first
			}
			u = in.deliverUpdate(request)
		}
		delivered = append(delivered, u)
	}
	return delivered
}

// deliverUpdate delivers a request. Before the code has set any handler, the request is kept until
// the code sets the one of its name, or waits without having done so. None runs after the
// workflow's function has returned, while the run is still open. Histories of earlier versions have
// such updates, so a replay delivers them.
func (in *Instance) deliverUpdate(request UpdateRequest) *update {
	u := &update{request: request}
	if in.returned && !in.replaying {
		return u
	}
	in.updates.queue = append(in.updates.queue, u)
	if len(in.updates.handlers) > 0 || in.dynamic.updates != nil {
		in.releaseUpdates(func(*update) bool { return true })
	}
	return u
}

func (in *Instance) releaseUpdates(released func(*update) bool) {
	in.updates.queue = slices.DeleteFunc(in.updates.queue, func(u *update) bool {
		if !released(u) {
			return false
		}
		u.coroutine = in.s.GoFirst("update "+u.request.Name, func() { in.runUpdate(u) })
		u.coroutine.Owner = u.request.ID
		return true
	})
}

// failUpdates ends the handlers of the updates that an operator has failed: they were rebuilt up to
// where they were, and run no further. cancel cancels what they had started.
func (in *Instance) failUpdates(events []history.Event) (cancel func(), err error) {
	var canceled []func()
	for _, e := range events {
		a, ok := e.Attributes.(*history.WorkflowExecutionUpdateFailed)
		if !ok {
			continue
		}
		i := slices.IndexFunc(in.updates.running, func(u *update) bool { return u.request.ID == a.UpdateID })
		if i < 0 {
			return nil, corrupt("update %q is failed, and its handler does not run", a.UpdateID)
		}
		u := in.updates.running[i]
		in.s.Kill(u.coroutine)
		canceled = append(canceled, func() { u.scope.Cancel(a.Failure.Message) })
		in.updates.inFlight--
		in.updates.bytes -= len(u.request.Input)
	}
	if len(canceled) == 0 {
		return func() {}, nil
	}
	return func() {
		for _, fn := range canceled {
			fn()
		}
	}, nil
}

// blamed returns the accepted update whose handler has made the activation fail, or empty.
func (in *Instance) blamed() string {
	for _, u := range in.updates.running {
		if in.s.Blames(u.coroutine) {
			return u.request.ID
		}
	}
	return in.lastBlamed
}

// hastenUpdates runs the handlers that are ready before all other code.
func (in *Instance) hastenUpdates() {
	for _, u := range in.updates.running {
		in.s.Hasten(u.coroutine)
	}
}

// refuseQueued refuses the updates whose handler the code has not set when the workflow's function
// returns.
func (in *Instance) refuseQueued() {
	for _, u := range in.updates.queue {
		u.refuse(in, Rejected, in.unknownUpdate(u))
	}
	in.updates.queue = nil
}

// unknownUpdate returns why an update without a handler is refused. One that the binding names
// exists: its handler is not set now.
func (in *Instance) unknownUpdate(u *update) error {
	if in.workflow != nil && in.workflow.Names.Find(UpdateName, u.request.Name) != nil {
		others := ""
		if len(in.updates.handlers) > 0 {
			others = fmt.Sprintf(", only of %q", sortedKeys(in.updates.handlers))
		}
		return failure.Newf("UnknownUpdate", "this run has no handler of update %q now%s: send the update again when the code has set one", u.request.Name, others)
	}
	if len(in.updates.handlers) == 0 {
		return failure.Newf("UnknownUpdate", "no such update: %q; this run takes none", u.request.Name)
	}
	return failure.Newf("UnknownUpdate", "no such update: %q; this run has %q", u.request.Name, sortedKeys(in.updates.handlers))
}

// runUpdate is the coroutine of one update: validate, accept, handle, complete.
func (in *Instance) runUpdate(u *update) {
	u.handler = in.updateHandler(u.request.Name)
	in.updates.running = append(in.updates.running, u)
	returned := false
	defer func() {
		if in.s.Abandoned() {
			return // a validator that timed out may read what follows
		}
		if !returned {
			in.lastBlamed = u.request.ID // it has panicked, or is unwound
		}
		in.updates.running = slices.DeleteFunc(in.updates.running, func(r *update) bool { return r == u })
	}()
	input, ok := in.admit(u)
	if !ok {
		returned = true
		return
	}
	if in.rehearses {
		u.result.Verdict, returned = Accepted, true
		in.s.Stop()
		return
	}
	in.accept(u)
	u.scope = in.root.Child()
	result, err := u.handler.Handle(u.scope, input)
	completed := &history.WorkflowExecutionUpdateCompleted{UpdateID: u.request.ID, Result: result, Failure: failure.FromError(err)}
	if f := in.tooLarge("the result of update "+u.request.Name, len(result)); f != nil {
		completed.Result, completed.Failure = nil, f
	}
	in.splitBefore(completed, func() {}, func() {}) // a replay has its result as well
	in.complete(u, completed)
	returned = true
}

// admit decides whether the update is accepted. On replay it was, and code that can no longer
// accept it is not deterministic.
func (in *Instance) admit(u *update) (input any, ok bool) {
	if u.handler == nil {
		u.refuse(in, Rejected, in.unknownUpdate(u))
		return nil, false
	}
	if !in.replaying && in.overLimit(u) {
		return nil, false
	}
	input, err := u.handler.Decode(u.request.Input)
	if errors.Is(err, ErrMissingInput) {
		u.refuse(in, Invalid, err)
		return nil, false
	}
	if err != nil {
		u.refuse(in, Rejected, failure.Newf("BadInput", "the input of update %q does not decode: %v", u.request.Name, err))
		return nil, false
	}
	switch {
	case u.handler.Validate == nil:
	case !in.replaying:
		if err := in.validate(u, input); err != nil {
			u.refuse(in, Rejected, err)
			return nil, false
		}
	case in.validatesAgain(u.request.ID):
		in.repeat(&look{id: u.request.ID, name: u.request.Name, input: u.request.Input})
	}
	return input, true
}

func (in *Instance) overLimit(u *update) bool {
	l := in.updates.limits
	switch {
	case u.request.sequencing != 0: // it was accepted before
		return false
	case l.UpdatesInTotal > 0 && in.updates.accepted >= l.UpdatesInTotal:
		u.refuse(in, TooManyInTotal, fmt.Errorf("this run has accepted %d of at most %d updates: continue it as new", in.updates.accepted, l.UpdatesInTotal))
	case l.UpdatesInFlight > 0 && in.updates.inFlight >= l.UpdatesInFlight:
		u.refuse(in, TooManyInFlight, fmt.Errorf("this run has %d of at most %d updates in flight: try again when one has completed", in.updates.inFlight, l.UpdatesInFlight))
	case l.UpdateBytesInFlight > 0 && in.updates.bytes >= l.UpdateBytesInFlight:
		u.refuse(in, TooManyInFlight, fmt.Errorf("the updates of this run in flight have %d of at most %d bytes of input: try again when one has completed", in.updates.bytes, l.UpdateBytesInFlight))
	default:
		return false
	}
	return true
}

// BoundValidators runs validators by within, which returns false if one did not return within
// limit: its task then fails, and the instance can only be closed. Its code is unwound when the
// validator returns.
func (in *Instance) BoundValidators(limit time.Duration, within func(fn func()) bool) {
	in.within, in.validateFor = within, limit
}

// validate runs the validator. An ordinary panic in it refuses the update. A panic because the
// validator broke a rule fails the task, even if the validator recovered from it. So does a
// validator that does not return in time.
func (in *Instance) validate(u *update, input any) (err error) {
	who := in.look(look{id: u.request.ID, name: u.request.Name, input: u.request.Input})
	misuse := in.s.Forbid(who, func() { err = in.judged(u, input) })
	if misuse != nil {
		panic(misuse)
	}
	return err
}

// judge calls the validator, and returns its error or its panic.
func (u *update) judge(input any) error {
	return asked(func() error { return u.handler.Validate(input) })
}

// judged returns the validator's error.
func (in *Instance) judged(u *update, input any) error {
	if in.within == nil {
		return u.judge(input)
	}
	verdict := make(chan error, 1) // and not a variable: the validator may return later
	in.Enter()
	if !in.within(func() { defer in.Leave(); verdict <- u.judge(input) }) {
		in.s.Abandon()
		panic(&failure.OtherError{
			Kind: failure.KindDeadlock,
			Message: fmt.Sprintf("the validator of update %q did not return within %v s: it may only look at the workflow's state and at the input",
				u.request.Name, in.validateFor.Seconds()),
		})
	}
	select {
	case err := <-verdict:
		return err
	default:
		runtime.Goexit() // as the validator has
		return nil
	}
}

// recovered calls fn and returns its panic as an error.
func recovered(fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = failure.Panic(value, debug.Stack()).Err()
		}
	}()
	return fn()
}

func (u *update) refuse(in *Instance, v Verdict, err error) {
	if in.replaying {
		panic(&failure.OtherError{
			Kind:    failure.KindNonDeterminism,
			Message: fmt.Sprintf("workflow code is not deterministic: history records that update %q was accepted, the code now refuses it: %v", u.request.ID, err),
		})
	}
	f := failure.FromError(err)
	u.result = UpdateResult{Verdict: v, Failure: f}
	if f.Kind == failure.KindPanic {
		panicked := *f
		u.result.Panic = &panicked
	}
	f.Stack = "" // of a validator that panicked: the caller is somebody else
}

func (in *Instance) accept(u *update) {
	in.updates.inFlight++
	in.updates.bytes += len(u.request.Input)
	in.updates.accepted++
	u.result.Verdict = Accepted
	sequencing, input := u.request.sequencing, history.Payload(nil) // its event has the input
	if sequencing == 0 {
		sequencing, input = in.info.HistoryLength-1, u.request.Input // the WorkflowTaskScheduled event
	}
	accepted := &history.WorkflowExecutionUpdateAccepted{
		UpdateID: u.request.ID, UpdateName: u.request.Name, Input: input, SequencingEventID: sequencing,
	}
	in.wrote(accepted)
	in.issue(&command{event: accepted, starts: u})
}

func (u *update) numbered(_ *Instance, id int64) { u.acceptedID = id }

func (in *Instance) complete(u *update, completed *history.WorkflowExecutionUpdateCompleted) {
	in.updates.inFlight--
	in.updates.bytes -= len(u.request.Input)
	in.issue(&command{
		typ: history.TypeWorkflowExecutionUpdateCompleted, name: u.request.ID,
		attributes: func() history.Attributes {
			completed.AcceptedEventID = u.acceptedID
			return completed
		},
	})
}
