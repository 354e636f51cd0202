package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	batches "github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// batchRoutes are the routes of batches.
var batchRoutes = []Route{
	{ID: "startBatch", Pattern: "POST /v1/batches", Access: Writes, endpoint: takes((*handler).startBatch)},
	{ID: "listBatches", Pattern: "GET /v1/batches", Query: []string{"pageToken"}, Access: Reads, endpoint: gives((*handler).listBatches)},
	{ID: "describeBatch", Pattern: "GET /v1/batches/{id}", Access: Asks, endpoint: gives((*handler).describeBatch)},
	{ID: "stopBatch", Pattern: "POST /v1/batches/{id}/stop", Access: Writes, endpoint: steers(batches.UpdateStop, storedStop)},
	{ID: "changeBatchRate", Pattern: "POST /v1/batches/{id}/rate", Access: Writes, endpoint: steers(batches.UpdateRate, storedRate)},
}

// batches refuses batches if the deployment runs none.
func (h *handler) batches() error {
	switch {
	case h.service.Process.Lister == nil:
		return refusal.NotFound.New("this deployment keeps no list of workflows, so it runs no batches")
	case h.service.Process.Options.NoBatches:
		return refusal.NotFound.New("this deployment runs no batches: its parameter Batches is off")
	}
	return nil
}

func (h *handler) startBatch(r *http.Request, body schema.StartBatchRequest) (status int, answer schema.StartBatchResponse, err error) {
	if answer.BatchID = cmp.Or(body.BatchID, body.RequestID); answer.BatchID == "" {
		answer.BatchID = h.newID()
	}
	if body.MostRuns == 0 {
		body.MostRuns = batches.DefaultMostRuns
	}
	refused := h.batches()
	c, err := h.batch(answer.BatchID, &body)
	if err != nil {
		return 0, answer, cmp.Or(refused, err)
	}
	if refused == nil {
		refused = c.Refused()
	}
	if refused == nil {
		refused = h.checkNames(r, &body)
	}
	if refused != nil {
		return http.StatusOK, answer, h.unlessStarted(r, c, body.RequestID, refused)
	}
	started, err := h.service.Requests.Start(r.Context(), c)
	switch {
	case err != nil:
		if errors.Is(err, refusal.AlreadyOpen) || errors.Is(err, refusal.AlreadyUsed) {
			err = refusal.AlreadyUsed.New("there is a batch %q already: give another batchId, or none", answer.BatchID)
		}
		return 0, answer, err
	case started.Started:
		return http.StatusCreated, answer, nil
	}
	return http.StatusOK, answer, nil
}

// checkNames refuses a batch whose filter has names that no recent run has, unless the request
// allows that.
func (h *handler) checkNames(r *http.Request, body *schema.StartBatchRequest) error {
	f, err := filter.Parse(body.Filter)
	if err != nil { // the check of the input has parsed it
		return err
	}
	allows, err := allowsUnknown(url.Values{"unknown": {body.Unknown}})
	if err != nil {
		return err
	}
	names, err := h.service.Process.Parser().List(f, command.ListPage{Query: "batch", Limit: listPage})
	if err != nil || allows {
		return err
	}
	return h.service.Lists.CheckNames(r.Context(), names)
}

// unlessStarted returns a refusal of the start of one of Weft's own workflows, or nil if an earlier
// sending of the request, with the same id, has opened its run. A batch may itself be why it is
// refused now: it may have deleted all runs with the names of its filter.
func (h *handler) unlessStarted(r *http.Request, c *command.Start, requestID string, refused error) error {
	if requestID == "" || !errors.Is(refused, refusal.Invalid) && !errors.Is(refused, refusal.NotFound) && !errors.Is(refused, refusal.NotReady) {
		return refused
	}
	run, err := h.service.Requests.FindStart(r.Context(), c)
	if err == nil && run == "" {
		err = refused
	}
	return err
}

func (h *handler) newID() string { return history.CommitID(h.service.Process.World.ID()).String() }

// batch returns the start of the workflow of a batch.
func (h *handler) batch(id string, body *schema.StartBatchRequest) (*command.Start, error) {
	workflow, err := batchWorkflow(id)
	if err != nil {
		return nil, err
	}
	in := batches.State{Begun: h.service.Process.Timestamp().Time(), Input: batches.Input{
		ID: id, Key: h.newID(), Filter: body.Filter, Action: storedAction(body.Action), DryRun: body.DryRun, Rate: body.Rate, MostRuns: body.MostRuns,
	}}
	about := batches.Memo{DryRun: body.DryRun, Filter: firstBytes(body.Filter, filterInMemo)}
	if body.Action != nil {
		about.Kind = in.Action.Kind
	}
	input, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	memo, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	return h.service.Process.Parser().StartOwn(&schema.StartRequest{
		WorkflowID: &workflow, Type: batches.WorkflowType, Input: input, RequestID: body.RequestID, IDReusePolicy: "rejectDuplicate",
		Memo: history.Memo{}.With(batches.MemoField, memo),
	})
}

func (h *handler) listBatches(r *http.Request) (status int, answer schema.BatchListResponse, err error) {
	// A batch that continues as new has a row for each of its runs. Only its last one counts.
	page, err := h.listOwn(r, "batches", func(row *store.Summary) bool {
		return row.Type == batches.WorkflowType && row.Status != history.ContinuedAsNew.String()
	})
	if err != nil {
		return 0, answer, err
	}
	answer.Batches, answer.NextPageToken = []schema.BatchSummary{}, page.NextPageToken
	for i := range page.Workflows {
		answer.Batches = append(answer.Batches, batchSummary(&page.Workflows[i]))
	}
	return http.StatusOK, answer, nil
}

func batchSummary(w *schema.WorkflowSummary) schema.BatchSummary {
	b := schema.BatchSummary{
		BatchID: strings.TrimPrefix(w.WorkflowID, batches.IDPrefix), Status: w.Status, State: w.Status.String(), StartedAt: w.StartedAt, ClosedAt: w.ClosedAt,
	}
	var about batches.Memo
	if memo, ok := w.Memo.Get(batches.MemoField); ok && json.Unmarshal(memo, &about) == nil { // it may be encrypted with a key that is not here
		b.Kind, b.DryRun, b.Filter = string(about.Kind), about.DryRun, about.Filter
		b.Refused, b.Failed = about.Refused, about.Failed
		if w.Status == history.Completed && about.Phase != "" {
			b.State = about.Phase
		}
	}
	return b
}

func (h *handler) describeBatch(r *http.Request) (status int, d schema.BatchDescription, err error) {
	id, err := batchWorkflow(r.PathValue("id"))
	if err != nil {
		return 0, d, err
	}
	answer, err := h.sendQuery(r, id, batches.QueryDescribe, nil)
	if err != nil {
		if errors.Is(err, refusal.NotFound) {
			err = refusal.NotFound.New("there is no batch %q", r.PathValue("id"))
		}
		return 0, d, err
	}
	var s batches.Description
	if err := json.Unmarshal(answer.Result, &s); err != nil {
		return 0, d, err
	}
	d = describedBatch(&s)
	if answer.Closed && answer.Status != history.Completed {
		d.State = answer.Status.String()
	}
	return http.StatusOK, d, nil
}

// steers returns the endpoint that sends an update to a batch. store returns the update's input in
// its stored form, and the id of the request, which becomes the update's id.
func steers[B, S any](update string, store func(*B) (input S, requestID string)) endpoint {
	return takes(func(h *handler, r *http.Request, body B) (int, none, error) {
		id, err := batchWorkflow(r.PathValue("id"))
		if err != nil {
			return 0, none{}, err
		}
		input, requestID := store(&body)
		err = h.sendUpdate(r, id, update, input, requestID, "batch")
		if errors.Is(err, refusal.NotFound) {
			err = refusal.NotFound.New("there is no batch %q, or it has ended", r.PathValue("id"))
		}
		return http.StatusOK, none{}, err
	})
}

// batchWorkflow returns the id of a batch's workflow.
func batchWorkflow(id string) (string, error) {
	if err := engine.CheckID("batchId", id); err != nil {
		return "", refusal.Invalid.New("%v", err)
	}
	return batches.IDPrefix + id, nil
}

// filterInMemo is how much of its filter the list has of a batch, in bytes.
const filterInMemo = 200

// firstBytes returns the beginning of a text, cut between characters.
func firstBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// A batch has stored forms of its own, which outlive the API's. These functions convert between the
// two, field by field.

func storedStop(b *schema.StopBatchRequest) (s batches.Stop, requestID string) {
	return batches.Stop{Reason: b.Reason}, b.RequestID
}

func storedRate(b *schema.BatchRateRequest) (s batches.Rate, requestID string) {
	return batches.Rate{Rate: b.Rate}, b.RequestID
}

func storedAction(a *schema.BatchAction) *batches.Action {
	if a == nil {
		return nil
	}
	return &batches.Action{
		Kind: batches.Kind(a.Kind), Reason: a.Reason, Signal: a.SignalName, Input: a.Input, To: a.To, Exclude: a.Exclude, Build: a.Build, Unpin: a.Unpin,
	}
}

func actionOf(a *batches.Action) *schema.BatchAction {
	if a == nil {
		return nil
	}
	return &schema.BatchAction{
		Kind: string(a.Kind), Reason: a.Reason, SignalName: a.Signal, Input: a.Input, To: a.To, Exclude: a.Exclude, Build: a.Build, Unpin: a.Unpin,
	}
}

func describedBatch(s *batches.Description) schema.BatchDescription {
	return schema.BatchDescription{
		BatchID: s.ID, State: s.Phase, Reason: s.Reason, Filter: s.Filter, Action: actionOf(s.Action), DryRun: s.DryRun, Rate: s.Rate, MostRuns: s.MostRuns,
		StartedAt: s.Begun, EndedAt: s.EndedAt, Steps: s.Steps, Listed: s.Ended,
		Counts: schema.BatchCounts{Matched: s.Counts.Matched, Done: s.Counts.Done, Already: s.Counts.Already, Refused: s.Counts.Refused, Failed: s.Counts.Failed},
		Groups: each(s.Groups, func(g batches.Group) schema.BatchGroup { return schema.BatchGroup(g) }),
		Problems: each(s.Problems, func(p batches.Problem) schema.BatchProblem {
			return schema.BatchProblem{WorkflowID: p.WorkflowID, RunID: history.RunID(p.RunID), Refused: p.Refused, Reason: p.Reason}
		}),
	}
}
