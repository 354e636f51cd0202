package flow_test

import (
	"context"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// twice sends each message twice.
type twice struct{ queue.Sender }

// Send implements queue.Sender.
func (q twice) Send(ctx context.Context, name string, messages ...queue.Message) error {
	if err := q.Sender.Send(ctx, name, messages...); err != nil {
		return err
	}
	return q.Sender.Send(ctx, name, messages...)
}

// refusing is a log that takes nothing of a workflow.
type refusing struct {
	store.Log
	workflow string
}

// Append implements store.Log.
func (l refusing) Append(ctx context.Context, items ...store.Item) error {
	if items[0].Workflow == l.workflow {
		return store.ErrThrottled
	}
	return l.Log.Append(ctx, items...)
}
