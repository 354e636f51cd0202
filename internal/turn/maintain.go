package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// scanPage is how many commits one look at the store returns: few enough that what follows from them is done in seconds.
const scanPage = 250

// round is where the slow check stands: what is kept between its steps.
type round struct {
	// Walking says that the walk is under way; otherwise it waits until it is time for the next.
	Walking bool `cbor:"1,keyasint,omitempty"`
	// Began is when this walk began, or the last one, and Before when the one before that began.
	Began  history.Timestamp `cbor:"2,keyasint"`
	Before history.Timestamp `cbor:"3,keyasint,omitempty"`
	// Cursor is where the walk goes on, and Open the run with which its last page ended, unless that was seen to its end:
	// it may go on with the next page.
	Cursor string    `cbor:"4,keyasint,omitempty"`
	Open   *openPart `cbor:"5,keyasint,omitempty"`
}

type openPart struct {
	Workflow string `cbor:"1,keyasint"`
	Run      uint32 `cbor:"2,keyasint"`
}

// Upkeep is what a step of Maintain did.
type Upkeep struct {
	// Commits were looked at, Deleted runs deleted, and Sent messages sent again. Failed runs are left to the next round.
	Commits, Deleted, Sent, Failed int
	// Asked are the children that were asked how they are.
	Asked int
	// Ended says that the walk has come by everything.
	Ended bool
}

// Maintain makes one bounded step of the slow check over all runs. It deletes runs without a deadline that closed longer
// ago than Options.Retention (see clean), and sends again what open runs have waited for in vain, and what ends children whose
// parents have closed (see resend). A walk
// over all commits begins at most every Options.CheckEvery; a step looks at Options.CheckAtOnce of them, and keeps its
// place in the store. Nothing that is correct rests on it.
//
// A crash in the middle, or another process that makes the same step, has the step made twice. Deletions do nothing the
// second time, and the receivers of messages bear duplicates.
//
// What it costs on AWS (us-east-1 on demand: $0.125 per million reads, $0.625 per million writes), called each minute with
// the defaults, in dollars a month; a commit is taken to be 250 bytes, a run to have five of them:
//
//	the place is read each minute, consistently: 43,200 reads                              0.005
//	an empty table, a walk a day: 4 scans and 2 writes of the place                        0.000
//	100,000 runs that are there: 500,000 commits a day, half a read for 4 KB: 475,000      0.06
//	   the place is kept after each 20,000 commits: 25 writes a day                        0.0005
//	100,000 runs that are deleted: 5 writes each, 1 for the run's number, 2 reads          0.40
//	   and the two rows in the list of each, where there is one                            0.13
//	at most, in a table that no walk gets around in a day: 43,200 steps,
//	   27 million reads and 43,200 writes                                                  3.40
//	100,000 runs that wait in vain: 2 reads and a message each, again after twice the time 0.11
//	100,000 children that are open for days: 3 reads a day each, to see their parents      1.13
func (s *Service) Maintain(ctx context.Context) (did Upkeep, err error) {
	if s.Scanner == nil {
		return did, nil
	}
	ctx, ended := s.metered(ctx)
	defer ended()
	mark, err := s.Scanner.ReadMark(ctx)
	if err != nil {
		return did, err
	}
	r, err := s.nextRound(mark)
	if err != nil || !r.Walking {
		return did, err
	}
	walkErr := s.walk(ctx, r, &did)
	body, err := history.EncodeBody(r)
	if err != nil {
		return did, err
	}
	// A crash before the place is kept leaves the place before, and the step is made again.
	err = s.Scanner.WriteMark(context.WithoutCancel(ctx), mark, body)
	if errors.Is(err, store.ErrStale) {
		err = nil // another process has made the same step
	}
	return did, errors.Join(walkErr, err)
}

// nextRound is the round that a mark keeps, or the next one if it is time for that.
func (s *Service) nextRound(mark []byte) (*round, error) {
	r := &round{}
	if len(mark) > 0 {
		if err := history.DecodeBody(mark, r); err != nil {
			return nil, fmt.Errorf("the place of the check over all runs: %w", err)
		}
	}
	if now := s.now(); !r.Walking && (r.Began == 0 || now.Sub(r.Began) >= s.options.CheckEvery) {
		r = &round{Walking: true, Began: now, Before: r.Began}
	}
	return r, nil
}

// walk makes a step of a round: some pages. Where ctx ends in the middle of a page, the page is walked again.
func (s *Service) walk(ctx context.Context, r *round, did *Upkeep) error {
	for did.Commits < s.options.CheckAtOnce && ctx.Err() == nil {
		items, next, err := s.Scanner.Scan(ctx, r.Cursor, scanPage)
		if errors.Is(err, store.ErrBadToken) {
			s.options.Logger.WarnContext(ctx, "the check over all runs begins again: its place is of another version", "error", err)
			r.Cursor, r.Open = "", nil
			continue
		}
		if err != nil {
			return err
		}
		open, err := s.page(ctx, r, items, next == "", did)
		if err != nil {
			return err
		}
		did.Commits += max(len(items), 1) // a page of what is no commit has its cost too
		if r.Cursor, r.Open = next, open; next == "" {
			r.Walking, did.Ended = false, true
			return nil
		}
	}
	return ctx.Err()
}

// page looks at the runs of a page. It returns the one that may go on with the next page; of a run that went on with this
// page only the end is here.
func (s *Service) page(ctx context.Context, r *round, items []store.Item, last bool, did *Upkeep) (*openPart, error) {
	parts := partition(items)
	if before := r.Open; before != nil {
		switch {
		case len(parts) == 0 && !last:
			return before, nil
		case len(parts) == 0 || parts[0][0].Workflow != before.Workflow || parts[0][0].Run != before.Run:
			err := s.tend(ctx, did, before.Workflow, func() error { return s.resend(ctx, r, before.Workflow, before.Run, did) })
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
		err = s.tend(ctx, did, end.Workflow, func() error {
			if err != nil {
				return err
			}
			return s.examine(ctx, r, part, c, did)
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// tend does something for one run. What goes wrong with it is told, and left to the next round; only the end of ctx ends the
// step.
func (s *Service) tend(ctx context.Context, did *Upkeep, workflowID string, do func() error) error {
	err := do()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	did.Failed++
	s.options.Logger.ErrorContext(ctx, "the check could not look after a run; the next round will try again", "workflowId", workflowID, "error", err)
	return nil
}

// partition parts items into those of each run.
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

// examine decides from the commits of a run that a page has, the last one among them, whether there is something to do.
// Void runs, and those with an expiry, are deleted by that.
func (s *Service) examine(ctx context.Context, r *round, part []store.Item, last *history.Commit, did *Upkeep) error {
	id, number := part[0].Workflow, part[0].Run
	switch {
	case last.Status == history.Void || s.gone(part[len(part)-1]):
		return nil
	case !last.Status.Closed():
		if part[0].Slot == 0 && !s.mayWait(r, part) {
			return nil
		}
		return s.resend(ctx, r, id, number, did)
	case last.Expires == 0 && r.Began.Sub(last.Time) > s.keep():
		deleted, err := s.clean(ctx, part)
		if errors.Is(err, errAsked) {
			return nil
		}
		did.Deleted += oneIf(deleted)
		return err
	}
	return nil
}

// keep is how long a closed run without a deadline is kept: longer than anybody may go on with what a cache has of it, so
// that nobody finds a slot empty that he has seen taken.
func (s *Service) keep() time.Duration { return max(s.options.Retention, 2*maxAge) }
