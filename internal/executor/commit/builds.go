package commit

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// OtherBuild is the refusal of what only another build may do. Nothing was written. To those who know no other build it is
// a refusal.OtherBuild; the Lambda functions hand what it refuses to the version of themselves that has the build.
type OtherBuild struct {
	WorkflowID string
	RunID      history.RunID
	// Build is the build that may.
	Build string
	// Here is the build that may not.
	Here string
	// Moves says that the run is to be moved there; otherwise it is pinned to it.
	Moves bool
	// Instead is the message that waits for the build in the place of the one that came; nil where that one does.
	Instead *engine.Message
}

// Error says what to do.
func (o *OtherBuild) Error() string {
	if o.Moves {
		return fmt.Sprintf("run %q of workflow %q is to move to build %q, which has to do that, and cannot be reached from build %q: deploy it, beside this one if that is to stay",
			o.RunID, o.WorkflowID, o.Build, o.Here)
	}
	return fmt.Sprintf("run %q of workflow %q is pinned to build %q, which cannot be reached from build %q: deploy that build again beside this one, or move the run to another",
		o.RunID, o.WorkflowID, o.Build, o.Here)
}

// Unwrap is what the caller of a request is told.
func (o *OtherBuild) Unwrap() error { return refusal.OtherBuild.New("%s", o.Error()) }

// IsPinnedElsewhere reports whether another build alone may run the code of a run, as far as this process knows. Code of a run that
// has closed may run anywhere: it changes nothing.
func IsPinnedElsewhere(t *session.Session, run *engine.Run) bool {
	pinned := run.State.Pinned
	return pinned != "" && pinned != t.Options.Build && !run.State.Status.Closed()
}

// CheckBuild returns an OtherBuild if another build alone may run the code of a run. That answer rests on a read of this session:
// the run may have been moved here. That it may run here needs no read: if it has been moved away its commit loses, and what
// commits nothing is answered from a read of its own.
func CheckBuild(ctx context.Context, t *session.Session, run *engine.Run) error {
	if !IsPinnedElsewhere(t, run) {
		return nil
	}
	return t.RequireFresh(ctx, &OtherBuild{WorkflowID: t.WorkflowID, RunID: run.State.RunID, Build: run.State.Pinned, Here: t.Options.Build})
}
