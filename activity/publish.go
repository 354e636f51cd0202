package activity

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/workflow"
)

// Publish publishes items on a topic of the activity's workflow, as one batch. They are durable
// when it returns. A batch is one write, whatever number of items it has, and at most 380 KiB,
// or 5 MiB if large payloads are kept. Publisher collects items, so that a stream of small ones
// costs less. What it has collected of the topic is in the same batch, or, if both do not fit into
// one, in a batch before.
//
// ErrBusy says that the store refuses for now: call it again. After ErrTooLarge and ErrInvalid the
// same items are always refused. In these cases they are not published. After any other error, the
// attempt can publish nothing more, and the items may be there or not.
//
// An attempt that is retried starts over: its items are published again, and each item has its
// attempt and execution, by which readers tell. Batches of two executions never interleave.
//
// It returns ErrActivityEnded if the workflow no longer waits for the activity, and ErrCanceled if
// another execution of the attempt has taken over, which alone may end the attempt then. Return
// such an error: the attempt should end. A local activity cannot publish. In a unit test, which
// calls the activity's function with a context of its own, Publish does nothing.
func Publish[T any](ctx context.Context, topic workflow.Topic[T], items ...T) error {
	encoded := make([][]byte, len(items))
	for i, item := range items {
		text, err := encodeItem(topic, item)
		if err != nil {
			return err
		}
		encoded[i] = text
	}
	p, err := publisherOf(ctx)
	if p == nil || err != nil {
		return err
	}
	return p.Publish(ctx, topic.Name(), encoded)
}

// Publishing collects the items that an attempt publishes on a topic, and commits them in
// batches.
type Publishing[T any] struct {
	ctx   context.Context
	topic workflow.Topic[T]
}

// Publisher returns the collector of a topic's items. A batch is committed when its first item
// has waited for a second, when it has 100 items or 64 KiB, and with Flush. The last batch of an
// attempt that succeeds is in the commit of its result, so it costs no write. If it is refused for
// good, the attempt has failed, and is not retried. Items that wait when an attempt fails are
// dropped: the next attempt starts over.
//
// If the store refuses a batch for now, it is tried again after 2 s, 4 s and so on up to 30 s,
// while the attempt runs. Items wait behind it, in order, until the batch is full.
//
//	steps := activity.Publisher(ctx, Progress)
//	for token := range answer {
//		if err := steps.Add(Step{Text: token}); err != nil {
//			return "", err
//		}
//	}
func Publisher[T any](ctx context.Context, topic workflow.Topic[T]) Publishing[T] {
	return Publishing[T]{ctx, topic}
}

// Add adds an item to the next batch. It returns the errors of Publish: also those of earlier
// batches, which were committed meanwhile. The item was not added then. It returns ErrBusy only if
// the batch is full.
func (p Publishing[T]) Add(item T) error {
	text, err := encodeItem(p.topic, item)
	if err != nil {
		return err
	}
	to, err := publisherOf(p.ctx)
	if to == nil || err != nil {
		return err
	}
	return to.Collect(p.ctx, p.topic.Name(), text)
}

// Flush commits the items that wait, of all topics of the attempt.
func (p Publishing[T]) Flush() error {
	to, err := publisherOf(p.ctx)
	if to == nil || err != nil {
		return err
	}
	return to.Flush(p.ctx)
}

func encodeItem[T any](topic workflow.Topic[T], item T) ([]byte, error) {
	text, err := payload.Encode(item)
	if err != nil {
		return nil, fmt.Errorf("an item of topic %q: %w", topic.Name(), err)
	}
	return text, nil
}

// publisherOf returns the publisher of an attempt, or nil in a unit test.
func publisherOf(ctx context.Context) (attempt.Publisher, error) {
	if attempt.From(ctx).Local {
		return nil, failure.Newf(failure.ErrInvalid.Type, "a local activity cannot publish items: make %s an ordinary activity, or publish in the workflow", attempt.From(ctx).ActivityType).Final()
	}
	if p := attempt.PublisherOf(ctx); p != nil {
		return p, nil
	}
	return nil, ctx.Err()
}
