package inventory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/queue"
)

const (
	// queuesAtOnce is how many queues are asked at once.
	queuesAtOnce = 8
	// mostDeadLetters is how many dead letters of a queue an answer has.
	mostDeadLetters = 100
)

// queueNames returns the names of the deployment's queues, without those of dead letters.
func (s *Inventory) queueNames() []string {
	return queue.All(s.Process.Options.Engine.TaskQueues...)
}

// Queues returns the queues of the deployment with what they hold. It never fails because of a
// queue: that queue says why it does not tell. It receives no message.
func (s *Inventory) Queues(ctx context.Context) *schema.QueueListResponse {
	ctx, cancel := s.Process.World.WithTimeout(ctx, s.Process.Options.SoftLimit)
	defer cancel()
	names := s.queueNames()
	queues := make([]schema.QueueSummary, len(names))
	s.each(names, func(i int) { queues[i] = s.queue(ctx, names[i]) })
	if s.Process.Keeper != nil && s.Process.Inspector != nil {
		queues = append(queues, s.unreadable(ctx))
	}
	return &schema.QueueListResponse{Queues: queues}
}

// each calls ask with the index of each name, for some of them at once.
func (s *Inventory) each(names []string, ask func(i int)) {
	asks := make([]func(), min(len(names), queuesAtOnce))
	for lane := range asks {
		asks[lane] = func() {
			for i := lane; i < len(names); i += len(asks) {
				ask(i)
			}
		}
	}
	s.Process.World.Together(asks...)
}

// countDeadFor is how long all queues of dead letters may take to say what they have.
const countDeadFor = 5 * time.Second

// CountDead reports the messages that are in queues of dead letters, and in that of messages that
// cannot be read, received or not. It receives none of them. It logs which queues it could not ask.
func (s *Inventory) CountDead(ctx context.Context) {
	if s.Process.Inspector == nil {
		return
	}
	ctx, cancel := s.Process.World.WithTimeout(ctx, countDeadFor)
	defer cancel()
	names := s.queueNames()
	if s.Process.Keeper != nil {
		names = append(names, queue.Unreadable)
	}
	wrong := make([]error, len(names))
	s.each(names, func(i int) {
		of := queue.DeadLetters(names[i])
		if names[i] == queue.Unreadable {
			of = queue.Unreadable
		}
		dead, err := s.depth(ctx, of)
		if wrong[i] = err; dead == nil {
			return
		}
		if letters := dead.Waiting + dead.InFlight + dead.Delayed; letters > 0 {
			s.Process.Observed().Observe(ctx, &observe.LettersLeft{Queue: names[i], Letters: letters})
			s.Process.Options.Logger.WarnContext(ctx, "a queue of dead letters has messages", "queue", names[i], "messages", letters)
		}
	})
	if err := errors.Join(wrong...); err != nil {
		s.Process.Options.Logger.WarnContext(ctx, "dead letters could not be counted: give the timer function the right to read the attributes of all queues", "error", err)
	}
}

// queue returns what one queue tells.
func (s *Inventory) queue(ctx context.Context, name string) schema.QueueSummary {
	q := schema.QueueSummary{Name: name}
	if taskQueue, is := queue.IsForTasks(name); is {
		q.TaskQueue, q.Rate = taskQueue, s.rate(taskQueue)
	}
	if s.Process.Inspector == nil {
		return q
	}
	var wrong, wrongDead error
	q.Messages, wrong = s.depth(ctx, name)
	q.Dead, wrongDead = s.depth(ctx, queue.DeadLetters(name))
	if q.Dead != nil && *q.Dead != (schema.QueueDepth{}) && wrongDead == nil {
		q.DeadLetters, wrongDead = s.deadLetters(ctx, name)
	}
	if err := errors.Join(wrong, wrongDead); err != nil {
		_ = s.Process.Problem(outcome.OfReadFrom(refusal.ByQueue, err)) // logs it
		q.Problem = problemOfQueue
	}
	return q
}

// unreadable returns what the queue of messages that cannot be read tells.
func (s *Inventory) unreadable(ctx context.Context) schema.QueueSummary {
	q := schema.QueueSummary{Name: queue.Unreadable}
	var err error
	if q.Messages, err = s.depth(ctx, queue.Unreadable); err != nil {
		_ = s.Process.Problem(outcome.OfReadFrom(refusal.ByQueue, err)) // logs it
		q.Problem = problemOfQueue
	}
	return q
}

// problemOfQueue says that a queue does not tell everything.
const problemOfQueue = "not all of this queue can be read; the log of the server says why"

// rate returns the rate of a task queue, as far as this process knows it.
func (s *Inventory) rate(taskQueue string) *schema.QueueRate {
	if s.Process.Options.Rate == nil {
		return nil
	}
	r := s.Process.Options.Rate(taskQueue)
	if r == (limits.Rate{}) {
		return nil
	}
	return &schema.QueueRate{PerSecond: r.PerSecond, Burst: r.Burst}
}

// depth counts the messages of a queue; nil if it does not exist.
func (s *Inventory) depth(ctx context.Context, name string) (*schema.QueueDepth, error) {
	d, err := s.Process.Inspector.Depth(ctx, name)
	switch {
	case errors.Is(err, queue.ErrInvalid):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &schema.QueueDepth{Waiting: d.Waiting, InFlight: d.InFlight, Delayed: d.Delayed}, nil
}

// deadLetters returns the oldest dead letters of a queue that can be read.
func (s *Inventory) deadLetters(ctx context.Context, name string) (letters []schema.DeadLetter, err error) {
	if s.Process.Browser == nil {
		return nil, nil
	}
	bodies, err := s.Process.Browser.Browse(ctx, queue.DeadLetters(name), mostDeadLetters)
	if err != nil {
		return nil, err
	}
	for _, body := range bodies {
		if m, err := outbox.Decode(body); err == nil {
			letters = append(letters, letter(m))
		}
	}
	return letters, nil
}

func letter(m *engine.Message) schema.DeadLetter {
	return schema.DeadLetter{
		WorkflowID: m.WorkflowID, RunID: m.RunID, Kind: m.Kind.String(), EventID: m.EventID, Attempt: m.Attempt, FirstSent: m.Sent.Time(),
	}
}

// Redrive moves the dead letters of a queue back to it, or begins to. A message is handled again
// then, as after any other delivery: it takes effect once.
func (s *Inventory) Redrive(ctx context.Context, name string) (*schema.RedriveResponse, error) {
	ctx, cancel := s.Process.World.WithTimeout(ctx, s.Process.Options.SoftLimit)
	defer cancel()
	switch {
	case !slices.Contains(s.queueNames(), name):
		return nil, refusal.NotFound.New("there is no queue %q: GET /v1/queues lists them", name)
	case s.Process.Redriver == nil:
		return nil, refusal.NotFound.New("this deployment moves no dead letters when it is asked to: on AWS, deploy it with Redrive on")
	}
	err := s.Process.Redriver.Redrive(ctx, name)
	switch {
	case errors.Is(err, queue.ErrRedriving):
		return &schema.RedriveResponse{}, nil
	case errors.Is(err, queue.ErrInvalid):
		return nil, refusal.NotFound.New("the queue %q has no dead letters: give it a redrive policy", name)
	case err != nil:
		return nil, s.Process.Problem(outcome.OfReadFrom(refusal.ByQueue, err))
	}
	return &schema.RedriveResponse{Started: true}, nil
}
