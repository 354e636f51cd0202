package privilege

import "slices"

// Role is the role of a function, as a template declares it.
type Role struct {
	// Name is the name of the function's role in functions/adapter.
	Name       string
	Statements []Statement
	// Managed are policies of AWS or of the account that are also attached to the role.
	Managed []string
	// Trusted are the services that may assume the role, which should be Lambda only.
	Trusted []string
	// Receives are the ARNs of the queues whose messages Lambda passes to the function.
	Receives []string
	// LogGroup is the ARN of the function's log group. Traced says whether Lambda traces the
	// function. Key is the ARN of the key that encrypts the table and the queues, or empty.
	LogGroup string
	Traced   bool
	Key      string
	// KeptInS3 says whether there is a bucket, which Key encrypts, too.
	KeptInS3 bool
	// InVPC says whether the function runs in a VPC.
	InVPC bool
	// Function is the ARN of the function itself. The ARN of a version also has its number at the
	// end, which is not known in advance.
	Function string
	// Region is the region of the deployment.
	Region string
}

// Own returns the statements for the function itself.
func (r Role) Own() []Statement {
	return slices.DeleteFunc(slices.Clone(r.Statements), func(s Statement) bool { return ByAWS[s.Sid].Actions != nil })
}
