package engine

import (
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// MaxPayload is the largest input or result of workflow code, in bytes. What is larger fails alone: the activity whose input
// it is, the update whose outcome, the run whose result. It is a constant because a replay has to decide as the first run
// did.
const MaxPayload = 256 << 10

// MaxOutcomes is how many bytes the results of the updates have that complete in one task, together: they share a commit. An
// update whose result does not fit any more fails alone. It is a constant for the same reason.
const MaxOutcomes = 340 << 10

// tooLarge is the failure of what has a payload of this size; nil where it is not too large.
func tooLarge(what string, size int) *failure.Failure {
	if size <= MaxPayload {
		return nil
	}
	return failure.FromError(failure.Newf("TooLarge", "%s has %d bytes: the limit is %d; pass larger things by reference", what, size, MaxPayload).Final())
}

// Oversize is the failure of an activity whose input was too large to be recorded; nil for others.
func Oversize(a *history.ActivityTaskScheduled) *failure.Failure {
	return tooLarge("the input of activity "+a.ActivityType, a.Oversize)
}

// OversizeChild is the failure of a child whose input was too large to be recorded; nil for others.
func OversizeChild(a *history.StartChildWorkflowExecutionInitiated) *failure.Failure {
	return tooLarge("the input of child workflow "+a.WorkflowType, a.Oversize)
}

// OversizeSignal is the same for a signal to another workflow.
func OversizeSignal(a *history.SignalExternalWorkflowExecutionInitiated) *failure.Failure {
	return tooLarge("the value of signal "+a.SignalName, a.Oversize)
}
