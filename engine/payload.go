package engine

import (
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// MaxPayload is the largest input or result of workflow code, in bytes, unless the run says
// otherwise. A larger one fails alone: the activity whose input it is, the update whose outcome it
// is, the run whose result it is. It is a constant because a replay has to decide as the first run
// did.
const MaxPayload = 256 << 10

// Advice returns what the error of a payload above a limit advises.
func Advice(limit int) string {
	const reference = "pass larger things by reference"
	if limit > MaxPayload {
		return reference
	}
	return reference + ", or have large payloads kept (WEFT_BUCKET, --large-payloads)"
}

// maxPayload returns the size of the largest payload of the instance's run.
func (in *Instance) maxPayload() int { return max(in.largest, MaxPayload) }

// inputOf returns the input of encode, or its size if it is too large to be recorded.
func (in *Instance) inputOf(encode func() history.Payload) (input history.Payload, oversize int) {
	if input = encode(); len(input) > in.maxPayload() {
		return nil, len(input)
	}
	return input, 0
}

// tooLarge returns the failure for a payload of this size, or nil if it is not too large.
func (in *Instance) tooLarge(what string, size int) *failure.Failure {
	return tooLarge(what, size, in.maxPayload())
}

func tooLarge(what string, size, limit int) *failure.Failure {
	if size <= limit {
		return nil
	}
	return failure.FromError(failure.Newf(failure.ErrTooLarge.Type, "%s has %d bytes: the limit is %d; %s", what, size, limit, Advice(limit)).Final())
}

// Oversize returns the failure of an activity whose input was too large to be recorded, or nil.
// limit is the limit that the error names, unless it has been raised since.
func Oversize(a *history.ActivityTaskScheduled, limit int) *failure.Failure {
	return oversize("the input of activity "+a.ActivityType, a.Oversize, limit)
}

// OversizeChild is the same for a child.
func OversizeChild(a *history.StartChildWorkflowExecutionInitiated, limit int) *failure.Failure {
	return oversize("the input of child workflow "+a.WorkflowType, a.Oversize, limit)
}

// OversizeSignal is the same for a signal to another workflow.
func OversizeSignal(name string, d *history.Delivery, limit int) *failure.Failure {
	return oversize("the value of signal "+name, d.Oversize, limit)
}

func oversize(what string, size, limit int) *failure.Failure {
	if size <= limit {
		limit = MaxPayload // what was recorded as too large stays too large
	}
	return tooLarge(what, size, limit)
}
