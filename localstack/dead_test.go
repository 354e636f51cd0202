//go:build aws

package localstack_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/fanout"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// SQS moves an activity's message that was received too often to the dead letters. The dead
// function sends it again, delayed by five minutes, and the run ends as usual. With the long timers
// of this deployment the message waits in the table meanwhile, where the test makes it due at once.
//
// The test plays the consumer that fails. So it does not run beside other tests, whose activities
// it would receive.
func TestDeadLetter(t *testing.T) {
	ctx, d := deployed(t)
	functions := lambda.NewFromConfig(d.server.Config)
	mapping := d.mapping(ctx, t, functions, "activities")
	d.enable(ctx, t, functions, mapping, false)
	enabled := false
	defer func() {
		if !enabled {
			d.enable(ctx, t, functions, mapping, true)
		}
	}()

	run, err := fanout.Workflow.Start(ctx, d.client, "book-dead", []string{strings.Repeat("a", 100)})
	if err != nil {
		t.Fatal(err)
	}
	queues, url := d.queue(ctx, t, "activities")
	for received := 0; received < maxReceives; {
		out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Messages {
			received++
			if _, err := queues.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// SQS moves it when it would be received once more.
	until(ctx, t, "the message has died", func() (bool, error) {
		out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
		return err == nil && len(out.Messages) == 0, err
	})

	timers := d.timers(ctx, t)
	var kept []store.Timer
	until(ctx, t, "the table has the message", func() (bool, error) {
		kept, err = timers.DueTimers(ctx, time.Now().Add(time.Hour), 10)
		return len(kept) > 0, err
	})
	if wait := time.Until(kept[0].Due); len(kept) > 1 || wait < time.Minute {
		t.Errorf("%d messages wait to be sent again, the first one for %v; want one, for five minutes", len(kept), wait)
	}
	_, dead := d.queue(ctx, t, "activities-dead")
	until(ctx, t, "the dead letter is deleted", func() (bool, error) {
		all, err := count(ctx, queues, dead)
		return all == 0, fmt.Errorf("%d dead letters, %w", all, err)
	})
	if m, err := count(ctx, queues, url); m > 0 || err != nil {
		t.Errorf("the queue of the activity has %d messages, %v", m, err)
	}
	if told, err := d.client.Describe(ctx, run.WorkflowID, run.RunID); err != nil || told.Status != history.Running {
		t.Errorf("%+v, %v; want a run that waits", told, err)
	}

	d.enable(ctx, t, functions, mapping, true)
	enabled = true
	m, err := outbox.Decode(kept[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	m.Due = history.At(time.Now())
	now := store.Timer{ID: kept[0].ID, Due: m.Due.Time()}
	if now.Body, err = history.EncodeBody(m); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(timers.PutTimers(ctx, []store.Timer{now}), timers.DeleteTimers(ctx, kept)); err != nil {
		t.Fatal(err)
	}
	// the rule does this each minute
	out, err := functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(d.stack + "-timer"), Payload: []byte(`{"source":"aws.events"}`)})
	if err != nil || out.FunctionError != nil {
		t.Fatalf("%v, %s", err, out.Payload)
	}
	if book, err := run.Result(ctx); err != nil || len(book.Pages) != 1 {
		t.Errorf("%+v, %v; want the page, from the attempt that the message asked for when it was sent again", book, err)
	}
}

// timers returns those that the deployment keeps in its table. It encrypts them.
func (d *deployment) timers(ctx context.Context, t *testing.T) store.Timers {
	t.Helper()
	tables, err := dynamo.New(dynamodb.NewFromConfig(d.server.Config), dynamo.Options{Table: d.table(ctx, t), Namespace: d.stack})
	if err != nil {
		t.Fatal(err)
	}
	_, key := d.payloads(ctx, t)
	return codec.New(codec.Options{Namespace: d.stack, Keys: awskms.New(kms.NewFromConfig(d.server.Config), []string{key})}).Timers(tables)
}

// count returns the number of messages in a queue, hidden ones included.
func count(ctx context.Context, queues *sqs.Client, url *string) (all int, err error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	out, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: names})
	for i := 0; err == nil && i < len(names); i++ {
		var some int
		_, err = fmt.Sscan(out.Attributes[string(names[i])], &some)
		all += some
	}
	return all, err
}

// mapping returns the id of the event source mapping of a queue.
func (d *deployment) mapping(ctx context.Context, t *testing.T, functions *lambda.Client, queue string) *string {
	t.Helper()
	arn := fmt.Sprintf("arn:aws:sqs:%s:000000000000:%s-%s", d.server.Config.Region, d.stack, queue)
	out, err := functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{EventSourceArn: aws.String(arn)})
	if err != nil || len(out.EventSourceMappings) != 1 {
		t.Fatalf("event source mappings of %s: %+v, %v; want one", arn, out, err)
	}
	return out.EventSourceMappings[0].UUID
}

// enable starts or stops an event source mapping, and waits until it has.
func (d *deployment) enable(ctx context.Context, t *testing.T, functions *lambda.Client, mapping *string, on bool) {
	t.Helper()
	if _, err := functions.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: mapping, Enabled: aws.Bool(on)}); err != nil {
		t.Fatal(err)
	}
	want := map[bool]string{true: "Enabled", false: "Disabled"}[on]
	until(ctx, t, "the mapping is "+want, func() (bool, error) {
		out, err := functions.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: mapping})
		if err != nil {
			return false, err
		}
		return aws.ToString(out.State) == want, fmt.Errorf("it is %s", aws.ToString(out.State))
	})
}
