package command

import (
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// StartAndAwait starts a run, and waits for its end.
type StartAndAwait struct {
	*Start
	Waiting
}

// Await asks for the outcome of a run, and waits for it.
type Await struct {
	Target
	Waiting
}

// Await parses a request for the outcome of a run. wait is a duration such as "20s"; if it is
// empty, the request does not wait.
func (p *Parser) Await(workflowID string, runID history.RunID, wait string) (Await, error) {
	w, err := p.waiting(wait)
	if err != nil {
		return Await{}, err
	}
	t, err := p.Target(workflowID, runID)
	return orNone(Await{t, w}, err)
}

// History asks for a page of the history of a run.
type History struct {
	Target
	from int64
	size int
	Waiting
}

// MostEvents is how many events a page of a history has at most.
const MostEvents = 1000

// From returns the id of the first event of the page: 1 at least.
func (h History) From() int64 { return h.from }

// Size returns how many events the page has at most: 1 to MostEvents.
func (h History) Size() int { return h.size }

// HistoryToken returns the token of the page that begins with an event. It has the run, so that a
// page follows the one before it even if another run has begun.
func HistoryToken(run history.RunID, from int64) string {
	return string(run) + "/" + strconv.FormatInt(from, 10)
}

// History parses a request for a page of a history. An empty token is the first page.
func (p *Parser) History(workflowID string, runID history.RunID, pageToken string) (History, error) {
	from := int64(1)
	if pageToken != "" {
		id, event, found := strings.Cut(pageToken, "/")
		n, err := strconv.ParseInt(event, 10, 64)
		if err != nil || !found || n < 1 || id == "" || runID != "" && string(runID) != id {
			return History{}, refusal.Invalid.New("this history did not return the pageToken")
		}
		runID, from = history.RunID(id), n
	}
	t, err := p.Target(workflowID, runID)
	return orNone(History{Target: t, from: from, size: MostEvents}, err)
}
