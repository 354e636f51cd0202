package requests

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// List returns a page of the list of workflows.
func (s *Requests) List(ctx context.Context, l *command.List) (*schema.ListResponse, error) {
	runs, next, err := s.Process.Lister.ListRuns(ctx, l.Filter(), l.Place(), l.Limit())
	if errors.Is(err, store.ErrBadToken) {
		return nil, command.ErrPageToken
	}
	if err != nil {
		return nil, s.Process.Problem(outcome.OfRead(err))
	}
	answer := &schema.ListResponse{Workflows: []schema.WorkflowSummary{}, NextPageToken: l.Token(next)}
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
	answer.Version, err = listVersion(answer)
	return answer, err
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
