package privilege

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// forAll begins the operators that check each value of the request.
const forAll = "ForAllValues:"

// holds reports whether a condition holds for a request. It returns an error if it cannot decide.
func (c Condition) holds(r Request) (bool, error) {
	given, known := r.Context[c.Key]
	if !known {
		return false, fmt.Errorf("it checks %s, whose values for %s are unknown", c.Key, r.Action)
	}
	operator, each := strings.CutPrefix(c.Operator, forAll)
	compare, known := operators[operator]
	if !known {
		return false, fmt.Errorf("the operator %s is unknown", c.Operator)
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

// operators compare a policy's value with a request's.
var operators = map[string]func(want, value string) bool{
	"StringEquals": func(want, value string) bool { return want == value },
	"StringLike":   like,
	"ArnLike":      arnLike,
}

// arnLike reports whether an ARN matches a pattern: each of its six parts matches that of the
// pattern, so that a star in one part does not match the next one.
func arnLike(pattern, arn string) bool {
	wants, parts := strings.SplitN(pattern, ":", 6), strings.SplitN(arn, ":", 6)
	if len(wants) != len(parts) {
		return false
	}
	for i, want := range wants {
		if !like(want, parts[i]) {
			return false
		}
	}
	return true
}

// like reports whether a text matches a pattern. In the pattern a star matches any text, and a
// question mark matches any character.
func like(pattern, text string) bool {
	expression := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s)\A` + expression + `\z`).MatchString(text)
}
