package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// Schedules and batches are workflows of Weft's own. Their routes send these requests to them.

// sendUpdate sends an update to one of Weft's own workflows. what is what the workflow is.
func (h *handler) sendUpdate(r *http.Request, workflowID, update string, input any, requestID, what string) (err error) {
	u := schema.UpdateRequest{UpdateID: requestID}
	if u.Input, err = json.Marshal(input); err != nil {
		return err
	}
	c, err := h.service.Process.Parser().Update(workflowID, "", update, &u)
	if err != nil {
		return err
	}
	answer, err := h.service.Requests.Update(r.Context(), c)
	if err != nil {
		return err
	}
	return ownOutcome(answer, what)
}

// unlessUpdated returns a refusal of an update of one of Weft's own workflows. If an earlier
// sending of the request, with the same id, was accepted, it returns what that returns.
func (h *handler) unlessUpdated(r *http.Request, workflowID, requestID, what string, refused error) error {
	if requestID == "" {
		return refused
	}
	c, err := h.service.Process.Parser().Poll(workflowID, "", requestID, "")
	if err != nil {
		return refused
	}
	answer, err := h.service.Requests.PollUpdate(r.Context(), c)
	switch {
	case errors.Is(err, refusal.NotFound):
		return refused
	case err != nil:
		return err
	}
	return ownOutcome(answer, what)
}

// ownOutcome returns what the request of an update returns that one of Weft's own workflows has
// answered.
func ownOutcome(answer *schema.UpdateResponse, what string) error {
	switch {
	case answer.Failure != nil: // it was refused, or has changed nothing
		return refusal.Invalid.New("%s", answer.Failure.Message)
	case answer.Stage != schema.StageCompleted:
		return refusal.OutcomeUnknown.New("the %s has not answered yet: send the request again with the same requestId", what)
	}
	return nil
}

// sendQuery asks the latest run of one of Weft's own workflows.
func (h *handler) sendQuery(r *http.Request, workflowID, query string, input json.RawMessage) (*schema.QueryResponse, error) {
	c, err := h.service.Process.Parser().Query(workflowID, "", query, &schema.QueryRequest{Input: input})
	if err != nil {
		return nil, err
	}
	return h.service.Requests.Query(r.Context(), c)
}

// listOwn returns a page of the list of Weft's own workflows that a condition selects. name is that
// of the list, which its page tokens are for.
func (h *handler) listOwn(r *http.Request, name string, where func(*store.Summary) bool) (*schema.ListResponse, error) {
	page := command.ListPage{Query: name, Token: r.URL.Query().Get("pageToken"), Limit: listPage}
	l, err := h.service.Process.Parser().List(filter.Where(where), page)
	if err != nil {
		return nil, err
	}
	return h.service.Lists.List(r.Context(), l)
}
