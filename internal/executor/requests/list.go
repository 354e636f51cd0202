package requests

import (
	"context"
	"encoding/json"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// pageBytes bounds the bytes of a page's runs, unless its only run is larger. Lambda takes answers
// of 6 MB, and an answer there is a JSON string: quotes and backslashes take twice the space.
const pageBytes = 2 << 20

// List returns a page of the list of workflows. It refuses a filter with names that no run has. A
// page that would be too large is read again with fewer runs.
func (s *Lists) List(ctx context.Context, l *command.List) (*schema.ListResponse, error) {
	for limit := l.Limit(); ; {
		answer, err := s.page(ctx, l, limit)
		if err != nil {
			return nil, err
		}
		content, err := contentOf(answer)
		if err != nil {
			return nil, err
		}
		fit := len(answer.Workflows)
		if len(content) > pageBytes { // otherwise the runs are smaller, too
			if fit, err = fitting(answer.Workflows); err != nil {
				return nil, err
			}
		}
		if limit = fit; fit == len(answer.Workflows) {
			answer.Version = versionOf(content)
			return answer, nil
		}
	}
}

// fitting returns how many of the first runs a page holds.
func fitting(runs []schema.WorkflowSummary) (n int, err error) {
	size := 0
	for i := range runs {
		encoded, err := json.Marshal(&runs[i])
		if err != nil {
			return 0, err
		}
		if size += len(encoded) + 1; size > pageBytes && i > 0 {
			return i, nil
		}
	}
	return len(runs), nil
}

// page returns a page of at most limit runs, without its version.
func (s *Lists) page(ctx context.Context, l *command.List, limit int) (*schema.ListResponse, error) {
	look := l.Filter().Look()
	var runs []store.Summary
	var retries []*filter.Retries
	var next string
	var err error
	switch {
	case l.Filter().NeedsRetries():
		runs, retries, next, err = listRetries(ctx, s.Process, l, look, limit)
	case l.Filter().Order().ByClose():
		runs, next, err = listByClose(ctx, s.Process, l, look, limit)
	default:
		runs, next, err = session.ReadRuns(ctx, s.Process, look.Store(), l.Place(), limit)
	}
	if err == nil && l.ChecksNames() {
		err = checkNames(ctx, s.Process, look, len(runs) == limit || retries != nil && next != "")
	}
	if err != nil {
		return nil, err
	}
	answer := &schema.ListResponse{Workflows: []schema.WorkflowSummary{}, NextPageToken: l.Token(next)}
	for i, r := range runs {
		w := listed(&r)
		if retries != nil {
			addRetries(&w, retries[i])
		}
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

// listed returns what a list shows of a row, except what can be wrong with it.
func listed(r *store.Summary) schema.WorkflowSummary {
	facts := filter.FactsOf(r)
	w := schema.WorkflowSummary{
		WorkflowRun: schema.WorkflowRun{WorkflowID: r.Workflow, RunID: history.RunID(r.RunID), Type: r.Type, StartedAt: r.Started, Build: r.Build},
		CloseReason: facts.CloseReason, ParentWorkflowID: facts.Parent,
	}
	if facts.Paused != 0 {
		w.State, w.Paused = schema.StatePaused, &schema.ListedPaused{Since: facts.Paused.Time()}
	}
	if facts.Stuck != nil {
		w.State, w.Stuck = schema.StateStuck, &schema.ListedStuck{Since: facts.Stuck.Since.Time(), FailureType: facts.Stuck.FailureType}
	}
	return w
}

// addRetries adds to a row what a list shows only if its filter needs it.
func addRetries(w *schema.WorkflowSummary, retries *filter.Retries) {
	w.FailingActivities = retries.Activities
	if w.State == "" && len(retries.Activities) > 0 {
		w.State = schema.StateRetrying
	}
}

// checkNames refuses a filter with names that no run has. If the look at the list was cut short, or
// was only for runs that started at some time, it first looks at the latest runs of all.
func checkNames(ctx context.Context, s *session.Process, look *filter.Look, cut bool) error {
	const atOnce = 100
	if look.Missing() && (cut || look.Bounded()) {
		if _, _, err := session.ReadRuns(ctx, s, look.Names(), "", atOnce); err != nil {
			return err
		}
	}
	if err := look.Err(); err != nil {
		return refusal.Invalid.New("%v", err)
	}
	return nil
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
