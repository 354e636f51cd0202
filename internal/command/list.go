package command

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// ListPage says which page of a list a request asks for.
type ListPage struct {
	// Query identifies what is listed: any text that is the same for the same query. A token is
	// valid only for the query that returned it. In another query it would also be a valid
	// position, and workflows would be missing or listed twice without notice.
	Query string
	// Token is the token of the page; empty is the first one.
	Token string
	// Limit is how many workflows it has at most.
	Limit int
	// AllowUnknown allows names in the filter that no run has.
	AllowUnknown bool
}

// List asks for a page of the list of workflows.
type List struct {
	filter *filter.Filter
	page   ListPage
	mark   string
	place  string
}

// Filter returns which workflows the list has.
func (l *List) Filter() *filter.Filter { return l.filter }

// Place returns where the page begins, as Token was given it; empty is the beginning.
func (l *List) Place() string { return l.place }

// Limit returns how many workflows the page has at most.
func (l *List) Limit() int { return l.page.Limit }

// ChecksNames reports whether the list is refused if no run has a name of its filter. A list is
// checked at its beginning.
func (l *List) ChecksNames() bool { return l.place == "" && !l.page.AllowUnknown }

// Token returns the token of the page that begins at a place; empty is no page.
func (l *List) Token(place string) string {
	if place == "" {
		return ""
	}
	return l.mark + place
}

// ErrPageToken refuses a list whose pageToken another query has returned, or none.
var ErrPageToken = refusal.Invalid.New("this list did not return the pageToken: give all other parameters as for the page before, or begin again without a pageToken")

// List parses a request for a page of a list.
func (p *Parser) List(f *filter.Filter, page ListPage) (*List, error) {
	if !p.Lists {
		return nil, refusal.NotFound.New("this deployment keeps no list of workflows")
	}
	sum := sha256.Sum256([]byte(page.Query))
	l := &List{filter: f, page: page, mark: base64.RawURLEncoding.EncodeToString(sum[:6])}
	place, marked := strings.CutPrefix(page.Token, l.mark)
	if page.Token != "" && (!marked || place == "") {
		return nil, ErrPageToken
	}
	l.place = place
	return l, nil
}
