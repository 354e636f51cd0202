package privilege

import (
	"fmt"
	"slices"
)

// Missing returns the uses that the role does not allow.
func Missing(r Role, uses []Use) (missing []Use, err error) {
	for _, u := range uses {
		allowed, err := Allowed(r.Own(), u.Request())
		if err != nil {
			return nil, fmt.Errorf("privilege: %s: %w", r.Name, err)
		}
		if !allowed {
			missing = append(missing, u)
		}
	}
	return missing, nil
}

// Unused returns the function's own grants that it does not need, one by one: each action of a
// statement, on each of its resources, for each value of its conditions. A grant that two
// statements have is unused in both.
func Unused(r Role, uses []Use) (unused []Statement, err error) {
	before, err := Missing(r, uses)
	if err != nil {
		return nil, err
	}
	var all []Statement
	for _, s := range r.Own() {
		all = append(all, parts(s)...)
	}
	for i, part := range all {
		without := r
		without.Statements = slices.Delete(slices.Clone(all), i, i+1)
		missing, err := Missing(without, uses)
		if err != nil {
			return nil, err
		}
		if len(missing) <= len(before) {
			unused = append(unused, part)
		}
	}
	return unused, nil
}

// parts splits a statement into its smallest parts.
func parts(s Statement) (all []Statement) {
	for _, action := range s.Actions {
		for _, resource := range s.Resources {
			part := s
			part.Actions, part.Resources = []string{action}, []string{resource}
			all = append(all, part)
		}
	}
	for i, c := range s.Conditions {
		var each []Statement
		for _, part := range all {
			for _, value := range c.Values {
				part.Conditions = slices.Clone(part.Conditions)
				part.Conditions[i].Values = []string{value}
				each = append(each, part)
			}
		}
		all = each
	}
	return all
}
