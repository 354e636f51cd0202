package starts

import (
	"cmp"
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// The policies of a start.
const (
	allowDuplicate           = "allowDuplicate"
	allowDuplicateFailedOnly = "allowDuplicateFailedOnly"
	rejectDuplicate          = "rejectDuplicate"

	ConflictFail      = "fail"
	UseExisting       = "useExisting"
	TerminateExisting = "terminateExisting"
)

// CheckConflict reports whether the start may open another run. replaced is the open run that it
// must terminate. The answer has the run that an earlier attempt at the same start opened, or that
// is used instead.
func CheckConflict(ctx context.Context, t *session.Session, r *api.StartRequest, requestID string, answer *api.StartResponse) (replaced *engine.Run, err error) {
	latest := t.Run()
	if latest == nil {
		return nil, nil
	}
	if answer.RunID, err = SameStart(ctx, t, latest, requestID); err != nil || answer.RunID != "" {
		return nil, err
	}
	if latest.State.Status.Closed() {
		return nil, MayReuse(latest, r.IDReusePolicy)
	}
	return mayReplace(t, latest, r.IDConflictPolicy, answer)
}

// SameStart returns the run that an earlier attempt at the same start opened: the latest, or the
// one before it. A void run does not count.
func SameStart(ctx context.Context, t *session.Session, latest *engine.Run, requestID string) (history.RunID, error) {
	if latest.State.Started.RequestID == requestID {
		return cmp.Or(latest.State.Started.FirstRunID, latest.State.RunID), nil
	}
	before, err := t.View.RunBefore(ctx, t.WorkflowID, latest.Number)
	if err != nil || before == nil {
		return "", err
	}
	if started := before.Opens(); started != nil && started.RequestID == requestID {
		return cmp.Or(started.FirstRunID, before.RunID), nil
	}
	return "", nil
}

// MayReuse returns why a start with this idReusePolicy may not open a run after a closed one, or nil if it may.
func MayReuse(latest *engine.Run, policy string) error {
	status := latest.State.Status
	if policy == rejectDuplicate || policy == allowDuplicateFailedOnly && status == history.Completed {
		return refusal.AlreadyUsed.New("workflow %q has run before (run %q is %s), and the idReusePolicy is %s", latest.WorkflowID, latest.State.RunID, status, policy)
	}
	return nil
}

// mayReplace decides about an open run that conflicts with a start.
func mayReplace(t *session.Session, latest *engine.Run, policy string, answer *api.StartResponse) (*engine.Run, error) {
	switch policy {
	case UseExisting:
		answer.RunID = latest.State.RunID
		return nil, nil
	case TerminateExisting:
		return latest, nil
	}
	return nil, refusal.AlreadyOpen.New("run %q of workflow %q is open: wait for it, use another workflowId, or give an idConflictPolicy", latest.State.RunID, latest.WorkflowID)
}
