package client

import (
	"context"
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// CostsOptions say what Costs sums up. The zero value sums up all runs.
type CostsOptions = CountOptions

// Costs is a page of what runs have cost together. With a NextPageToken there may be more runs: add
// the pages up with Add.
type Costs = schema.CostsResponse

type (
	// CostSum is what runs have cost together.
	CostSum = schema.CostSum
	// CostGroup is the sum of the runs that have one value.
	CostGroup = schema.CostGroup
)

// Costs sums up what runs have cost that have closed. Open ones are left out, and counted. A page
// ends after 5 s or 50,000 runs. It returns ErrInvalid for a filter that cannot be read, or that
// has a name which no run has. On AWS it reads the list, as Count does.
func (c *Client) Costs(ctx context.Context, o CostsOptions) (*Costs, error) {
	var answer Costs
	if _, err := c.do(ctx, request{Request: Request{"costs", "", ""}, method: http.MethodGet, path: "/v1/costs", query: o.query(), answer: &answer}); err != nil {
		return nil, err
	}
	return &answer, nil
}
