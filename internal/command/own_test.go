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
	own := schema.StartRequest{Type: "weft.batch", IDConflictPolicy: "useExisting"}
	if u, err := p.UpdateOwn(id, "weft.stop", &schema.UpdateRequest{Start: &own}); err != nil || u.Start().Workflow() != id || u.Start().Code().Name != "weft.batch" || u.Start().MayOpen() != nil {
		t.Errorf("an update: %+v, %v", u, err)
	}
	for what, r := range map[string]schema.UpdateRequest{"id": {UpdateID: "a b", Start: &own}, "start": {Start: &schema.StartRequest{Type: "weft.none", IDConflictPolicy: "useExisting"}}} {
		if _, err := p.UpdateOwn(id, "weft.stop", &r); !errors.Is(err, refusal.Invalid) {
			t.Errorf("an update with an invalid %s: %v", what, err)
		}
	}
	if _, err := p.StartOwn(&schema.StartRequest{WorkflowID: &id, Type: "weft.batch", RequestID: "a b"}); !errors.Is(err, refusal.Invalid) {
		t.Errorf("an invalid request: %v", err)
	}
}

// Nobody but Weft sends updates and signals to the probe and to what delivers notifications, or
// pauses, pins or resets it, or ends its activities. Both can be resumed, ended and read. A
// delivery can be reset, because one that was given up is delivered again.
func TestWhatOnlyWeftSends(t *testing.T) {
	t.Parallel()
	p := parserOfOwn(t)
	const says = "is one of Weft's own"
	for _, c := range []struct{ id, want, reset string }{
		{"weft.probe:0", says, says}, {"weft.notify:1-6f1a9ac0be13a5d2:2", says, ""}, {"weft.probe", "", ""}, {"weft.batch:b", "", ""}, {"weft.schedule:s", "", ""}, {"w", "", ""},
	} {
		own := schema.StartRequest{Type: "order", IDConflictPolicy: "useExisting"}
		_, signal := p.Signal(c.id, "", "paid", &schema.SignalRequest{})
		_, signalStart := p.Signal(c.id, "", "paid", &schema.SignalRequest{Start: &own})
		_, update := p.Update(c.id, "", "pay", &schema.UpdateRequest{})
		_, updateStart := p.Update(c.id, "", "pay", &schema.UpdateRequest{Start: &own})
		_, failUpdate := p.FailUpdate(c.id, "", "u", &schema.FailUpdateRequest{})
		_, pause := p.Pause(c.id, "", &schema.PauseRequest{})
		_, move := p.Move(c.id, "", &schema.MoveRequest{})
		_, complete := p.CompleteByHand(c.id, aRun, "5", &schema.CompleteByHandRequest{})
		_, fail := p.FailByHand(c.id, aRun, "5", &schema.FailByHandRequest{})
		for what, err := range map[string]error{
			"a signal": signal, "a signal with a start": signalStart, "an update": update, "an update with a start": updateStart, "the failure of an update": failUpdate,
			"a pause": pause, "a move": move, "a result": complete, "a failure": fail, "another workflow's signal": command.CheckReceiver(c.id),
		} {
			refused(t, what+" for "+c.id, err, c.want)
		}
		_, reset := p.Reset(c.id, "", &schema.ResetRequest{To: "firstTask"})
		refused(t, "a reset of "+c.id, reset, c.reset)
		_, resume := p.Resume(c.id, "", &schema.PauseRequest{})
		_, unpin := p.Move(c.id, "", &schema.MoveRequest{Unpin: true})
		_, end := p.End(c.id, "", "")
		_, own1 := p.UpdateOwn(c.id, "weft.beat", &schema.UpdateRequest{})
		_, target := p.Target(c.id, "")
		for what, err := range map[string]error{"a resumption": resume, "a move back": unpin, "an end": end, "an update of Weft's own": own1, "a description": target} {
			refused(t, what+" for "+c.id, err, "")
		}
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
