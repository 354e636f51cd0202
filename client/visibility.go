package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// MemoField is a named value of a memo. workflow.Memo.Set makes it, and workflow.Memo.Unset one that removes the field.
type MemoField struct {
	Name string
	// Value is the encoded value; nil removes the field.
	Value history.Payload
	// Err is why the value could not be encoded: the request is not sent then.
	Err error
}

// Memo is what a run shows to those who list it, besides its search attributes: encoded values by name. workflow.Memo.Of reads
// one of them.
type Memo = history.Memo

// SearchAttribute is a named value by which a run is found. workflow.Attribute.Set makes it, and workflow.Attribute.Unset one
// that removes the attribute.
type SearchAttribute = history.SearchAttribute

// SearchAttributes are those of a run. workflow.Attribute.Of reads one of them.
type SearchAttributes = history.SearchAttributes

// err is what is wrong with the options.
func (o *StartOptions) err() error { return errVisibility(o.Memo, o.SearchAttributes) }

// errVisibility is what is wrong with what a run is to show. JSON would change some values on their way without a word: a moment after the
// year 9999, a text that is not UTF-8.
func errVisibility(fields []MemoField, all []SearchAttribute) error {
	for _, f := range fields {
		if f.Err != nil {
			return f.Err
		}
	}
	for _, a := range attributes(all) {
		if err := engine.CheckSearchAttribute(a); err != nil {
			return api.ProblemOf(refusal.Invalid.New("%v", err))
		}
	}
	return nil
}

// memo is what a run begins with of these fields: one that is removed is not there.
func memo(fields []MemoField) (m history.Memo) {
	for _, f := range fields {
		if f.Value == nil {
			m = m.Without(f.Name)
			continue
		}
		m = m.With(f.Name, f.Value)
	}
	return m
}

// attributes is the same for search attributes.
func attributes(all []SearchAttribute) (s history.SearchAttributes) {
	for _, a := range all {
		if a.Value.Empty() {
			s = s.Without(a.Name)
			continue
		}
		s = s.With(a.Name, a.Value)
	}
	return s
}

// Quote is a text as a filter has it, whatever is in it: "Region = " + client.Quote(region).
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Summary is a run in a list.
type Summary = api.WorkflowSummary

// List lists the runs that a filter selects, those started last first, a page at a time; an empty filter selects all, an empty
// token is the beginning, and an empty next the end. A page has at most 100 runs; it may be short, or empty, and have another
// one after it. The list follows the log, and may be behind it.
//
//	page, next, err := c.List(ctx, "WorkflowType = 'order' AND Region = 'eu' AND Amount > 100", "")
//
// See docs/list.md for what a filter may say, and what it costs.
func (c *Client) List(ctx context.Context, filter, token string) (page []Summary, next string, err error) {
	q := runQuery("")
	if filter != "" {
		q.Set("filter", filter)
	}
	if token != "" {
		q.Set("pageToken", token)
	}
	var answer api.ListResponse
	_, err = c.do(ctx, request{Request: Request{"list", "", ""}, method: http.MethodGet, path: "/v1/workflows", query: q, answer: &answer})
	if err == nil && answer.Workflows == nil {
		err = errForm("list")
	}
	return answer.Workflows, answer.NextPageToken, err
}
