package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// errTorn is a read that saw a part of a transaction: the items of one put appear to readers one by one (store.Log). These puts have
// several items, and this is how a reader finds that one of them is missing:
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
// The reader reads again. It concludes nothing from a part, and keeps nothing but the commits that it saw.
var errTorn = errors.New("turn: the read saw a part of a transaction")

// tornFor is how long after a commit was made another commit of its put may be missing from reads. Later, what is missing has been
// deleted, or was lost in a restored backup. Requests are signed with their time: AWS refuses those that are older than 15 minutes,
// so no put lands as late as this.
const tornFor = time.Hour

// recent reports whether items may be missing from reads that were put together with a commit of this time.
func (s *Service) recent(t history.Timestamp) bool { return s.now().Sub(t) < tornFor }

// whole calls read again while it sees a part of a transaction, until the soft limit. It returns outcome.ErrBusy then: nothing was written,
// and nothing was found out.
func (t *session) whole(ctx context.Context, read func() error) error {
	end := t.world.Now().Add(t.options.SoftLimit)
	for try := 0; ; try++ {
		err := read()
		if !errors.Is(err, errTorn) {
			return err
		}
		if t.world.Wait(ctx, host.Backoff(t.world, try), nil) != nil || ctx.Err() != nil || t.world.Now().After(end) {
			return fmt.Errorf("%w: %w", outcome.ErrBusy, err)
		}
	}
}

// torn reports whether what is known of the workflow was put together with something that is missing.
func (t *session) torn() bool {
	if e := t.entry; e.beside > 0 && !e.seen(e.beside) && t.recent(e.besideAt) {
		return true
	}
	run := t.entry.run
	if run == nil || !t.recent(run.State.LastTime) {
		return false
	}
	if opened := run.State.OpenedWith(); opened != "" {
		return opened.Number() > t.entry.highest
	}
	return run.Last().PartOfReset()
}

// seen reports whether anything of a run was seen, or a later run that is not void. A void run above it may stand for another put.
func (e *entry) seen(number uint32) bool {
	_, vanishing := e.vanishing[number]
	return vanishing || e.run != nil && e.run.Number >= number
}

// tornRun reports whether items, which are all of a run from the end of what is known of it on, lack some that were put together
// with them. A later commit may be there already: its writer knew the transaction as its own. Nobody deletes commits of a run that is
// open, or has closed within the last two hours.
func (t *session) tornRun(run *engine.Run, items []store.Item) bool {
	if !gap(run, items) {
		return false
	}
	last := items[len(items)-1]
	c, err := history.Decode(last.Slot, last.Body)
	return err == nil && t.recent(c.Time)
}

// closesLate reports whether a run without an end has one that is missing from the read: a later run was opened a short time ago.
func (t *session) closesLate(run *engine.Run) bool {
	latest := t.run()
	return latest != nil && run.Number < latest.Number && t.recent(latest.State.StartTime)
}
