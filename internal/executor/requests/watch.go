package requests

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// HistoryPage is a page of a history, and the state of its run at that moment.
type HistoryPage struct {
	RunID  history.RunID
	Events []schema.HistoryEvent
	// More says that other events follow those of the page.
	More bool
	// Closed says that the run has closed, so that it gets no further events. NewRunID is the run
	// that follows it, if there is one.
	Closed   bool
	NewRunID history.RunID
	// RetryAfter is how long the reader pauses before it asks again, if the page has no news that
	// it waits for; 0 is not at all.
	RetryAfter schema.Duration
}

// pageOf returns a page without events.
func pageOf(run *engine.Run) *HistoryPage {
	return &HistoryPage{RunID: run.State.RunID, Closed: run.State.Status.Closed(), NewRunID: run.State.Next()}
}

// History returns the events of a run from an id on, as many as a page holds. It does not wait
// behind a busy run. If the command waits and there is no such event, it waits until there is one,
// or until the run has closed, for as long as the process holds it. The page then has no events.
//
// A wait without news looks at the log as await does: about 14 times in 20 s.
func (s *Requests) History(ctx context.Context, of command.History) (*HistoryPage, error) {
	if of.Wait() == 0 {
		return historyBy(ctx, s.Process, s.Process.World.Now().Add(s.Process.Options.SoftLimit), of.Run(), of)
	}
	page, whole := &HistoryPage{}, true
	w := newAwaiting(s.Process, of.Workflow(), of.Run(), of.Waiting, func(run *engine.Run) (bool, error) {
		page = pageOf(run)
		there := run.State.NextEventID > of.From()
		if whole = !there || run.Lacks(1) == 0; there && whole {
			page.Events, page.More = schema.Events(run.Log, of.From(), of.Size(), historyPageBytes)
		}
		return there || page.Closed, nil
	})
	w.beside, w.watching = true, true
	err := w.await(ctx, lock.Watch{})
	switch {
	case err != nil:
		return nil, err
	case page.RunID == "": // the caller left, or the server stops, before the first look
		return nil, errGone
	case !whole: // memory has only the end of a long log
		return historyBy(ctx, s.Process, w.end, page.RunID, of)
	}
	page.RetryAfter = w.again()
	return page, nil
}

const (
	// listPause is the shortest interval between two looks at a list, and listShare how many times
	// longer than the last look it is at least: waiting callers take at most a quarter of the time
	// of a slow list.
	listPause, listShare = 250 * time.Millisecond, 3
	// firstListPause is the first interval. Later ones are pollEvery.
	firstListPause = time.Second
)

// AwaitList returns a page of the list when it differs from the version that the caller has, or
// when the process holds the request no longer. A commit of this process that changes a
// row ends the wait between two looks. Without one, there are 12 looks in 20 s, or 3 if the filter
// needs retries, which no commit shows.
func (s *Lists) AwaitList(ctx context.Context, l command.AwaitList) (*schema.ListResponse, error) {
	world := s.Process.World
	h := hold(s.Process, l.Waiting)
	defer h.release()
	end := h.end
	least, pause, later := listPause, firstListPause, pollEvery
	if l.Filter().NeedsRetries() {
		least, pause, later = retriesPause, retriesPause, retriesPause
	}
	var page *schema.ListResponse
	for ; ; pause = later {
		began, watched := world.Now(), s.Process.Watchers.WatchRows()
		seen, err := lookAtList(ctx, s, l, end)
		if err == nil {
			page = seen
		} else if page == nil || world.Now().Before(end) && ctx.Err() == nil {
			watched.Stop()
			return nil, err
		}
		news := page.Version != l.Version()
		if news || !world.Now().Before(end) || !h.stay() || !pauseList(ctx, world, began, end, least, pause, watched) {
			watched.Stop()
			if !news {
				page.RetryAfter = h.again(pauseReaderOfList)
			}
			return page, nil
		}
		watched.Stop()
	}
}

// pauseReaderOfList is the pause of a reader of the list who has waited for this long.
func pauseReaderOfList(_ time.Time, waited time.Duration) time.Duration {
	return roundUp(between(leastListPause, newsPause(waited), longestReaderPause))
}

// lookAtList is a look of AwaitList. One that has not finished at the end of the wait fails, but it
// gets at least session.LeastTime.
func lookAtList(ctx context.Context, s *Lists, l command.AwaitList, end time.Time) (*schema.ListResponse, error) {
	if l.Wait() == 0 {
		return s.List(ctx, l.List)
	}
	ctx, cancel := s.Process.World.WithTimeout(ctx, max(end.Sub(s.Process.World.Now()), session.LeastTime))
	defer cancel()
	return s.List(ctx, l.List)
}

// pauseList waits between two looks. It returns false if the caller has gone.
func pauseList(ctx context.Context, world host.Host, began, end time.Time, least, pause time.Duration, watched lock.Watch) bool {
	now := world.Now()
	least = min(end.Sub(now), max(least, listShare*now.Sub(began)))
	if waitOnPurpose(ctx, world, least, nil) != nil {
		return false
	}
	return waitOnPurpose(ctx, world, min(end.Sub(world.Now()), pause-least), watched.Changed) == nil
}

// contentOf returns what a page of the list shows, encoded.
func contentOf(page *schema.ListResponse) ([]byte, error) {
	rows := *page
	rows.NextPageToken, rows.Version = "", "" // the token may differ for the same rows
	return json.Marshal(&rows)
}

// versionOf returns a name for what a page of the list shows: another one, if anything in it
// differs.
func versionOf(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}
