package commit

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// OtherBuild refuses what only another build may do. Nothing was written. A caller that does not
// know other builds sees a refusal.OtherBuild. The Lambda functions forward the refused work to the
// function version that has the build.
type OtherBuild struct {
	WorkflowID string
	RunID      history.RunID
	// Build is the build that may.
	Build string
	// Here is the build that may not.
	Here string
	// Moves says that the run is to move to Build. Otherwise the run is pinned to Build.
	Moves bool
	// Types says that the types of Build are asked for, which its code alone has. There is no run.
	Types bool
	// Instead is the message that waits for the build in place of the delivered one, or nil if the
	// delivered one waits.
	Instead *engine.Message
}

// Error says how to make the build reachable.
func (o *OtherBuild) Error() string {
	if o.Types {
		return fmt.Sprintf("only build %q knows its types, and it cannot be reached from build %q: deploy it beside this one, or leave the build out to get the types of this one", o.Build, o.Here)
	}
	if o.Moves {
		return fmt.Sprintf("run %q of workflow %q is to move to build %q, which has to do that, and cannot be reached from build %q: deploy it, beside this one if that is to stay",
			o.RunID, o.WorkflowID, o.Build, o.Here)
	}
	return fmt.Sprintf("run %q of workflow %q is pinned to build %q, which cannot be reached from build %q: deploy that build again beside this one, or move the run to another",
		o.RunID, o.WorkflowID, o.Build, o.Here)
}

// Unwrap returns the error for the caller of a request.
func (o *OtherBuild) Unwrap() error { return refusal.OtherBuild.New("%s", o.Error()) }

// IsPinnedElsewhere reports whether only another build may run the code of a run, as far as this
// process knows. The code of a closed run may run anywhere, because it changes nothing.
func IsPinnedElsewhere(t *session.Session, run *engine.Run) bool {
	pinned := run.State.Pinned
	return pinned != "" && pinned != t.Process.Options.Build && !run.State.Status.Closed()
}

// CheckBuild returns an OtherBuild if only another build may run the code of a run. It reads first,
// because the run may have moved here. It does not read if the run may run here. If the run has
// moved away, its commit loses the race, and an answer without a commit reads anyway.
func CheckBuild(ctx context.Context, t *session.Session, run *engine.Run) error {
	if !IsPinnedElsewhere(t, run) {
		return nil
	}
	return t.RequireFresh(ctx, &OtherBuild{WorkflowID: t.WorkflowID, RunID: run.State.RunID, Build: run.State.Pinned, Here: t.Process.Options.Build})
}
