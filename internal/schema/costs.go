package schema

import (
	"cmp"
	"slices"
)

// CostsResponse is a page of the sum of what runs have cost.
type CostsResponse struct {
	CostSum
	// Groups are the sums by the values that were asked for, the most expensive first.
	Groups []CostGroup `json:"groups,omitempty"`
	// Others is the sum of groups beyond the largest number of groups; absent if there are none.
	Others *CostSum `json:"others,omitempty"`
	// NextPageToken is the token of the next page; absent on the last.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// CostSum is what runs have cost together.
type CostSum struct {
	// Runs is how many runs are in the sum: those that have closed.
	Runs int `json:"runs"`
	// Open is how many runs are not in it because they are open. Unknown is how many are not in it
	// because a version of Weft has closed them that did not record it.
	Open    int `json:"open"`
	Unknown int `json:"unknown,omitempty"`
	// Cost is the sum.
	Cost Cost `json:"cost"`
}

// CostGroup is the sum of the runs that have one value.
type CostGroup struct {
	// Value is the value; empty if these runs have none.
	Value string `json:"value"`
	CostSum
}

// Add adds another sum, of other runs.
func (s *CostSum) Add(more CostSum) {
	s.Runs, s.Open, s.Unknown = s.Runs+more.Runs, s.Open+more.Open, s.Unknown+more.Unknown
	s.Cost.Add(more.Cost)
}

// Add adds another cost, of other work. What is estimated of one of them is estimated of the sum.
func (c *Cost) Add(more Cost) {
	c.Writes += more.Writes
	c.WriteUnits += more.WriteUnits
	c.IndexUnits += more.IndexUnits
	c.Reads.Least += more.Reads.Least
	c.Reads.Most += more.Reads.Most
	c.ReadUnits += more.ReadUnits
	c.Messages += more.Messages
	c.QueueRequests += more.QueueRequests
	c.Invocations += more.Invocations
	c.Dollars += more.Dollars
	for _, name := range more.Estimated {
		if !slices.Contains(c.Estimated, name) {
			c.Estimated = append(c.Estimated[:len(c.Estimated):len(c.Estimated)], name)
		}
	}
	c.Prices = cmp.Or(c.Prices, more.Prices)
}
