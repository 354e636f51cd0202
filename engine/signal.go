package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Signals returns the channel of the signals of one name, in the order of arrival, whether they
// arrived before the call or after it. It has no limit.
func (in *Instance) Signals(name string) *coro.Channel[history.Payload] {
	channel := in.signals[name]
	if channel == nil {
		channel = coro.NewChannel[history.Payload](-1)
		in.signals[name] = channel
	}
	return channel
}

// receivers are the types as which code has received signals of one name: the name of each type,
// and a function that returns an error if a value is not of it.
type receivers map[string]func(history.Payload) error

// ReceivesSignal records that code receives the signals of a name as values of a type. check
// returns what is wrong with a value. The task fails if the binding does not name the signal,
// unless the code has received it already, by older rules.
func (in *Instance) ReceivesSignal(name, typ string, check func(history.Payload) error) {
	known := in.receivers[name]
	if known == nil {
		in.mustName(SignalName, name)
		in.giveSignals(name)
		known = receivers{}
		in.receivers[name] = known
	}
	if known[typ] == nil {
		known[typ] = check
	}
}

// SetAside sets aside the signal of a name that code has received last and whose value does not
// decode, and counts it. It returns false if the task runs by rules that give the code an error
// instead.
func (in *Instance) SetAside(name string) bool {
	if in.rules < history.SetSignalsAside {
		return false
	}
	if in.setAside == nil {
		in.setAside = map[string]*SetAside{}
	}
	one := in.setAside[name]
	if one == nil {
		one = &SetAside{Name: name}
		in.setAside[name] = one
	}
	one.Count++
	if len(one.Events) < history.MaxUnread {
		one.Events = append(one.Events, in.firstUnread(name, in.signals[name].Len()+1))
	}
	return true
}

// RefusedSignal is why a run refuses a signal: its value does not decode as the type that the run's
// code receives.
type RefusedSignal struct {
	Name string
	Err  error
}

// Error returns what is wrong with the value.
func (e *RefusedSignal) Error() string {
	return fmt.Sprintf("the value of signal %q does not decode as what this run's code receives: %v", e.Name, e.Err)
}

// Unwrap returns what is wrong with the value.
func (e *RefusedSignal) Unwrap() error { return e.Err }

// refuse returns a RefusedSignal if the code is known to receive one of the signals among events,
// and its value does not decode.
func (in *Instance) refuse(events []history.Event) error {
	for _, e := range events {
		signal, ok := e.Attributes.(*history.WorkflowExecutionSignaled)
		if !ok || len(in.receivers[signal.SignalName]) == 0 {
			continue
		}
		var bad error
		for _, typ := range sortedKeys(in.receivers[signal.SignalName]) {
			check := in.receivers[signal.SignalName][typ]
			if bad = recovered(func() error { return check(signal.Input) }); bad == nil {
				break
			}
		}
		if bad != nil {
			return &RefusedSignal{signal.SignalName, bad}
		}
	}
	return nil
}

// SetAside are the signals of one name that code has set aside in a task.
type SetAside struct {
	Name  string
	Count int
	// Events are the events of the first of them, at most history.MaxUnread.
	Events []int64
	// Want is what the code receives them as.
	Want string
}

// records returns what a task records of the signals that it has set aside: of each name how many,
// and as many of their events as there is room for.
func records(all []SetAside) (recorded []history.Unread) {
	room := history.MaxUnread - len(all)
	for _, s := range all {
		own := min(len(s.Events), room+1)
		room -= own - 1
		for _, id := range s.Events[:own] {
			recorded = append(recorded, history.Unread{Name: s.Name, Count: 1, EventID: id})
		}
		recorded[len(recorded)-1].Count += s.Count - own
	}
	return recorded
}

// leftSignals returns the signals that the code has not received, and those that it has set aside
// in this task, by name.
func (in *Instance) leftSignals() (unread []history.Unread, setAside []SetAside) {
	left := in.leftOf()
	for _, name := range sortedKeys(left) {
		if n := left[name]; len(unread) < history.MaxUnread {
			unread = append(unread, history.Unread{Name: name, Count: n, EventID: in.firstUnread(name, n)})
		}
	}
	for _, name := range sortedKeys(in.setAside) {
		if len(setAside) < history.MaxUnread {
			in.setAside[name].Want = strings.Join(sortedKeys(in.receivers[name]), " or ")
			setAside = append(setAside, *in.setAside[name])
		}
	}
	return unread, setAside
}

// firstUnread returns the event of the first of the last n signals of a name.
func (in *Instance) firstUnread(name string, n int) int64 {
	for i := len(in.signaled) - 1; i >= 0; i-- {
		if in.signaled[i].Attributes.(*history.WorkflowExecutionSignaled).SignalName != name {
			continue
		}
		if n--; n == 0 {
			return in.signaledIDs[i]
		}
	}
	return 0
}

// leastForgotten is the number of signals that have to arrive before the received ones are dropped.
const leastForgotten = 64

// forgetSignals drops the signals that the code has received, once they may be as many as the
// others.
func (in *Instance) forgetSignals() {
	if len(in.signaled) < 2*in.unforgotten+leastForgotten {
		return
	}
	left := in.leftOf()
	first := len(in.signaled) // the rest is moved to the end
	for i := len(in.signaled) - 1; i >= 0; i-- {
		name := in.signaled[i].Attributes.(*history.WorkflowExecutionSignaled).SignalName
		if left[name] > 0 {
			left[name]--
			first--
			in.signaled[first], in.signaledIDs[first] = in.signaled[i], in.signaledIDs[i]
		}
	}
	in.signaled, in.signaledIDs = slices.Clone(in.signaled[first:]), slices.Clone(in.signaledIDs[first:])
	in.unforgotten = len(in.signaled)
}

// Handles reports whether the code receives signals of a name.
func (in *Instance) Handles(name string) bool { return in.receives(name) || in.dynamic.signals != nil }

// QueryHandler answers queries of one name.
type QueryHandler struct {
	// Where is the place at which it was set, for messages.
	Where string
	// Answer may read the workflow's state and must not change it. An error that wraps ErrBadInput
	// is the caller's fault.
	Answer func(input history.Payload) (history.Payload, error)
}

// HandleQuery sets the handler of the queries of one name. A second one of the same name fails the
// task, and so does a name that the binding omits.
func (in *Instance) HandleQuery(name string, h *QueryHandler) {
	in.s.MustRun("set a query handler")
	in.mustName(QueryName, name)
	if before := in.queries[name]; before != nil {
		panic(twice("query", name, before.Where, h.Where))
	}
	in.queries[name] = h
}

func twice(what, name, before, now string) error {
	return &failure.OtherError{
		Kind:    failure.KindMisuse,
		Message: fmt.Sprintf("the handler of %s %q is set twice: at %s and at %s", what, name, before, now),
	}
}

// QueryError is a query that has no answer.
type QueryError struct {
	// Unknown is set if there is no handler of that name; Known has the names of the handlers.
	Unknown bool
	Known   []string
	// Err is what the handler returned.
	Err error
}

// Error returns why there is no answer.
func (e *QueryError) Error() string {
	if e.Unknown && len(e.Known) == 0 {
		return "no such query; this run answers none"
	}
	if e.Unknown {
		return fmt.Sprintf("no such query; this run answers %q", e.Known)
	}
	return e.Err.Error()
}

// Unwrap returns the handler's error.
func (e *QueryError) Unwrap() error { return e.Err }

// Query answers a query from the state in which the code waits. It returns a QueryError if the
// query has no answer although the code is well, and any other error if the code misbehaved.
func (in *Instance) Query(name string, input history.Payload) (answer history.Payload, err error) {
	h := in.queryHandler(name)
	if h == nil {
		return nil, &QueryError{Unknown: true, Known: sortedKeys(in.queries)}
	}
	who := in.look(look{name: name, input: input})
	misuse := in.s.Forbid(who, func() {
		err = asked(func() (err error) {
			answer, err = h.Answer(input)
			return err
		})
	})
	if misuse != nil {
		return nil, misuse
	}
	if err != nil {
		return nil, &QueryError{Err: err}
	}
	return answer, nil
}

// asked calls code that may only read, and returns its error or its panic. It also reads the
// error's text: that is the author's code, and may panic.
func asked(fn func() error) error {
	return recovered(func() error {
		err := fn()
		failure.FromError(err)
		return err
	})
}
