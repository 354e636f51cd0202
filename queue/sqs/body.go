package sqs

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// maxRequest is the largest body of a message, and the largest sum of the bodies of a batch, that
// SQS takes: 1 MiB.
const maxRequest = 1 << 20

// MaxBody is the largest body of a message, in bytes: what 1 MiB holds in base64. A group that does
// not fit into a MessageGroupId takes its own length in base64 from it.
const MaxBody = maxRequest / 4 * 3

// maxGroup is the longest MessageGroupId, and hashed begins one that is a hash of a group.
const (
	maxGroup = 128
	hashed   = "~"
)

// separator parts a group from a body. No base64 has it.
const separator = "."

// encode returns what SQS is given for a message: its body, and the id of its group.
func encode(group string, body []byte) (text, groupID string) {
	text = base64.RawStdEncoding.EncodeToString(body)
	if fits(group) {
		return text, group
	}
	sum := sha256.Sum256([]byte(group))
	// Two groups of one hash would wait for each other, and no more: what is received has the group
	// itself.
	return base64.RawStdEncoding.EncodeToString([]byte(group)) + separator + text, hashed + base64.RawURLEncoding.EncodeToString(sum[:])
}

// fits reports whether a group can be a MessageGroupId as it is. The ids of workflows up to 128
// characters do.
func fits(group string) bool {
	if len(group) > maxGroup || strings.HasPrefix(group, hashed) {
		return false
	}
	for i := range len(group) {
		if c := group[i]; c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// Decode returns the group and the body of a message that SQS has delivered with this body and
// MessageGroupId. A body that Send has not made comes back empty, which no message is: whoever
// handles it sees that it cannot be read.
func Decode(text, groupID string) (group string, body []byte) {
	group = groupID
	if name, rest, found := strings.Cut(text, separator); found {
		decoded, err := base64.RawStdEncoding.DecodeString(name)
		if err != nil {
			return group, nil
		}
		group, text = string(decoded), rest
	}
	body, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return group, nil
	}
	return group, body
}
