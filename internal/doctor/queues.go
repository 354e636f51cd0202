package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/queue"
)

// times is how many time-outs of its function AWS asks a queue's visibility to have.
const times = 6

// settings checks how a queue is set up, and the queue of its dead letters. timeout is that of its
// function in seconds; 0 is not known.
func (f *findings) settings(ctx context.Context, a *AWS, name string, timeout int32) {
	check := "settings of queue " + name
	s := f.attributes(ctx, a, check, a.fullName(name))
	if s == nil {
		return
	}
	before := len(*f)
	visibility, _ := strconv.Atoi(s[string(types.QueueAttributeNameVisibilityTimeout)]) // SQS writes it as a number
	f.visibility(check, "raise its visibility", visibility, int(timeout))
	f.order(check, name, s)
	f.policy(ctx, a, check, s[string(types.QueueAttributeNameRedrivePolicy)])
	if len(*f) == before {
		f.ok(check, "visibility %d s, dead letters, order and size are right", visibility)
	}
}

// visibility checks the visibility of a queue with the time-out of its function, both in seconds.
// It reports whether it has found something. A time-out of 0 is not known. raise says how the
// visibility is raised.
func (f *findings) visibility(check, raise string, visibility, timeout int) bool {
	switch {
	case timeout > 0 && visibility < timeout:
		f.bad(check, fmt.Sprintf("%s to %d s", raise, times*timeout), "messages become visible after %d s, while the function may take %d s: they are handled twice", visibility, timeout)
	case timeout > 0 && visibility < times*timeout:
		f.warn(check, fmt.Sprintf("%s to %d s, six times the function's time-out, as AWS asks", raise, times*timeout), "messages become visible after %d s: while the function is throttled, they may become dead letters unread", visibility)
	default:
		return false
	}
	return true
}

// attributes reads the settings of a queue; nil if they cannot be read, which is a finding.
func (f *findings) attributes(ctx context.Context, a *AWS, check, fullName string) map[string]string {
	url := ask(ctx, f, check, "sqs:GetQueueUrl", func(ctx context.Context) (*sqs.GetQueueUrlOutput, error) {
		return a.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &fullName})
	})
	if url == nil {
		return nil
	}
	out := ask(ctx, f, check, "sqs:GetQueueAttributes", func(ctx context.Context) (*sqs.GetQueueAttributesOutput, error) {
		return a.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	})
	if out == nil {
		return nil
	}
	return out.Attributes
}

// order checks the throughput of a FIFO queue, and how large and how old messages may become.
func (f *findings) order(check, name string, s map[string]string) {
	const day, fullSize = 24 * 60 * 60, 1 << 20
	size, _ := strconv.Atoi(s[string(types.QueueAttributeNameMaximumMessageSize)])
	kept, _ := strconv.Atoi(s[string(types.QueueAttributeNameMessageRetentionPeriod)])
	perGroup := s[string(types.QueueAttributeNameDeduplicationScope)] == "messageGroup" && s[string(types.QueueAttributeNameFifoThroughputLimit)] == "perMessageGroupId"
	switch {
	case name == queue.Workflow && !perGroup:
		f.warn(check, "set DeduplicationScope to messageGroup and FifoThroughputLimit to perMessageGroupId", "the queue takes 300 calls a second at most")
	case kept < 14*day:
		f.warn(check, "set its retention to 14 days", "messages are deleted after %d days: their runs then wait for the slow check", kept/day)
	case size < fullSize:
		f.warn(check, "set MaxMessageSize to 1048576", "messages have at most %d bytes: results of activities above %d KiB need more", size, size*3/16>>10)
	}
}

// policy checks the redrive policy of a queue, and its dead letters.
func (f *findings) policy(ctx context.Context, a *AWS, check, text string) {
	var p struct {
		Target string `json:"deadLetterTargetArn"`
	}
	if text == "" || json.Unmarshal([]byte(text), &p) != nil || p.Target == "" {
		f.bad(check, "deploy the template of this version", "the queue has no redrive policy: a message that ends its function is tried for ever")
		return
	}
	f.attributes(ctx, a, check, p.Target[strings.LastIndex(p.Target, ":")+1:])
}

// named returns the end of an ARN: the name.
func named(arn *string) string {
	text := aws.ToString(arn)
	return text[strings.LastIndex(text, ":")+1:]
}
