package outcome

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// The errors that callers look for. ErrUnknown and ErrBusy are only looked for: an Unknown and a
// Busy also have the cause.
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

// Busy is an ErrBusy.
type Busy struct {
	// Cause is what refuses.
	Cause refusal.Cause
	// Err is an error that operators should see; nil if there is none.
	Err error
}

// Error says what refuses, and has the error that operators should see.
func (b *Busy) Error() string { return text(busy[b.Cause], b.Err) }

// busy has what a Busy of each cause says.
var busy = map[refusal.Cause]string{
	refusal.ByStore: "executor: the store refuses for now", refusal.ByQueue: "executor: a queue refuses for now",
	refusal.ByContention: "executor: too many others write to the workflow", refusal.ByBuild: "executor: the builds of the program are not known for now",
}

// Is reports whether target is ErrBusy.
func (b *Busy) Is(target error) bool { return target == ErrBusy }

// Unwrap returns the error that operators should see.
func (b *Busy) Unwrap() error { return b.Err }

// Unknown is an ErrUnknown.
type Unknown struct {
	// Cause is what did not answer.
	Cause refusal.Cause
	// Err is an error that operators should see; nil if there is none.
	Err error
}

// Error returns the text of ErrUnknown, and has the error that operators should see.
func (u *Unknown) Error() string { return text(ErrUnknown.Error(), u.Err) }

// Is reports whether target is ErrUnknown.
func (u *Unknown) Is(target error) bool { return target == ErrUnknown }

// Unwrap returns the error that operators should see.
func (u *Unknown) Unwrap() error { return u.Err }

func text(what string, err error) string {
	if err == nil {
		return what
	}
	return what + ": " + err.Error()
}

// OfStore returns a Busy by the store, which refuses what doing says.
func OfStore(doing string, err error) error {
	return &Busy{refusal.ByStore, fmt.Errorf("%s: %w", doing, err)}
}

// OfQueue returns a Busy by a queue, which refuses what doing says.
func OfQueue(doing string, err error) error {
	return &Busy{refusal.ByQueue, fmt.Errorf("%s: %w", doing, err)}
}

// OfRead returns what the failure of a read from the store is to its caller: a Busy, since nothing
// was written. It has an error that operators should see.
func OfRead(err error) error { return OfReadFrom(refusal.ByStore, err) }

// OfReadFrom is OfRead for something else that is read.
func OfReadFrom(cause refusal.Cause, err error) error {
	if errors.Is(err, store.ErrThrottled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnknown) {
		return &Busy{Cause: cause}
	}
	return &Busy{cause, fmt.Errorf("read: %w", err)}
}

// OfContention returns a Busy by others that write to the workflow.
func OfContention() error { return &Busy{Cause: refusal.ByContention} }

// CauseOf returns the cause of an error, and the error that operators should see; nil if there is
// none. The cause is empty if the error has none.
func CauseOf(err error) (refusal.Cause, error) {
	if b, ok := errors.AsType[*Busy](err); ok {
		return b.Cause, b.Err
	}
	if u, ok := errors.AsType[*Unknown](err); ok {
		return u.Cause, u.Err
	}
	if errors.Is(err, ErrLost) || errors.Is(err, ErrStale) {
		return refusal.ByContention, nil
	}
	return "", nil
}
