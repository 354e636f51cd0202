package sqs

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// maxRequest is the largest body of a message, and the largest sum of the bodies of a batch, that
// SQS takes: 1 MiB.
const maxRequest = 1 << 20

// MaxBody is the largest body of a message, in bytes: as many as fit into 1 MiB in base64. A group
// that does not fit into a MessageGroupId reduces it by the group's length in base64.
const MaxBody = maxRequest / 4 * 3

// maxGroup is the longest MessageGroupId. hashed is the prefix of one that is a hash of a group.
const (
	maxGroup = 128
	hashed   = "~"
)

// separator separates a group from a body. Base64 does not contain it.
const separator = "."

// encode returns the body and the MessageGroupId that SQS gets for a message.
func encode(group string, body []byte) (text, groupID string) {
	text = base64.RawStdEncoding.EncodeToString(body)
	if fits(group) {
		return text, group
	}
	sum := sha256.Sum256([]byte(group))
	// Two groups with the same hash would only wait for each other: the body contains the group
	// itself.
	return base64.RawStdEncoding.EncodeToString([]byte(group)) + separator + text, hashed + base64.RawURLEncoding.EncodeToString(sum[:])
}

// fits reports whether a group can be a MessageGroupId unchanged. Workflow ids of up to 128
// characters can.
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
// MessageGroupId. It returns an empty body for a message that Send has not made. No other message
// has an empty body, so its handler sees that it is unreadable.
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
