package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
)

// ErrMissingInput is returned by a decoder for a missing payload that is required.
var ErrMissingInput = errors.New("the input is missing")

// ErrBadInput is wrapped by a query handler's error for an input that does not decode.
var ErrBadInput = errors.New("the input does not decode")

// Workflow is a workflow type: its name and its code.
type Workflow struct {
	Name string
	// Where is the place at which it was registered, for messages. A registry says of a type of
	// Weft's own only that it is one.
	Where string
	// Declared is the place at which the type is declared, for its comment.
	Declared string
	// Pinned keeps a run on the build that started it.
	Pinned bool
	// Names are the declarations that the binding names; nil is open.
	Names *Names
	// Input and Result are the types of the input and the result.
	Input, Result Value
	// CheckInput returns what is wrong with an input before a run is started with it.
	CheckInput func(history.Payload) error
	// Carried returns the start that an update with this name and input carries, or nil. A nil
	// Carried returns nil. Only Weft's own workflows have one: a schedule takes a new action by an
	// update.
	Carried func(name string, input history.Payload) *CarriedStart
	// Run is the code. It runs in the run's first coroutine, under its outermost scope.
	Run func(in *Instance, scope *coro.Scope, input history.Payload) (history.Payload, error)

	registry *Registry // that it was added to
}

// CarriedStart is a start that an update of one of Weft's own workflows carries. Runs begin with it
// later.
type CarriedStart struct {
	// Type is the workflow type, and Code its code; nil if there is no such type.
	Type string
	Code *Workflow
	// Known are the types that exist.
	Known []string
	// Input is the input, and At its place in the update's input.
	Input history.Payload
	At    string
	// SearchAttributes are those of each run at its start.
	SearchAttributes history.SearchAttributes
}

// Activity is an activity type: its name and its code, which is ordinary code that may do anything.
type Activity struct {
	Name string
	// Where is the place at which it was registered, for messages. A registry says of a type of
	// Weft's own only that it is one.
	Where string
	// Input and Result are the types of the input and the result.
	Input, Result Value
	// Local says that it runs within the workflow's task.
	Local bool
	// CheckResult returns what is wrong with a result from outside, before it is recorded; nil
	// accepts any.
	CheckResult func(history.Payload) error
	// Run is one attempt. The context ends when the attempt's time is over.
	Run ActivityCode
	// StartToClose is how long an attempt may take, and TaskQueue is its task queue, unless a
	// workflow says otherwise.
	StartToClose time.Duration
	TaskQueue    string
}

// ActivityCode is one attempt at an activity.
type ActivityCode = func(ctx context.Context, input history.Payload) (history.Payload, error)

// Registry is the set of workflow and activity types that a program knows. Fill it before it is
// used; it is read-only from then on.
type Registry struct {
	workflows  map[string]*Workflow
	activities map[string]*Activity
	taskQueues map[string]bool
	schemas    map[reflect.Type]declaredSchema
	docs       declaredDocs
	// reserved says that names of Weft's own types are refused.
	reserved bool

	// dynamicWorkflow and dynamicActivity are those of all types that are not registered, or nil.
	dynamicWorkflow *Workflow
	dynamicActivity *Activity

	aroundWorkflows  []any
	namedForAll      []*Name // what the interceptors of workflows handle
	aroundActivities []func(next ActivityCode) ActivityCode
}

// AddWorkflow adds a workflow type. It returns an error that names both places if there is one of
// the same name.
func (r *Registry) AddWorkflow(w *Workflow) error {
	if before, found := r.workflows[w.Name]; found {
		return fmt.Errorf("workflow type %q is registered twice: at %s and at %s", w.Name, before.Where, w.Where)
	}
	if err := r.checkType("workflow type", w.Name); err != nil {
		return fmt.Errorf("%w (registered at %s)", err, w.Where)
	}
	if r.workflows == nil {
		r.workflows = map[string]*Workflow{}
	}
	own := *w // it may be in several registries
	own.registry = r
	if w.Names != nil {
		own.Names = w.Names.clone()
	}
	if OwnType(w.Name) {
		own.Where = "a workflow of Weft's own"
	} else {
		for _, d := range r.namedForAll {
			if err := own.alsoNames(d); err != nil {
				return err
			}
		}
	}
	r.workflows[w.Name] = &own
	return nil
}

// AddActivity adds an activity type. It returns an error that names both places if there is one of
// the same name.
func (r *Registry) AddActivity(a *Activity) error {
	if before, found := r.activities[a.Name]; found {
		return fmt.Errorf("activity type %q is registered twice: at %s and at %s", a.Name, before.Where, a.Where)
	}
	if err := r.checkType("activity type", a.Name); err != nil {
		return fmt.Errorf("%w (registered at %s)", err, a.Where)
	}
	if r.activities == nil {
		r.activities = map[string]*Activity{}
	}
	r.activities[a.Name] = a
	if OwnType(a.Name) {
		a.Where = "an activity of Weft's own"
	}
	return nil
}

// checkType returns what is wrong with the name of a type to register, or nil.
func (r *Registry) checkType(what, name string) error {
	if err := CheckName(what, name); err != nil {
		return err
	}
	if r.reserved && OwnType(name) {
		return fmt.Errorf("%s %q begins with %q, as the types of Weft's own do: give it another name", what, name, ownPrefix)
	}
	return nil
}

// ReserveOwn refuses types with names of Weft's own from now on. The caller has registered those.
func (r *Registry) ReserveOwn() { r.reserved = true }

// WorkflowNames returns the names of the workflow types, sorted, without Weft's own.
func (r *Registry) WorkflowNames() []string {
	return slices.DeleteFunc(sortedKeys(r.workflows), OwnType)
}

// ownPrefix begins the names of Weft's own types, and the ids of its own workflows.
const ownPrefix = "weft."

// OwnType reports whether a type of workflows or activities is one of Weft's own. Only Weft starts
// workflows and activities of these types.
func OwnType(name string) bool { return strings.HasPrefix(name, ownPrefix) }

// OwnID reports whether a workflow id is one that only Weft's own workflows have.
func OwnID(workflowID string) bool { return strings.HasPrefix(workflowID, ownPrefix) }

// ActivityNames returns the names of the activity types, sorted, without Weft's own.
func (r *Registry) ActivityNames() []string {
	return slices.DeleteFunc(sortedKeys(r.activities), OwnType)
}

// LongerThan returns the activity types whose attempts may take longer than this, sorted by name.
func (r *Registry) LongerThan(limit time.Duration) (all []*Activity) {
	for _, name := range r.ActivityNames() {
		if a := r.activities[name]; a.StartToClose > limit {
			all = append(all, a)
		}
	}
	return all
}

// AddTaskQueue adds a task queue. It may exist already, or be the default one, whose name is empty.
func (r *Registry) AddTaskQueue(name string) error {
	if err := CheckTaskQueue(name); err != nil || name == "" {
		return err
	}
	if r.taskQueues == nil {
		r.taskQueues = map[string]bool{}
	}
	r.taskQueues[name] = true
	return nil
}

// TaskQueues returns the names of the task queues, sorted, without the default one.
func (r *Registry) TaskQueues() []string { return sortedKeys(r.taskQueues) }

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// MaxIDLength is the length of the longest id and of the longest name.
const MaxIDLength = 255

// CheckID returns what is wrong with a workflow id, an update id or a request id that a caller
// chose, or nil.
func CheckID(what, id string) error {
	if id == "" {
		return fmt.Errorf("the %s is empty: give 1 to %d characters of A-Z, a-z, 0-9 and ._:-", what, MaxIDLength)
	}
	if len(id) > MaxIDLength {
		return fmt.Errorf("the %s has %d characters: give at most %d", what, len(id), MaxIDLength)
	}
	if id == "." || id == ".." {
		return fmt.Errorf("the %s is %q, which no URL can hold: give another", what, id)
	}
	for i := range len(id) {
		if !idByte(id[i]) {
			return fmt.Errorf("the %s has a character other than A-Z, a-z, 0-9 and ._:- at position %d", what, i+1)
		}
	}
	return nil
}

func idByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == '_' || b == ':' || b == '-'
}

// CheckName returns what is wrong with the name of a workflow, an activity, a signal, a query or an
// update, or nil.
func CheckName(what, name string) error {
	if name == "" {
		return fmt.Errorf("the %s is empty", what)
	}
	if len(name) > MaxIDLength {
		return fmt.Errorf("the %s has %d bytes: give at most %d", what, len(name), MaxIDLength)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("the %s is not UTF-8", what)
	}
	return nil
}
