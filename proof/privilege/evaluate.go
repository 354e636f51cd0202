package privilege

import (
	"fmt"
	"strings"
)

// Request is a request that a policy allows or denies.
type Request struct {
	Action, Resource string
	// Context has the request's values, perhaps none, for each context key that conditions may
	// check. A key is missing if its values are unknown.
	Context map[string][]string
}

// Allowed reports whether all statements of a role together allow a request.
func Allowed(statements []Statement, r Request) (bool, error) {
	allowed := false
	for _, s := range statements {
		matches, err := s.matches(r)
		if err != nil {
			return false, err
		}
		if matches && s.Effect == Deny {
			return false, nil
		}
		allowed = allowed || matches
	}
	return allowed, nil
}

// matches reports whether a statement applies to a request.
func (s Statement) matches(r Request) (bool, error) {
	for _, parts := range []struct {
		patterns []string
		text     string
		fold     bool
	}{{s.Actions, r.Action, true}, {s.Resources, r.Resource, false}} {
		found := false
		for _, pattern := range parts.patterns {
			matches, err := within(pattern, parts.text, parts.fold)
			if err != nil {
				return false, fmt.Errorf("privilege: statement %s: %w", s.Sid, err)
			}
			found = found || matches
		}
		if !found {
			return false, nil
		}
	}
	for _, c := range s.Conditions {
		holds, err := c.holds(r)
		if err != nil {
			return false, fmt.Errorf("privilege: statement %s: %w", s.Sid, err)
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

// within reports whether an action or a resource matches a pattern. It does if it equals the
// pattern, or if it begins with what precedes a star at the pattern's end.
func within(pattern, text string, fold bool) (bool, error) {
	begin, open := strings.CutSuffix(pattern, "*")
	if strings.ContainsAny(begin, "*?") {
		return false, fmt.Errorf("%q has a wildcard that is not a star at the end", pattern)
	}
	if fold {
		begin, text = strings.ToLower(begin), strings.ToLower(text)
	}
	return text == begin || open && strings.HasPrefix(text, begin), nil
}
