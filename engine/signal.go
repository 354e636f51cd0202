package engine

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Signals is the channel of the signals of one name, in the order in which they arrived, whether code has asked for
// them before or not. It holds any number.
func (in *Instance) Signals(name string) *coro.Channel[history.Payload] {
	channel := in.signals[name]
	if channel == nil {
		channel = coro.NewChannel[history.Payload](-1)
		in.signals[name] = channel
	}
	return channel
}

// QueryHandler answers queries of one name.
type QueryHandler struct {
	// Where is the place at which it was set, for messages.
	Where string
	// Answer may look at the workflow's state and must not change it. An error that wraps ErrBadInput is the caller's.
	Answer func(input history.Payload) (history.Payload, error)
}

// HandleQuery sets the handler of the queries of one name. A second one of the same name fails the task.
func (in *Instance) HandleQuery(name string, h *QueryHandler) {
	in.s.MustRun("set a query handler")
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
	// Unknown says that there is no handler of that name; Known lists those that there are.
	Unknown bool
	Known   []string
	// Err is what the handler returned.
	Err error
}

// Error says why there is no answer.
func (e *QueryError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("no such query; this run answers %q", e.Known)
	}
	return e.Err.Error()
}

// Unwrap is what the handler returned.
func (e *QueryError) Unwrap() error { return e.Err }

// Query answers a query from the state in which the code waits. It returns a QueryError where the run is well and the
// query has no answer, and any other error where the code misbehaved.
func (in *Instance) Query(name string, input history.Payload) (answer history.Payload, err error) {
	h := in.queries[name]
	if h == nil {
		return nil, &QueryError{Unknown: true, Known: sortedKeys(in.queries)}
	}
	misuse := in.s.Forbid(fmt.Sprintf("the handler of query %q", name), func() {
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

// asked calls code that may only look, and returns its error or its panic. What the error says is asked for here, too: it is the
// author's code, and where it panics that is the code's panic.
func asked(fn func() error) error {
	return recovered(func() error {
		err := fn()
		failure.FromError(err)
		return err
	})
}
