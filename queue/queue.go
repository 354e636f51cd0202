// Package queue is the port to the queues that carry tasks. Its adapters are queue/memory,
// queue/embedded and queue/sqs, and examples/postgres outside of this module. Package queuetest is
// the suite that each of them passes, and the port's specification in code. Its semantics are those
// of SQS. Several processes may use the queues at the same time, and all methods are safe for
// concurrent use.
//
//	 Send                      Receive                     Delete
//	──────▶ delayed ──▶ visible ──────▶ in flight ─────────────────▶ gone
//	                       ▲               │ visibility time-out,
//	                       └───────────────┘ or Extend by 0
//	                                       │ received too often
//	                                       └──────────────▶ the dead-letter queue
//
// All adapters keep these rules:
//
//   - Delivery: at least once. A message may be delivered more than once, also while it is in
//     flight, and late. It is delivered until it is deleted, or moves to the dead letters.
//   - Order: a standard queue keeps none. A FIFO queue keeps the order of each group: while a
//     message of a group is in flight, nothing after it in its group is delivered. A batch may hold
//     several of a group, in order. What becomes visible again keeps its place; on the way to the
//     dead letters a group keeps its order. Sends that do not wait for each other have no order.
//   - Durability: what was sent survives a crash if anything that was acknowledged after it does,
//     by this queue or by the store that it shares a disk with. A queue that shares none has to be
//     durable when Send returns, as SQS is. That a message was received, and how often, is durable
//     before it is delivered: an activity that may run only once depends on it.
//   - Dead letters: a message that becomes visible after it was received MaxReceives times moves to
//     the queue DeadLetters(queue), at the latest when somebody asks the queue for messages. It is
//     counted from the beginning there, or on.
//   - Retries: an adapter retries nothing; a Send that failed may have sent some or all.
//   - Bounds: a batch has at most MaxBatch messages, a delay is at most MaxDelay, and a body has at
//     least one byte. Bodies and groups have any bytes. An adapter takes bodies of 768 KiB at
//     least, and groups of 401 bytes. What breaks a rule is ErrInvalid, and the whole call does
//     nothing.
//   - Ownership: an adapter may keep the bodies that it is given, and callers do not change them.
//     What Receive returns is the caller's.
package queue

import (
	"context"
	"errors"
	"strings"
	"time"
)

// MaxDelay is the longest delay of a message, as in SQS.
const MaxDelay = 15 * time.Minute

// MaxBatch is the largest number of messages that are sent, received or deleted at once, as in SQS.
const MaxBatch = 10

// The queues of a deployment. Activity messages have a queue for each task queue; see ForTasks.
const (
	// Workflow is the FIFO queue whose groups are workflow ids.
	Workflow = "workflow"
	// Timers is the standard queue of delayed messages.
	Timers = "timers"
	// Activities is the standard queue of the default task queue's activities.
	Activities = "activities"
)

// tasks begins the names of the queues of task queues.
const tasks = "tasks-"

// ForTasks is the standard queue of a task queue's activities. That of the default one, whose name
// is empty, is Activities.
func ForTasks(taskQueue string) string {
	if taskQueue == "" {
		return Activities
	}
	return tasks + taskQueue
}

// IsForTasks reports whether a queue carries activities, and of which task queue. The queue of
// their dead letters does not.
func IsForTasks(queue string) (taskQueue string, is bool) {
	name, named := strings.CutPrefix(queue, tasks)
	if strings.HasSuffix(queue, dead) || !named && queue != Activities {
		return "", false
	}
	if !named {
		return "", true
	}
	return name, true
}

// dead ends the names of the queues of dead letters.
const dead = "-dead"

// DeadLetters is the queue of the messages of a queue that were received too often.
func DeadLetters(queue string) string { return queue + dead }

// Message is what is sent.
type Message struct {
	// Body is never empty. Two messages with the same body are two messages.
	Body []byte
	// Delay is how long the message stays invisible, at most MaxDelay; a FIFO queue takes none.
	Delay time.Duration
	// Group is the group of the message in a FIFO queue; empty in a standard one.
	Group string
}

// Delivery is a message that was received.
type Delivery struct {
	Body []byte
	// Receipt is the handle of this delivery: Delete and Extend take it.
	Receipt string
	// Received is how often the message has been received, this time included.
	Received int
	// Group is the group of the message in a FIFO queue.
	Group string
}

var (
	// ErrTooLarge is wrapped by what Send returns for a message above the queue's limit.
	ErrTooLarge = errors.New("queue: the message is larger than the queue takes")
	// ErrRefused is wrapped by what Send returns where a message is the reason, and not the queue:
	// messages of other sizes may be sent.
	ErrRefused = errors.New("queue: the message cannot be sent")
	// ErrInvalid is wrapped by the error of a call that breaks a rule of the port: a delay or a
	// batch that is too large, a group in a queue without groups, a queue that does not exist.
	// Nothing was done.
	ErrInvalid = errors.New("queue: invalid")
	// ErrPartial is wrapped by what Send returns when some of the messages were not sent.
	ErrPartial = errors.New("queue: not all messages were sent")
)

// Sender sends messages.
type Sender interface {
	// Send sends at most MaxBatch messages; none is no error. It returns nil only if all of them
	// were sent. An error that wraps ErrTooLarge or ErrInvalid says that nothing was sent; after
	// another one some or all may have been.
	Send(ctx context.Context, queue string, messages ...Message) error
}

// Receiver receives messages. On AWS its part is played by event source mappings.
type Receiver interface {
	// Receive waits until there is a visible message, or the context ends, and returns between one
	// and limit messages; limit is 1 to MaxBatch. It ends the wait when a message is sent or given
	// back, when a delay or a visibility time-out is over, and when a group becomes free: at once,
	// or as soon as it looks again. The messages are invisible for the queue's visibility time-out,
	// and each has a receipt that no delivery had before. Of several calls at once each gets other
	// messages. When the context ends, Receive returns an error that wraps the context's; a message
	// may have been received then that nobody gets before its time-out.
	Receive(ctx context.Context, queue string, limit int) ([]Delivery, error)
	// Delete deletes messages that were handled, at most MaxBatch; none is no error. A receipt that
	// is no longer good, because the message is gone or was received again, is no error: then the
	// message may be deleted, or stay. After an error some are deleted.
	Delete(ctx context.Context, queue string, receipts ...string) error
	// Extend makes a message in flight visible after d from now, for a handler that needs longer
	// or, with 0, one that gives it back. It concerns this delivery alone: the next one has the
	// queue's time-out. A receipt that is no longer good is no error, and nothing is done.
	Extend(ctx context.Context, queue, receipt string, d time.Duration) error
}

// Queue is what a deployment in one process demands of its queues: both ends of each.
type Queue interface {
	Sender
	Receiver
}

// Settings are the settings of one queue.
type Settings struct {
	// FIFO says that the queue keeps the order of each group.
	FIFO bool
	// Visibility is how long a message that was received stays invisible.
	Visibility time.Duration
	// MaxReceives is how often a message is received before it moves to the queue's dead letters; 0
	// is without limit.
	MaxReceives int
}

// All are the queues of a deployment with these task queues besides the default one, without those
// of dead letters.
func All(taskQueues ...string) []string {
	names := []string{Activities}
	for _, name := range taskQueues {
		names = append(names, ForTasks(name))
	}
	return append(names, Timers, Workflow)
}

// Standard are the settings of a deployment in one process, with these task queues besides the
// default one. A message that a handler keeps giving back goes to the dead letters after about ten
// minutes.
func Standard(taskQueues ...string) map[string]Settings {
	const visibility, receives = 30 * time.Second, 20
	settings := map[string]Settings{}
	for _, name := range All(taskQueues...) {
		fifo := name == Workflow
		settings[name] = Settings{FIFO: fifo, Visibility: visibility, MaxReceives: receives}
		settings[DeadLetters(name)] = Settings{FIFO: fifo, Visibility: visibility}
	}
	return settings
}
