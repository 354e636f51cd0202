package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
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
	return f.batch(ctx, a, event, func(string) string { return queue.DeadLetters(queue.Activities) })
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
	for build, part := range away {
		f.handOn(ctx, a, &handOn{name: name, build: build, part: part, batch: e.Records, raw: raw.Records}, done)
	}
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, r := range e.Records {
		if !done[r.ReceiptHandle] {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
		}
	}
	return answer, nil
}

// handle handles the parts of a batch concurrently. It returns the receipts of the messages that
// are done, and the messages that other builds have to handle. No message is left because time is
// short: that would bring it one receive nearer to the dead letters. If the attempt of an activity
// can no longer begin, the service sends a copy of its message.
func (f *Function) handle(ctx context.Context, a allowance, name string, parts [][]queue.Delivery) (done map[string]bool, away map[string][]worker.Away) {
	done, away = map[string]bool{}, map[string][]worker.Away{}
	var mu sync.Mutex
	h := f.handler(a)
	h.Other = func(o *executor.OtherBuild, part []worker.Away) {
		mu.Lock()
		defer mu.Unlock()
		away[o.Build] = append(away[o.Build], part...)
	}
	handle := h.For(name)
	var all sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, part := range parts {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
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
		})
	}
	all.Wait()
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

// nameOf returns the name of the queue with an ARN.
func nameOf(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }
