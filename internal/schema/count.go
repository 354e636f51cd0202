package schema

// CountResponse counts runs.
type CountResponse struct {
	// Count is how many runs this page counts. With a NextPageToken there may be more.
	Count int `json:"count"`
	// Groups are the counts by the values that were asked for, the largest first.
	Groups []CountGroup `json:"groups,omitempty"`
	// Others counts the runs of groups beyond the largest number of groups.
	Others        int    `json:"others,omitempty"`
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// CountGroup counts the runs that have one value.
type CountGroup struct {
	// Value is the value; empty if these runs have none.
	Value string `json:"value"`
	Count int    `json:"count"`
}
