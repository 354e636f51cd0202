package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// CountOptions say which runs Count counts. The zero value counts all.
type CountOptions struct {
	// Filter selects runs: see docs/list.md.
	Filter string
	// GroupBy is the name that runs are counted by: ExecutionStatus, WorkflowType and others, see
	// docs/list.md. Empty counts all together.
	GroupBy string
	// PageToken is the NextPageToken of the page before; empty is the first page.
	PageToken string
	// AllowUnknown allows names in the filter that no recent run has. Without it they are refused.
	AllowUnknown bool
}

// Counts is a page of a count. With a NextPageToken there may be more runs: add the pages up.
type Counts = schema.CountResponse

// Count counts runs. A page ends after 5 s or 50,000 runs. It returns ErrInvalid for a filter that
// cannot be read, or that has a name which no run has. On AWS it reads the list: 67 read units for
// 1,000 closed runs.
func (c *Client) Count(ctx context.Context, o CountOptions) (*Counts, error) {
	var answer Counts
	if _, err := c.do(ctx, request{Request: Request{"count", "", ""}, method: http.MethodGet, path: "/v1/counts", query: o.query(), answer: &answer}); err != nil {
		return nil, err
	}
	return &answer, nil
}

func (o CountOptions) query() url.Values {
	q := ListOptions{Filter: o.Filter, PageToken: o.PageToken, AllowUnknown: o.AllowUnknown}.query()
	if o.GroupBy != "" {
		q.Set("groupBy", o.GroupBy)
	}
	return q
}
