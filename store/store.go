// Package store is the port of the store for histories. Its adapters are store/memory, store/dynamo
// and that of package embedded, and examples/postgres outside this module. Package storetest is the
// suite that each of them passes, and the specification of the port in code.
//
// A store belongs to one namespace, which is fixed when the store is opened (one data directory,
// one table prefix). No argument of a call can reach another namespace.
//
// The port consists of a few small interfaces, one for each use; [Store] is what a deployment
// requires. Correctness depends only on [Log]. Several processes may use a store at the same time,
// and all methods are safe for concurrent use.
//
//	                atomic                      read                       may be done twice
//	Log             all items of an Append      strongly                   no: a repeat is a Conflict with itself
//	Attempts        one record                  strongly                   no: a repeat is ErrStale
//	Timers          one timer of a call         strongly                   yes: a repeat puts the same timer
//	Lister          a run's row, with its item  behind the log, or not     -
//	Scanner         -                           a hint                     -
//	Scanner's mark  one write                   strongly                   no: a repeat is ErrStale
//	Eraser          one commit, one attempt     -                          yes
//	Keys            one key, once               strongly                   no: a repeat is ErrStale
//	Rates           one mark                    by the write itself        it moves the mark twice
//
// The port's guarantees and rules:
//
//   - A strong read sees everything that was written before it began, by any process. It returns
//     only durable data: no crash removes what it returned.
//   - A write is durable when it returns nil.
//   - An adapter retries only what is certain not to have been applied (throttling), within the
//     context's deadline.
//   - If it is unknown whether a write was applied, Append and Reserve return ErrUnknown, and the
//     caller repeats the identical call. After any other error of these two nothing was done, nor
//     will be. Another write may have been done despite an error that wraps none of this package's.
//   - A call whose context has ended may or may not be done, but its result is true.
//   - An adapter may keep what it is given, and callers do not change it. What a read returns, and
//     what a Conflict holds, belongs to the caller.
//   - Times are stored to the microsecond, and expiries to the second, rounded up.
//   - Weft's ids and names have up to 255 bytes. The suite goes further: up to 401 bytes of UTF-8,
//     with any characters, including the character 0. They are compared and sorted by their bytes.
//   - A body has any bytes, or none: nil and empty are the same. An adapter takes bodies of at
//     least 396 KiB, and refuses larger ones than its own limit with ErrTooLarge.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Key is the place of an item: its workflow, the number of the run (1 for the first) and the slot
// (0 for the first).
type Key struct {
	Workflow string
	Run      uint32
	Slot     uint32
}

// String returns the key as text.
func (k Key) String() string { return fmt.Sprintf("%s/%d/%d", k.Workflow, k.Run, k.Slot) }

// Before reports whether k is before l in the order of a workflow's items: by run, then by slot.
func (k Key) Before(l Key) bool { return k.Run < l.Run || k.Run == l.Run && k.Slot < l.Slot }

// Item is a commit as it is stored. A read returns all of its fields as they were written, except
// Over.
type Item struct {
	Key
	// Commit is the commit's id. By it, a writer recognizes its own item.
	Commit [16]byte
	// Body is the commit, encoded.
	Body []byte
	// Expires is when the item may be deleted; zero means never. The deletion may come later, and
	// until then reads return the item.
	Expires time.Time
	// Over is the id of a commit that may already be at the key: the item then replaces it, and the
	// row that the other one has set in the list goes with that. Zero means none. It is part of a
	// write, and no read returns it.
	Over [16]byte
	// Summary is set on the items that open or close a run, or change the run's row in the list of
	// workflows. Its workflow and run are the item's own. It replaces the row that an earlier slot
	// of the run has set.
	Summary *Summary
}

// Summary is a run in the list of workflows.
type Summary struct {
	Workflow string
	Run      uint32
	RunID    string
	Type     string
	Status   string
	Started  time.Time
	// Closed is zero while the run is open.
	Closed time.Time
	// Build is the build that the run is pinned to; empty if the newest build runs it.
	Build string
	// Attributes are the search attributes, and Memo the memo, as the caller encoded them: bytes
	// that no adapter interprets.
	Attributes, Memo string
	// Facts are what the engine knows of the run besides: bytes that no adapter interprets. They
	// are empty if there is nothing to say, and in rows of earlier versions.
	Facts string
}

// Conflict is the error of Append if one of the keys already has an item. Nothing was put.
type Conflict struct {
	// Existing is that item.
	Existing Item
}

// Error names the key.
func (e *Conflict) Error() string {
	return "store: there already is an item at " + e.Existing.Key.String()
}

var (
	// ErrUnknown is wrapped by the error of Append if it is unknown whether the items were put, or
	// will be.
	ErrUnknown = errors.New("store: the outcome of the write is not known")
	// ErrThrottled is wrapped by the error of a call that the store refused for now. Nothing was
	// done.
	ErrThrottled = errors.New("store: throttled")
	// ErrTooLarge is wrapped by the error of a write if an item exceeds the store's limit. Nothing
	// was done.
	ErrTooLarge = errors.New("store: the item is larger than the store takes")
	// ErrCorrupt is wrapped by the error of a call that read an item which is damaged, or which a
	// newer version of Weft wrote. The call interprets nothing of it. Lists, scans and DueTimers
	// report such an item and continue past it.
	ErrCorrupt = errors.New("store: stored data is damaged")
	// ErrStale is wrapped by the error of a conditional write whose condition does not hold.
	// Nothing was done.
	ErrStale = errors.New("store: another write came first")
)

// Page is the result of one read: at most as many items as were asked for, and at most as many as
// fit into about 1 MB.
type Page struct {
	Items []Item
	// More is set if there are further items in the direction of the read. If the page has as many
	// items as the limit, More may be set although there are none. A page without items never has
	// it.
	More bool
}

// MaxAppend is how many items one Append may put: the limit of a transaction of DynamoDB. Together
// they have at most 3.5 MB.
const MaxAppend = 100

// Log is the log of the runs of each workflow. All its reads are strong. Callers leave no gaps in
// it. An item is put only if the slot before it has an item, or had one that expired, or if it
// replaces an item (Item.Over): the last item of a run is replaced after the others were deleted. A
// run after the first is opened only if there was an earlier run.
type Log interface {
	// Append puts one item, or up to MaxAppend at different keys: all of them or none. Each is put
	// on the condition that none stands at its key, or only the one whose id is in Over. The
	// condition and the put are one atomic step: of several Appends to one key, by any processes,
	// one is put. Append returns
	//
	//   - nil if the items are durable;
	//   - a *Conflict if there already is an item at one of the keys: nothing was put. If there are
	//     several, the Conflict has any of them;
	//   - an error that wraps ErrUnknown if it cannot tell whether they were put, or will be;
	//   - an error that wraps ErrThrottled, ErrTooLarge or ErrCorrupt, or any other error: nothing
	//     was put, nor will be.
	//
	// An Append that is repeated after it was applied returns a Conflict with the caller's own
	// item, which the caller recognizes by its commit id. Two Appends never share a commit id,
	// unless they are identical. (Encrypted bodies may differ.) The order in which items are named
	// makes no difference.
	Append(ctx context.Context, items ...Item) error
	// Backward reads the items of a workflow over all of its runs, the last one first. It begins
	// with the last one before the key "before", and ends with the first one that is not before
	// "until". Only run and slot of these keys count. A zero "before" is after all items.
	//
	// It returns at most limit items; limit 0 means as many as fit. A workflow without items is an
	// empty page. A page of Backward or Forward may end before a damaged item: the read that begins
	// there returns ErrCorrupt.
	Backward(ctx context.Context, workflow string, before, until Key, limit int) (Page, error)
	// Forward reads the items of one run from a slot on, in the order of slots; limit 0 means as
	// many as fit.
	Forward(ctx context.Context, from Key, limit int) (Page, error)
}

// Attempt is the record of an activity between its attempts. A success never writes it.
type Attempt struct {
	Workflow string
	Run      uint32
	// RunID distinguishes the run from an earlier one with the same number; empty in records of
	// earlier versions.
	RunID string
	// Event is the id of the activity's ActivityTaskScheduled event.
	Event int64
	// Number grows with each record of the activity, from 1 on. A record replaces one with a lower
	// number.
	Number int
	// Body is the last failure and the other data that the engine keeps.
	Body []byte
	// Expires is when it may be deleted; zero is never.
	Expires time.Time
}

// Attempts stores the state of activities between their attempts: one record for each activity of a
// run, outside the log.
type Attempts interface {
	// RecordAttempt replaces the record of an activity with the state after an attempt. The
	// condition is that the present record does not have the same RunID and the same or a higher
	// number. Otherwise it returns an error that wraps ErrStale, and nothing was written. The
	// condition and the write are one atomic step. The state is durable when it returns nil.
	RecordAttempt(ctx context.Context, a Attempt) error
	// ReadAttempts returns all records of the runs with this number, sorted by event id: a strong
	// read, with no limit. The remains of an earlier run with the number have another RunID.
	ReadAttempts(ctx context.Context, workflow string, run uint32) ([]Attempt, error)
}

// Timer is a message with a longer delay than a queue permits.
type Timer struct {
	// ID distinguishes timers that are due at the same moment. Putting the same timer (due and id)
	// twice is the same as putting it once.
	ID  string
	Due time.Time
	// Body is the message.
	Body []byte
	// Stored is for wrappers of the port, and a store ignores it. In a timer that DueTimers
	// returned it is the body as the store has it. A wrapper stores a timer that is put with Stored
	// with that body.
	Stored []byte
	// More, in the last timer that DueTimers returned, says that there may be others although it
	// returned fewer than the limit.
	More bool
}

// Timers stores messages until a queue can delay them. Due and ID together are a timer's key.
type Timers interface {
	// PutTimers stores timers. It returns nil only if all of them are durable; after an error some
	// may be. Putting an existing timer does nothing.
	PutTimers(ctx context.Context, timers []Timer) error
	// DueTimers returns at most limit timers that are due before a moment (exclusive), the earliest
	// first. It is a strong read and removes nothing: several processes may get the same timers,
	// and then send their messages twice.
	DueTimers(ctx context.Context, before time.Time, limit int) ([]Timer, error)
	// DeleteTimers deletes timers that DueTimers returned; a missing one is no error. After an
	// error some may be deleted.
	DeleteTimers(ctx context.Context, timers []Timer) error
}

// Filter selects runs of the list of workflows. A zero field selects all.
type Filter struct {
	// StartedAfter and StartedBefore select the runs that started between them (exclusive). An
	// adapter reads no other rows.
	StartedAfter  time.Time
	StartedBefore time.Time
	// Where decides about a row that the other fields select; nil selects all. It may only use the
	// row, except its memo, which may be encrypted. An adapter calls it any number of times, and
	// only for the last row of a run.
	Where func(*Summary) bool
	// Oldest asks for the list in the reverse order: those started first are first.
	Oldest bool
}

// Selects reports whether a filter selects a row.
func (f Filter) Selects(row *Summary) bool {
	return (f.StartedAfter.IsZero() || row.Started.After(f.StartedAfter)) &&
		(f.StartedBefore.IsZero() || row.Started.Before(f.StartedBefore)) &&
		(f.Where == nil || f.Where(row))
}

// Lister lists workflows: the last Summary of each run. The list follows the log and may be behind
// it; an adapter may leave it out.
type Lister interface {
	// ListRuns returns at most limit runs that the filter selects, those started last first (first
	// first with Oldest), from the position in token; an empty token is the beginning. A token is
	// for the same filter. next is the token for the next page,
	// or empty if there are no more. A token may be used again, and later. ListRuns returns an
	// error that wraps ErrBadToken for a token that it did not make. A run that changes between two
	// pages appears once.
	ListRuns(ctx context.Context, f Filter, token string, limit int) (runs []Summary, next string, err error)
}

// ErrBadToken is wrapped by the errors of ListRuns and Scan for a token or a cursor that they did
// not make.
var ErrBadToken = errors.New("store: this is not a page token")

// Keys stores the key that a deployment signs with. There is one, and it never changes.
type Keys interface {
	// ReadKey returns the key, by a strong read, or nothing if there is none. If the key is
	// damaged, it returns an error that wraps ErrCorrupt.
	ReadKey(ctx context.Context) ([]byte, error)
	// MakeKey stores a key if there is none: of several concurrent calls, one does. Otherwise it
	// returns an error that wraps ErrStale, even if an earlier try of the same call has stored this
	// key: read it then. An adapter whose only process is the caller also replaces a damaged key.
	MakeKey(ctx context.Context, key []byte) error
}

// Eraser deletes.
type Eraser interface {
	// Delete deletes these commits and attempts, in any order. Each is deleted on the condition
	// that it is still the one that was read: the commit with this id, the attempt with this number
	// and run id. A missing one is no error, so that a Delete may be repeated. If there is another
	// one in its place, that one stays, and Delete returns an error that wraps ErrStale. After an
	// error some are deleted. A caller deletes the last commit of a run in a separate call, after
	// the others: without it a closed run would look open.
	Delete(ctx context.Context, items []Item, attempts []Attempt) error
}

// Scanner is for the slow check over all runs, which finds runs that have lost their messages.
// Correctness does not depend on it.
type Scanner interface {
	// Scan continues to read all commits of all workflows from cursor; an empty cursor is the
	// beginning. It returns at most limit items, perhaps none, and the next cursor, which is empty
	// at the end. The items of a workflow follow one another, in order. A walk returns every item
	// that exists from before its beginning until its end. It may or may not return items that were
	// put or deleted just before or during the walk, and it may miss the items behind a commit that
	// was deleted meanwhile. So its findings are hints, to be checked in the Log. It returns an
	// error that wraps ErrBadToken for a cursor that Scan did not return.
	Scan(ctx context.Context, cursor string, limit int) (items []Item, next string, err error)
	Eraser
	// ReadMark returns the mark that WriteMark stored last, or nothing if there is none. If the
	// mark is damaged, it reports that and returns nothing. WriteMark then treats the mark as
	// missing.
	ReadMark(ctx context.Context) ([]byte, error)
	// WriteMark stores a few bytes of the caller's, for instance a cursor, on the condition that
	// old is stored now. Otherwise it returns an error that wraps ErrStale.
	WriteMark(ctx context.Context, old, mark []byte) error
}

// Expirer deletes what has expired. An adapter whose service does that itself omits it, as
// store/dynamo does.
type Expirer interface {
	// DeleteExpired deletes at most limit items that expired at now or before, and returns how many
	// it deleted. A run's row in the list, and its attempts, go with its last item. The caller
	// repeats the call until it returns fewer than limit. An error leaves some deleted.
	DeleteExpired(ctx context.Context, now time.Time, limit int) (deleted int, err error)
}

// Store is what a deployment requires of a store. An adapter may also be a [Lister] and an
// [Expirer].
type Store interface {
	Log
	Attempts
	Timers
	Scanner
	Keys
	Rates
}
