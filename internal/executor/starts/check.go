package starts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/cron"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// CheckIDs refuses ids that no workflow can have.
func CheckIDs(workflowID string, runID history.RunID) error {
	if err := engine.CheckID("workflow id", workflowID); err != nil {
		return refusal.Invalid.New("%v", err)
	}
	if runID != "" && runID.Number() == 0 {
		return refusal.Invalid.New("the runId is not the id of a run: give one that a start returned, or none for the latest run")
	}
	return nil
}

// RequestID checks the id of a request, or generates one if it is empty.
func RequestID(s *session.Process, id string) (string, error) {
	if id == "" {
		return history.CommitID(s.World.ID()).String(), nil
	}
	if err := engine.CheckID("requestId", id); err != nil {
		return "", refusal.Invalid.New("%v", err)
	}
	return id, nil
}

// CheckPayload refuses an input that is too large.
func CheckPayload(s *session.Process, p []byte) error {
	if len(p) > s.Options.MaxPayload {
		return refusal.TooLarge.New("the input has %d bytes, and may have %d: %s", len(p), s.Options.MaxPayload, engine.Advice(s.Options.MaxPayload))
	}
	return nil
}

// MakeWorkflowID generates the id of a workflow whose starter gave none. It derives the id from the
// request's id, if there is one, so that a repeated request finds its run.
func MakeWorkflowID(s *session.Process, requestID string) *string {
	random := s.World.ID()
	if requestID != "" {
		sum := sha256.Sum256([]byte(requestID))
		random = [16]byte(sum[:16])
	}
	id := "w-" + hex.EncodeToString(random[:])
	return &id
}

// CheckStart returns the event with which a start opens its run. It refuses a start that is not
// valid.
func CheckStart(ctx context.Context, s *session.Process, r *api.StartRequest) (*history.WorkflowExecutionStarted, error) {
	if err := CheckIDs(*r.WorkflowID, ""); err != nil {
		return nil, err
	}
	requestID, err := RequestID(s, r.RequestID)
	if err != nil {
		return nil, err
	}
	workflow := s.Registry.Workflow(r.Type)
	switch {
	case r.Type == "":
		return nil, refusal.Invalid.New("the type is missing: give one of %q", s.Registry.WorkflowNames())
	case workflow == nil:
		return nil, refusal.Invalid.New("there is no workflow type %q: give one of %q", r.Type, s.Registry.WorkflowNames())
	}
	retry, err := checkTimes(s, r)
	if err != nil {
		return nil, err
	}
	if err := checkPolicies(r); err != nil {
		return nil, err
	}
	if err := checkCarried(s, r, workflow); err != nil {
		return nil, err
	}
	build := ""
	if workflow.Pinned {
		build = s.Options.Build
	}
	return &history.WorkflowExecutionStarted{
		Build: build, WorkflowType: r.Type, Input: history.Payload(r.Input), RequestID: requestID, RunTimeout: history.Duration(r.RunTimeout),
		StartDelay: history.Duration(r.StartDelay), TraceParent: s.Observed().TraceParent(ctx),
		Memo: r.Memo, SearchAttributes: r.SearchAttributes, Header: r.Header, Retry: retry, Cron: r.Cron, ExecutionTimeout: history.Duration(r.ExecutionTimeout),
		MaxPayload: s.Options.Engine.Largest(), Retention: history.Duration(s.Options.Retention),
	}, nil
}

// checkPolicies refuses a start whose policies do not exist or contradict each other.
func checkPolicies(r *api.StartRequest) error {
	switch r.IDReusePolicy {
	case "", allowDuplicate, allowDuplicateFailedOnly, rejectDuplicate:
	default:
		return refusal.Invalid.New("there is no idReusePolicy %q: give %s, %s or %s", r.IDReusePolicy, allowDuplicate, allowDuplicateFailedOnly, rejectDuplicate)
	}
	switch r.IDConflictPolicy {
	case "", ConflictFail, UseExisting, TerminateExisting:
	default:
		return refusal.Invalid.New("there is no idConflictPolicy %q: give %s, %s or %s", r.IDConflictPolicy, ConflictFail, UseExisting, TerminateExisting)
	}
	if r.IDReusePolicy == rejectDuplicate && r.IDConflictPolicy == TerminateExisting {
		return refusal.Invalid.New("the idReusePolicy %s has an id used once, and the idConflictPolicy %s would use it again: leave one of them out", rejectDuplicate, TerminateExisting)
	}
	return nil
}

// checkCarried refuses a start with an input, a header, a memo or search attributes that its run could not carry.
func checkCarried(s *session.Process, r *api.StartRequest, workflow *engine.Workflow) error {
	if err := CheckPayload(s, r.Input); err != nil {
		return err
	}
	switch err := workflow.CheckInput(history.Payload(r.Input)); {
	case errors.Is(err, refusal.Invalid):
		return err // the workflow is Weft's own, which callers do not know as one
	case err != nil:
		return refusal.Invalid.New("the input does not decode as the input of workflow type %q: %v", r.Type, err)
	}
	if err := engine.CheckHeader(r.Header); err != nil {
		return refusal.Invalid.New("%v", err)
	}
	if err := (engine.Visibility{Memo: r.Memo, SearchAttributes: r.SearchAttributes}).Check(); err != nil {
		return refusal.Invalid.New("%v", err)
	}
	return nil
}

// checkTimes refuses a start whose times are not valid. It returns the start's retry policy with
// defaults, or nil.
func checkTimes(s *session.Process, r *api.StartRequest) (*history.RetryPolicy, error) {
	switch {
	case r.RunTimeout < 0:
		return nil, refusal.Invalid.New("the runTimeout is negative: give a duration such as \"1h30m\", or none")
	case r.ExecutionTimeout < 0:
		return nil, refusal.Invalid.New("the executionTimeout is negative: give a duration such as \"1h30m\", or none")
	case r.StartDelay < 0:
		return nil, refusal.Invalid.New("the startDelay is negative: give a duration such as \"10m\", or none")
	case r.RunTimeout > 0 && time.Duration(r.RunTimeout) < time.Millisecond:
		return nil, refusal.Invalid.New("the runTimeout is below a millisecond: give a duration such as \"1h30m\"")
	case r.ExecutionTimeout > 0 && time.Duration(r.ExecutionTimeout) < time.Millisecond:
		return nil, refusal.Invalid.New("the executionTimeout is below a millisecond: give a duration such as \"1h30m\"")
	case r.Cron != "" && r.StartDelay > 0:
		return nil, refusal.Invalid.New("a start with a cronSchedule waits for its first moment: leave the startDelay out")
	}
	if err := checkCron(s, r.Cron); err != nil || r.Retry == nil {
		return nil, err
	}
	p, err := engine.CompleteRetry(*r.Retry.History())
	if err != nil {
		return nil, refusal.Invalid.New("the retryPolicy cannot be: %v", err)
	}
	return &p, nil
}

// checkCron refuses a cron expression that cannot be parsed, or has no next moment.
func checkCron(s *session.Process, expression string) error {
	if expression == "" {
		return nil
	}
	schedule, err := cron.Parse(expression)
	if err != nil {
		return refusal.Invalid.New("the cronSchedule: %v", err)
	}
	if schedule.Next(s.World.Now()).IsZero() {
		return refusal.Invalid.New("the cronSchedule %q names no moment in the next years", expression)
	}
	return nil
}
