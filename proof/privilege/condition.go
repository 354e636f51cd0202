package privilege

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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

// operators compare a policy's value with a request's.
var operators = map[string]func(want, value string) bool{
	"StringEquals": func(want, value string) bool { return want == value },
	"StringLike":   like,
}

// like reports whether a text matches a pattern, in which a star matches any text and a question
// mark any character.
func like(pattern, text string) bool {
	expression := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s)\A` + expression + `\z`).MatchString(text)
}
