package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// MemoField is a named value of a memo. workflow.Memo.Set returns one, and workflow.Memo.Unset one
// that removes the field.
type MemoField struct {
	Name string
	// Value is the encoded value; nil removes the field.
	Value history.Payload
	// Err is why the value could not be encoded: the request is not sent then.
	Err error
}

// Memo holds the encoded values by name that a run shows in lists and descriptions, besides its
// search attributes. workflow.Memo.Of reads one of them.
type Memo = history.Memo

// SearchAttribute is a named value by which a run is found. workflow.Attribute.Set returns one, and
// workflow.Attribute.Unset one that removes the attribute.
type SearchAttribute = history.SearchAttribute

// SearchAttributes are those of a run. workflow.Attribute.Of reads one of them.
type SearchAttributes = history.SearchAttributes

// err returns what is wrong with the options, or nil.
func (o *StartOptions) err() error { return checkVisibility(o.Memo, o.SearchAttributes) }

// checkVisibility returns what is wrong with these fields and attributes, or nil. Without the
// check, JSON would silently change some values: a moment after the year 9999, a text that is not
// UTF-8.
func checkVisibility(fields []MemoField, all []SearchAttribute) error {
	for _, f := range fields {
		if f.Err != nil {
			return f.Err
		}
	}
	for _, a := range attributes(all) {
		if err := engine.CheckSearchAttribute(a); err != nil {
			return invalid(err)
		}
	}
	return nil
}

// memo returns the memo that a run starts with. It leaves out removed fields.
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

// attributes returns the search attributes that a run starts with. It leaves out removed ones.
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

// Quote returns a text as a filter takes it, whatever characters it has: "Region = " +
// client.Quote(region).
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// WorkflowRun is what a Summary and a Description have of a run.
type WorkflowRun = schema.WorkflowRun

// Summary is a run in a list.
type Summary = schema.WorkflowSummary

// ListOptions say which page of a list ListPage returns. The zero value is the first page of all
// runs.
type ListOptions struct {
	// Filter selects runs, and may order them: see docs/list.md.
	Filter string
	// PageToken is the NextPageToken of the page before; empty is the first page.
	PageToken string
	// PageSize is how many runs the page has at most: up to 1,000. 0 means 100.
	PageSize int
	// AllowUnknown allows names in the filter that no recent run has. Without it they are refused.
	AllowUnknown bool
}

// query returns the options as a query string.
func (o ListOptions) query() url.Values {
	q := runQuery("")
	if o.Filter != "" {
		q.Set("filter", o.Filter)
	}
	if o.PageToken != "" {
		q.Set("pageToken", o.PageToken)
	}
	if o.PageSize != 0 {
		q.Set("pageSize", strconv.Itoa(o.PageSize))
	}
	if o.AllowUnknown {
		q.Set("unknown", "allow")
	}
	return q
}

// ListPage is a page of a list. It may be short or empty and still have a NextPageToken.
type ListPage = schema.ListResponse

// ListPage returns a page of the list of runs, the latest start first unless the filter has an
// order. It returns ErrInvalid for a filter that cannot be read, or that has a name which no run
// has. On AWS it costs 4 read units at least: see docs/list.md.
func (c *Client) ListPage(ctx context.Context, o ListOptions) (*ListPage, error) {
	var answer ListPage
	_, err := c.do(ctx, request{Request: Request{"list", "", ""}, method: http.MethodGet, path: "/v1/workflows", query: o.query(), answer: &answer})
	if err == nil && answer.Workflows == nil {
		err = errForm("list")
	}
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// List returns a page of the runs that a filter selects, latest start first. An empty filter
// selects all, an empty token is the beginning, and an empty next is the end. A page has at most
// 100 runs. It may be short or empty and still have a next one. The list follows the log, and may
// be behind it. ListPage has more options.
//
//	page, next, err := c.List(ctx, "WorkflowType = 'order' AND Region = 'eu' AND Amount > 100", "")
//
// See docs/list.md for what a filter may say, and what it costs.
func (c *Client) List(ctx context.Context, filter, token string) (page []Summary, next string, err error) {
	answer, err := c.ListPage(ctx, ListOptions{Filter: filter, PageToken: token})
	if err != nil {
		return nil, "", err
	}
	return answer.Workflows, answer.NextPageToken, nil
}
