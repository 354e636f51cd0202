package privilege

import (
	"fmt"
	"slices"
	"strings"
)

// Text returns the text of a statement. The order of the statement's lists has no effect.
func Text(s Statement) string {
	s = sorted(s)
	text := fmt.Sprintf("%s: %s on %s", s.Sid, strings.Join(s.Actions, ", "), strings.Join(s.Resources, ", "))
	for _, c := range s.Conditions {
		text += fmt.Sprintf(" where %s %s is %s", c.Operator, c.Key, strings.Join(c.Values, " or "))
	}
	return text
}

func sorted(s Statement) Statement {
	s.Actions, s.Resources = slices.Sorted(slices.Values(s.Actions)), slices.Sorted(slices.Values(s.Resources))
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		s.Conditions[i].Values = slices.Sorted(slices.Values(s.Conditions[i].Values))
	}
	return s
}
