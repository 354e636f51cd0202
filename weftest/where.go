package weftest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/replay"
	"github.com/seed-41655fb1/weft/internal/where"
)

// rebuild runs code with the commits of a run, and returns the instance after them, which the
// caller closes. It returns an error if the code does something else than the commits record.
func rebuild(code *engine.Workflow, workflowID string, commits []*history.Commit) (*engine.Instance, error) {
	in := engine.NewInstance(code, workflowID, commits[0].RunID)
	if err := replay.Rebuild(in, commits); err != nil {
		err = fmt.Errorf("%w%s", err, whereFailed(in, errors.Unwrap(err))) // the message begins with the place
		in.Close()
		return nil, err
	}
	return in, nil
}

// check returns the error of rebuild.
func check(code *engine.Workflow, workflowID string, commits []*history.Commit) error {
	in, err := rebuild(code, workflowID, commits)
	if err == nil {
		in.Close()
	}
	return err
}

// whereFailed returns the place at which the code failed: the stack of a panic, or else the lines
// that the code has reached.
func whereFailed(in *engine.Instance, err error) string {
	switch f := failure.FromError(err); {
	case f.Kind != failure.KindNonDeterminism && f.Stack != "":
		return "\n" + f.Stack
	case f.Kind != failure.KindNonDeterminism:
		return ""
	case f.Stack != "":
		return line(f.Stack)
	}
	return lines(in)
}

// advice returns what to do about an error of a replay.
func advice(err error) string {
	if !errors.Is(err, &failure.OtherError{Kind: failure.KindNonDeterminism}) {
		return ""
	}
	return "\n\tOpen runs would be held there: keep what they do, and put workflow.Patched around the new code"
}

// lines returns where the code waits, one line for each of its coroutines.
func lines(in *engine.Instance) string {
	var b strings.Builder
	for _, stack := range in.Scheduler().Stacks() {
		b.WriteString(line(stack))
	}
	return b.String()
}

// line returns, for messages, the topmost line of the author's code in a stack, or an empty text.
func line(stack string) string {
	if at, ok := where.OfStack(stack); ok {
		return fmt.Sprintf("\n\tat %s:%d, in %s", at.File, at.Line, at.Name())
	}
	return ""
}
