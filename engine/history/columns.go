package history

import (
	"reflect"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// kind is a row of the table. A column that a row does not have is nil.
type kind struct {
	typ  Type
	name string
	make func() Attributes // returns an empty one, to decode into
	// folded says that the event is not stored by itself.
	folded    bool
	resolves  func(Attributes) Resolution
	starts    func(Attributes) Initiated
	ends      func(Attributes) End
	continues func(Attributes) *RunID
	named     func(Attributes) string
	refers    func(Attributes) int64
	says      func(Attributes) Attributes
}

// Resolution says which earlier event of the run an event resolves. One of the first four is set,
// to the id of that event, or none of them.
type Resolution struct {
	Activity, Timer, Child, External int64
	// Run is the first run of a child that has started.
	Run     RunID
	Result  Payload
	Failure *failure.Failure
}

// ID returns the id that is set, or 0.
func (r Resolution) ID() int64 { return r.Activity + r.Timer + r.Child + r.External }

// ResolutionOf returns what an event resolves. It is zero if it resolves nothing.
func ResolutionOf(a Attributes) Resolution {
	if a != nil {
		if k := kinds[a.Type()]; k.resolves != nil {
			return k.resolves(a)
		}
	}
	return Resolution{}
}

// Initiated is what a command starts. One of its members is set, or none if the event starts
// nothing. The engine folds it into the state, sends its messages, and ends it with the run.
type Initiated struct {
	Activity *ActivityTaskScheduled
	Timer    *TimerStarted
	Child    *StartChildWorkflowExecutionInitiated
	External *Delivery
}

// Delivery is a message to another workflow.
type Delivery struct {
	// WorkflowID is its receiver. ChildEventID is the StartChildWorkflowExecutionInitiated event of
	// the child that it is for, or 0 if it is for the open run of the workflow.
	WorkflowID   string
	ChildEventID int64
	// Ends is set if it asks the receiver to end.
	Ends bool
	// RequestID is the member of the command with the request id by which the receiver recognizes
	// the message. It is nil if the id follows from the event.
	RequestID *string
	// Bytes is the size of its payload, and Oversize that of one that was too large to be recorded.
	Bytes, Oversize int
	// Arrives returns the event by which it arrives. It uses the request id if RequestID is nil.
	Arrives func(requestID string) Attributes
	// Answer returns the news for the sender, by the id of the command's event. Without a failure,
	// the message has arrived.
	Answer func(initiated int64, f *failure.Failure) Attributes
}

// InitiatedBy returns what an event starts. It is zero if the event starts nothing.
func InitiatedBy(a Attributes) Initiated {
	if a != nil {
		if k := kinds[a.Type()]; k.starts != nil {
			return k.starts(a)
		}
	}
	return Initiated{}
}

// Receiver returns the workflow that gets a message of what was started, or "" if none does.
func (i Initiated) Receiver() string {
	switch {
	case i.Child != nil:
		return i.Child.WorkflowID
	case i.External != nil:
		return i.External.WorkflowID
	}
	return ""
}

// End is how an event closes a run: the run's status, its result or its failure, and the run that
// continues it, if there is one.
type End struct {
	Status  Status
	Result  Payload
	Failure *failure.Failure
	Next    RunID
}

// EndOf returns how an event closes its run. The status is Running if it does not.
func EndOf(a Attributes) End {
	if a != nil {
		if k := kinds[a.Type()]; k.ends != nil {
			return k.ends(a)
		}
	}
	return End{}
}

// SetNext sets the run that continues the one that an event closes. It does nothing if no run
// follows such an event, or if the code names that run.
func SetNext(closing Attributes, next RunID) {
	if k := kinds[closing.Type()]; k.continues != nil {
		*k.continues(closing) = next
	}
}

// Identity returns what must be the same if the code issues a command again: a name, and the id of
// the event that the command refers to.
func Identity(a Attributes) (name string, ref int64) {
	k := kinds[a.Type()]
	if k.named != nil {
		name = k.named(a)
	}
	if k.refers != nil {
		ref = k.refers(a)
	}
	return name, ref
}

// Said returns the part of a command that code supplies, without what the engine and interceptors
// add. It returns nil if all of it comes from history when the code runs again.
func Said(a Attributes) Attributes {
	if k := kinds[a.Type()]; k.says != nil {
		return k.says(a)
	}
	return a
}

// ---- the columns ----

// column fills in a column of a row of events with attributes A.
type column[A Attributes] func(k *kind)

// resolves sets the column of what an event resolves.
func resolves[A Attributes](f func(A) Resolution) column[A] {
	return func(k *kind) { k.resolves = func(a Attributes) Resolution { return f(a.(A)) } }
}

// starts sets the column of what a command starts.
func starts[A Attributes](f func(A) Initiated) column[A] {
	return func(k *kind) { k.starts = func(a Attributes) Initiated { return f(a.(A)) } }
}

// continues sets the column of the member with the next run, which the engine sets.
func continues[A Attributes](f func(A) *RunID) column[A] {
	return func(k *kind) { k.continues = func(a Attributes) *RunID { return f(a.(A)) } }
}

// ends sets the column of how an event closes its run.
func ends[A Attributes](f func(A) End) column[A] {
	return func(k *kind) { k.ends = func(a Attributes) End { return f(a.(A)) } }
}

// named sets the column of the name in the identity of a command.
func named[A Attributes](f func(A) string) column[A] {
	return func(k *kind) { k.named = func(a Attributes) string { return f(a.(A)) } }
}

// refers sets the column of the event id in the identity of a command.
func refers[A Attributes](f func(A) int64) column[A] {
	return func(k *kind) { k.refers = func(a Attributes) int64 { return f(a.(A)) } }
}

// says sets the column that returns what the code supplies of a command. Without it, the code
// supplies the whole command.
func says[A Attributes](f func(A) Attributes) column[A] {
	return func(k *kind) { k.says = func(a Attributes) Attributes { return f(a.(A)) } }
}

// ---- the rows ----

func arrival[T any, A interface {
	*T
	Arrival
}](columns ...column[A],
) kind {
	return row[T](columns...)
}

// news returns the row of news, which resolve something.
func news[T any, A interface {
	*T
	News
}](what func(A) Resolution, columns ...column[A],
) kind {
	return row[T](append(columns, resolves(what))...)
}

// interim returns the row of news that resolve nothing.
func interim[T any, A interface {
	*T
	News
}](columns ...column[A],
) kind {
	return row[T](columns...)
}

func taskStep[T any, A interface {
	*T
	TaskStep
}](columns ...column[A],
) kind {
	k := row[T](columns...)
	k.folded = true
	return k
}

// initiation returns the row of a command that starts something.
func initiation[T any, A interface {
	*T
	Initiation
}](what func(A) Initiated, columns ...column[A],
) kind {
	return row[T](append(columns, starts(what))...)
}

func record[T any, A interface {
	*T
	Record
}](columns ...column[A],
) kind {
	return row[T](columns...)
}

// closing returns the row of a command that closes the run.
func closing[T any, A interface {
	*T
	Closing
}](how func(A) End, columns ...column[A],
) kind {
	return row[T](append(columns, ends(how))...)
}

// row returns the row of the events whose attributes are a T. The name of the type is that of the
// struct.
func row[T any, A interface {
	*T
	Attributes
}](columns ...column[A],
) kind {
	k := kind{typ: A(new(T)).Type(), name: reflect.TypeFor[T]().Name(), make: func() Attributes { return A(new(T)) }}
	for _, fill := range columns {
		fill(&k)
	}
	return k
}

func table(rows ...kind) map[Type]kind {
	all := make(map[Type]kind, len(rows))
	for _, k := range rows {
		all[k.typ] = k
	}
	return all
}

// ---- what columns share ----

// ended returns the outcome of a child that has started.
func ended(child int64, run RunID, result Payload, f *failure.Failure) Resolution {
	return Resolution{Child: child, Run: run, Result: result, Failure: f}
}

// canceled returns the failure of a cancellation, also if the event has none.
func canceled(f *failure.Failure) *failure.Failure {
	if f == nil {
		return &failure.Failure{Kind: failure.KindCanceled}
	}
	return f
}

func terminated(a *WorkflowExecutionTerminated) *failure.Failure {
	f := &failure.Failure{Kind: failure.KindTerminated, Message: "the run was terminated"}
	if a.Reason != "" {
		f.Message += ": " + a.Reason
	}
	return f
}

func timedOut(a *WorkflowExecutionTimedOut) *failure.Failure {
	f := &failure.Failure{Kind: failure.KindTimeout, Timeout: failure.RunTimeout, Message: "the run was open for longer than its run timeout"}
	if a.ExecutionTimeout > 0 {
		f.Timeout, f.Message = failure.ExecutionTimeout, "the workflow took longer than its execution timeout, all its runs together"
	}
	return f
}

// ofCode returns a copy without what does not depend on the code alone: the header, whose values
// interceptors write and may differ each time, and Inline, which a setting of the deployment adds.
func (a *ActivityTaskScheduled) ofCode() *ActivityTaskScheduled {
	plain := *a
	plain.Header, plain.Inline = nil, false
	return &plain
}

// withoutHeader returns a copy without the header: the values that interceptors write may differ
// each time.
func (a *StartChildWorkflowExecutionInitiated) withoutHeader() *StartChildWorkflowExecutionInitiated {
	plain := *a
	plain.Header = nil
	return &plain
}

// names returns the names of the search attributes that the event changes.
func (a *UpsertWorkflowSearchAttributes) names() string {
	return namesOf(a.SearchAttributes, a.Removed)
}

// names returns the names of the memo's fields that the event changes.
func (a *WorkflowPropertiesModified) names() string { return namesOf(a.UpsertedMemo, a.Removed) }

// namesOf returns others, followed by the names of all.
func namesOf[V any](all []Named[V], others []string) string {
	names := slices.Clone(others)
	for _, n := range all {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
