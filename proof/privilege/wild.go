package privilege

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Lambda is the service that assumes a function's role.
const Lambda = "lambda.amazonaws.com"

// Wild returns what makes a role wider than necessary, whatever the function does:
//   - a wildcard in an action, or in a resource if AWS has a narrower one
//   - policies outside the role
//   - services other than Lambda that may assume it
func Wild(r Role) (wild []string) {
	if !slices.Equal(r.Trusted, []string{Lambda}) {
		wild = append(wild, fmt.Sprintf("%q may act with the role, where only %s is to", r.Trusted, Lambda))
	}
	for _, name := range r.Managed {
		wild = append(wild, "the policy "+name+" is attached, which is wider than the function needs: write out what it needs")
	}
	for _, s := range r.Statements {
		allowed := append(ByAWS[s.Sid].resources(r), r.Function+":*")
		if slices.ContainsFunc(s.Actions, isWild) || slices.ContainsFunc(s.Resources, func(resource string) bool {
			return isWild(resource) && !slices.Contains(allowed, resource) && !objects.MatchString(resource)
		}) {
			wild = append(wild, Text(s))
		}
	}
	return wild
}

// objects matches the objects of a namespace in a bucket, whose keys begin with the namespace.
var objects = regexp.MustCompile(`^arn:[a-z-]+:s3:::[a-z0-9.-]+/[A-Za-z0-9_.-]+/\*$`)

func isWild(text string) bool { return strings.ContainsAny(text, "*?") }
