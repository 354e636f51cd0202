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
	// Soft says that Build owns the run while a deployment is rolled out. This build may do the
	// work as well, in the context of Anywhere, if Build cannot be reached.
	Soft bool
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
	if o.Soft {
		return fmt.Sprintf("run %q of workflow %q belongs to build %q while it is rolled out beside build %q", o.RunID, o.WorkflowID, o.Build, o.Here)
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

// CheckBuild returns an OtherBuild if only another build may run the code of a run, or if another
// build owns it (Options.Owner), unless ctx is one of Anywhere. It reads first, because the run may
// have moved here. It does not read if the run may run here. If the run has moved away, its commit
// loses the race, and an answer without a commit reads anyway.
func CheckBuild(ctx context.Context, t *session.Session, run *engine.Run) error {
	here := t.Process.Options.Build
	build, soft := run.State.Pinned, false
	if !IsPinnedElsewhere(t, run) {
		if build, soft = owner(ctx, t, run), true; build == here || IsAnywhere(ctx) {
			return nil
		}
	}
	return t.RequireFresh(ctx, &OtherBuild{WorkflowID: t.WorkflowID, RunID: run.State.RunID, Build: build, Here: here, Soft: soft})
}

type anywhere struct{}

// Anywhere returns the context of work that this build does although another build owns the run:
// that build has passed it on, or cannot be reached.
func Anywhere(ctx context.Context) context.Context { return context.WithValue(ctx, anywhere{}, true) }

// IsAnywhere reports whether a context is one of Anywhere.
func IsAnywhere(ctx context.Context) bool { return ctx.Value(anywhere{}) != nil }

// IsElsewhere reports whether another build runs the code of a run in this context.
func IsElsewhere(ctx context.Context, t *session.Session, run *engine.Run) bool {
	return IsPinnedElsewhere(t, run) || !IsAnywhere(ctx) && IsOwnedElsewhere(ctx, t, run)
}

// IsOwnedElsewhere reports whether another build owns a run while a deployment is rolled out.
func IsOwnedElsewhere(ctx context.Context, t *session.Session, run *engine.Run) bool {
	return owner(ctx, t, run) != t.Process.Options.Build
}

// owner returns the build that owns a run: this one, if no deployment is rolled out, or if the run
// is pinned or has had no task. A run is not asked about if the last task that succeeded ran here.
// A task that has failed moves no run: this build may have run it in place of the owner, and would
// keep a run that only the owner knows.
func owner(ctx context.Context, t *session.Session, run *engine.Run) string {
	o, last := &t.Process.Options, run.State.RanUnder
	if o.Owner == nil || run.State.Pinned != "" || run.State.LastTask == nil || last == o.Build {
		return o.Build
	}
	return o.Owner(ctx, t.WorkflowID, last)
}
