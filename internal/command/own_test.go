package command_test

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// parserOfOwn returns a parser of a deployment that has one of Weft's own workflow types, too.
func parserOfOwn(t *testing.T) *command.Parser {
	p := parser(t)
	if err := p.Types.AddWorkflow(&engine.Workflow{Name: "weft.batch", CheckInput: p.Types.Workflow("order").CheckInput}); err != nil {
		t.Fatal(err)
	}
	return p
}

// No start has a type or an id of Weft's own, whatever it comes with. StartOwn takes them. A signal
// or an update with a start of such an id may reach a run, and open none.
func TestOwnWorkflowsAreRefused(t *testing.T) {
	t.Parallel()
	const ofType, ofID = "is one of Weft's own: start a batch with POST /v1/batches (weft batch start)", `the workflow id begins with "weft."`
	p := parserOfOwn(t)
	for _, c := range []struct{ id, typ, want string }{
		{"w", "order", ""},
		{"weft", "order", ""},
		{"my.weft.batch:b", "order", ""},
		{"w", "weft.batch", ofType},
		{"weft.batch:b", "weft.batch", ofType},
		{"w", "weft.schedule", ofType},
		{"w", "weft.", ofType},
		{"w", "weft.mine", ofType},
		{"weft.batch:b", "order", ofID},
		{"weft.schedule:s", "order", ofID},
		{"weft.", "order", ofID},
		{"weft.mine", "order", ofID},
	} {
		start := func() *schema.StartRequest {
			id := c.id
			return &schema.StartRequest{WorkflowID: &id, Type: c.typ, IDConflictPolicy: "useExisting"}
		}
		_, plain := p.Start(start())
		_, waits := p.StartAndAwait(start(), "1s")
		_, child := p.StartChild(start(), false)
		s, signal := p.Signal(c.id, "", "paid", &schema.SignalRequest{Start: start()})
		if signal == nil {
			signal = s.Start().MayOpen()
		}
		u, update := p.Update(c.id, "", "pay", &schema.UpdateRequest{Start: start()})
		if update == nil {
			update = u.Start().MayOpen()
		}
		for with, err := range map[string]error{"nothing": plain, "a wait": waits, "a parent": child, "a signal": signal, "an update": update} {
			refused(t, c.typ+" "+c.id+" with "+with, err, c.want)
		}
	}
	for id, want := range map[string]string{"w": "", "weft.mine": "", "weft.batch:b": ""} {
		_, err := p.StartChild(&schema.StartRequest{WorkflowID: &id, Type: "order"}, true)
		refused(t, "a child of a schedule, "+id, err, want)
		_, err = p.StartChild(&schema.StartRequest{WorkflowID: &id, Type: "weft.batch"}, true)
		refused(t, "a batch as a child of a schedule, "+id, err, ofType)
	}
	if _, err := p.Start(&schema.StartRequest{Type: "weft.batch"}); !errors.Is(err, refusal.Invalid) {
		t.Errorf("without an id: %v", err)
	}
	id := "weft.batch:b"
	if s, err := p.StartOwn(&schema.StartRequest{WorkflowID: &id, Type: "weft.batch"}); err != nil || s.Workflow() != id || s.Code().Name != "weft.batch" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := p.StartOwn(&schema.StartRequest{WorkflowID: &id, Type: "weft.batch", RequestID: "a b"}); !errors.Is(err, refusal.Invalid) {
		t.Errorf("an invalid request: %v", err)
	}
}

// Requests to a batch or a schedule that exists are those of any workflow.
func TestRequestsToOwnWorkflows(t *testing.T) {
	t.Parallel()
	p := parserOfOwn(t)
	const id = "weft.batch:b"
	_, target := p.Target(id, "")
	_, signal := p.Signal(id, "", "paid", &schema.SignalRequest{})
	_, query := p.Query(id, "", "weft.describe", &schema.QueryRequest{})
	_, update := p.Update(id, "", "weft.stop", &schema.UpdateRequest{})
	_, end := p.End(id, "", "")
	_, deleted := p.Delete(id, aRun)
	_, reset := p.Reset(id, "", &schema.ResetRequest{To: "firstTask"})
	_, pause := p.Pause(id, "", &schema.PauseRequest{})
	_, wait := p.Await(id, "", "1s")
	_, history := p.History(id, "", "")
	for what, err := range map[string]error{
		"target": target, "signal": signal, "query": query, "update": update, "end": end, "delete": deleted, "reset": reset, "pause": pause, "result": wait, "history": history,
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
