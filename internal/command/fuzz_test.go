package command_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// holds checks that a parser returned either a command, or a refusal that says that the request is
// invalid or too large.
func holds(t *testing.T, taken bool, err error) {
	t.Helper()
	switch {
	case taken && err != nil, !taken && err == nil:
		t.Errorf("taken: %v, and %v", taken, err)
	case err != nil && !errors.Is(err, refusal.Invalid) && !errors.Is(err, refusal.TooLarge):
		t.Errorf("refused as %v", err)
	}
}

func FuzzStart(f *testing.F) {
	f.Add([]byte(`{"type":"order","workflowId":"w","retryPolicy":{"initialInterval":"1s"},"cronSchedule":"@daily","searchAttributes":{"A":{"int":1}}}`))
	f.Add([]byte(`{"type":"weft.batch","workflowId":"weft.batch:b"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var r schema.StartRequest
		if json.Unmarshal(body, &r) != nil {
			return
		}
		s, err := parserOfOwn(t).Start(&r)
		holds(t, s != nil, err)
		if s != nil && (engine.OwnID(s.Workflow()) || engine.OwnType(s.Code().Name)) {
			t.Errorf("%+v is one of Weft's own", s)
		}
		if s != nil && (engine.CheckID("id", s.Workflow()) != nil || s.Code() == nil || len(s.Event().Input) > 100) {
			t.Errorf("%+v is not valid", s)
		}
	})
}

func FuzzSignal(f *testing.F) {
	f.Add("w", "", "paid", []byte(`{"input":1,"start":{"type":"order"}}`))
	f.Fuzz(func(t *testing.T, workflow, run, name string, body []byte) {
		var r schema.SignalRequest
		if json.Unmarshal(body, &r) != nil {
			return
		}
		s, err := parser(t).Signal(workflow, history.RunID(run), name, &r)
		holds(t, s != nil, err)
		if s != nil && s.Start() != nil && (s.Start().Workflow() != s.Workflow() || s.Run() != "") {
			t.Errorf("%+v is not valid", s)
		}
	})
}

func FuzzUpdate(f *testing.F) {
	f.Add("w", "", "pay", []byte(`{"updateId":"u","timeout":"1s","waitFor":"accepted","start":{"type":"order","idConflictPolicy":"fail"}}`))
	f.Fuzz(func(t *testing.T, workflow, run, name string, body []byte) {
		var r schema.UpdateRequest
		if json.Unmarshal(body, &r) != nil {
			return
		}
		u, err := parser(t).Update(workflow, history.RunID(run), name, &r)
		holds(t, u.Request().ID != "", err)
		if err == nil && (engine.CheckID("id", u.Request().ID) != nil || u.Wait() < 0 || u.Start() != nil && u.Start().Conflict() == "") {
			t.Errorf("%+v is not valid", u)
		}
	})
}

func FuzzReset(f *testing.F) {
	f.Add("w", "", []byte(`{"to":"lastTask","exclude":["signals"],"reason":"why"}`))
	f.Fuzz(func(t *testing.T, workflow, run string, body []byte) {
		var r schema.ResetRequest
		if json.Unmarshal(body, &r) != nil {
			return
		}
		c, err := parser(t).Reset(workflow, history.RunID(run), &r)
		holds(t, c != nil, err)
	})
}

// FuzzOthers is for the parsers that take ids and a text.
func FuzzOthers(f *testing.F) {
	f.Add("w", "", "name", "text")
	f.Add("w", "", "20s", "3.25s")
	f.Add("w", "", "20s", "2562047h")
	f.Fuzz(func(t *testing.T, workflow, run, name, text string) {
		p, id := parser(t), history.RunID(run)
		target, err := p.Target(workflow, id)
		holds(t, target.Workflow() != "", err)
		deleted, err := p.Delete(workflow, id)
		holds(t, deleted.Run() != "", err)
		end, err := p.End(workflow, id, text)
		holds(t, end.Workflow() != "", err)
		move, err := p.Move(workflow, id, &schema.MoveRequest{Build: name})
		holds(t, move.Workflow() != "", err)
		poll, err := p.Poll(workflow, id, name, "")
		holds(t, poll.Update() != "", err)
		failed, err := p.FailUpdate(workflow, id, name, &schema.FailUpdateRequest{Reason: text})
		holds(t, failed.Update() != "", err)
		query, err := p.Query(workflow, id, name, &schema.QueryRequest{Input: []byte(text)})
		holds(t, query != nil, err)
		completed, err := p.CompleteActivity(&schema.CompleteActivityRequest{Token: name, Result: []byte(text)})
		holds(t, completed != nil, err)
		broken, err := p.FailActivity(&schema.FailActivityRequest{Token: name, Message: text})
		holds(t, broken != nil, err)
		p.Waited = []string{text}
		await, err := p.Await(workflow, id, name)
		holds(t, await.Workflow() != "", err)
		if await.Waited() < 0 || await.Wait() < 0 || !await.Waits() && await.Wait() > 0 {
			t.Errorf("a wait of %q after %q is %v after %v", name, text, await.Wait(), await.Waited())
		}
		beat, err := p.Heartbeat(&schema.HeartbeatActivityRequest{Token: name, Details: []byte(text)})
		holds(t, beat != nil, err)
	})
}
