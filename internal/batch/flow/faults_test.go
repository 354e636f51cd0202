package flow_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

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

// dead says whether a process has died. Nothing of it lands then.
type dead struct {
	err error
	*atomic.Bool
}

func (d dead) unless(do func() error) error {
	if d.Load() {
		return d.err
	}
	return do()
}

// dying is the queue of a process that dies.
type dying struct {
	queue.Sender
	dead dead
}

// Send implements queue.Sender.
func (q dying) Send(ctx context.Context, name string, messages ...queue.Message) error {
	return q.dead.unless(func() error { return q.Sender.Send(ctx, name, messages...) })
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

// panicking is a log that panics when it takes something of a workflow.
type panicking struct {
	store.Log
	workflow string
}

// Append implements store.Log.
func (l panicking) Append(ctx context.Context, items ...store.Item) error {
	if items[0].Workflow == l.workflow {
		panic("secret")
	}
	return l.Log.Append(ctx, items...)
}

// hanging is a log whose puts for a workflow wait until a channel is closed, whatever their context
// says.
type hanging struct {
	store.Log
	workflow string
	until    <-chan struct{}
}

// Append implements store.Log.
func (l hanging) Append(ctx context.Context, items ...store.Item) error {
	if items[0].Workflow == l.workflow {
		<-l.until
	}
	return l.Log.Append(ctx, items...)
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// String returns all lines.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
