package privilege

import "slices"

// Role is the role of a function, as a template declares it.
type Role struct {
	// Name is the function's role, by its name in functions/adapter.
	Name       string
	Statements []Statement
	// Managed are the policies of AWS or of the account that are also attached to it.
	Managed []string
	// Trusted are the services that may assume it: Lambda alone.
	Trusted []string
	// Receives are the ARNs of the queues whose messages Lambda hands to the function.
	Receives []string
	// LogGroup is the ARN of the function's log group. Traced is whether Lambda traces the
	// function. Key is the ARN of the key that encrypts the table and the queues, or empty.
	LogGroup string
	Traced   bool
	Key      string
	// KeptInS3 is whether there is a bucket that Key encrypts too.
	KeptInS3 bool
	// Function is the ARN of the function itself. The ARN of a version has its number behind it,
	// which is not known in advance.
	Function string
	// Region is the region of the deployment.
	Region string
}

// Own returns the statements for what the function itself may do.
func (r Role) Own() []Statement {
	return slices.DeleteFunc(slices.Clone(r.Statements), func(s Statement) bool { return ByAWS[s.Sid].Actions != nil })
}
