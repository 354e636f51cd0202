package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/store"
)

// groups are the names by which runs are counted.
var groups = []string{"ExecutionStatus", "WorkflowType", "BuildId", "Stuck", "FailureType", "Paused", "Retrying", "CloseReason"}

// Grouping is a name that runs are counted by.
type Grouping struct{ by string }

// Group returns the grouping by a name. It refuses a name that runs are not counted by.
func Group(by string) (*Grouping, error) {
	if !slices.Contains(groups, by) {
		return nil, fmt.Errorf("groupBy is the name that runs are counted by: give %s", strings.Join(groups, ", "))
	}
	return &Grouping{by}, nil
}

// NeedsRetries reports whether the group of a run follows from its retries.
func (g *Grouping) NeedsRetries() bool { return ofRetries[g.by] }

// Of returns the group of a run; empty is none. retries may be nil if the grouping does not need
// them.
func (g *Grouping) Of(row *store.Summary, retries *Retries) string {
	v, there := builtin(&subject{row: row, retries: retries}, g.by)
	switch {
	case !there:
		return ""
	case v.Bool != nil:
		return fmt.Sprint(*v.Bool)
	case v.Keyword != nil:
		return *v.Keyword
	}
	return ""
}
