package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/queue"
)

var (
	_ queue.Inspector = (*Queue)(nil)
	_ queue.Redriver  = (*Queue)(nil)
)

// The attributes of a queue that have its counts.
const (
	waiting  = types.QueueAttributeNameApproximateNumberOfMessages
	inFlight = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	delayed  = types.QueueAttributeNameApproximateNumberOfMessagesDelayed
)

// Depth implements queue.Inspector with one request, and with another one for the first that asks
// for dead letters: Options.URLs need not have their queues. SQS's counts are approximate, and it
// may take a minute after the last send until they are right (Amazon SQS API Reference,
// "GetQueueAttributes").
func (q *Queue) Depth(ctx context.Context, name string) (d queue.Depth, err error) {
	t, err := q.anyTarget(ctx, name)
	if err != nil {
		return d, err
	}
	counts, err := q.attributes(ctx, name, t.url, waiting, inFlight, delayed)
	if err != nil {
		q.dead.Delete(name) // it may have been replaced
		return d, err
	}
	for attribute, count := range map[types.QueueAttributeName]*int64{waiting: &d.Waiting, inFlight: &d.InFlight, delayed: &d.Delayed} {
		if *count, err = strconv.ParseInt(counts[string(attribute)], 10, 64); err != nil {
			return queue.Depth{}, fmt.Errorf("count %s: SQS says that %s is %q", name, attribute, counts[string(attribute)])
		}
	}
	return d, nil
}

// anyTarget returns the target of a queue, or of a queue of dead letters.
func (q *Queue) anyTarget(ctx context.Context, name string) (target, error) {
	of, isDead := strings.CutSuffix(name, queue.DeadLetters(""))
	if _, known := q.queues[name]; known || !isDead {
		return q.target(name)
	}
	return q.deadLetters(ctx, of)
}

// deadLetters returns the target of a queue's dead letters, which the queue's redrive policy names.
// They are in the account and the region of the queue (Amazon SQS Developer Guide, "Using
// dead-letter queues in Amazon SQS"), so only the end of the URL differs.
func (q *Queue) deadLetters(ctx context.Context, name string) (target, error) {
	t, err := q.target(name)
	if err != nil {
		return t, err
	}
	if found, ok := q.dead.Load(queue.DeadLetters(name)); ok {
		return found.(target), nil
	}
	const policy = types.QueueAttributeNameRedrivePolicy
	attributes, err := q.attributes(ctx, name, t.url, policy)
	if err != nil {
		return t, err
	}
	var to struct {
		ARN string `json:"deadLetterTargetArn"`
	}
	text := attributes[string(policy)]
	if text != "" {
		err = json.Unmarshal([]byte(text), &to)
	}
	end := strings.LastIndex(to.ARN, ":")
	switch {
	case err != nil || text != "" && end < 0:
		return t, fmt.Errorf("find the dead letters of %s: SQS says that its redrive policy is %q", name, text)
	case text == "":
		return t, fmt.Errorf("%w: the queue %q has no dead letters: give it a redrive policy", queue.ErrInvalid, name)
	}
	found := target{url: t.url[:strings.LastIndex(t.url, "/")+1] + to.ARN[end+1:], fifo: t.fifo, arn: to.ARN}
	q.dead.Store(queue.DeadLetters(name), found)
	return found, nil
}

// attributes reads attributes of the queue at a URL. A queue has only those that are set.
func (q *Queue) attributes(ctx context.Context, name, url string, names ...types.QueueAttributeName) (map[string]string, error) {
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	if err != nil {
		return nil, wrap(ctx, "read the attributes of", name, err)
	}
	return out.Attributes, nil
}

// Redrive implements queue.Redriver: it starts a task of SQS that moves the dead letters to where
// they came from. A queue has one such task at a time, which takes 36 hours at most, and an account
// 100 (Amazon SQS Developer Guide, "Learn how to configure a dead-letter queue redrive").
func (q *Queue) Redrive(ctx context.Context, name string) error {
	dead, err := q.deadLetters(ctx, name)
	if err != nil {
		return err
	}
	_, err = q.client.StartMessageMoveTask(ctx, &sqs.StartMessageMoveTaskInput{SourceArn: &dead.arn})
	var gone *types.ResourceNotFoundException
	switch {
	case err == nil:
		return nil
	case running(err):
		return fmt.Errorf("%w: %w", queue.ErrRedriving, err)
	case errors.As(err, &gone):
		q.dead.Delete(queue.DeadLetters(name))
		return fmt.Errorf("%w: redrive to %s: %w", queue.ErrInvalid, name, err)
	}
	return wrap(ctx, "redrive to", name, err)
}

// running reports whether SQS refused a task because the queue has one already. SQS documents no
// code for that: its text says it.
func running(err error) bool {
	var refused smithy.APIError
	return errors.As(err, &refused) && strings.Contains(strings.ToLower(refused.ErrorMessage()), "already a task running")
}
