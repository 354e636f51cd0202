package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

// ShortenFrom is by how much the visibility of the activity queue must exceed what an attempt needs
// for the function to shorten it. Shortening is a billed request. If the process of an attempt
// dies, the next attempt begins this much sooner, or more.
const ShortenFrom = 10 * time.Minute

// atOnce is how many messages, or groups of them, of a batch are handled at once.
const atOnce = queue.MaxBatch

// results handles a batch of the workflow queue or of the timer queue.
func (f *Function) results(ctx context.Context, a allowance, event []byte) (any, error) {
	return f.batch(ctx, a, event, func(arn string) string {
		if sqs.IsFIFO(arn) {
			return queue.Workflow
		}
		return queue.Timers
	})
}

// attempts handles a batch of the activity queue, or of that of a task queue.
func (f *Function) attempts(ctx context.Context, a allowance, event []byte) (any, error) {
	return f.batch(ctx, a, event, func(arn string) string {
		if f.options.QueueOf == nil {
			return queue.Activities
		}
		return f.options.QueueOf(arn)
	})
}

// deadLetters handles a batch of dead letters, which are handled alike whatever their queue.
func (f *Function) deadLetters(ctx context.Context, a allowance, event []byte) (any, error) {
	return f.batch(ctx, a, event, func(arn string) string {
		if f.options.DeadOf == nil {
			return queue.DeadLetters(queue.Activities)
		}
		return queue.DeadLetters(f.options.DeadOf(arn))
	})
}

// batch handles the messages of an event, and returns those to redeliver. A mapping has one queue,
// so the first message names it.
func (f *Function) batch(ctx context.Context, a allowance, event []byte, queueOf func(arn string) string) (any, error) {
	var e events.SQSEvent
	var raw rawBatch
	if err := errors.Join(json.Unmarshal(event, &e), json.Unmarshal(event, &raw)); err != nil {
		return nil, fmt.Errorf("the event is not a batch of SQS messages: %w", err)
	}
	if len(e.Records) == 0 || e.Records[0].EventSource != "aws:sqs" {
		return nil, errors.New("the event is not a batch of SQS messages: check what invokes this function, and its WEFT_ROLE")
	}
	name := queueOf(e.Records[0].EventSourceARN)
	if name == "" {
		// Not a list of messages to redeliver: a mapping that was wired by hand may not support
		// lists, and deletes what was answered.
		return nil, fmt.Errorf("this function does not know the queue %s, and leaves its messages there: it is neither that of "+
			"WEFT_QUEUE_ACTIVITIES nor one of WEFT_TASK_QUEUES; add it to WEFT_TASK_QUEUES of all functions, or take it from this one's event sources", nameOf(e.Records[0].EventSourceARN))
	}
	deliveries := make([]queue.Delivery, len(e.Records))
	for i, r := range e.Records {
		deliveries[i] = sqs.NewDelivery(r.Body, r.ReceiptHandle, r.Attributes)
	}
	f.process.Open(ctx, deliveries)
	done, away := f.handle(ctx, a, name, worker.Split(name, deliveries))
	for to, part := range away {
		f.handOn(ctx, a, &handOn{name: name, destination: to, part: part, batch: e.Records, raw: raw.Records}, done)
	}
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	stuck := 0
	for i, r := range e.Records {
		if done[r.ReceiptHandle] {
			continue
		}
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
		if deliveries[i].Received >= noProgressFrom {
			stuck++
		}
	}
	if stuck > 0 && marked(ctx) == "" { // otherwise the function that forwarded the messages reports it
		f.process.Service.Process.Observed().Observe(ctx, &observe.Returned{Messages: stuck})
	}
	return answer, nil
}

// noProgressFrom is the receive from which on it is reported that a message is returned to its
// queue.
const noProgressFrom = 3

// handle handles the parts of a batch concurrently. It returns the receipts of the messages that
// are done, and the messages that other builds have to handle. No message is left because time is
// short: that would bring it one receive nearer to the dead letters. If the attempt of an activity
// can no longer begin, the service sends a copy of its message.
func (f *Function) handle(ctx context.Context, a allowance, name string, parts [][]queue.Delivery) (done map[string]bool, away map[destination][]worker.Away) {
	done, away = map[string]bool{}, map[destination][]worker.Away{}
	var mu sync.Mutex
	h := f.handler(a)
	h.Other = func(o *executor.OtherBuild, part []worker.Away) {
		mu.Lock()
		defer mu.Unlock()
		to := destination{o.Build, o.Soft}
		away[to] = append(away[to], part...)
	}
	handle := h.For(name)
	each := func(part []queue.Delivery) func() {
		return func() {
			defer func() {
				if value := recover(); value != nil {
					f.log.ErrorContext(ctx, "a handler panicked", "queue", name, "panic", observe.Panic(value), "stack", string(debug.Stack()))
				}
			}()
			receipts := handle(ctx, part)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range receipts {
				done[r] = true
			}
		}
	}
	for some := range slices.Chunk(parts, atOnce) {
		var all []func()
		for _, part := range some {
			all = append(all, each(part))
		}
		f.process.Service.Process.World.Together(all...)
	}
	return done, away
}

func (f *Function) handler(a allowance) worker.Handler {
	h := f.process.Handler()
	h.Extend, h.Deadline, h.Longest = f.shorten(), a.deadline, a.longest
	return h
}

// shorten returns a function that sets the visibility of an activity's message, or nil if that is
// never worth a request. If the request fails, the attempt still runs: the message only stays
// invisible for longer.
func (f *Function) shorten() func(ctx context.Context, name, receipt string, d time.Duration) error {
	if f.options.Extend == nil || f.options.Visibility < ShortenFrom {
		return nil
	}
	return func(ctx context.Context, name, receipt string, d time.Duration) error {
		if f.options.Visibility-d < ShortenFrom {
			return nil
		}
		if err := f.options.Extend(ctx, name, receipt, d); err != nil {
			f.log.WarnContext(ctx, "the visibility of a message could not be shortened", "queue", name, "error", err)
		}
		return nil
	}
}

// QueueOf returns a function that finds the queue of activities with an ARN by the queues' URLs:
// ARNs and URLs have the same end. It returns an empty name for any other ARN.
func QueueOf(urls map[string]string) func(arn string) string {
	return func(arn string) string {
		name := nameOf(arn)
		for q, url := range urls {
			if _, is := queue.IsForTasks(q); is && path.Base(url) == name {
				return q
			}
		}
		return ""
	}
}

// DeadOf returns a function that finds the queue whose dead letters are in the queue with an ARN,
// by the queues' URLs: infra names a queue of dead letters as its queue, and -dead. For any other
// ARN it returns the end of the ARN.
func DeadOf(urls map[string]string) func(arn string) string {
	return func(arn string) string {
		name := nameOf(arn)
		for q, url := range urls {
			of, suffix := path.Base(url), ""
			if sqs.IsFIFO(of) {
				of, suffix = strings.TrimSuffix(of, ".fifo"), ".fifo"
			}
			if queue.DeadLetters(of)+suffix == name {
				return q
			}
		}
		return name
	}
}

// nameOf returns the name of the queue with an ARN.
func nameOf(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }
