package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/workflow"
)

// Batches act on ledgers and on members. A member counts its notes until it is told to finish.
var member = workflow.NewWorkflow[joins, int]("member")

// joins is the input of a member.
type joins struct {
	Breaks bool // build 1 panics at its first note
}

func (l *code) member(ctx workflow.Context, p joins) (notes int, err error) {
	for {
		text, err := note.Receive(ctx)
		if err != nil || text == finish {
			return notes, err
		}
		notes++
		if l.build == 1 && p.Breaks {
			panic("the bug of build 1")
		}
	}
}

// batchesWord leaves batches out of a simulation if it is among the faults of -without.
const batchesWord = "batches"

// order is what a client asks a batch for. Types and running say which runs its filter selects.
type order struct {
	id      string
	request schema.StartBatchRequest
	types   []string
	running bool
	stuck   bool
}

// selects reports whether the filter of an order selects a run of this type and status. It does not
// parse the filter. A filter for stuck runs selects some of those.
func (o *order) selects(typ, status string) bool {
	return slices.Contains(o.types, typ) && (status == history.Running.String() || !o.running)
}

// startBatches starts a client of batches. One seed in five has one, and it draws from a stream of
// its own.
func (s *simulation) startBatches() {
	r := s.stream("batches")
	if !r.oneIn(5) || without[batchesWord] || s.plain {
		return
	}
	members := 1 + r.IntN(3+s.plan.most)
	s.spawn("client of batches", nil, func() { s.batches(r, members) })
}

// batches is the life of a client that opens members, and starts batches over them and over
// ledgers.
func (s *simulation) batches(r *draws, members int) {
	for i := range members {
		s.join(fmt.Sprintf("m%d", i), joins{Breaks: r.oneIn(4) && !s.staysBack()})
	}
	for i := range 1 + r.IntN(1+s.plan.most) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(8000)) * time.Millisecond)})
		o := s.order(r, fmt.Sprintf("b%d", i))
		if o.request.Action != nil && o.request.Action.Kind == string(stored.Delete) {
			s.pause(wait{until: s.now.Add(retention + time.Duration(r.IntN(3))*time.Hour)}) // until they may be deleted
		}
		s.log("batch %s: %+v of %s", o.id, o.request.Action, o.request.Filter)
		s.audit.batches.ordered(o)
		if r.oneIn(3) { // another client sends the same start
			s.spawn("another client of "+o.id, nil, func() { s.startBatch(o, o.request.RequestID) })
		}
		if r.oneIn(6) { // a third wants the id for a batch of its own
			s.spawn("a client that wants the id of "+o.id, nil, func() { s.startBatch(o, "other-"+o.id) })
		}
		s.startBatch(o, o.request.RequestID)
		s.steerBatch(r, o)
	}
}

// join opens a member.
func (s *simulation) join(id string, p joins) {
	var answer *schema.StartResponse
	_, err := s.insist("start "+id, func(ctx context.Context, t edge.Service) (err error) {
		answer, err = t.Start(ctx, schema.StartRequest{WorkflowID: &id, Type: member.Name(), Input: encoded(p), RequestID: "join-" + id})
		return err
	})
	if err != nil {
		s.fail("start of %s: %v", id, err)
		return
	}
	s.audit.started(id, "join-"+id, answer.RunID)
	s.audit.members = append(s.audit.members, id)
}

// order draws a batch.
func (s *simulation) order(r *draws, id string) *order {
	o := &order{id: id, types: [][]string{{member.Name()}, {member.Name()}, {ledger.Name()}, {ledger.Name(), member.Name()}}[r.IntN(4)]}
	o.running = !r.oneIn(4)
	q := &o.request
	q.BatchID, q.RequestID = id, "start-"+id
	q.Rate = []float64{0, 0, 0.1, 0.5, 1, 3}[r.IntN(6)]
	q.MostRuns = []int{0, 0, 0, 1, 3}[r.IntN(5)]
	a := &schema.BatchAction{}
	reason := byBatch + id
	switch r.IntN(14) {
	case 0, 1, 2, 3:
		*a = schema.BatchAction{Kind: "signal", SignalName: note.Name(), Input: encoded(reason)}
	case 4:
		*a = schema.BatchAction{Kind: "cancel", Reason: reason}
	case 5:
		*a = schema.BatchAction{Kind: "terminate", Reason: reason}
	case 6, 7:
		*a = schema.BatchAction{Kind: "pause", Reason: reason}
	case 8:
		*a = schema.BatchAction{Kind: "resume", Reason: reason}
	case 9, 10:
		*a = schema.BatchAction{Kind: "reset", Reason: reason, To: []string{"firstTask", "lastTask"}[r.IntN(2)]}
		o.running = true
	case 11:
		*a = schema.BatchAction{Kind: "retry"}
		o.stuck, o.running = r.IntN(2) == 0, true
	case 12:
		*a = schema.BatchAction{Kind: "move", Unpin: true}
	case 13:
		*a = schema.BatchAction{Kind: "delete"}
		o.types, o.running = []string{member.Name()}, false
	}
	q.Action, q.DryRun = a, r.oneIn(6)
	q.Filter = "WorkflowType IN ('" + strings.Join(o.types, "', '") + "')"
	if o.running {
		q.Filter += " AND ExecutionStatus = 'Running'"
	}
	if o.stuck {
		q.Filter += " AND Stuck"
	}
	return o
}

// startBatch starts a batch. Only one of several requests with its id starts it.
func (s *simulation) startBatch(o *order, requestID string) {
	q := o.request
	q.RequestID = requestID
	err := s.post("start batch "+o.id, "/v1/batches", q)
	s.allow("start of batch "+o.id, err, refusal.AlreadyUsed)
	if err == nil {
		s.audit.batches.began(o.id, requestID)
	}
}

// steerBatch may change the rate of a batch, stop it, or end its workflow.
func (s *simulation) steerBatch(r *draws, o *order) {
	id := stored.IDPrefix + o.id
	for n := range r.IntN(3) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(6000)) * time.Millisecond)})
		request := fmt.Sprintf("%s-%d", o.id, n)
		var err error
		switch r.IntN(7) {
		case 0, 1, 2:
			rate := []float64{0, 0.2, 5}[r.IntN(3)]
			err = s.post("rate of batch "+o.id, "/v1/batches/"+o.id+"/rate", schema.BatchRateRequest{Rate: rate, RequestID: request})
		case 3, 4:
			err = s.post("stop batch "+o.id, "/v1/batches/"+o.id+"/stop", schema.StopBatchRequest{Reason: whim, RequestID: request})
		case 5:
			_, err = s.insist("cancel batch "+o.id, func(ctx context.Context, t edge.Service) error { return t.Cancel(ctx, id, "", whim) })
		case 6:
			_, err = s.insist("terminate batch "+o.id, func(ctx context.Context, t edge.Service) error { return t.Terminate(ctx, id, "", whim) })
		}
		s.allow("request to batch "+o.id, err, refusal.NotFound, refusal.UpdatesInFlight)
	}
}

// post sends a request to the HTTP API until its outcome is known.
func (s *simulation) post(name, path string, body any) error {
	_, err := s.insist(name, func(ctx context.Context, _ edge.Service) error {
		answer := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(encoded(body)))
		r.Header.Set("Content-Type", "application/json")
		s.running.process.API.ServeHTTP(answer, r)
		if answer.Code < http.StatusBadRequest {
			return nil
		}
		if owner := answer.Header().Get(httpapi.OwnerHeader); owner != "" {
			return &executor.OtherBuild{Build: owner, Soft: true}
		}
		var problem struct{ Type, Detail string }
		if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil {
			return errors.Join(err, fmt.Errorf("%d %s", answer.Code, answer.Body))
		}
		return refusal.Kind(problem.Type[strings.LastIndex(problem.Type, ":")+1:]).New("%s", problem.Detail)
	})
	return err
}

// finishMembers sends each member the signal to end.
func (s *simulation) finishMembers() {
	for _, id := range s.audit.members {
		s.spawn(s.name("finisher %s", id), nil, func() { s.signal(id, "the-end", finish) })
	}
}

// resumeSoon resumes a run some time after it was paused. Nobody else resumes what a batch pauses,
// and the messages of a paused run are kept as long as it is paused.
func (s *simulation) resumeSoon(run *engine.Run) {
	r, request := s.stream("resumptions"), fmt.Sprintf("resumption-at-%d", s.steps)
	until := s.now.Add(time.Duration(r.IntN(300_000)) * time.Millisecond)
	s.spawn(s.name("operator who resumes %s", run.WorkflowID), nil, func() {
		s.pause(wait{until: until})
		s.unpause(run.WorkflowID, run, request)
	})
}

// ids returns the ids of all batches, in order.
func (b *batchAudit) ids() []string { return slices.Sorted(maps.Keys(b.all)) }
