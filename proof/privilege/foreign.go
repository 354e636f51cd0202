package privilege

import (
	"fmt"
	"slices"
	"strings"
)

// Foreign returns what a role allows and only other roles need: the uses of all roles that are not
// like any use of its own. Two uses are alike if they have the same action and resource, and the
// items are of the same kind. What AWS itself uses does not count: Lambda counts the messages of a
// function's queues, and so may the function. Nor does an alias of the function itself: it leads to
// one of the versions that the function may invoke, and IAM has no pattern for versions only.
func Foreign(r Role, uses map[string][]Use) (foreign []Use, err error) {
	own := map[string]bool{}
	statements := slices.DeleteFunc(slices.Clone(r.Statements), func(s Statement) bool {
		_, byAWS := ByAWS[s.Sid] // Differs has compared it
		return byAWS
	})
	for _, u := range uses[r.Name] {
		own[kind(u)] = true
	}
	for _, all := range uses {
		for _, u := range all {
			allowed, err := Allowed(statements, u.Request())
			if err != nil {
				return nil, fmt.Errorf("privilege: %s: %w", r.Name, err)
			}
			ofItself := r.Function != "" && strings.HasPrefix(u.Resource, r.Function+":")
			if allowed && !own[kind(u)] && !ofItself {
				foreign = append(foreign, u)
			}
		}
	}
	return foreign, nil
}

// Kinds returns one use from each set of alike uses.
func Kinds(uses []Use) (all []Use) {
	seen := map[string]bool{}
	for _, u := range uses {
		if !seen[kind(u)] {
			seen[kind(u)] = true
			all = append(all, u)
		}
	}
	return all
}

// kind returns what alike uses have in common. Keys are alike if they are equal up to their second
// slash, which covers the namespace and the kind of item. Objects of a bucket are alike if they
// have the same namespace.
func kind(u Use) string {
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
