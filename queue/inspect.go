package queue

import (
	"context"
	"errors"
)

// ErrRedriving is wrapped by the error of Redrive if an earlier Redrive still moves the messages.
var ErrRedriving = errors.New("queue: the dead letters are being moved already")

// Depth is the number of messages of a queue.
type Depth struct {
	// Waiting messages are visible. In a FIFO queue some of them may wait for a message of their
	// group that is in flight.
	Waiting int64
	// InFlight messages were received, and are neither deleted nor visible again.
	InFlight int64
	// Delayed messages were sent with a delay that is not over.
	Delayed int64
}

// Inspector is an optional part of the port: it counts messages.
type Inspector interface {
	// Depth counts the messages of a queue, or of a queue of dead letters. It receives none of
	// them. The counts may be approximate, and some time behind: SQS's are, by a minute or so. It
	// returns an error that wraps ErrInvalid if the queue does not exist.
	Depth(ctx context.Context, queue string) (Depth, error)
}

// Redriver is an optional part of the port: it moves dead letters back.
type Redriver interface {
	// Redrive moves the visible messages of DeadLetters(queue) back to the queue, or begins to:
	// SQS continues after Redrive has returned.
	//
	//   - A moved message is a new one, which has not been received. Like any message it may be
	//     moved twice, but it is never lost.
	//   - A group keeps its order. Messages in flight stay, and so does what waits behind them in
	//     their group.
	//   - It returns nil if there are no dead letters, ErrRedriving if they are being moved
	//     already, and an error that wraps ErrInvalid if the queue does not exist, or has no dead
	//     letters. After any other error some messages may be moved.
	Redrive(ctx context.Context, queue string) error
}

// Keeper is an optional part of the port: it keeps messages that nobody can read. Without it, they
// are deleted, and a line of the log says so.
type Keeper interface {
	// Keep sends a message to the queue Unreadable, unchanged, with the name of its queue and the
	// reason. It returns nil only if the message is durable there, so that it can be deleted. After
	// an error it may be there, too: then it is kept twice.
	Keep(ctx context.Context, queue string, d Delivery, reason string) error
}

// Browser is an optional part of the port: it shows messages. SQS cannot do that: to see a message
// one has to receive it.
type Browser interface {
	// Browse returns the bodies of at most limit messages of a queue, the oldest first, whether
	// they are visible or not. It receives none of them. It returns an error that wraps ErrInvalid
	// if the queue does not exist, or limit is below 1.
	Browse(ctx context.Context, queue string, limit int) ([][]byte, error)
}
