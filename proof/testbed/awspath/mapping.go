package awspath

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// mapping is the event source mapping of a queue, as infra declares it.
type mapping struct {
	queue string
	role  function.Role
	batch int
}

var mappings = append(taskQueues(), []mapping{
	{queue.Activities, function.Activity, 1},
	{queue.Timers, function.Workflow, queue.MaxBatch},
	{queue.Workflow, function.Workflow, queue.MaxBatch},
	{queue.DeadLetters(queue.Activities), function.Dead, 1},
	{queue.DeadLetters(queue.Timers), function.Dead, 1},
	{queue.DeadLetters(queue.Workflow), function.Dead, 1},
}...)

// taskQueues returns the mappings of task queues.
func taskQueues() (all []mapping) {
	for _, name := range testbed.TaskQueues {
		q := queue.ForTasks(name)
		all = append(all, mapping{q, function.Activity, 1}, mapping{queue.DeadLetters(q), function.Dead, 1})
	}
	return all
}

// queueOf returns the queue with an ARN in the form that event writes.
func queueOf(arn string) string { return arn[strings.LastIndex(arn, ":weft-")+len(":weft-"):] }

// event returns Lambda's event for a batch.
// https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
func (m mapping) event(batch []queue.Delivery) ([]byte, error) {
	name := "weft-" + m.queue
	var e events.SQSEvent
	for i, d := range batch {
		attributes := map[string]string{"ApproximateReceiveCount": strconv.Itoa(d.Received)}
		if d.Group != "" {
			attributes["MessageGroupId"], name = d.Group, "weft-"+m.queue+".fifo"
		}
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: strconv.Itoa(i), ReceiptHandle: d.Receipt, Body: base64.RawStdEncoding.EncodeToString(d.Body),
			Attributes: attributes, EventSource: "aws:sqs", EventSourceARN: lambdahost.ARN("sqs", name), AWSRegion: lambdahost.Region,
		})
	}
	return json.Marshal(e)
}

// done returns the receipts of the messages that an answer does not list as failed. It returns an
// error if the answer lists a message that is not in the batch, or if a message succeeded after an
// earlier one of its group failed.
func done(answer []byte, batch []queue.Delivery) (receipts []string, err error) {
	var a events.SQSEventResponse
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("the answer to a batch cannot be read: %w: %s", err, answer)
	}
	failed := map[int]bool{}
	for _, f := range a.BatchItemFailures {
		i, err := strconv.Atoi(f.ItemIdentifier)
		if err != nil || i < 0 || i >= len(batch) {
			return nil, fmt.Errorf("the answer to a batch lists %q, which is not in it", f.ItemIdentifier)
		}
		failed[i] = true
	}
	stopped := map[string]bool{}
	for i, d := range batch {
		if d.Group != "" && stopped[d.Group] && !failed[i] {
			return nil, fmt.Errorf("a message of the group %q succeeded after an earlier one failed", d.Group)
		}
		stopped[d.Group] = stopped[d.Group] || failed[i]
		if !failed[i] {
			receipts = append(receipts, d.Receipt)
		}
	}
	return receipts, nil
}

// deliver implements source. It passes a schedule event to the timer function, or a batch of
// messages to the function of their queue.
func (s *Testbed) deliver() bool {
	p := s.processes[1]
	if p == nil || p.stopped {
		return false
	}
	now := s.clock.Now()
	s.passOver(p, now)
	if !now.Before(p.sweepAt) {
		p.sweepAt = now.Add(outbox.SweepEvery)
		s.handOver(p, func() error { return p.tick(context.Background(), now) })
		return true
	}
	i := slices.IndexFunc(mappings, func(m mapping) bool { return s.queue.Ready(m.queue) })
	if i < 0 {
		return false
	}
	m := mappings[i]
	batch, err := s.queue.Receive(context.Background(), m.queue, m.batch)
	if err != nil {
		s.t.Errorf("receive from %s: %v", m.queue, err)
		return false
	}
	s.handOver(p, func() error { return s.handle(p, m, batch) })
	return true
}

// due implements source.
func (s *Testbed) due() time.Time {
	p := s.processes[1]
	if p == nil || p.stopped {
		return time.Time{}
	}
	sweep := s.timers.next(p.sweepAt)
	if at, ok := s.queue.Next(); ok && (sweep.IsZero() || at.Before(sweep)) {
		return at
	}
	return sweep
}

// passOver skips the next schedule event of a process if the sweeps of the events before it find
// nothing.
func (s *Testbed) passOver(p *process, now time.Time) {
	next := s.timers.next(p.sweepAt)
	for !now.Before(p.sweepAt) && (next.IsZero() || next.After(p.sweepAt)) {
		p.sweepAt = p.sweepAt.Add(outbox.SweepEvery)
	}
}

// handOver lets a process handle an event on a new goroutine.
func (s *Testbed) handOver(p *process, fn func() error) {
	p.busy++
	s.clock.Go(func() {
		defer func() { p.busy-- }()
		if err := fn(); err != nil {
			s.t.Error(err)
		}
	})
}

// handle lets a function handle a batch, and deletes the messages that were handled. The others are
// redelivered.
func (s *Testbed) handle(p *process, m mapping, batch []queue.Delivery) error {
	for _, d := range batch {
		if _, err := outbox.Decode(d.Body); err != nil {
			return fmt.Errorf("a message of the queue %s: %w", m.queue, err)
		}
	}
	event, err := m.event(batch)
	if err != nil {
		return err
	}
	answer, err := p.Invoke(p.delivered.Counting(context.Background()), string(m.role), event)
	if err != nil {
		return fmt.Errorf("a batch of the queue %s: %w", m.queue, err)
	}
	receipts, err := done(answer, batch)
	if err != nil || len(receipts) == 0 {
		return err
	}
	return s.queue.Delete(context.Background(), m.queue, receipts...)
}
