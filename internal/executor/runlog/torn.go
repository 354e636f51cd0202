package runlog

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// errTorn says that a read saw a part of a transaction: the items of one put appear to readers one
// by one (store.Log). These puts have several items, and a reader finds like this that one of them
// is missing:
//
//	what the put does                      what is seen            what names the rest
//	─────────────────────────────────────  ──────────────────────  ────────────────────────────────────────────────
//	closes a run and opens the next        the close alone         its event names the run that was opened
//	                                       the opening alone       another run is there: the one before it has closed
//	opens a run in several commits (reset) the first ones          the last one has the task that marks the reset
//	                                       others                  a slot is missing
//	opens a run, makes others void         a void run alone        it has the number of the run that was opened
//	                                       the opening alone       nothing: it does without the void run
//
// The reader reads again. It concludes nothing from a part, and keeps nothing but the commits that
// it saw.
var errTorn = errors.New("executor: the read saw a part of a transaction")

// tornFor is how long after a commit was made another commit of its put may be missing from reads.
// Later, what is missing was deleted, or was lost in a restored backup. No put lands as late as
// this: a session puts no commit that is older than 15 minutes (session.Put), and AWS refuses a
// request 15 minutes after it was signed. The clock of the writer may be host.ClockGap behind.
const tornFor = host.ClockGap + 30*time.Minute

// IsRecent reports whether reads may lack items that were put together with a commit of this time.
func (r *Reader) IsRecent(t history.Timestamp) bool { return r.now().Sub(t) < tornFor }

// LongestRead is how long a read and its conclusions may take. A process that slept meanwhile would
// take half of what was put just before for half of an old transaction.
const LongestRead = 15 * time.Minute

// whole calls read again while it sees a part of a transaction, and if the process slept during the
// read. After the soft limit it returns outcome.ErrBusy: nothing was written, and nothing was found
// out.
func (r *Reader) whole(ctx context.Context, read func() error) error {
	end := r.host.Now().Add(r.options.SoftLimit)
	for try := 0; ; try++ {
		began := r.host.Now()
		err := read()
		if slept := r.host.Now().Sub(began); slept > LongestRead && err == nil {
			end = end.Add(slept)
			continue
		}
		if !errors.Is(err, errTorn) {
			return err
		}
		if r.host.Wait(ctx, host.Backoff(r.host, try), nil) != nil || ctx.Err() != nil || r.host.Now().After(end) {
			return outcome.OfStore("read", err)
		}
	}
}

// isTornRun reports whether items, which follow what is known of a run, lack some that were put
// together with them. A later commit may be there already: its writer knew the transaction as its
// own. Nobody deletes commits of a run that is open, or has closed within the last two hours. A
// void commit that stands alone is what is left of a deleted run.
func (r *Reader) isTornRun(run *engine.Run, items []store.Item) bool {
	if !hasGap(run, items) {
		return false
	}
	last := items[len(items)-1]
	c, err := history.Decode(last.Slot, last.Body)
	return err == nil && !isVoid(c) && r.IsRecent(c.Time)
}

// isTorn reports whether what is known of the workflow was put together with something that is
// missing.
func (r *Reader) isTorn(k *Known) bool {
	if k.beside > 0 && !k.saw(k.beside) && r.IsRecent(k.besideAt) {
		return true
	}
	run := k.Run
	if run == nil || !r.IsRecent(run.State.LastTime) {
		return false
	}
	if opened := run.State.OpenedWith(); opened != "" {
		return opened.Number() > k.Highest
	}
	return run.Last().PartOfReset()
}

// closesLate reports whether a run without an end has one that is missing from the read: a later
// run was opened a short time ago.
func (r *Reader) closesLate(k *Known, run *engine.Run) bool {
	latest := k.Run
	return latest != nil && run.Number < latest.Number && r.IsRecent(latest.State.StartTime)
}
