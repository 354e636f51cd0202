package iam

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Request is what a policy is asked about.
type Request struct {
	Action, Resource string
	// Context has a value for each context key that conditions may ask about: those that the request has, perhaps none. A
	// key that is not in it at all is one of which nobody here knows what the request has.
	Context map[string][]string
}

// Allowed reports whether statements, which are all that a role has, allow a request.
func Allowed(statements []Statement, r Request) (bool, error) {
	allowed := false
	for _, s := range statements {
		matches, err := s.Matches(r)
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

// Matches reports whether a statement speaks of a request.
func (s Statement) Matches(r Request) (bool, error) {
	for _, parts := range []struct {
		patterns []string
		text     string
		fold     bool
	}{{s.Actions, r.Action, true}, {s.Resources, r.Resource, false}} {
		found := false
		for _, pattern := range parts.patterns {
			matches, err := within(pattern, parts.text, parts.fold)
			if err != nil {
				return false, fmt.Errorf("iam: statement %s: %w", s.Sid, err)
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
			return false, fmt.Errorf("iam: statement %s: %w", s.Sid, err)
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

// within reports whether an action or a resource is what a pattern names, or begins with what stands before a star at its
// end.
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

// forAll begins the operators that ask about each value of the request.
const forAll = "ForAllValues:"

// holds reports whether a condition holds for a request.
func (c Condition) holds(r Request) (bool, error) {
	given, known := r.Context[c.Key]
	if !known {
		return false, fmt.Errorf("it asks about %s, and nobody knows what %s has there", c.Key, r.Action)
	}
	operator, each := strings.CutPrefix(c.Operator, forAll)
	compare, known := operators[operator]
	if !known {
		return false, fmt.Errorf("the operator %s is not known", c.Operator)
	}
	matches := func(value string) bool {
		return slices.ContainsFunc(c.Values, func(want string) bool { return compare(want, value) })
	}
	if each {
		return !slices.ContainsFunc(given, func(value string) bool { return !matches(value) }), nil
	}
	if len(given) > 1 {
		return false, fmt.Errorf("%s compares one value, and %s has %d of %s", c.Operator, r.Action, len(given), c.Key)
	}
	return len(given) == 1 && matches(given[0]), nil
}

// operators compare what a policy wants with what a request has.
var operators = map[string]func(want, value string) bool{
	"StringEquals": func(want, value string) bool { return want == value },
	"StringLike":   like,
}

// like reports whether a text is like a pattern, in which a star stands for any text and a question mark for a character.
func like(pattern, text string) bool {
	expression := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s)\A` + expression + `\z`).MatchString(text)
}
