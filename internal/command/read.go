package command

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// StartAndAwait starts a run, and waits for its end.
type StartAndAwait struct {
	*Start
	wait time.Duration
}

// Wait returns how long the request waits; 0 is not at all. It is not negative.
func (s StartAndAwait) Wait() time.Duration { return s.wait }

// Await asks for the outcome of a run, and waits for it.
type Await struct {
	Target
	wait time.Duration
}

// Wait returns how long the request waits; 0 is not at all. It is not negative.
func (a Await) Wait() time.Duration { return a.wait }

// Await parses a request for the outcome of a run. wait is a duration such as "20s"; if it is
// empty, the request does not wait.
func (p *Parser) Await(workflowID string, runID history.RunID, wait string) (Await, error) {
	d, err := waitTime(wait)
	if err != nil {
		return Await{}, err
	}
	t, err := p.Target(workflowID, runID)
	return orNone(Await{t, d}, err)
}

func waitTime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, refusal.Invalid.New("wait is not a duration: give for example wait=20s")
	}
	return d, nil
}

// History asks for a page of the history of a run.
type History struct {
	Target
	from int64
	wait time.Duration
}

// From returns the id of the first event of the page: 1 at least.
func (h History) From() int64 { return h.from }

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
	return orNone(History{Target: t, from: from}, err)
}

// List asks for a page of the list of workflows.
type List struct {
	filter store.Filter
	mark   string
	place  string
	limit  int
}

// Filter returns which workflows the list has.
func (l *List) Filter() store.Filter { return l.filter }

// Place returns where the page begins, as the store has named it; empty is the beginning.
func (l *List) Place() string { return l.place }

// Limit returns how many workflows the page has at most.
func (l *List) Limit() int { return l.limit }

// Token returns the token of the page that begins at a place; empty is no page.
func (l *List) Token(place string) string {
	if place == "" {
		return ""
	}
	return l.mark + place
}

// ErrPageToken refuses a list whose pageToken another query has returned, or none.
var ErrPageToken = refusal.Invalid.New("this list did not return the pageToken: give all other parameters as for the page before, or begin again without a pageToken")

// List parses a request for a page of a list. query identifies what is listed: any text that is the
// same for the same query. A token is valid only for the query that returned it. In another query,
// it would also be a valid position, and workflows would be missing or listed twice without notice.
func (p *Parser) List(f store.Filter, query, pageToken string, limit int) (*List, error) {
	if !p.Lists {
		return nil, refusal.NotFound.New("this deployment keeps no list of workflows")
	}
	sum := sha256.Sum256([]byte(query))
	l := &List{filter: f, mark: base64.RawURLEncoding.EncodeToString(sum[:6]), limit: limit}
	place, marked := strings.CutPrefix(pageToken, l.mark)
	if pageToken != "" && (!marked || place == "") {
		return nil, ErrPageToken
	}
	l.place = place
	return l, nil
}
