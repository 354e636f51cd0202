package client

import (
	"cmp"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// check returns ErrInvalid with the reason if an id or a name in the request's path, or the id of a
// run that it starts, is not one that the server accepts. Without the check, an empty id or ".."
// would change the path, and the server would answer that there is no such path.
func (r Request) check() error {
	switch r.Operation {
	case "start":
		return invalid(checkUnlessEmpty("workflow id", r.WorkflowID))
	case "topic", "signal", "query", "update":
		return invalid(cmp.Or(engine.CheckID("workflow id", r.WorkflowID), checkName(r.Operation+"'s name", r.Name)))
	case "poll", "failUpdate":
		return invalid(cmp.Or(engine.CheckID("workflow id", r.WorkflowID), engine.CheckID("update id", r.Name)))
	case "result", "describe", "history", "runs", "topics", "waits", "cancel", "terminate", "reset", "move", "delete",
		"retry", "pause", "resume", "retryActivity", "completeByHand", "failByHand":
		return invalid(engine.CheckID("workflow id", r.WorkflowID))
	case "type":
		return invalid(checkName("type", r.Name))
	case "redrive":
		return invalid(checkName("queue", r.Name))
	}
	return nil // it has no id
}

// checkUnlessEmpty is engine.CheckID for an id that the server chooses if it is empty.
func checkUnlessEmpty(what, id string) error {
	if id == "" {
		return nil
	}
	return engine.CheckID(what, id)
}

// checkName is engine.CheckName for a name in the path of a request.
func checkName(what, name string) error {
	if name == "." || name == ".." {
		return fmt.Errorf("the %s is %q, which no URL can hold: give another", what, name)
	}
	return engine.CheckName(what, name)
}

// check returns ErrInvalid with the reason if the schedule's id is not one that the server accepts.
func (s Schedule) check() error { return invalid(engine.CheckID("schedule's id", s.ID)) }

// invalid returns a refusal that says what is wrong with a request, or nil if nothing is.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return problem.Of(refusal.Invalid.New("%v", err))
}
