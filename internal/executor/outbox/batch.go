package outbox

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/queue"
)

// results sends the results of activities of one workflow in batches. Results that handlers of this
// process bring while a batch is being sent go with the next one, so a process makes one call at a
// time for a workflow: SQS allows 300 calls a second for one message group, each with up to ten
// messages. A result that comes alone is sent at once.
type results struct {
	mu      sync.Mutex
	waiting map[string][]*parcel // behind the sender, by workflow id; a workflow has an entry while somebody sends
}

// parcel is a result that is to be sent.
type parcel struct {
	message engine.Message
	wake    chan struct{}
	sends   bool // its handler has to send
	sent    bool // another handler has tried to send it, and err says what became of it
	err     error
}

// errPanicked is the error of the results of a batch whose send panicked.
var errPanicked = outcome.OfQueue("send", errors.New("it panicked"))

// SendResult sends the result of an activity to its workflow's queue, together with the results of
// other handlers of this process. After an error the result may be on its way or not: its batch was
// refused or sent in part, or ctx has ended.
func (o *Outbox) SendResult(ctx context.Context, m engine.Message) error {
	p := o.results.join(m)
	for {
		sends, sent, err := o.results.state(p)
		if sent {
			return err
		}
		if sends {
			break
		}
		if err := o.host.Wait(ctx, host.Forever, p.wake); err != nil && o.results.leave(p) {
			return err
		}
	}
	batch := o.results.take(p)
	err := errPanicked
	defer func() { o.results.finish(p, batch, err) }()
	messages := make([]engine.Message, len(batch))
	for i, p := range batch {
		messages[i] = p.message
	}
	err = o.Send(ctx, messages)
	return err
}

// join adds a result. Its handler has to send if nobody sends.
func (r *results) join(m engine.Message) *parcel {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &parcel{message: m, wake: make(chan struct{})}
	waiting, busy := r.waiting[m.WorkflowID]
	if r.waiting == nil {
		r.waiting = map[string][]*parcel{}
	}
	if p.sends = !busy; busy {
		waiting = append(waiting, p)
	}
	r.waiting[m.WorkflowID] = waiting
	return p
}

func (r *results) state(p *parcel) (sends, sent bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.sends, p.sent, p.err
}

// leave removes a result whose handler waits no longer. It returns false if that handler has to
// send, or the result was sent.
func (r *results) leave(p *parcel) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.sends || p.sent {
		return false
	}
	waiting := r.waiting[p.message.WorkflowID]
	for i, other := range waiting {
		if other == p {
			r.waiting[p.message.WorkflowID] = append(waiting[:i:i], waiting[i+1:]...)
			break
		}
	}
	return true
}

// take returns the sender's result and those that wait, up to the size of a batch.
func (r *results) take(p *parcel) []*parcel {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[p.message.WorkflowID]
	n := min(len(waiting), queue.MaxBatch-1)
	r.waiting[p.message.WorkflowID] = waiting[n:]
	return append([]*parcel{p}, waiting[:n]...)
}

// finish wakes the handlers of a batch, and the next sender.
func (r *results) finish(p *parcel, batch []*parcel, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range batch[1:] {
		other.sent, other.err = true, err
		close(other.wake)
	}
	waiting := r.waiting[p.message.WorkflowID]
	if len(waiting) == 0 {
		delete(r.waiting, p.message.WorkflowID)
		return
	}
	r.waiting[p.message.WorkflowID] = waiting[1:]
	waiting[0].sends = true
	close(waiting[0].wake)
}
