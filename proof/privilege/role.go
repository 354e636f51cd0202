package privilege

import "slices"

// Role is the role of a function, as a template declares it.
type Role struct {
	// Name is the function's role in the words of functions/adapter.
	Name       string
	Statements []Statement
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
func (r Role) Own() []Statement {
	return slices.DeleteFunc(slices.Clone(r.Statements), func(s Statement) bool { return ByAWS[s.Sid].Actions != nil })
}
