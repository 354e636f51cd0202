package engine

import (
	"cmp"
	"strings"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// maxCloseReason is the largest length of a CloseReason, in bytes.
const maxCloseReason = 255

// CloseReason returns, in a word, why an event closes its run: of a failure what FailureType
// returns, otherwise runTimeout, executionTimeout, terminated, reset, or replaced. It returns an
// empty text for a run that completed, continued as new or was canceled, which its status says, and
// for an event that closes no run.
func CloseReason(closing history.Attributes) string {
	switch a := closing.(type) {
	case *history.WorkflowExecutionFailed:
		return FailureType(a.Failure)
	case *history.WorkflowExecutionTimedOut:
		if a.ExecutionTimeout > 0 {
			return "executionTimeout"
		}
		return "runTimeout"
	case *history.WorkflowExecutionTerminated:
		switch {
		case a.ReplacedBy != "":
			return "replaced"
		case a.ResetEventID != 0 || a.NewRunID != "":
			return "reset"
		}
		return "terminated"
	case nil, history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing:
	}
	return ""
}

// FailureType returns the type of the error at the end of a failure's chain of causes. If that has
// no type, it returns which time limit was exceeded, or else the kind of the failure.
func FailureType(f *failure.Failure) string {
	if f == nil {
		return ""
	}
	for f.Cause != nil {
		f = f.Cause
	}
	typ := cmp.Or(f.Type, f.Timeout, f.Kind.String())
	return strings.ToValidUTF8(typ[:min(len(typ), maxCloseReason)], "")
}
