// Package store is the port to where histories are kept. Its adapters are store/memory, store/embedded and store/dynamo, and
// examples/postgres outside of this module. Package storetest is the suite that each of them passes, and the port's
// specification in code.
//
// A store belongs to one namespace: whoever opens it (one data directory, one table prefix) has fixed that, and nothing
// that a caller passes in can reach another.
//
// The port is a few small interfaces, by who needs them; [Store] is what a deployment demands. [Log] is all that correctness
// rests on. Several processes may use a store at the same time, and all methods are safe for concurrent use.
//
//		                atomic                      read                       may be done twice
//		Log             all items of an Append      strongly                   no: a repeat is a Conflict with itself
//		Attempts        one record                  strongly                   no: a repeat is ErrStale
//		Timers          one timer of a call         strongly                   yes: a repeat puts the same timer
//		Lister          a run's row, with its item  behind the log, or not     -
//		Scanner         -                           a hint                     -
//		Scanner's mark  one write                   strongly                   no: a repeat is ErrStale
//		Eraser          one commit, one attempt     -                          yes
//		Keys            one key, once               strongly                   no: a repeat is ErrStale
//		Rates           one mark                    by the write itself        it moves the mark twice
//
//	  - A strong read sees all that was written before it began, by any process. It returns only what is durable: no crash
//	    takes away what it returned.
//	  - A write is durable when it returns nil.
//	  - An adapter retries what is certain not to have been applied (throttling), within the context's deadline, and nothing
//	    else. If it cannot tell, Append and Reserve return ErrUnknown, and the caller repeats the identical call. After any
//	    other error of these two nothing was done, nor will be. Other writes may have been done after an error, if it wraps none
//	    of this package.
//	  - A call whose context has ended may be done or not, but what it returns is true.
//	  - An adapter may keep what it is given, and callers do not change it. What a read returns, and what a Conflict
//	    holds, is the caller's.
//	  - Times are kept to the microsecond; those of expiry to the second, rounded up.
//	  - Ids and names are up to 255 bytes from Weft, and the suite goes further: up to 401 bytes of UTF-8, any character among them, the
//	    character 0 too. They are compared and sorted by their bytes.
//	  - A body has any bytes, or none: nil and empty are the same. An adapter takes bodies of 396 KiB at least, and refuses what is
//	    above its own limit with ErrTooLarge.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Key is the place of an item: its workflow, the number of the run (1 for the first) and the slot (0 for the first).
type Key struct {
	Workflow string
	Run      uint32
	Slot     uint32
}

// String is the key in words.
func (k Key) String() string { return fmt.Sprintf("%s/%d/%d", k.Workflow, k.Run, k.Slot) }

// Before reports whether k stands before l in the order of a workflow's items: by run, then by slot.
func (k Key) Before(l Key) bool { return k.Run < l.Run || k.Run == l.Run && k.Slot < l.Slot }

// Item is a commit as it is stored. A read returns all of its fields as they were written, but Over.
type Item struct {
	Key
	// Commit is the commit's id. It tells a writer its own item from another's.
	Commit [16]byte
	// Body is the commit, encoded.
	Body []byte
	// Expires is when the item may be deleted, at some time after; zero is never. Until it is deleted, reads return it.
	Expires time.Time
	// Over is the id of a commit that may stand at the key already: the item then takes its place. Zero is none. It is part of a
	// write, and no read returns it.
	Over [16]byte
	// Summary is set on the items that open or close a run, or change the run's row in the list of workflows. Its workflow and run are
	// the item's own. It replaces the row that an earlier slot of the run has set.
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
	// Build is the build that the run is pinned to; empty if the newest runs it.
	Build string
	// Attributes are the search attributes, and Memo the memo, as the caller has encoded them: bytes that no adapter looks into.
	Attributes, Memo string
}

// Conflict is what Append returns when an item stands at one of the keys already. Nothing was put.
type Conflict struct {
	// Existing is the item that stands there.
	Existing Item
}

// Error names the place.
func (e *Conflict) Error() string { return "store: an item stands at " + e.Existing.Key.String() }

var (
	// ErrUnknown is wrapped by what Append returns when it cannot tell whether the items were put, or will be.
	ErrUnknown = errors.New("store: the outcome of the write is not known")
	// ErrThrottled is wrapped by what a call returns that the store refused for now. Nothing was done.
	ErrThrottled = errors.New("store: throttled")
	// ErrTooLarge is wrapped by what a write returns for an item above the store's limit. Nothing was done.
	ErrTooLarge = errors.New("store: the item is larger than the store takes")
	// ErrCorrupt is wrapped by what a call returns that met an item which is not as it was written, or which a newer version of Weft
	// wrote. The call interprets nothing of it. Lists, scans and DueTimers report such an item and go on past it.
	ErrCorrupt = errors.New("store: stored data is damaged")
	// ErrStale is wrapped by what a conditional write returns whose condition does not hold. Nothing was done.
	ErrStale = errors.New("store: another write came first")
)

// Page is what one read returns: at most as many items as were asked for, and at most as many as fit into about 1 MB.
type Page struct {
	Items []Item
	// More says that there are further items in the direction of the read, beyond the last one
	// here. It may be set although there are none if the page has as many items as the limit; never
	// if the page has no items.
	More bool
}

// MaxAppend is how many items one Append may put, as many as a transaction of DynamoDB has. Together they have at most 3.5 MB.
const MaxAppend = 100

// Log is the log of the runs of each workflow. All its reads are strong. Callers leave no gaps in it: an item goes where there is, or was before
// it expired, an item in the slot before, and a run after the first only where there was an earlier one.
type Log interface {
	// Append puts one item, or up to MaxAppend at different keys: all of them or none. Each is put on the condition that none stands at
	// its key, or only the one whose id is in Over. The condition and the put are one atomic step: of several Appends to one key,
	// by any processes, one is put. Append returns
	//
	//   - nil if the items are durable;
	//   - a *Conflict if an item stands at one of the keys: nothing was put. If several stand in the way it holds any of them;
	//   - an error that wraps ErrUnknown if it cannot tell whether they were put, or will be;
	//   - an error that wraps ErrThrottled, ErrTooLarge or ErrCorrupt, or another one: nothing was put, nor will be.
	//
	// An Append that is repeated after it was applied returns a Conflict with the caller's own item, which the caller knows by its
	// commit id. Two Appends never share a commit id, unless they are identical. (Encrypted bodies may differ.) The order in which items are named
	// makes no difference.
	Append(ctx context.Context, items ...Item) error
	// Backward reads the items of a workflow over all of its runs, the last one first: from the last one before the key "before" to
	// the first one that is not before "until". Of these two only run and slot count, and a zero "before" is after all. It returns at most
	// limit items; limit 0 is as many as fit. A page of Backward or Forward may end before a damaged item: the read that begins there
	// returns ErrCorrupt. A workflow without items is an empty page.
	Backward(ctx context.Context, workflow string, before, until Key, limit int) (Page, error)
	// Forward reads the items of one run from a slot on, in the order of slots; limit 0 is as many as fit.
	Forward(ctx context.Context, from Key, limit int) (Page, error)
}

// Attempt is what is known of an activity between its attempts. A success never writes it.
type Attempt struct {
	Workflow string
	Run      uint32
	// RunID tells the run from another one that had its number before; empty in records of earlier versions.
	RunID string
	// Event is the id of the activity's ActivityTaskScheduled event.
	Event int64
	// Number grows with what is recorded of the activity, from 1 on: a record takes the place of one with a lower number.
	Number int
	// Body is the last failure and what else the engine keeps.
	Body []byte
	// Expires is when it may be deleted; zero is never.
	Expires time.Time
}

// Attempts keeps the state of activities between their attempts: one record for each activity of a run, which is no part of the log.
type Attempts interface {
	// RecordAttempt writes the state after an attempt in the place of what there is of the activity, on the condition that this does not
	// have the same RunID and the same or a higher number. Otherwise it returns an error that wraps ErrStale, and nothing was
	// written. The condition and the write are one atomic step. When it returns nil the state is durable.
	RecordAttempt(ctx context.Context, a Attempt) error
	// ReadAttempts returns all records of the runs with this number, sorted by event id: a strong read, with no limit. What
	// is left of a run that had the number before has another RunID.
	ReadAttempts(ctx context.Context, workflow string, run uint32) ([]Attempt, error)
}

// Timer is a message that is due later than a queue can delay it.
type Timer struct {
	// ID tells timers apart that are due at the same moment; putting the same one (due and id) twice is putting it once.
	ID  string
	Due time.Time
	// Body is the message.
	Body []byte
	// Stored is for who wraps the port, and a store pays no heed to it: the body as the store has it, in what DueTimers returned. What is put
	// with it is put so.
	Stored []byte
	// More says, of the last one that DueTimers returned, that there may be others although it returned fewer than it was asked for.
	More bool
}

// Timers keeps messages until they are near enough for a queue. Due and ID together are a timer's key.
type Timers interface {
	// PutTimers keeps timers. It returns nil only if all of them are durable; after an error some may be. Putting one that is there
	// does nothing.
	PutTimers(ctx context.Context, timers []Timer) error
	// DueTimers returns at most limit timers that are due before a moment, not at it, the earliest first. It is a strong read and
	// takes nothing away: several processes may get the same timers, so that their messages are sent twice.
	DueTimers(ctx context.Context, before time.Time, limit int) ([]Timer, error)
	// DeleteTimers deletes timers that DueTimers returned; one that is not there is no error. After an error some may be deleted.
	DeleteTimers(ctx context.Context, timers []Timer) error
}

// Filter selects runs of the list of workflows. Zero fields select all.
type Filter struct {
	// StartedAfter and StartedBefore select the runs that started between them, not at them. An adapter reads no other rows.
	StartedAfter  time.Time
	StartedBefore time.Time
	// Where says whether a row is selected that the others select; nil selects all. It only looks at the row, and not at its
	// memo, which may be encrypted there: an adapter calls it as often as it likes, and for the last row of a run alone.
	Where func(*Summary) bool
}

// Selects reports whether a filter selects a row.
func (f Filter) Selects(row *Summary) bool {
	return (f.StartedAfter.IsZero() || row.Started.After(f.StartedAfter)) &&
		(f.StartedBefore.IsZero() || row.Started.Before(f.StartedBefore)) &&
		(f.Where == nil || f.Where(row))
}

// Lister lists workflows: the last Summary of each run. The list follows the log and may be behind it; an adapter may leave it out.
type Lister interface {
	// ListRuns returns at most limit runs that the filter selects, those started last first, from where token says; an empty
	// token is the beginning. next is empty if there are no more. A token may be used again, and later. One that ListRuns did not
	// make is an error that wraps ErrBadToken. A run that changes between two pages appears once.
	ListRuns(ctx context.Context, f Filter, token string, limit int) (runs []Summary, next string, err error)
}

// ErrBadToken is wrapped by what ListRuns and Scan return for a token or a cursor that they did not make.
var ErrBadToken = errors.New("store: this is not a page token")

// Keys is where the key is kept that a deployment signs with. There is one, and it never changes.
type Keys interface {
	// ReadKey returns the key, by a strong read; nothing if none has been made. One that is damaged is an error that wraps ErrCorrupt.
	ReadKey(ctx context.Context) ([]byte, error)
	// MakeKey keeps a key if there is none: of several calls at once, one does. Otherwise it returns an error that wraps ErrStale,
	// also if an earlier try of the same call has kept this key: read it then. An adapter whose only process is the caller also
	// replaces a damaged key.
	MakeKey(ctx context.Context, key []byte) error
}

// Eraser deletes.
type Eraser interface {
	// Delete deletes these commits and attempts, in any order, each on the condition that it is still the one that was
	// read: the commit with this id, the attempt with this number and run id. One that is not there is no error, so that a Delete may
	// be repeated; another one in its place stays, and is an error that wraps ErrStale. After an error some are deleted.
	// The last commit of a run goes in a call of its own, after the others: without it a closed run would look open.
	Delete(ctx context.Context, items []Item, attempts []Attempt) error
}

// Scanner is for the slow check over all runs: it finds what no message leads to. Nothing that is correct rests on it.
type Scanner interface {
	// Scan reads on over all commits of all workflows, from where cursor says; an empty cursor is the beginning. It returns
	// at most limit items, perhaps none, and where to go on; next is empty at the end. The items of a workflow come one
	// after the other, in order. A walk comes by every item that was there before it began and is there when it ends; what
	// was put or deleted only just now, or meanwhile, it may show or not, and what stands behind a commit that was deleted
	// meanwhile may be left to the next walk: what it finds is a hint, to be looked at in the Log.
	// A cursor that Scan did not make is an error that wraps ErrBadToken.
	Scan(ctx context.Context, cursor string, limit int) (items []Item, next string, err error)
	Eraser
	// ReadMark returns what WriteMark kept last; nothing at first. Of a damaged mark it returns nothing, and reports it; WriteMark then
	// takes it for nothing.
	ReadMark(ctx context.Context) ([]byte, error)
	// WriteMark keeps a few bytes of the caller's, for instance a cursor, on the condition that old is what is kept.
	// Otherwise it returns an error that wraps ErrStale.
	WriteMark(ctx context.Context, old, mark []byte) error
}

// Expirer deletes what has expired. An adapter whose service does that by itself leaves it out, as store/dynamo does.
type Expirer interface {
	// DeleteExpired deletes at most limit items that expired at now or before, and returns how many it deleted. A run's row in
	// the list, and its attempts, go with its last item. The caller repeats the call until it returns fewer than limit. An
	// error leaves some deleted.
	DeleteExpired(ctx context.Context, now time.Time, limit int) (deleted int, err error)
}

// Store is what a deployment demands of a store. An adapter may also be a [Lister] and an [Expirer].
type Store interface {
	Log
	Attempts
	Timers
	Scanner
	Keys
	Rates
}
