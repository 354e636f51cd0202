package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// listPage is how many runs a page of a list has, and maxListPage how many a request may ask for.
const (
	listPage    = 100
	maxListPage = 1000
)

// selectParameters are those that select runs, and listParameters all that the query string of a
// list may have.
var (
	selectParameters = []string{"filter", "type", "status", "build", "startedAfter", "startedBefore"}
	listParameters   = append(selectParameters[:len(selectParameters):len(selectParameters)], "pageSize", "unknown", "pageToken")
)

func (h *handler) list(r *http.Request) (int, *schema.ListResponse, error) {
	q := r.URL.Query()
	f, err := listFilter(q)
	if err != nil {
		return 0, nil, err
	}
	page := command.ListPage{Query: asked("workflows", q), Token: q.Get("pageToken")}
	if page.Limit, err = pageSize(q, "runs", maxListPage, listPage); err != nil {
		return 0, nil, err
	}
	if page.AllowUnknown, err = allowsUnknown(q); err != nil {
		return 0, nil, err
	}
	l, err := h.service.Process.Parser().List(f, page)
	if err != nil {
		return 0, nil, err
	}
	return h.awaitList(r, l)
}

// asked returns what a query string selects, whatever the order of its parameters. It leaves out
// the page, and what signs the request: that differs each time.
func asked(of string, q url.Values) string {
	list := url.Values{}
	for _, name := range selectParameters {
		if q.Get(name) != "" {
			list.Set(name, q.Get(name))
		}
	}
	return of + "?" + list.Encode()
}

// listFilter returns what the parameters of a list select, all of them together.
func listFilter(q url.Values) (*filter.Filter, error) {
	f, err := filter.Parse(q.Get("filter"))
	if err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	for parameter, name := range map[string]string{"type": "WorkflowType", "build": "BuildId", "status": "ExecutionStatus"} {
		if is := q.Get(parameter); is != "" {
			f = f.And(name, is)
		}
	}
	if status := q.Get("status"); status != "" {
		var s history.Status
		if err := s.UnmarshalText([]byte(status)); err != nil {
			return nil, refusal.Invalid.New("%v", err)
		}
	}
	after, err := moment(q, "startedAfter")
	if err != nil {
		return nil, err
	}
	before, err := moment(q, "startedBefore")
	if err != nil {
		return nil, err
	}
	return f.Between(after, before), nil
}

func moment(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, refusal.Invalid.New("%s is not a time: give for example %s=2026-11-21T17:45:00Z", name, name)
	}
	return t, nil
}

// pageSize returns how many things a page may have: 1 to most, or otherwise if the query does not
// say it.
func pageSize(q url.Values, things string, most, otherwise int) (int, error) {
	text := q.Get("pageSize")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, refusal.Invalid.New("pageSize is how many %s a page has: give 1 to %d", things, most)
	}
	return n, nil
}

func allowsUnknown(q url.Values) (bool, error) {
	switch q.Get("unknown") {
	case "":
		return false, nil
	case "allow":
		return true, nil
	}
	return false, refusal.Invalid.New("unknown says what is done about names in the filter that no run has: give allow, or leave it out, which refuses them")
}
