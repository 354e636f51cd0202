// Package privilege compares what the roles of the functions allow with what the functions request
// from AWS. A role must allow each request of its function, and nothing that no request of its
// function needs.
//
//	Recorder   records the rights that requests need, in the SDK's middleware
//	Allowed    decides whether policies allow a request, as IAM does
//	Missing, Unused, Foreign, Wild, Differs
//	           report how a role differs from what its function needs
//
// A role has two kinds of statements. AWS itself uses some of them: Lambda polls queues, makes
// network interfaces, and writes logs and traces, and KMS serves the stores. Those statements have
// a name in [ByAWS] and must equal the statement there. All others are the function's own.
//
// [Allowed] knows the part of IAM's policy language that infra uses, and returns an error for the
// rest, so that no test passes on a guess. Each of its rules has a page in the IAM User Guide:
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
//	ArnLike: like StringLike for each of the six parts   "IAM JSON policy elements: Condition operators"
//	of an ARN; it fails if the request has none
//	ForAllValues: each value of the request, so it       "Set operators for multivalued context keys"
//	also holds if the request has none
//
// It does not know NotAction, NotResource, Principal and NotPrincipal, variables (${...}),
// wildcards inside an action or a resource, other operators, and context keys that the request does
// not mention.
//
// A [Recorder] likewise records an error for an operation that is not in [Actions].
package privilege
