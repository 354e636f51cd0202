// Package privilege holds the rights of a function's role to what the function asks of AWS: nothing is missing, and nothing is
// granted that nothing uses.
//
// A role has two kinds of statements. Those that AWS itself uses (Lambda, which polls queues, writes logs and traces; KMS on behalf
// of the stores) have one of the names in [ByAWS], and are to say exactly what stands there. All others are the function's own.
package privilege

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/proof/awsuse"
	"github.com/seed-41655fb1/weft/proof/iam"
)

// Role is the role of a function, as a template declares it.
type Role struct {
	// Name is the function's role in the words of functions/adapter.
	Name       string
	Statements []iam.Statement
	// Managed are the policies of AWS's or of the account's that are attached to it besides.
	Managed []string
	// Trusted are the services that may act with it: Lambda, and nobody else.
	Trusted []string
	// Receives are the ARNs of the queues whose messages Lambda hands to the function.
	Receives []string
	// LogGroup is the ARN of the function's log group, Traced says that Lambda traces the function, and Key is the ARN of the key
	// that the table and the queues are encrypted with, or empty.
	LogGroup string
	Traced   bool
	Key      string
	// KeptInS3 says that there is a bucket that is encrypted with Key as well.
	KeptInS3 bool
	// Function is the ARN of the function itself. Each of its versions has that ARN with the version's number behind it, which
	// nobody knows before.
	Function string
	// Region is where all this is.
	Region string
}

// Own are the statements that say what the function itself may do.
func (r Role) Own() []iam.Statement {
	return slices.DeleteFunc(slices.Clone(r.Statements), func(s iam.Statement) bool { return ByAWS[s.Sid].Actions != nil })
}

// Missing are the uses that the role does not allow.
func Missing(r Role, uses []awsuse.Use) (missing []awsuse.Use, err error) {
	for _, u := range uses {
		allowed, err := iam.Allowed(r.Own(), u.Request())
		if err != nil {
			return nil, fmt.Errorf("privilege: %s: %w", r.Name, err)
		}
		if !allowed {
			missing = append(missing, u)
		}
	}
	return missing, nil
}

// Unused are the function's own grants that it could do without, one by one: each action of a statement, on each of its
// resources, for each value of its conditions. What two statements grant is unused in both.
func Unused(r Role, uses []awsuse.Use) (unused []iam.Statement, err error) {
	before, err := Missing(r, uses)
	if err != nil {
		return nil, err
	}
	var all []iam.Statement
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

// parts are the smallest statements that a statement is made of.
func parts(s iam.Statement) (all []iam.Statement) {
	for _, action := range s.Actions {
		for _, resource := range s.Resources {
			part := s
			part.Actions, part.Resources = []string{action}, []string{resource}
			all = append(all, part)
		}
	}
	for i, c := range s.Conditions {
		var each []iam.Statement
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

// Text is a statement in words, the same in whatever order it lists things.
func Text(s iam.Statement) string {
	s = sorted(s)
	text := fmt.Sprintf("%s: %s on %s", s.Sid, strings.Join(s.Actions, ", "), strings.Join(s.Resources, ", "))
	for _, c := range s.Conditions {
		text += fmt.Sprintf(" where %s %s is %s", c.Operator, c.Key, strings.Join(c.Values, " or "))
	}
	return text
}

// Foreign is what a role is allowed that only other roles do: among the uses of all roles those that this one has none of its
// own like. Two uses are alike if the action and the resource are the same, and the items of the same kind.
func Foreign(r Role, uses map[string][]awsuse.Use) (foreign []awsuse.Use, err error) {
	own := map[string]bool{}
	for _, u := range uses[r.Name] {
		own[kind(u)] = true
	}
	for _, all := range uses {
		for _, u := range all {
			allowed, err := iam.Allowed(r.Statements, u.Request())
			if err != nil {
				return nil, fmt.Errorf("privilege: %s: %w", r.Name, err)
			}
			if allowed && !own[kind(u)] {
				foreign = append(foreign, u)
			}
		}
	}
	return foreign, nil
}

// Kinds has one use of each kind: of those that are alike.
func Kinds(uses []awsuse.Use) (all []awsuse.Use) {
	seen := map[string]bool{}
	for _, u := range uses {
		if !seen[kind(u)] {
			seen[kind(u)] = true
			all = append(all, u)
		}
	}
	return all
}

// kind is what alike uses have in common. Keys are alike up to their second slash: namespace, and what the item is. Objects of a bucket
// are alike if their namespace is the same.
func kind(u awsuse.Use) string {
	resource := u.Resource
	if parts := strings.SplitN(resource, "/", 3); strings.Contains(resource, ":s3:::") && len(parts) == 3 {
		resource = parts[0] + "/" + parts[1] + "/"
	}
	text := u.Action + " " + resource
	for _, key := range u.Keys {
		if parts := strings.SplitN(key, "/", 3); len(parts) == 3 {
			key = parts[0] + "/" + parts[1] + "/"
		}
		if !strings.HasSuffix(text, " "+key) {
			text += " " + key
		}
	}
	return text
}

// Lambda is the service that acts with a function's role.
const Lambda = "lambda.amazonaws.com"

// Wild is what makes a role wider than it need be, whatever the function does: a wildcard in an action, or in a resource where
// AWS knows a narrower one; policies that stand elsewhere; others than Lambda who may act with it.
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

// objects are the objects of a namespace in a bucket: their keys begin with it.
var objects = regexp.MustCompile(`^arn:[a-z-]+:s3:::[a-z0-9.-]+/[A-Za-z0-9_.-]+/\*$`)

func isWild(text string) bool { return strings.ContainsAny(text, "*?") }
