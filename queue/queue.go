// Package queue is the port of the queues that carry tasks. Its adapters are queue/memory,
// queue/sqs and that of package embedded, and examples/postgres outside this module. Package
// queuetest is the suite that each of them passes, and the port's specification in code. Its
// semantics are those of SQS. Several processes may use the queues at the same time, and all
// methods are safe for concurrent use.
//
//	 Send                      Receive                     Delete
//	──────▶ delayed ──▶ visible ──────▶ in flight ─────────────────▶ gone
//	                       ▲               │ visibility time-out,
//	                       └───────────────┘ or Extend by 0
//	                                       │ received too often
//	                                       └──────────────▶ the dead-letter queue
//
// The port's guarantees and rules:
//
//   - Delivery: at least once. A queue may deliver a message more than once, even while it is in
//     flight, and late. It delivers a message until it is deleted, or moves to the dead letters.
//   - Order: a standard queue has no order. A FIFO queue keeps the order of each group: while a
//     message of a group is in flight, nothing after it in its group is delivered. A batch may hold
//     several messages of a group, in order. A message that becomes visible again keeps its place.
//     A group keeps its order on the way to the dead letters. Concurrent Sends have no order.
//   - Durability of a message: it survives a crash if anything survives that was acknowledged after
//     it, by this queue or by a store on the same disk. If the queue shares its disk with no store,
//     a message is durable when Send returns, as in SQS.
//   - Durability of a receive: that a message was received, and how many times, is durable before
//     the message is delivered. An activity that may run only once depends on it.
//   - Dead letters: a message that becomes visible after MaxReceives receives moves to the queue
//     DeadLetters(queue), at the latest when somebody asks the queue for messages. There its count
//     begins anew, or continues.
//   - Retries: an adapter retries nothing. A Send that failed may have sent some or all messages.
//   - Bounds: a batch has at most MaxBatch messages, a delay is at most MaxDelay, and a body has at
//     least one byte. Bodies and groups have any bytes. An adapter takes bodies of 768 KiB at
//     least, and groups of 401 bytes. A call that breaks a rule does nothing and returns
//     ErrInvalid.
//   - Ownership: an adapter may keep the bodies that it is given, and callers do not change them.
//     What Receive returns belongs to the caller.
package queue

import (
	"context"
	"errors"
	"strings"
	"time"
)

// MaxDelay is the longest delay of a message, as in SQS.
const MaxDelay = 15 * time.Minute

// MaxBatch is the largest number of messages that one call sends, receives or deletes, as in SQS.
const MaxBatch = 10

// The queues of a deployment. Each task queue has a queue for its activities; see ForTasks.
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

// ForTasks returns the name of the standard queue of a task queue's activities. For the default
// task queue, whose name is empty, that is Activities.
func ForTasks(taskQueue string) string {
	if taskQueue == "" {
		return Activities
	}
	return tasks + taskQueue
}

// IsForTasks reports whether a queue carries activities, and returns its task queue. A queue of
// dead letters carries none.
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

// Unreadable is the standard queue of messages that no version of Weft can read. Nobody handles it;
// see Keeper.
const Unreadable = "unreadable"

// DeadLetters returns the queue for the messages of a queue that were received too often.
func DeadLetters(queue string) string { return queue + dead }

// Message is a message to send.
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
	// Received is how many times the message has been received, including this time.
	Received int
	// Group is the group of the message in a FIFO queue.
	Group string
	// Raw is the message as the queue's service has it, for Keeper; empty if that is Body.
	Raw string
}

var (
	// ErrTooLarge is wrapped by the error of Send for a message above the queue's limit.
	ErrTooLarge = errors.New("queue: the message is larger than the queue takes")
	// ErrRefused is wrapped by the error of Send if the message is the reason, and not the queue.
	// Messages of other sizes may succeed.
	ErrRefused = errors.New("queue: the message cannot be sent")
	// ErrInvalid is wrapped by the error of a call that breaks a rule of the port: a delay or a
	// batch that is too large, a group in a queue without groups, a queue that does not exist.
	// Nothing was done.
	ErrInvalid = errors.New("queue: invalid")
	// ErrPartial is wrapped by the error of Send if some of the messages were not sent.
	ErrPartial = errors.New("queue: not all messages were sent")
)

// Sender sends messages.
type Sender interface {
	// Send sends at most MaxBatch messages; none is no error. It returns nil only if all of them
	// were sent. After an error that wraps ErrTooLarge or ErrInvalid, nothing was sent. After any
	// other error, some or all may have been sent.
	Send(ctx context.Context, queue string, messages ...Message) error
}

// Receiver receives messages. On AWS, event source mappings do so.
type Receiver interface {
	// Receive waits until there is a visible message, or the context ends, and returns between one
	// and limit messages; limit is 1 to MaxBatch.
	//
	//   - The wait ends when a message is sent or given back, when a delay or a visibility time-out
	//     is over, and when a group becomes free: at once, or as soon as the adapter looks again.
	//   - The messages are invisible for the queue's visibility time-out. Each has a receipt that
	//     no earlier delivery had. Concurrent calls receive different messages.
	//   - When the context ends, Receive returns an error that wraps the context's. It may have
	//     received a message then, which nobody else receives before its time-out.
	Receive(ctx context.Context, queue string, limit int) ([]Delivery, error)
	// Delete deletes messages that were handled, at most MaxBatch; none is no error. A receipt is
	// no longer valid if its message is gone or was received again. That is no error: the message
	// may be deleted, or stay. After an error some messages are deleted.
	Delete(ctx context.Context, queue string, receipts ...string) error
	// Extend makes a message in flight visible after d from now. A handler calls it to get more
	// time or, with 0, to give the message back. It affects only this delivery: the next one has
	// the queue's time-out. With a receipt that is no longer valid, it does nothing and returns no
	// error.
	Extend(ctx context.Context, queue, receipt string, d time.Duration) error
}

// Queue is what a deployment in one process requires of its queues: both ends of each.
type Queue interface {
	Sender
	Receiver
}

// Settings are the settings of one queue.
type Settings struct {
	// FIFO says that the queue keeps the order of each group.
	FIFO bool
	// Visibility is how long a received message stays invisible.
	Visibility time.Duration
	// MaxReceives is how many times a message is received before it moves to the queue's dead
	// letters; 0 means no limit.
	MaxReceives int
}

// All returns the queues of a deployment with these task queues besides the default one. It leaves
// out the queues of dead letters.
func All(taskQueues ...string) []string {
	names := []string{Activities}
	for _, name := range taskQueues {
		names = append(names, ForTasks(name))
	}
	return append(names, Timers, Workflow)
}

// Standard returns the settings of a deployment in one process, with these task queues besides the
// default one. A message that a handler keeps giving back moves to the dead letters after about ten
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
