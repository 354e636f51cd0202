package sqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/queue"
)

const (
	// pollSeconds is how long a request waits for messages: as long as SQS permits, because that
	// costs least.
	pollSeconds = 20
	// maxVisibility is the longest visibility time-out of SQS.
	maxVisibility = 12 * time.Hour
)

// The attributes of a message that the port needs. NewDelivery reads them.
const (
	receivedAttribute = string(types.MessageSystemAttributeNameApproximateReceiveCount)
	groupAttribute    = string(types.MessageSystemAttributeNameMessageGroupId)
)

// Receive implements queue.Receiver. It polls until ctx ends. A message that SQS returns while ctx
// ends has been received once, and is in flight until its time-out is over.
func (q *Queue) Receive(ctx context.Context, name string, limit int) ([]queue.Delivery, error) {
	t, err := q.target(name)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > queue.MaxBatch {
		return nil, fmt.Errorf("%w: a Receive of %d messages", queue.ErrInvalid, limit)
	}
	for {
		out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &t.url, MaxNumberOfMessages: int32(limit), WaitTimeSeconds: pollSeconds,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameApproximateReceiveCount, types.MessageSystemAttributeNameMessageGroupId,
			},
		})
		if err != nil {
			return nil, wrap(ctx, "receive from", name, err)
		}
		if len(out.Messages) > 0 {
			return deliveries(out.Messages), nil
		}
	}
}

func deliveries(messages []types.Message) []queue.Delivery {
	all := make([]queue.Delivery, len(messages))
	for i, m := range messages {
		all[i] = NewDelivery(aws.ToString(m.Body), aws.ToString(m.ReceiptHandle), m.Attributes)
	}
	return all
}

// NewDelivery returns the delivery of a message as SQS passes it to Receive or, in an event, to a
// Lambda function. A message that Send has not made has an empty body.
func NewDelivery(body, receipt string, attributes map[string]string) queue.Delivery {
	d := queue.Delivery{Receipt: receipt, Received: 1, Raw: body}
	d.Group, d.Body = Decode(body, attributes[groupAttribute])
	if n, err := strconv.Atoi(attributes[receivedAttribute]); err == nil {
		d.Received = n
	}
	return d
}

// Delete implements queue.Receiver.
func (q *Queue) Delete(ctx context.Context, name string, receipts ...string) error {
	t, err := q.target(name)
	if err != nil || len(receipts) == 0 {
		return err
	}
	if len(receipts) > queue.MaxBatch {
		return fmt.Errorf("%w: a Delete of %d messages", queue.ErrInvalid, len(receipts))
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(receipts))
	for i, receipt := range receipts {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &receipt}
	}
	out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &t.url, Entries: entries})
	if err != nil {
		return wrap(ctx, "delete from", name, err)
	}
	failed := slices.DeleteFunc(out.Failed, func(f types.BatchResultErrorEntry) bool {
		return stale(aws.ToString(f.Code), aws.ToString(f.Message))
	})
	if len(failed) > 0 {
		return entryError(fmt.Errorf("delete from %s: some messages are left", name), failed, len(receipts))
	}
	return nil
}

// Extend implements queue.Receiver. The time is in whole seconds, rounded up, and at most 12 hours.
// SQS bills it as a request.
func (q *Queue) Extend(ctx context.Context, name, receipt string, d time.Duration) error {
	t, err := q.target(name)
	if err != nil {
		return err
	}
	if d < 0 || d > maxVisibility {
		return fmt.Errorf("%w: an Extend by %v, at most %v", queue.ErrInvalid, d, maxVisibility)
	}
	_, err = q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &t.url, ReceiptHandle: &receipt, VisibilityTimeout: seconds(d),
	})
	var refused smithy.APIError
	if errors.As(err, &refused) && stale(refused.ErrorCode(), refused.ErrorMessage()) {
		return nil
	}
	if err != nil {
		return wrap(ctx, "extend in", name, err)
	}
	return nil
}

// stale reports whether SQS refused a receipt that is no longer valid: the message was deleted, is
// not in flight, or is in flight with another receipt. SQS has two codes for that. It has a third
// that it also uses for other wrong values, for instance a flight of more than 12 hours in total.
// For an entry of a batch, the code may be the name of the exception.
func stale(code, message string) bool {
	code = strings.TrimSuffix(code, "Exception")
	switch {
	case strings.HasSuffix(code, "MessageNotInflight"), strings.HasSuffix(code, "ReceiptHandleIsInvalid"):
		return true
	case strings.HasSuffix(code, "InvalidParameterValue"):
		return !strings.Contains(message, "Total VisibilityTimeout")
	}
	return false
}
