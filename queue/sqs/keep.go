package sqs

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/queue"
)

// The attributes of a message in the queue of those that cannot be read: the name of its queue, its
// MessageGroupId, why it cannot be read, and when it was kept.
const (
	KeptQueue  = "weft-queue"
	KeptGroup  = "weft-group"
	KeptReason = "weft-reason"
	KeptAt     = "weft-sent"
)

// mostReason is how many bytes of a reason are kept.
const mostReason = 1024

var _ queue.Keeper = (*Queue)(nil)

// Keep implements queue.Keeper. The queue is that of queue.Unreadable in Options.URLs, and takes at
// most one message in a request. An attribute that does not fit into the limit of a message is left
// out; the name of the queue is the last one that is.
func (q *Queue) Keep(ctx context.Context, name string, d queue.Delivery, reason string) error {
	t, err := q.target(queue.Unreadable)
	if err != nil {
		return err
	}
	text, group := d.Raw, groupID(d)
	if text == "" {
		text, group = encode(d.Group, d.Body)
	}
	out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &t.url, Entries: []types.SendMessageBatchRequestEntry{{
		Id: aws.String("0"), MessageBody: &text, MessageAttributes: q.fittingAttributes(len(text), [][2]string{
			{KeptQueue, name}, {KeptGroup, group}, {KeptAt, time.Now().UTC().Format(time.RFC3339)}, {KeptReason, strings.ToValidUTF8(reason[:min(len(reason), mostReason)], "")},
		}),
	}}})
	switch {
	case err != nil:
		return wrap(ctx, "keep a message of", name, err)
	case len(out.Failed) > 0:
		return entryError(fmt.Errorf("keep a message of %s", name), out.Failed, 1)
	}
	return nil
}

// fittingAttributes returns the attributes that a message with a body of this size has room for.
// Their names, types and values count as the body does (Amazon SQS Developer Guide, "Message
// quotas").
func (q *Queue) fittingAttributes(size int, all [][2]string) map[string]types.MessageAttributeValue {
	const kind = "String"
	fitting := map[string]types.MessageAttributeValue{}
	for _, a := range all {
		if size += len(a[0]) + len(kind) + len(a[1]); a[1] != "" && size <= q.max {
			fitting[a[0]] = types.MessageAttributeValue{DataType: aws.String(kind), StringValue: &a[1]}
		}
	}
	return fitting
}

// groupID returns the MessageGroupId that a message had: a group that does not fit is in its body,
// and the id is a hash.
func groupID(d queue.Delivery) string {
	if name, _, found := strings.Cut(d.Raw, separator); found {
		if decoded, err := base64.RawStdEncoding.DecodeString(name); err == nil && string(decoded) == d.Group {
			_, id := encode(d.Group, nil)
			return id
		}
	}
	return d.Group
}
