package filter

import (
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/store"
)

// ownTypes is what the types of Weft's own workflows begin with.
const ownTypes = "weft."

// Program returns the filter without Weft's own workflows, except for the types that it names, and
// without one workflow.
func (f *Filter) Program(without string) *Filter {
	with, only := *f, f.only
	with.only = func(row *store.Summary) bool {
		return row.Workflow != without && (!strings.HasPrefix(row.Type, ownTypes) || f.names(row.Type)) && (only == nil || only(row))
	}
	return &with
}

// names reports whether the filter names a workflow type, by its whole name or by a beginning that
// only Weft's own types have.
func (f *Filter) names(typ string) bool {
	for c := range f.conditions {
		if c.Name != "WorkflowType" {
			continue
		}
		is := func(v *value) bool { return v.Text != nil && v.Text.string == typ }
		switch {
		case c.Compare != nil && c.Compare.Operator == "=" && is(c.Compare.Value), slices.ContainsFunc(c.In, is):
			return true
		case c.StartsWith != nil && strings.HasPrefix(c.StartsWith.string, ownTypes) && strings.HasPrefix(typ, c.StartsWith.string):
			return true
		}
	}
	return false
}
