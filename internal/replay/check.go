package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Error is a replay that failed, with the place of the author's code.
type Error struct {
	// Err is the failure, with the run and the batch.
	Err error
	// Places are the lines of the author's code: that of the failure or, if the code did something
	// else than the log has, those that its coroutines have reached.
	Places []where.Frame
	// Stack is the stack of a panic; empty for other failures.
	Stack string
}

// Error returns the failure, and in further lines where it was.
func (e *Error) Error() string {
	if e.Stack != "" {
		return e.Err.Error() + "\n" + e.Stack
	}
	return e.Err.Error() + Lines(e.Places)
}

// Unwrap returns the failure.
func (e *Error) Unwrap() error { return e.Err }

// Open runs code with the commits of a run, and returns the instance after them, which the caller
// closes. It returns an *Error if the code does something else than the commits record.
func Open(code *engine.Workflow, workflowID string, commits []*history.Commit) (*engine.Instance, error) {
	in := engine.NewInstance(code, workflowID, commits[0].RunID)
	if err := Rebuild(in, commits); err != nil {
		err = located(in, err)
		in.Close()
		return nil, err
	}
	return in, nil
}

// Check returns the error of Open.
func Check(code *engine.Workflow, workflowID string, commits []*history.Commit) error {
	in, err := Open(code, workflowID, commits)
	if err == nil {
		in.Close()
	}
	return err
}

// located returns an error of Rebuild with its places.
func located(in *engine.Instance, err error) error {
	located := &Error{Err: err}
	switch f := failure.FromError(errors.Unwrap(err)); { // the message of err begins with the run
	case f.Kind != failure.KindNonDeterminism:
		located.Stack = f.Stack
		located.Places = places(f.Stack)
	case f.Stack != "":
		located.Places = places(f.Stack)
	default:
		located.Places = Waiting(in)
	}
	return located
}

// Waiting returns where the code of an instance waits, for each of its coroutines.
func Waiting(in *engine.Instance) []where.Frame { return places(in.Scheduler().Stacks()...) }

// places returns the topmost line of the author's code in each stack that has one.
func places(stacks ...string) (all []where.Frame) {
	for _, stack := range stacks {
		if at, ok := where.OfStack(stack); ok {
			all = append(all, at)
		}
	}
	return all
}

// Lines returns places for messages, one in each line.
func Lines(places []where.Frame) string {
	var b strings.Builder
	for _, at := range places {
		fmt.Fprintf(&b, "\n\tat %s:%d, in %s", at.File, at.Line, at.Name())
	}
	return b.String()
}

// Advice returns what to do about an error of Check; empty if it says all.
func Advice(err error) string {
	if !errors.Is(err, &failure.OtherError{Kind: failure.KindNonDeterminism}) {
		return ""
	}
	return "Open runs would be held there: keep what they do, and put workflow.Patched around the new code"
}
