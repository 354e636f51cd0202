package starts

import (
	"cmp"
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// CheckConflict says whether there is room for another run: replaced is the one that is open and to
// be terminated. The run that an earlier sending of the same start opened, or one that is to be
// used in its place, is in the answer. It refuses a start that may not open a run, and one that the
// contract does not have, unless an earlier sending of it has opened a run.
func CheckConflict(ctx context.Context, t *session.Session, c *command.Start, answer *schema.StartResponse) (replaced *engine.Run, err error) {
	replaced, err = findRoom(ctx, t, c, answer)
	if err == nil && answer.RunID == "" {
		err = c.MayOpen()
	}
	return replaced, err
}

// findRoom is CheckConflict for a start that may open a run.
func findRoom(ctx context.Context, t *session.Session, c *command.Start, answer *schema.StartResponse) (replaced *engine.Run, err error) {
	latest := t.Run()
	if latest == nil {
		return nil, c.Refused()
	}
	if answer.RunID, err = LookForStart(ctx, t, latest, c); err != nil || answer.RunID != "" {
		return nil, err
	}
	if err := c.Refused(); err != nil {
		return nil, err
	}
	if latest.State.Status.Closed() {
		return nil, CheckReuse(latest, c)
	}
	return applyConflictPolicy(latest, c.Conflict(), answer)
}

// LookForStart returns the run that an earlier attempt at the same start opened: the latest, or the
// one before it. A void run does not count.
func LookForStart(ctx context.Context, t *session.Session, latest *engine.Run, c *command.Start) (history.RunID, error) {
	if latest.State.Started.RequestID == c.RequestID() {
		return cmp.Or(latest.State.Started.FirstRunID, latest.State.RunID), nil
	}
	before, err := t.View.Reader.RunBefore(ctx, t.WorkflowID, latest.Number)
	if err != nil || before == nil {
		return "", err
	}
	if started := before.Opens(); started != nil && started.RequestID == c.RequestID() {
		return cmp.Or(started.FirstRunID, before.RunID), nil
	}
	return "", nil
}

// CheckReuse returns why a start may not open a run after a closed one by its idReusePolicy, or nil
// if it may.
func CheckReuse(latest *engine.Run, c *command.Start) error {
	status, policy := latest.State.Status, c.Reuse()
	if policy == command.RejectDuplicate || policy == command.AllowDuplicateFailedOnly && status == history.Completed {
		return refusal.AlreadyUsed.New("workflow %q has run before (run %q is %s), and the idReusePolicy is %s", latest.WorkflowID, latest.State.RunID, status, policy)
	}
	return nil
}

// applyConflictPolicy decides about an open run that conflicts with a start: it returns the run
// that the start replaces, or answers with the one that is used.
func applyConflictPolicy(latest *engine.Run, policy command.ConflictPolicy, answer *schema.StartResponse) (*engine.Run, error) {
	switch policy {
	case command.UseExisting:
		answer.RunID = latest.State.RunID
		return nil, nil
	case command.TerminateExisting:
		return latest, nil
	}
	return nil, refusal.AlreadyOpen.New("run %q of workflow %q is open: wait for it, use another workflowId, or give an idConflictPolicy", latest.State.RunID, latest.WorkflowID)
}
