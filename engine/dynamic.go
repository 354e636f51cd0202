package engine

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
)

// dynamic is what an instance handles without a name: see BindOptions.Dynamic of package workflow.
type dynamic struct {
	// signals has the signals of the names that the code has not received by name; nil before the
	// code asks for them.
	signals *coro.Channel[NamedSignal]
	// updates and queries return the handler of a name without one of its own. They are nil before
	// the code sets them. The places are where it did.
	updates                    func(name string) *UpdateHandler
	queries                    func(name string) *QueryHandler
	updatesWhere, queriesWhere string
}

// NamedSignal is a signal that code receives without having asked for its name.
type NamedSignal struct {
	Name  string
	Input history.Payload
}

// SignalsOfAllNames returns the channel of the signals whose name the code has not received, in the
// order of arrival. From the first call on, it gets them instead of the channels of their names:
// also those that have arrived. The task fails if the binding does not allow it.
func (in *Instance) SignalsOfAllNames() *coro.Channel[NamedSignal] {
	if in.dynamic.signals != nil {
		return in.dynamic.signals
	}
	in.mustBeDynamic(SignalName, "receives signals", "workflow.Signals")
	in.dynamic.signals = coro.NewChannel[NamedSignal](-1)
	for _, e := range in.unread() {
		if a := e.Attributes.(*history.WorkflowExecutionSignaled); !in.receives(a.SignalName) {
			in.Signals(a.SignalName).TryReceive(&in.s)
			in.dynamic.signals.TrySend(&in.s, NamedSignal{a.SignalName, a.Input})
		}
	}
	return in.dynamic.signals
}

// receives reports whether the code has received signals of a name by that name.
func (in *Instance) receives(name string) bool { return len(in.receivers[name]) > 0 }

// sendSignal puts a signal that has arrived into the channel from which the code receives it.
func (in *Instance) sendSignal(name string, input history.Payload) {
	if in.dynamic.signals != nil && !in.receives(name) {
		in.dynamic.signals.TrySend(&in.s, NamedSignal{name, input})
		return
	}
	in.Signals(name).TrySend(&in.s, input)
}

// giveSignals moves the signals of a name that the code has not received to the channel of the
// name, which the code is about to receive for the first time.
func (in *Instance) giveSignals(name string) {
	if in.dynamic.signals == nil {
		return
	}
	for _, s := range in.dynamic.signals.Remove(func(s NamedSignal) bool { return s.Name == name }) {
		in.Signals(name).TrySend(&in.s, s.Input)
	}
}

// leftOf returns how many signals of each name the code has not received.
func (in *Instance) leftOf() map[string]int {
	left := map[string]int{}
	for name, c := range in.signals {
		if n := c.Len(); n > 0 {
			left[name] = n
		}
	}
	if in.dynamic.signals != nil {
		for _, s := range in.dynamic.signals.Values() {
			left[s.Name]++
		}
	}
	return left
}

// HandleUpdates sets the handler of the updates whose name has no handler of its own. Those that
// were delivered before any handler was set run here and now. A second one fails the task, and so
// does a binding that does not allow it.
func (in *Instance) HandleUpdates(where string, of func(name string) *UpdateHandler) {
	in.s.MustRun("set an update handler")
	in.mustBeDynamic(UpdateName, "handles updates", "workflow.Updates")
	if in.dynamic.updates != nil {
		panic(misusef("the handler of updates of all names is set twice: at %s and at %s", in.dynamic.updatesWhere, where))
	}
	in.dynamic.updates, in.dynamic.updatesWhere = of, where
	in.releaseUpdates(func(u *update) bool { return in.updates.handlers[u.request.Name] == nil })
	in.s.YieldToFront()
}

// updateHandler returns the handler of the updates of a name, or nil.
func (in *Instance) updateHandler(name string) *UpdateHandler {
	if h := in.updates.handlers[name]; h != nil || in.dynamic.updates == nil {
		return h
	}
	return in.dynamic.updates(name)
}

// HandleQueries sets the handler of the queries whose name has no handler of its own. A second one
// fails the task, and so does a binding that does not allow it.
func (in *Instance) HandleQueries(where string, of func(name string) *QueryHandler) {
	in.s.MustRun("set a query handler")
	in.mustBeDynamic(QueryName, "handles queries", "workflow.Queries")
	if in.dynamic.queries != nil {
		panic(misusef("the handler of queries of all names is set twice: at %s and at %s", in.dynamic.queriesWhere, where))
	}
	in.dynamic.queries, in.dynamic.queriesWhere = of, where
}

// queryHandler returns the handler of the queries of a name, or nil.
func (in *Instance) queryHandler(name string) *QueryHandler {
	if h := in.queries[name]; h != nil || in.dynamic.queries == nil {
		return h
	}
	return in.dynamic.queries(name)
}

// mustBeDynamic fails the task if the binding does not allow names of a kind that it omits.
func (in *Instance) mustBeDynamic(k NameKind, does, option string) {
	if in.workflow == nil || in.workflow.Names.Open(k) {
		return
	}
	panic(misusef("workflow type %q %s of all names: add %s to BindOptions.Dynamic of the Bind at %s",
		in.workflow.Name, does, option, in.workflow.Names.Where))
}

// SetDynamicWorkflow sets the code of all workflow types that are not registered. It returns an
// error that names both places if there is one already.
func (r *Registry) SetDynamicWorkflow(w *Workflow) error {
	if before := r.dynamicWorkflow; before != nil {
		return fmt.Errorf("the workflow of all types is registered twice: at %s and at %s", before.Where, w.Where)
	}
	own := *w
	own.registry = r
	own.Names = w.Names.clone()
	for _, d := range r.namedForAll {
		if err := own.alsoNames(d); err != nil {
			return err
		}
	}
	r.dynamicWorkflow = &own
	return nil
}

// SetDynamicActivity sets the code of all activity types that are not registered. It returns an
// error that names both places if there is one already.
func (r *Registry) SetDynamicActivity(a *Activity) error {
	if before := r.dynamicActivity; before != nil {
		return fmt.Errorf("the activity of all types is registered twice: at %s and at %s", before.Where, a.Where)
	}
	r.dynamicActivity = a
	return nil
}

// DynamicTypes returns the code of all workflow types and of all activity types that are not
// registered; nil if there is none.
func (r *Registry) DynamicTypes() (*Workflow, *Activity) {
	return r.dynamicWorkflow, r.dynamicActivity
}

// Registers reports whether an activity type of this name is registered, by its name.
func (r *Registry) Registers(activity string) bool { return r.activities[activity] != nil }

// Workflow returns the workflow type of this name: the one that is registered under it or, if there
// is none, the one of all types. It returns nil if there is neither. Types of Weft's own are only
// those that are registered.
func (r *Registry) Workflow(name string) *Workflow {
	w := r.workflows[name]
	if w != nil || r.dynamicWorkflow == nil || OwnType(name) || CheckName("workflow type", name) != nil {
		return w
	}
	named := *r.dynamicWorkflow
	named.Name = name
	return &named
}

// Activity returns the activity type of this name, as Workflow does.
func (r *Registry) Activity(name string) *Activity {
	a := r.activities[name]
	if a != nil || r.dynamicActivity == nil || OwnType(name) || CheckName("activity type", name) != nil {
		return a
	}
	named := *r.dynamicActivity
	named.Name = name
	return &named
}
