package command

import (
	"cmp"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Update sends an update to a run, or to one that it starts.
type Update struct {
	Target
	request  engine.UpdateRequest
	accepted bool
	// Waiting has how long the call may take, at most the soft limit.
	Waiting
	start *Start
}

// Request returns the update in the engine's form.
func (u *Update) Request() engine.UpdateRequest { return u.request }

// WaitsForAccepted reports whether the caller waits for the acceptance alone, and not for the
// outcome.
func (u *Update) WaitsForAccepted() bool { return u.accepted }

// Start returns the start of a run for the update if none is open; if it is nil, the update is
// refused then.
func (u *Update) Start() *Start { return u.start }

// Update parses an update.
func (p *Parser) Update(workflowID string, runID history.RunID, name string, r *schema.UpdateRequest) (Update, error) {
	t, err := p.receiver(workflowID, runID)
	if err != nil {
		return Update{}, err
	}
	return p.update(t, name, r, p.withStart)
}

// UpdateOwn parses an update of one of Weft's own workflows, which may come with its start. No
// route calls it: Update refuses such a start, and each update of the probe.
func (p *Parser) UpdateOwn(workflowID, name string, r *schema.UpdateRequest) (Update, error) {
	t, err := p.Target(workflowID, "")
	if err != nil {
		return Update{}, err
	}
	return p.update(t, name, r, func(t Target, r *schema.StartRequest, _ string) (*Start, error) {
		return p.anyStart(t.workflow, r, "", false)
	})
}

// update is Update with a function that parses the start.
func (p *Parser) update(
	t Target, name string, r *schema.UpdateRequest, withStart func(t Target, r *schema.StartRequest, requestID string) (*Start, error),
) (u Update, err error) {
	u = Update{Target: t, accepted: r.WaitFor == schema.StageAccepted}
	if u.request, err = p.updateRequest(name, r); err != nil {
		return Update{}, err
	}
	within, err := p.callTime(r.Timeout)
	if err != nil {
		return Update{}, err
	}
	if u.Waiting, err = p.waitingFor(within); err != nil || r.Start == nil {
		return orNone(u, err)
	}
	switch {
	case r.Start.IDConflictPolicy == "":
		return Update{}, refusal.Invalid.New("a start that comes with an update needs an idConflictPolicy: give %s, %s or %s", string(ConflictFail), string(UseExisting), string(TerminateExisting))
	case r.Start.Cron != "":
		return Update{}, refusal.Invalid.New("a start that comes with an update cannot wait for the first moment of a cronSchedule: leave the cronSchedule out, or start the workflow first")
	}
	u.start, err = withStart(t, r.Start, r.UpdateID)
	return orNone(u, err)
}

func (p *Parser) updateRequest(name string, r *schema.UpdateRequest) (u engine.UpdateRequest, err error) {
	if err := engine.CheckName("update's name", name); err != nil {
		return u, refusal.Invalid.New("%v", err)
	}
	id := r.UpdateID
	if id == "" {
		id = history.CommitID(p.NewID()).String()
	}
	if err := engine.CheckID("updateId", id); err != nil {
		return u, refusal.Invalid.New("%v", err)
	}
	switch r.WaitFor {
	case "", schema.StageAccepted, schema.StageCompleted:
	default:
		return u, refusal.Invalid.New("there is no waitFor %q: give %s or %s", r.WaitFor, schema.StageAccepted, schema.StageCompleted)
	}
	input, err := p.payload(r.Input)
	return engine.UpdateRequest{ID: id, Name: name, Input: input}, err
}

// callTime returns how long a call may take: the soft limit, or less if the caller says so.
func (p *Parser) callTime(timeout *schema.Duration) (time.Duration, error) {
	switch {
	case timeout == nil:
		return p.SoftLimit, nil
	case *timeout < 0:
		return 0, refusal.Invalid.New("the time to wait is negative: give a duration such as \"5s\", or none")
	}
	return min(time.Duration(*timeout), p.SoftLimit), nil
}

// UpdateTarget is the update that a request is for.
type UpdateTarget struct {
	Target
	update string
}

// Update returns the id of the update. It is a valid one.
func (u UpdateTarget) Update() string { return u.update }

func (p *Parser) updateTarget(workflowID string, runID history.RunID, updateID string) (UpdateTarget, error) {
	t, err := p.Target(workflowID, runID)
	if err != nil {
		return UpdateTarget{}, err
	}
	if err := engine.CheckID("updateId", updateID); err != nil {
		return UpdateTarget{}, refusal.Invalid.New("%v", err)
	}
	return UpdateTarget{t, updateID}, nil
}

// Poll asks for the stage of an update, and waits until it has completed.
type Poll struct {
	UpdateTarget
	Waiting
}

// Poll parses a request for the stage of an update: see Await.
func (p *Parser) Poll(workflowID string, runID history.RunID, updateID, wait string) (Poll, error) {
	w, err := p.waiting(wait)
	if err != nil {
		return Poll{}, err
	}
	t, err := p.updateTarget(workflowID, runID, updateID)
	return orNone(Poll{t, w}, err)
}

// FailUpdate fails an accepted update.
type FailUpdate struct {
	UpdateTarget
	reason string
}

// Reason returns the reason.
func (f FailUpdate) Reason() string { return f.reason }

// FailUpdate parses an operator's request to fail an update.
func (p *Parser) FailUpdate(workflowID string, runID history.RunID, updateID string, r *schema.FailUpdateRequest) (FailUpdate, error) {
	t, err := p.updateTarget(workflowID, runID, updateID)
	if err == nil {
		err = cmp.Or(CheckReceiver(workflowID), checkReason(r.Reason))
	}
	return orNone(FailUpdate{t, r.Reason}, err)
}
