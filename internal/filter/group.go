package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/store"
)

// groups are the names by which runs are counted.
var groups = []string{"ExecutionStatus", "WorkflowType", "BuildId", "Stuck", "FailureType", "Paused", "CloseReason"}

// Group returns the function that returns the group of a run by a name; empty is none. It refuses a
// name that runs are not counted by.
func Group(by string) (func(*store.Summary) string, error) {
	if !slices.Contains(groups, by) {
		return nil, fmt.Errorf("groupBy is the name that runs are counted by: give %s", strings.Join(groups, ", "))
	}
	return func(row *store.Summary) string {
		v, there := builtin(&subject{row: row}, by)
		switch {
		case !there:
			return ""
		case v.Bool != nil:
			return fmt.Sprint(*v.Bool)
		case v.Keyword != nil:
			return *v.Keyword
		}
		return ""
	}, nil
}
