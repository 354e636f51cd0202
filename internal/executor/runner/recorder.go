package runner

import (
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// CodeKind says what code of a run runs.
type CodeKind uint8

// The kinds of code. They are kept in files: a number never changes its meaning.
const (
	CodeTask     CodeKind = 1
	CodeUpdate   CodeKind = 2 // a task that hands updates over: validators and handlers
	CodeQuery    CodeKind = 3
	CodeActivity CodeKind = 4
	CodeLocal    CodeKind = 5 // a local activity
)

// String says what runs, in words.
func (k CodeKind) String() string {
	switch k {
	case CodeTask:
		return "its workflow code"
	case CodeUpdate:
		return "its code for an update"
	case CodeQuery:
		return "its code for a query"
	case CodeActivity:
		return "an activity"
	case CodeLocal:
		return "a local activity"
	}
	return "its code"
}

// CodeRef names code of a run.
type CodeRef struct {
	Kind       CodeKind
	WorkflowID string
	RunID      history.RunID
	// Part distinguishes the code of a run that has the same kind: the event id of an activity, and
	// a hash of the name of an update, a query or a local activity.
	Part uint64
}

// NoTurn is the turn of code that is not suspected, or that has not waited for its turn.
const NoTurn = 0

// Recorder records which user code runs, so that the next process knows what ran when this one
// died. Its methods are safe for concurrent use, and do not fail: without a record the server
// continues.
type Recorder interface {
	// Await waits until code has its turn, if it may have ended an earlier process. It records
	// nothing: a process that dies before Begin did not die of this code. It returns NoTurn for
	// other code. Give the turn to Begin and to Leave.
	Await(c CodeRef) (turn int)
	// Leave gives the turn back, unless the code has begun.
	Leave(turn int)
	// Begin records that code is about to run. With a turn from Await it does not wait, even if the
	// turn is over. With NoTurn, code that may have ended an earlier process waits for its turn
	// first. Give the note to End.
	Begin(c CodeRef, turn int) (note int)
	// End records that the code has returned.
	End(note int)
	// Parked returns why code must not run, because it has ended the process too often; empty if it
	// may.
	Parked(c CodeRef) (reason string)
	// Forget drops what is recorded of a run that has closed.
	Forget(workflowID string, run uint32)
}

// Await waits for the turn of code that is suspected, before Weft writes that the code begins.
// Give the turn to BeginIn and to Leave.
func (r *Runner) Await(kind CodeKind, workflowID string, runID history.RunID, part uint64) (turn int) {
	if r.options.Recorder == nil {
		return NoTurn
	}
	return r.options.Recorder.Await(CodeRef{kind, workflowID, runID, part})
}

// Leave gives a turn back, unless the code has begun.
func (r *Runner) Leave(turn int) {
	if r.options.Recorder != nil {
		r.options.Recorder.Leave(turn)
	}
}

// BeginIn is Begin for code that Await gave a turn.
func (r *Runner) BeginIn(turn int, kind CodeKind, workflowID string, runID history.RunID, part uint64) (note int) {
	if r.options.Recorder == nil {
		return 0
	}
	return r.options.Recorder.Begin(CodeRef{kind, workflowID, runID, part}, turn)
}

// Begin records that code is about to run. The caller passes the note to End.
func (r *Runner) Begin(kind CodeKind, workflowID string, runID history.RunID, part uint64) (note int) {
	return r.BeginIn(NoTurn, kind, workflowID, runID, part)
}

// End records that the code has returned.
func (r *Runner) End(note int) {
	if r.options.Recorder != nil {
		r.options.Recorder.End(note)
	}
}

// Parked returns why code is not run, because it has ended the process too often. It returns "" if
// the code may run.
func (r *Runner) Parked(kind CodeKind, workflowID string, runID history.RunID, part uint64) string {
	if r.options.Recorder == nil {
		return ""
	}
	return r.options.Recorder.Parked(CodeRef{kind, workflowID, runID, part})
}

// beginTask records that the code of a task is about to run, which hands these updates over.
func (c *Code) beginTask(in *engine.Instance, updates []engine.UpdateRequest) (note int) {
	kind, part := CodeTask, uint64(0)
	for i := range updates {
		kind = CodeUpdate
		part ^= Hash(updates[i].Name)
	}
	return c.runner.Begin(kind, c.workflowID, in.RunID(), part)
}

// leave ends a run of an instance's code. Code that the instance unwinds is still part of it.
func (c *Code) leave(in *engine.Instance, note int) {
	defer c.runner.End(note)
	in.Leave()
}

// Hash returns a hash of a name (FNV-1a) that is the same in each process.
func Hash(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}
