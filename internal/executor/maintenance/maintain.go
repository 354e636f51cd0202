package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/children"
	"github.com/seed-41655fb1/weft/internal/executor/notify"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/store"
)

// scanPage is how many commits one scan of the store returns: few enough to be handled in seconds.
const scanPage = 250

// round is the position of the slow check, which is stored between its steps.
type round struct {
	// Walking says that the walk is in progress. Otherwise it waits until the next one is due.
	Walking bool `cbor:"1,keyasint,omitempty"`
	// Began is when this walk began, or the last one. Before is when the one before that began.
	Began  history.Timestamp `cbor:"2,keyasint"`
	Before history.Timestamp `cbor:"3,keyasint,omitempty"`
	// Cursor is where the walk continues. Open is the run with which its last page ended, if it may
	// continue on the next page.
	Cursor string    `cbor:"4,keyasint,omitempty"`
	Open   *openPart `cbor:"5,keyasint,omitempty"`
	// Failed has the runs that this walk could not handle, and Missed those of the walk before. The
	// first walk that succeeds sends what the failed ones would have sent. If there are more than
	// maxFailed, Failed has one more than that, and the next walk treats all runs as if this walk
	// had not happened.
	Failed []failedPart `cbor:"6,keyasint,omitempty"`
	Missed []failedPart `cbor:"7,keyasint,omitempty"`
}

type openPart struct {
	Workflow string `cbor:"1,keyasint"`
	Run      uint32 `cbor:"2,keyasint"`
}

// failedPart is a run that no walk could handle since the one that began at Since.
type failedPart struct {
	openPart
	Since history.Timestamp `cbor:"3,keyasint"`
}

// maxFailed is how many failed runs the stored position lists.
const maxFailed = 50

// since returns when the last walk began that could handle a run.
func (r *round) since(run openPart) history.Timestamp {
	for _, f := range r.Missed {
		if f.openPart == run {
			return f.Since
		}
	}
	return r.Before
}

// next returns the next round.
func (r *round) next(now history.Timestamp) *round {
	n := &round{Walking: true, Began: now, Before: r.Began, Missed: r.Failed}
	if len(r.Failed) > maxFailed {
		n.Before = r.Before
	}
	return n
}

// fail records that this walk could not handle a run.
func (r *round) fail(run openPart) {
	if len(r.Failed) <= maxFailed {
		r.Failed = append(r.Failed, failedPart{run, r.since(run)})
	}
}

// Report is what a step of Maintain did.
type Report struct {
	// Commits is how many commits were read, Deleted how many runs were deleted, and Sent how many
	// messages were sent again. Failed runs are left to the next round.
	Commits, Deleted, Sent, Failed int
	// Asked is how many children were asked for their state.
	Asked int
	// Late is how many messages were sent again for closed runs, in case the first ones were lost.
	Late int
	// Ended says that the walk has covered everything.
	Ended bool
}

// Maintain makes one bounded step of the slow check over all runs:
//
//   - It deletes runs that closed longer ago than their retention (see clean).
//   - It sends again what open runs have waited for in vain, and what ends children of closed
//     parents (see resend).
//   - It sends again what closed runs sent to others in their last tasks (see resendClosed).
//
// A walk over all commits begins at most every Options.CheckEvery. A step reads Options.CheckAtOnce
// commits, and stores its position. Correctness does not depend on it.
//
// If it crashes in the middle, or another process makes the same step, the step runs twice.
// Repeated deletions do nothing, and the receivers of messages tolerate duplicates.
//
// Its cost on AWS in dollars a month (us-east-1 on demand: $0.125 per million reads, $0.625 per
// million writes), if it is called each minute with the defaults, a commit has 250 bytes, and a run
// has five commits:
//
//	the place is read each minute, consistently: 43,200 reads                              0.005
//	an empty table, a walk a day: 4 scans and 2 writes of the position                     0.000
//	100,000 runs that are there: 500,000 commits a day, half a read for 4 KB: 475,000      0.06
//	   the place is kept after each 20,000 commits: 25 writes a day                        0.0005
//	100,000 runs that are deleted: 5 writes each, 2 reads                                  0.34
//	   and the two rows in the list of each, where there is one                            0.13
//	at most, in a table that no walk gets around in a day: 43,200 steps,
//	   27 million reads and 43,200 writes                                                  3.40
//	100,000 runs that wait in vain: 2 reads and a message each, again after twice the time 0.11
//	100,000 children that are open for days: 3 reads a day each, to see their parents      1.13
//	100,000 children that are deleted: a read each, to see that nobody waits for them      0.01
//	100,000 runs that have closed with a signal to another run that nobody confirmed: a
//	   message and 2 reads each, a day later and each time the age has doubled             0.32
func (s *Maintenance) Maintain(ctx context.Context) (did Report, err error) {
	if s.Process.Scanner == nil {
		return did, nil
	}
	ctx, ended := s.Process.Metered(ctx)
	defer ended()
	r, err := step(ctx, s.Process, &did)
	s.reportLate(ctx, r, err)
	return did, err
}

// lateAfter is how long a walk may take before each of its steps is reported.
const lateAfter = 36 * time.Hour

// reportLate reports a step that failed, or after which its walk is unfinished and takes too long.
// The caller of Maintain logs the error.
func (s *Maintenance) reportLate(ctx context.Context, r *round, err error) {
	now := s.Process.Timestamp()
	late := r != nil && r.Walking && now.Sub(r.Began) > lateAfter
	if failed := err != nil && !errors.Is(ctx.Err(), context.Canceled); failed || late {
		s.Process.Observed().Observe(ctx, &observe.LateCheck{})
	}
	switch {
	case late:
		s.late.Fails(s.Process.Options.Logger, slog.LevelWarn, now.Time(), "the check over all runs takes too long: let each step read more commits (WEFT_CHECK_COMMITS)", nil,
			"began", r.Began.Time(), "commitsAtOnce", s.Process.Options.CheckAtOnce)
	case err == nil:
		s.late.Works(s.Process.Options.Logger, "the check over all runs has ended")
	}
}

// step makes a step of the round that is stored, or of the next one if that is due. It returns that
// round, or nil if it cannot be read.
func step(ctx context.Context, s *session.Process, did *Report) (*round, error) {
	mark, err := s.Scanner.ReadMark(ctx)
	if err != nil {
		return nil, err
	}
	r, err := nextRound(s, mark)
	if err != nil || !r.Walking {
		return r, err
	}
	walkErr := walk(ctx, s, r, did)
	if ctx.Err() != nil && did.Commits > 0 {
		walkErr = nil // the next step continues after the pages of this one
	}
	if did.Deleted > 0 {
		s.Options.Logger.InfoContext(ctx, "deleted closed runs whose retention is over", "runs", did.Deleted, "failed", did.Failed, "commitsSeen", did.Commits)
	}
	body, err := history.EncodeBody(r)
	if err != nil {
		return r, err
	}
	// After a crash before this write, the old position is stored and the step runs again.
	err = s.Scanner.WriteMark(context.WithoutCancel(ctx), mark, body)
	if errors.Is(err, store.ErrStale) {
		err = nil // another process has made the same step
	}
	return r, errors.Join(walkErr, err)
}

// nextRound returns the stored round, or the next one if that is due.
func nextRound(s *session.Process, mark []byte) (*round, error) {
	r := &round{}
	if len(mark) > 0 {
		err := history.DecodeBody(mark, r)
		if errors.Is(err, history.ErrCorrupt) {
			s.Options.Logger.Warn("the check over all runs begins again: its place is damaged", "error", err)
			r, err = &round{}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the place of the check over all runs: %w", err)
		}
	}
	if now := s.Timestamp(); !r.Walking && (r.Began == 0 || now.Sub(r.Began) >= s.Options.CheckEvery) {
		r = r.next(now)
	}
	return r, nil
}

// walk makes a step of a round: some pages. If ctx ends in the middle of a page, the page is
// repeated.
func walk(ctx context.Context, s *session.Process, r *round, did *Report) error {
	for did.Commits < s.Options.CheckAtOnce && ctx.Err() == nil {
		items, next, err := s.Scanner.Scan(ctx, r.Cursor, scanPage)
		if errors.Is(err, store.ErrBadToken) {
			s.Options.Logger.WarnContext(ctx, "the check over all runs begins again: its place is of another version", "error", err)
			r.Cursor, r.Open = "", nil
			continue
		}
		if err != nil {
			return err
		}
		open, err := page(ctx, s, r, items, next == "", did)
		if err != nil {
			return err
		}
		did.Commits += max(len(items), 1) // a page without commits has its cost too
		if r.Cursor, r.Open = next, open; next == "" {
			r.Walking, did.Ended = false, true
			return nil
		}
	}
	return ctx.Err()
}

// page handles the runs of a page. It returns the run that may continue on the next page. If a run
// began on an earlier page, only its end is here.
func page(ctx context.Context, s *session.Process, r *round, items []store.Item, last bool, did *Report) (*openPart, error) {
	parts := partition(items)
	if before := r.Open; before != nil {
		switch {
		case len(parts) == 0 && !last:
			return before, nil
		case len(parts) == 0 || parts[0][0].Workflow != before.Workflow || parts[0][0].Run != before.Run:
			err := tend(ctx, s, r, did, *before, func() error { return resend(ctx, s, r, before.Workflow, before.Run, did) })
			if err != nil {
				return nil, err
			}
		}
	}
	for i, part := range parts {
		end := part[len(part)-1]
		c, err := history.Decode(end.Slot, end.Body)
		if i == len(parts)-1 && !last && (err != nil || !c.Status.Closed()) {
			return &openPart{end.Workflow, end.Run}, nil
		}
		err = tend(ctx, s, r, did, openPart{end.Workflow, end.Run}, func() error {
			if err != nil {
				return err
			}
			return examine(ctx, s, r, part, c, did)
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// tend does something for one run. It logs a failure and leaves the run to the next round. It
// returns an error only if ctx has ended.
func tend(ctx context.Context, s *session.Process, r *round, did *Report, run openPart, do func() error) error {
	err := do()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	did.Failed++
	r.fail(run)
	s.Options.Logger.ErrorContext(ctx, "the check could not look after a run; the next round will try again", "workflowId", run.Workflow, "run", run.Run, "error", err)
	return nil
}

// partition splits items by run.
func partition(items []store.Item) (parts [][]store.Item) {
	for len(items) > 0 {
		first := items[0]
		end := slices.IndexFunc(items, func(i store.Item) bool { return i.Workflow != first.Workflow || i.Run != first.Run })
		if end < 0 {
			end = len(items)
		}
		parts, items = append(parts, items[:end]), items[end:]
	}
	return parts
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// examine decides from the commits of a run on a page, the last one among them, whether there is
// something to do. Void runs expire.
func examine(ctx context.Context, s *session.Process, r *round, part []store.Item, last *history.Commit, did *Report) error {
	id, number := part[0].Workflow, part[0].Run
	switch {
	case last.Status == history.Void:
		return nil
	case !last.Status.Closed():
		if part[0].Slot == 0 && !mayWait(s, r, part) {
			return nil
		}
		return resend(ctx, s, r, id, number, did)
	}
	over, err := over(ctx, s, r, part, last)
	if err != nil {
		return err
	}
	if !over {
		return resendClosed(ctx, s, r, part, last, did)
	}
	if owes, err := owes(ctx, s, r, part, last); err != nil {
		return err
	} else if owes {
		return resendClosed(ctx, s, r, part, last, did)
	}
	deleted, err := clean(ctx, s, part)
	if errors.Is(err, errAsked) || errors.Is(err, children.ErrAwaited) || errors.Is(err, notify.ErrNeeded) {
		return nil
	}
	did.Deleted += oneIf(deleted)
	return err
}

// over reports whether the retention of a closed run is over. It reads the run's first commit if
// the page does not have it.
func over(ctx context.Context, s *session.Process, r *round, part []store.Item, last *history.Commit) (bool, error) {
	age := r.Began.Sub(last.Time)
	if age <= 2*runlog.MaxAge {
		return false, nil
	}
	first := part[0]
	c, err := history.Decode(0, first.Body)
	if first.Slot != 0 || err != nil { // a scan leaves large commits where they are
		page, err := s.Log.Forward(ctx, store.Key{Workflow: first.Workflow, Run: first.Run}, 1)
		if err != nil || len(page.Items) == 0 {
			return false, err // another process was faster
		}
		if first = page.Items[0]; first.Slot != 0 {
			return true, nil // its deletion has begun
		}
		if c, err = history.Decode(0, first.Body); err != nil {
			return false, err
		}
	}
	var retention time.Duration
	if started := c.Opens(); started != nil {
		retention = time.Duration(started.Retention)
	}
	if age > s.Keep(retention) {
		return true, nil
	}
	// An earlier version of Weft wrote commits that expire. If the last one expired before the
	// first, the run would look open, so the whole run is deleted before that.
	end := part[len(part)-1].Expires
	endsFirst := !end.IsZero() && (first.Expires.IsZero() || first.Expires.After(end))
	return endsFirst && history.At(end).Sub(r.Began) < 2*s.Options.CheckEvery, nil
}

// Maintenance is the slow check over all runs.
type Maintenance struct {
	Process *session.Process

	late observe.Outage // of a walk that takes too long
}
