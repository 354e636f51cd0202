package command

import (
	"errors"
	"fmt"

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
// input is the zero value. An input whose decoder hangs is refused as not ready.
func (p *Parser) CheckInput(code *engine.Workflow, at string, input history.Payload) error {
	if p.Guard == nil || code.Input.RunsCode == nil || !code.Input.RunsCode() {
		return checkInput(code, at, input)
	}
	return p.Guard(code.Input, func() error { return checkInput(code, at, input) })
}

// checkInput is CheckInput without a bound.
func checkInput(code *engine.Workflow, at string, input history.Payload) error {
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
// type. A missing value is the zero value.
func CheckSignal(code *engine.Workflow, signal *history.WorkflowExecutionSignaled) error {
	declared, err := findSignal(code, signal)
	if err != nil || declared == nil || declared.Input.Check == nil {
		return err
	}
	if err := declared.Input.Check(inputPlace, signal.Input, code.Names.Lenient); err != nil {
		return refusal.Invalid.New("signal %q does not take this value: %v", signal.SignalName, err).AtPlaceOf(err, inputPlace)
	}
	return nil
}

// CheckSignalOfCode is CheckSignal for a signal that workflow code has sent, perhaps code of
// another build: its value only has to decode.
func CheckSignalOfCode(code *engine.Workflow, signal *history.WorkflowExecutionSignaled) error {
	declared, err := findSignal(code, signal)
	if err != nil || declared == nil || declared.Input.Decodes == nil {
		return err
	}
	if err := declared.Input.Decodes(signal.Input); err != nil {
		return refusal.Invalid.New("the value of signal %q does not decode as what the workflow takes: %v", signal.SignalName, err).AtPlaceOf(err, inputPlace)
	}
	return nil
}

// findSignal returns the declaration against which the value of a signal is held, or nil if any is
// taken. It refuses a signal that the code does not name.
func findSignal(code *engine.Workflow, signal *history.WorkflowExecutionSignaled) (*engine.Name, error) {
	if isOpen(code) {
		return nil, nil
	}
	if !code.Names.Allows(engine.SignalName, signal.SignalName) {
		known := code.Names.Of(engine.SignalName)
		switch {
		case engine.OwnType(signal.SignalName):
			return nil, refusal.Invalid.New("workflow type %q takes no signal %q: names that begin with \"weft.\" are reserved", code.Name, signal.SignalName).Knowing(known)
		case len(known) == 0:
			return nil, refusal.Invalid.New("workflow type %q takes no signals", code.Name)
		}
		return nil, refusal.Invalid.New("workflow type %q takes no signal %q: give one of %q", code.Name, signal.SignalName, known).Knowing(known)
	}
	if len(signal.Input) == 0 {
		return nil, nil
	}
	return code.Names.Find(engine.SignalName, signal.SignalName), nil
}

// takes says why a workflow type does not take a query or an update of a name.
func takes(code *engine.Workflow, kind engine.NameKind, name string) string {
	switch known := code.Names.Of(kind); {
	case engine.OwnType(name):
		return "names that begin with \"weft.\" are reserved"
	case len(known) == 0:
		return fmt.Sprintf("workflow type %q takes none", code.Name)
	default:
		return fmt.Sprintf("workflow type %q takes %q", code.Name, known)
	}
}

// Taken returns the declared type of what code takes by a name; the zero Value if none is declared.
func Taken(code *engine.Workflow, kind engine.NameKind, name string) engine.Value {
	if isOpen(code) {
		return engine.Value{}
	}
	if declared := code.Names.Find(kind, name); declared != nil {
		return declared.Input
	}
	return engine.Value{}
}

// TakenByUpdate returns the declared type of what an update has: its input, or that of the start
// that it carries. It returns the zero Value if none is declared.
func TakenByUpdate(code *engine.Workflow, u *engine.UpdateRequest) engine.Value {
	if s := carried(code, u); s != nil && s.Code != nil {
		return s.Code.Input
	}
	return Taken(code, engine.UpdateName, u.Name)
}

// CheckQuery refuses a query that the code does not name, or whose input is not of the declared
// type.
func CheckQuery(code *engine.Workflow, q *Query) error {
	if isOpen(code) {
		return nil
	}
	if !code.Names.Allows(engine.QueryName, q.Name()) {
		known := code.Names.Of(engine.QueryName)
		return refusal.NotFound.New("no such query; %s", takes(code, engine.QueryName, q.Name())).Knowing(known)
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

// UpdateRefusal is the error with which CheckUpdate rejects an update that the contract does not
// have.
type UpdateRefusal struct {
	// Failure is the failure with which it is rejected.
	Failure *failure.Failure `json:"-"`
	// At is the place in the request that is wrong; empty if the name is unknown.
	At string `json:"at,omitempty"`
	// Known are the names of updates that exist, if the name is unknown. They are the workflow
	// types if the update has an unknown one.
	Known []string `json:"known,omitempty"`
}

// Error returns why the update is rejected.
func (r *UpdateRefusal) Error() string { return r.Failure.Message }

// rejected returns a refusal with its failure, whose details have the same: the page reads them.
func rejected(f *failure.Error, r UpdateRefusal) error {
	r.Failure = failure.FromError(f.With(r))
	return &r
}

// CheckUpdate rejects an update that the code does not name, or whose input is not of the declared
// type, with an UpdateRefusal. It refuses the request if an input is missing.
func CheckUpdate(code *engine.Workflow, u *engine.UpdateRequest) error {
	if isOpen(code) {
		return heldAgainstType(carried(code, u))
	}
	if !code.Names.Allows(engine.UpdateName, u.Name) {
		known := code.Names.Of(engine.UpdateName)
		f := failure.Newf("UnknownUpdate", "no such update: %q; %s", u.Name, takes(code, engine.UpdateName, u.Name))
		return rejected(f, UpdateRefusal{Known: known})
	}
	declared := code.Names.Find(engine.UpdateName, u.Name)
	if declared == nil || declared.Input.Check == nil {
		return nil
	}
	if len(u.Input) == 0 && declared.Input.Check(inputPlace, nil, true) != nil { // of None, nothing is missing
		return refusal.Invalid.New("update %q needs an input", u.Name).AtPlaceOf(nil, inputPlace)
	}
	if err := declared.Input.Check(inputPlace, u.Input, code.Names.Lenient); err != nil {
		f := failure.Newf("BadInput", "update %q does not take this input: %v", u.Name, err)
		return rejected(f, UpdateRefusal{At: refusal.PlaceOf(err, inputPlace)})
	}
	return nil
}

// carried returns the start that an update carries, or nil.
func carried(code *engine.Workflow, u *engine.UpdateRequest) *engine.CarriedStart {
	if code == nil || code.Carried == nil {
		return nil
	}
	return code.Carried(u.Name, u.Input)
}

// heldAgainstType rejects an update that carries a wrong start: see Parser.CheckCarried. It returns
// nil if the update carries none.
func heldAgainstType(s *engine.CarriedStart) error {
	if s == nil {
		return nil
	}
	err := (&Parser{}).CheckCarried(s, inputPlace+"."+s.At) // the caller bounds it
	if r, ok := errors.AsType[*refusal.Error](err); ok {
		return rejected(failure.Newf("BadInput", "%s", r.Detail), UpdateRefusal{At: r.At, Known: r.Known})
	}
	return err
}

// CheckCarried refuses a start that a request carries for later: one whose type does not exist,
// whose input is not of the type's declared one, or whose search attributes no filter finds. at is
// the input's place in the request.
func (p *Parser) CheckCarried(s *engine.CarriedStart, at string) error {
	if err := CheckAttributeNames(s.SearchAttributes); err != nil {
		return err
	}
	if s.Code == nil {
		return noSuchType(s.Type, s.Known)
	}
	return p.CheckInput(s.Code, at, s.Input)
}

// noSuchType refuses a workflow type that does not exist. known are those that do.
func noSuchType(name string, known []string) error {
	return refusal.Invalid.New("there is no workflow type %q: give one of %q", name, known).Knowing(known)
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
