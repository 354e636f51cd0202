package turn

import (
	"context"
	"sync"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/queue"
)

// results sends results of one workflow to its queue in batches: what handlers of this process bring while a batch is being sent goes
// with the next one. So a process makes one call at a time for a workflow. SQS allows 300 calls a second for one message group, each with
// up to ten messages. A result that comes alone is sent at once.
type results struct {
	mu      sync.Mutex
	waiting map[string][]*parcel // by workflow id, behind the sender; a workflow is here while somebody sends
}

// parcel is a result that is to be sent.
type parcel struct {
	message engine.Message
	wake    chan struct{}
	sends   bool // it is the turn of its handler to send
	sent    bool // another handler has sent it, or has tried to
	err     error
}

// sendTogether sends a result, with those of other handlers. It fails if the batch was refused or sent in part, or if ctx ends before:
// then the result may be on its way or not.
func (s *Service) sendTogether(ctx context.Context, m engine.Message) error {
	p := s.results.join(m)
	for {
		sends, sent, err := s.results.state(p)
		if sent {
			return err
		}
		if sends {
			break
		}
		if err := s.world.Wait(ctx, host.Forever, p.wake); err != nil && s.results.leave(p) {
			return err
		}
	}
	batch := s.results.take(p)
	err := outcome.ErrBusy // if the send panics
	defer func() { s.results.finish(p, batch, err) }()
	messages := make([]engine.Message, len(batch))
	for i, p := range batch {
		messages[i] = p.message
	}
	err = s.send(ctx, messages)
	return err
}

// join adds a result. Its handler sends if nobody else does.
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

// leave takes out a result whose handler waits no longer. It returns false if it is that handler's turn, or the result has been sent.
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

// take returns the sender's result and those that wait, as many as one call takes.
func (r *results) take(p *parcel) []*parcel {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[p.message.WorkflowID]
	n := min(len(waiting), queue.MaxBatch-1)
	r.waiting[p.message.WorkflowID] = waiting[n:]
	return append([]*parcel{p}, waiting[:n]...)
}

// finish wakes the handlers of a batch, and has the next handler send.
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

// bringResult commits the result of an attempt: here, or through the workflow's queue (see handsOver). If the queue refuses it, it is
// committed here. A crash leaves the attempt's message, whose next delivery finds the result or makes the attempt again.
func (s *Service) bringResult(ctx context.Context, w *work, e history.Event, follows *continuation) error {
	for refused := false; ; refused = true {
		over, apart := false, false
		err := s.at(ctx, w.delivery.WorkflowID, func(ctx context.Context, t *session) error {
			over = false
			run, place, err := t.named(ctx, w.delivery.Message)
			if err != nil || place != inLog {
				return err
			}
			if !run.Needed(w.delivery.Message) {
				return t.repair(ctx, run, w.delivery.Message)
			}
			if over, apart = t.handsOver(run); over && (apart || !refused) {
				return nil
			}
			over, t.follows = false, follows
			return t.commitEvents(ctx, run, []history.Event{e}, w.delivery.Message)
		})
		if err != nil || !over {
			return err
		}
		if err := s.sendTogether(ctx, handOverOf(w, e, 0)); err == nil || apart {
			return err
		}
	}
}

// handsOver reports whether the result of an activity goes through the workflow's queue: other activities are pending, and results that
// come together become one commit. apart says that it can go no other way, because this process has no code of the workflow: activities
// can be deployed apart, and the run may have been moved to another build.
func (t *session) handsOver(run *engine.Run) (over, apart bool) {
	apart = t.elsewhere(run) || t.registry.Workflow(run.State.Started.WorkflowType) == nil
	return apart || len(run.State.Activities) > 1, apart
}
