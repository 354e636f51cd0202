package privilege

import (
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/internal/codec/awskms"
)

// Use is a right that a request needs.
type Use struct {
	// Operation is the operation by the SDK's name. DynamoDB.TransactWriteItems/Put is a part of an
	// operation.
	Operation string
	// Action and Resource are what IAM checks.
	Action, Resource string
	// Keys are the partition keys of the items, the prefix of the listed objects, or the namespace
	// in KMS's encryption context; nil if the request names none.
	Keys []string
}

// Request returns the use as a request to check, with the one context key whose values are known.
func (u Use) Request() Request {
	key := LeadingKeys
	switch {
	case strings.HasPrefix(u.Action, "kms:"):
		key = EncryptionContext
	case u.Action == "s3:ListBucket":
		key = "s3:prefix"
	}
	return Request{Action: u.Action, Resource: u.Resource, Context: map[string][]string{key: u.Keys}}
}

// EncryptionContext is the context key for the namespace in a request to KMS.
const EncryptionContext = "kms:EncryptionContext:" + awskms.Context

// SourceFunction is the context key for the function whose code makes a request. A request that
// Lambda makes with the function's role has none.
const SourceFunction = "lambda:SourceFunctionArn"

// LeadingKeys is the context key for the partition keys of a request.
const LeadingKeys = "dynamodb:LeadingKeys"

// String returns the text of the use.
func (u Use) String() string {
	text := fmt.Sprintf("%s (%s) on %s", u.Action, u.Operation, u.Resource)
	if len(u.Keys) > 0 {
		text += " of " + strings.Join(u.Keys, ", ")
	}
	return text
}
