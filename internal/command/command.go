// Package command has the requests that the executor serves, one type for each. A command is valid
// by construction: only a parser creates one, and it refuses what is wrong with the request itself.
// The executor refuses what depends on the state of a run.
//
//	body, path ──▶ Parser.Signal ──▶ Signal ──▶ executor
//	                    └──▶ refusal: invalid, too large
//
// The order of a parser's checks does not change between versions: it reports the first of several
// errors.
package command

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Parser parses requests to one deployment into commands.
type Parser struct {
	// Types are the workflow types of the deployment. They decode inputs.
	Types *engine.Registry
	// MaxPayload is the most bytes that an input or a result may have.
	MaxPayload int
	// SoftLimit is the longest that a request may wait.
	SoftLimit time.Duration
	// Lists says that the deployment keeps a list of workflows.
	Lists bool
	// NewID generates the ids of requests that have none.
	NewID func() [16]byte
	// Now returns the time: a cron expression must name a later moment.
	Now func() time.Time
	// Guard returns what a check of an input returns, or a refusal if code of the program that the
	// check calls hangs. A nil Guard waits for it.
	Guard func(of engine.Value, check func() error) error
	// Webhooks are the receivers that a start may have notified; nil are none.
	Webhooks *guard.Policy
	// EventBus says that a start may have the event bus of the deployment notified.
	EventBus bool
	// Forwarded says that the process of another build has forwarded the request, because a run is
	// open here: see Start.RefusedUse.
	Forwarded bool
	// Waited is how long the caller of the request has waited before it: one "3.25s"; nil is not
	// at all. Streams says that the answer becomes a part of a stream of server-sent events.
	Waited  []string
	Streams bool
}

// Target is the run that a request is for.
type Target struct {
	workflow string
	run      history.RunID
}

// Workflow returns the id of the workflow. It is a valid one.
func (t Target) Workflow() string { return t.workflow }

// Run returns the id of the run; empty is the latest.
func (t Target) Run() history.RunID { return t.run }

// Target parses the ids of a request for a run: its description, its history, its result.
func (p *Parser) Target(workflowID string, runID history.RunID) (Target, error) {
	if err := engine.CheckID("workflow id", workflowID); err != nil {
		return Target{}, refusal.Invalid.New("%v", err)
	}
	if runID != "" && runID.Number() == 0 {
		return Target{}, refusal.Invalid.New("the runId is not the id of a run: give one that a start returned, or none for the latest run")
	}
	return Target{workflowID, runID}, nil
}

// Delete is the deletion of a run. The request must name the run.
type Delete struct{ Target }

// Delete parses the deletion of a run.
func (p *Parser) Delete(workflowID string, runID history.RunID) (Delete, error) {
	t, err := p.Target(workflowID, runID)
	if err == nil && runID == "" {
		err = refusal.Invalid.New("the runId is missing: say which run is to be deleted")
	}
	return orNone(Delete{t}, err)
}

// orNone returns a command, or the zero value with an error.
func orNone[C any](c C, err error) (C, error) {
	if err != nil {
		var none C
		return none, err
	}
	return c, nil
}

// requestID returns the id of a request, or generates one.
func (p *Parser) requestID(id string) (string, error) {
	if id == "" {
		return history.CommitID(p.NewID()).String(), nil
	}
	if err := engine.CheckID("requestId", id); err != nil {
		return "", refusal.Invalid.New("%v", err)
	}
	return id, nil
}

// payload returns an input or a result. It refuses one that is too large to be stored.
func (p *Parser) payload(input []byte) (history.Payload, error) {
	if len(input) > p.MaxPayload {
		return nil, refusal.TooLarge.New("the input has %d bytes, and may have %d: %s", len(input), p.MaxPayload, engine.Advice(p.MaxPayload))
	}
	return history.Payload(input), nil
}

// maxReason is the longest reason, in bytes: each update that is in flight when a run is canceled
// repeats it.
const maxReason = 4 << 10

func checkReason(reason string) error {
	if len(reason) > maxReason {
		return refusal.TooLarge.New("the reason has %d bytes: give at most %d", len(reason), maxReason)
	}
	return nil
}
