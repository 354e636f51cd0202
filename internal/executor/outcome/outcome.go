package outcome

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/store"
)

var (
	// ErrLost says that another commit has taken the slot. Nothing was written: reload, and try
	// again.
	ErrLost = errors.New("executor: another commit took the slot")
	// ErrUnknown says that nobody knows whether a put has landed, or will. The caller's retry finds
	// out by its id.
	ErrUnknown = errors.New("executor: the outcome of the put is not known")
	// ErrBusy says that a store or a queue refuses for now, or that others write too often. Nothing
	// was written.
	ErrBusy = errors.New("executor: the store or the queue refuses for now")
	// ErrTooLarge says that a commit is above the limit. Nothing was written.
	ErrTooLarge = errors.New("executor: the commit is too large")
	// ErrStale says that an answer did not rest on a read of its session. The session has read
	// since: look again.
	ErrStale = errors.New("executor: decided on outdated knowledge")
	// ErrDropped says that a message of another sending continues the activity, so that this
	// message is deleted. The session reads the log first and looks at the message again: another
	// delivery of it may have committed a result that this process does not know, and died before
	// it sent what follows. The other message does not repair that, because the commit does not
	// have its causation id. A copy finds a commit that lands after the read.
	ErrDropped = errors.New("executor: another message continues the activity, and this one is dropped")
)

// OfRead returns what the failure of a read is to its caller: ErrBusy, since nothing was written.
// It wraps an error that operators should see.
func OfRead(err error) error {
	if errors.Is(err, store.ErrThrottled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnknown) {
		return ErrBusy
	}
	return fmt.Errorf("%w: read: %w", ErrBusy, err)
}
