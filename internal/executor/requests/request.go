package requests

import (
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// refused returns the refusal of a request that needs code of a run which is not run now, or nil if
// the code may run.
func refused(t *session.Session, run *engine.Run, kind runner.CodeKind) error {
	f := t.Process.Runner.Barred(kind, t.WorkflowID, run.State.RunID)
	if f == nil {
		return nil
	}
	return refusal.NotReady.New("%s", f.Message).With(f)
}

// notReady is the refusal of a request whose code fails.
func notReady(f *failure.Failure) *refusal.Error {
	return refusal.NotReady.New("the run continues from here when fixed code is deployed").With(f)
}

// Requests carries out what callers ask for.
type Requests struct{ Process *session.Process }

// Steering carries out what operators ask for: to retry, to end by hand, to pause, to reset, to
// move.
type Steering struct{ Process *session.Process }

// Lists lists and counts runs. It writes nothing.
type Lists struct{ Process *session.Process }

// Reports say what runs do and did. They write nothing.
type Reports struct{ Process *session.Process }
