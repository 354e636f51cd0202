package lambdahost

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Queues is the part of SQS that a mapping needs: an *sqs.Client.
type Queues interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Mapping plays an event source mapping. It passes the messages of a queue to a function, in
// batches, and deletes those that the answer does not list as failed (FunctionResponseTypes:
// ReportBatchItemFailures). If the function fails, it deletes none. SQS redelivers the others after
// the queue's visibility timeout.
type Mapping struct {
	Functions Invoker
	Function  string
	Queues    Queues
	// URL is the queue's URL. It ends in .fifo if the queue is a FIFO queue.
	URL string
	// BatchSize is the largest number of messages in a batch; 0 means 10.
	BatchSize int
	// Concurrency is the number of batches that are handled at once; 0 means 1.
	Concurrency int
	// Disturb disturbs deliveries as SQS may do; nil means no disturbance.
	Disturb *Disturbance
	// Broken is called with each answer that no function should give: an answer that does not fit a
	// batch, or one that would reorder a FIFO group. If it is nil, such answers are logged.
	Broken func(error)
	// Log logs errors that are retried; nil means slog.Default.
	Log *slog.Logger
}

// Run delivers until ctx ends, and returns when the current batches are handled.
func (m *Mapping) Run(ctx context.Context) {
	var pollers sync.WaitGroup
	for range cmp.Or(m.Concurrency, 1) {
		pollers.Go(func() { m.poll(ctx) })
	}
	pollers.Wait()
}

// poll receives a batch and handles it, again and again. No message is in flight unless it is being
// handled.
func (m *Mapping) poll(ctx context.Context) {
	for ctx.Err() == nil {
		batch, err := m.receive(ctx)
		if err != nil && ctx.Err() == nil {
			m.log().Info("receive failed", "queue", m.URL, "error", err)
		}
		if len(batch) > 0 {
			m.deliver(context.WithoutCancel(ctx), batch)
		}
	}
}

// receive waits for messages for some time. It waits less than SQS allows, because ElasticMQ does
// not wake a waiting request when a message becomes a dead letter.
func (m *Mapping) receive(ctx context.Context) ([]types.Message, error) {
	const seconds = 2
	out, err := m.Queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &m.URL, MaxNumberOfMessages: int32(cmp.Or(m.BatchSize, 10)), WaitTimeSeconds: seconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// deliver passes a batch to the function, as often as the disturbance says, and deletes the
// messages that were handled.
func (m *Mapping) deliver(ctx context.Context, batch []types.Message) {
	plan := m.Disturb.plan(len(batch), isFIFO(m.URL))
	pause(plan.delay)
	batch = plan.order(batch)
	switch plan.again {
	case beside:
		var both sync.WaitGroup
		both.Go(func() { m.once(ctx, batch) })
		m.once(ctx, batch)
		both.Wait()
	case after:
		first := m.invoke(ctx, batch)
		pause(plan.pause)
		second := m.invoke(ctx, batch)
		m.delete(ctx, batch, func(id string) bool { return first(id) || second(id) })
	case late:
		m.once(ctx, batch)
		pause(plan.pause)
		m.once(ctx, batch)
	default:
		m.once(ctx, batch)
	}
}

func (m *Mapping) once(ctx context.Context, batch []types.Message) {
	m.delete(ctx, batch, m.invoke(ctx, batch))
}

// invoke passes a batch to the function, and returns which of its messages were handled.
func (m *Mapping) invoke(ctx context.Context, batch []types.Message) (done func(id string) bool) {
	none := func(string) bool { return false }
	event, err := batchEvent(m.URL, batch)
	if err != nil {
		m.broken(err)
		return none
	}
	answer, err := m.Functions.Invoke(ctx, m.Function, event)
	if err != nil {
		m.log().Info("the function failed; its messages are redelivered", "function", m.Function, "error", err)
		return none
	}
	failed, err := failures(answer, batch)
	if err != nil {
		m.broken(fmt.Errorf("%s: %w", m.Function, err))
		return none
	}
	if err := inOrder(batch, failed); err != nil {
		m.broken(fmt.Errorf("%s: %w", m.Function, err))
	}
	return func(id string) bool { return !failed[id] }
}

// delete deletes the handled messages of a batch. A message that cannot be deleted is redelivered.
func (m *Mapping) delete(ctx context.Context, batch []types.Message, done func(id string) bool) {
	var entries []types.DeleteMessageBatchRequestEntry
	for i, message := range batch {
		if done(aws.ToString(message.MessageId)) {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: message.ReceiptHandle})
		}
	}
	if len(entries) == 0 {
		return
	}
	out, err := m.Queues.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &m.URL, Entries: entries})
	if err != nil {
		m.log().Info("delete failed; the messages are redelivered", "queue", m.URL, "error", err)
	} else if len(out.Failed) > 0 {
		m.log().Info("some messages were not deleted", "queue", m.URL, "messages", len(out.Failed), "code", aws.ToString(out.Failed[0].Code))
	}
}

func (m *Mapping) broken(err error) {
	if m.Broken != nil {
		m.Broken(err)
		return
	}
	m.log().Error("a function returned an answer that it should not return", "error", err)
}

func (m *Mapping) log() *slog.Logger {
	if m.Log == nil {
		return slog.Default()
	}
	return m.Log
}

func pause(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}
