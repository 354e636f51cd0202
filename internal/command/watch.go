package command

import (
	"strconv"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// HistoryPage is the query of a request for a page of a history. Empty texts are absent.
type HistoryPage struct {
	// PageToken is the token of a page. From is the id of the first event of the page instead.
	PageToken, From string
	// Size is how many events the page has at most: 1 to MostEvents.
	Size int
	// Wait is a duration such as "20s".
	Wait string
}

// HistoryPage parses a request for a page of a history that may wait for its first event.
func (p *Parser) HistoryPage(workflowID string, runID history.RunID, page HistoryPage) (History, error) {
	wait, err := p.waiting(page.Wait)
	if err != nil {
		return History{}, err
	}
	h, err := p.History(workflowID, runID, page.PageToken)
	if err != nil {
		return History{}, err
	}
	h.size, h.Waiting = page.Size, wait
	if page.From == "" {
		return h, nil
	}
	if page.PageToken != "" {
		return History{}, refusal.Invalid.New("a page begins at a pageToken or at an event: give one of pageToken and from")
	}
	from, err := strconv.ParseInt(page.From, 10, 64)
	if err != nil || from < 1 {
		return History{}, refusal.Invalid.New("from is no id of an event: give a number from 1 on, such as the next of the page before")
	}
	h.from = from
	return h, nil
}

// AwaitList asks for a page of the list, and waits until it differs from a version.
type AwaitList struct {
	*List
	version string
	Waiting
}

// Version returns the version of the page that the caller has; empty is none.
func (l AwaitList) Version() string { return l.version }

// AwaitList parses the wait for another version of a page. wait is a duration such as "20s"; if it
// is empty, the request does not wait. Without a version, there is nothing to wait for.
func (p *Parser) AwaitList(l *List, version, wait string) (AwaitList, error) {
	w, err := p.waiting(wait)
	if err != nil {
		return AwaitList{}, err
	}
	return AwaitList{l, version, w}, nil
}

// Runs asks for a page of the runs of a workflow.
type Runs struct {
	Target
	before uint32
}

// Before returns the number of the run after the first one of the page; 0 begins at the run of the
// target.
func (r Runs) Before() uint32 { return r.before }

// RunsToken returns the token of the page that follows the run with this number.
func RunsToken(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

// Runs parses a request for a page of the runs of a workflow. An empty token is the first page,
// which begins at the given run, or at the latest.
func (p *Parser) Runs(workflowID string, runID history.RunID, pageToken string) (Runs, error) {
	var before uint64
	if pageToken != "" {
		var err error
		if before, err = strconv.ParseUint(pageToken, 10, 32); err != nil || before == 0 || runID != "" {
			return Runs{}, refusal.Invalid.New("this list of runs did not return the pageToken: give it alone, or begin again without it")
		}
	}
	t, err := p.Target(workflowID, runID)
	return orNone(Runs{t, uint32(before)}, err)
}
