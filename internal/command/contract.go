package command

import (
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// The checks of this file hold a request against the contract of the code that takes it: the names
// and the types that its binding declares. They decode nothing. Code that this process does not
// have accepts everything, and so does a binding whose names are open.

// isOpen reports whether nothing is checked of what code takes. Weft's own workflows check what
// they get themselves.
func isOpen(code *engine.Workflow) bool {
	return code == nil || code.Names == nil || engine.OwnType(code.Name)
}

// CheckInput refuses an input that is not of the declared type of a workflow. at is its place in
// the request. If at is empty, or nothing is declared, the input only has to decode. A missing
// input is the zero value.
func CheckInput(code *engine.Workflow, at string, input history.Payload) error {
	if at == "" || isOpen(code) || code.Input.Check == nil || len(input) == 0 {
		switch err := code.CheckInput(input); {
		case errors.Is(err, refusal.Invalid):
			return err // from one of Weft's own workflows, whose type callers do not know
		case err != nil:
			return refusal.Invalid.New("the input does not decode as the input of workflow type %q: %v", code.Name, err)
		}
		return nil
	}
	if err := code.Input.Check(at, input, code.Names.Lenient); err != nil {
		return refusal.Invalid.New("workflow type %q does not take this input: %v", code.Name, err).AtPlaceOf(err, at)
	}
	return nil
}

// CheckSignal refuses a signal that the code does not name, or whose value is not of the declared
// type. A missing value is the zero value. fromCode says that workflow code has encoded the value:
// then no field is required.
func CheckSignal(code *engine.Workflow, signal *history.WorkflowExecutionSignaled, fromCode bool) error {
	if isOpen(code) {
		return nil
	}
	if !code.Names.Allows(engine.SignalName, signal.SignalName) {
		known := code.Names.Of(engine.SignalName)
		if len(known) == 0 {
			return refusal.Invalid.New("workflow type %q takes no signals", code.Name)
		}
		return refusal.Invalid.New("workflow type %q takes no signal %q: give one of %q", code.Name, signal.SignalName, known).Knowing(known)
	}
	declared := code.Names.Find(engine.SignalName, signal.SignalName)
	if declared == nil || declared.Input.Check == nil || len(signal.Input) == 0 {
		return nil
	}
	if err := declared.Input.Check(inputPlace, signal.Input, fromCode || code.Names.Lenient); err != nil {
		return refusal.Invalid.New("signal %q does not take this value: %v", signal.SignalName, err).AtPlaceOf(err, inputPlace)
	}
	return nil
}

// CheckQuery refuses a query that the code does not name, or whose input is not of the declared
// type.
func CheckQuery(code *engine.Workflow, q *Query) error {
	if isOpen(code) {
		return nil
	}
	if !code.Names.Allows(engine.QueryName, q.Name()) {
		known := code.Names.Of(engine.QueryName)
		return refusal.NotFound.New("no such query; this run answers %q", known).Knowing(known)
	}
	declared := code.Names.Find(engine.QueryName, q.Name())
	if declared == nil || declared.Input.Check == nil {
		return nil
	}
	if err := declared.Input.Check(inputPlace, q.Input(), code.Names.Lenient); err != nil {
		return refusal.Invalid.New("query %q does not take this input: %v", q.Name(), err).AtPlaceOf(err, inputPlace)
	}
	return nil
}

// UpdateRefusal is the details of the failure with which an update is rejected because its name is
// unknown, or its input is not of the declared type.
type UpdateRefusal struct {
	// At is the place in the request that is wrong.
	At string `json:"at,omitempty"`
	// Known are the names of updates that exist.
	Known []string `json:"known,omitempty"`
}

// CheckUpdate returns the failure with which an update is rejected that the code does not name, or
// whose input is not of the declared type. It refuses the request if an input is missing.
func CheckUpdate(code *engine.Workflow, u *engine.UpdateRequest) (rejected *failure.Failure, err error) {
	if isOpen(code) {
		return nil, nil
	}
	if !code.Names.Allows(engine.UpdateName, u.Name) {
		known := code.Names.Of(engine.UpdateName)
		return failure.FromError(failure.Newf("UnknownUpdate", "no such update: %q; this run has %q", u.Name, known).With(UpdateRefusal{Known: known})), nil
	}
	declared := code.Names.Find(engine.UpdateName, u.Name)
	if declared == nil || declared.Input.Check == nil {
		return nil, nil
	}
	if len(u.Input) == 0 {
		return nil, refusal.Invalid.New("update %q needs an input", u.Name).AtPlaceOf(nil, inputPlace)
	}
	if err := declared.Input.Check(inputPlace, u.Input, code.Names.Lenient); err != nil {
		at := refusal.PlaceOf(err, inputPlace)
		return failure.FromError(failure.Newf("BadInput", "update %q does not take this input: %v", u.Name, err).With(UpdateRefusal{At: at})), nil
	}
	return nil, nil
}

// CheckResult refuses a result that is not of the declared type of an activity. A missing result is
// the zero value. A process that does not know the activity accepts any.
func CheckResult(code *engine.Activity, result history.Payload) error {
	if code == nil {
		return nil
	}
	var err error
	switch {
	case code.Result.Check != nil && len(result) > 0:
		err = code.Result.Check(resultPlace, result, false)
	case code.CheckResult != nil:
		err = code.CheckResult(result)
	}
	if err != nil {
		return refusal.Invalid.New("activity %q cannot have this result: %v", code.Name, err).AtPlaceOf(err, resultPlace)
	}
	return nil
}
