package sqs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/queue"
)

// Send implements queue.Sender. A batch that is larger than MaxMessage takes several requests.
func (q *Queue) Send(ctx context.Context, name string, messages ...queue.Message) error {
	t, err := q.target(name)
	if err != nil {
		return err
	}
	entries, err := q.entries(t, name, messages)
	if err != nil {
		return err
	}
	for sent := 0; sent < len(entries); {
		part := entries[sent : sent+fitting(entries[sent:], q.max)]
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &t.url, Entries: part})
		switch {
		case err != nil && sent > 0:
			return fmt.Errorf("%w: %w", queue.ErrPartial, wrap(ctx, "send to", name, err))
		case err != nil:
			return wrap(ctx, "send to", name, err)
		case len(out.Failed) > 0:
			return fmt.Errorf("send to %s: %w", name, entryError(queue.ErrPartial, out.Failed, len(messages)))
		}
		sent += len(part)
	}
	return nil
}

// entries returns the entries of a batch for SQS. It returns an error if one message breaks a rule,
// and then nothing is sent.
func (q *Queue) entries(t target, name string, messages []queue.Message) ([]types.SendMessageBatchRequestEntry, error) {
	if len(messages) > queue.MaxBatch {
		return nil, fmt.Errorf("%w: a Send of %d messages, at most %d", queue.ErrInvalid, len(messages), queue.MaxBatch)
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(messages))
	for i, m := range messages {
		if err := t.inspect(name, m); err != nil {
			return nil, err
		}
		text, group := encode(m.Group, m.Body)
		if len(text) > q.max {
			return nil, fmt.Errorf("%w: %d bytes, at most about %d", queue.ErrTooLarge, len(m.Body), q.max/4*3)
		}
		e := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &text, DelaySeconds: seconds(m.Delay)}
		if t.fifo {
			e.MessageGroupId, e.MessageDeduplicationId = &group, aws.String(newID())
		}
		entries[i] = e
	}
	return entries, nil
}

// inspect returns an error if a message breaks a rule of the port.
func (t target) inspect(name string, m queue.Message) error {
	switch {
	case len(m.Body) == 0:
		return fmt.Errorf("%w: a message without a body", queue.ErrInvalid)
	case m.Delay < 0 || m.Delay > queue.MaxDelay:
		return fmt.Errorf("%w: a delay of %v, at most %v", queue.ErrInvalid, m.Delay, queue.MaxDelay)
	case t.fifo && m.Delay > 0:
		return fmt.Errorf("%w: a delay in the FIFO queue %q", queue.ErrInvalid, name)
	case t.fifo && m.Group == "":
		return fmt.Errorf("%w: no group in the FIFO queue %q", queue.ErrInvalid, name)
	case !t.fifo && m.Group != "":
		return fmt.Errorf("%w: a group in the standard queue %q", queue.ErrInvalid, name)
	}
	return nil
}

// fitting returns how many of the entries fit into one request, at least one.
func fitting(entries []types.SendMessageBatchRequestEntry, limit int) int {
	size := 0
	for i, e := range entries {
		size += len(*e.MessageBody)
		if i > 0 && size > limit {
			return i
		}
	}
	return len(entries)
}

// seconds returns a duration in whole seconds, rounded up.
func seconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

// newID returns a deduplication id. Each message gets one before the SDK's first try, so that the
// SDK's retries have the same id, and a second message with the same body has another.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // crypto/rand.Read never fails
	return hex.EncodeToString(id[:])
}
