// Package iam decides what the policies of a role allow, for tests: as much of IAM's policy language as infra uses. What it
// does not know it refuses with an error, so that no test passes on a guess.
//
// Each rule here has its page in AWS's documentation, the IAM User Guide:
//
//	an explicit Deny wins, then an Allow counts, and     "Policy evaluation logic"
//	otherwise the request is denied
//	Action: without regard to case                       "IAM JSON policy elements: Action"
//	Resource: with regard to case; a star at its end     "IAM JSON policy elements: Resource"
//	stands for anything
//	all operators and all keys of a Condition have       "Conditions with multiple context keys or values"
//	to hold; one of the values of a key is enough
//	StringEquals, StringLike: with regard to case;       "IAM JSON policy elements: Condition operators"
//	in StringLike, * and ? are wildcards
//	ForAllValues: each value that the request has, so    "Set operators for multivalued context keys"
//	that it also holds where the request has none
//
// Not known are NotAction, NotResource, Principal and NotPrincipal, variables (${...}), a wildcard inside an action or a
// resource, all other operators, and context keys that the request does not speak of.
package iam
