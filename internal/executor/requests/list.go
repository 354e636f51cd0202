package requests

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// List returns a page of the list of workflows. asked identifies the query: any text that is the
// same for the same query. A page token is valid only for the query that returned it.
func (s *Requests) List(ctx context.Context, f store.Filter, asked, token string, limit int) (*schema.ListResponse, error) {
	if s.Process.Lister == nil {
		return nil, refusal.NotFound.New("this deployment keeps no list of workflows")
	}
	mark := listMark(asked)
	place, marked := strings.CutPrefix(token, mark)
	if token != "" && (!marked || place == "") {
		return nil, errPageToken()
	}
	runs, next, err := s.Process.Lister.ListRuns(ctx, f, place, limit)
	if errors.Is(err, store.ErrBadToken) {
		return nil, errPageToken()
	}
	if err != nil {
		return nil, s.Process.Problem(outcome.OfRead(err))
	}
	answer := &schema.ListResponse{Workflows: []schema.WorkflowSummary{}}
	if next != "" {
		answer.NextPageToken = mark + next
	}
	for _, r := range runs {
		w := schema.WorkflowSummary{WorkflowID: r.Workflow, RunID: history.RunID(r.RunID), Type: r.Type, StartedAt: r.Started, Build: r.Build}
		w.Memo, w.SearchAttributes = visibility(s.Process, &r)
		if err := w.Status.UnmarshalText([]byte(r.Status)); err != nil {
			return nil, err
		}
		if !r.Closed.IsZero() {
			w.ClosedAt = &r.Closed
		}
		answer.Workflows = append(answer.Workflows, w)
	}
	return answer, nil
}

// listMark returns the prefix of the page tokens of a query. In another query, a token would also
// be a valid position, and workflows would be missing or listed twice without notice.
func listMark(asked string) string {
	sum := sha256.Sum256([]byte(asked))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

func errPageToken() error {
	return refusal.Invalid.New("this list did not return the pageToken: give all other parameters as for the page before, or begin again without a pageToken")
}

// visibility returns the memo and the search attributes of a row. It leaves out a memo that cannot
// be decrypted here, and what a newer version wrote. The list continues without them.
func visibility(s *session.Process, r *store.Summary) (memo history.Memo, attributes history.SearchAttributes) {
	for _, part := range []struct {
		body string
		to   any
	}{{r.Memo, &memo}, {r.Attributes, &attributes}} {
		if part.body == "" {
			continue
		}
		if err := history.DecodeBody([]byte(part.body), part.to); err != nil {
			s.Options.Logger.Warn("the list leaves out what cannot be read of a run", "workflowId", r.Workflow, "runId", r.RunID, "error", err)
		}
	}
	return memo, attributes
}
