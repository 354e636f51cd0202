package requests_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/requests"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// rows is a list that is read from the first row on.
type rows []store.Summary

// ListRuns implements store.Lister.
func (r rows) ListRuns(_ context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	at := 0
	if token != "" {
		if at, err = strconv.Atoi(token); err != nil {
			return nil, "", fmt.Errorf("%w: %q", store.ErrBadToken, token)
		}
	}
	for ; at < len(r); at++ {
		if len(runs) == limit {
			return runs, strconv.Itoa(at), nil
		}
		if f.Selects(&r[at]) {
			runs = append(runs, r[at])
		}
	}
	return runs, "", nil
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// someRows returns runs of which each third is open. Several closed at the same moment.
func someRows(n int) (all rows) {
	for i := range n {
		row := store.Summary{Workflow: fmt.Sprint("w", i), Run: uint32(1 + i%2), RunID: "1-0102030405060708", Type: "order", Status: "running", Started: noon.Add(time.Duration(i%5) * time.Second)}
		if i%3 > 0 {
			row.Status, row.Closed = "completed", noon.Add(time.Duration(10+i*7%11)*time.Minute)
		}
		all = append(all, row)
	}
	return all
}

func listed(t *testing.T, all rows, text, token string, limit int) (ids []string, next string, err error) {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&command.Parser{Lists: true}).List(f, command.ListPage{Query: text, Token: token, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	page, err := (&requests.Lists{Process: &session.Process{Ports: session.Ports{Lister: all}}}).List(t.Context(), l)
	if err != nil {
		return nil, "", err
	}
	for _, w := range page.Workflows {
		ids = append(ids, w.WorkflowID)
	}
	return ids, page.NextPageToken, nil
}

// The pages of a list by the close have each run once, in order, however they are cut. Open runs
// close later than all others.
func TestPagesByClose(t *testing.T) {
	t.Parallel()
	all := someRows(40)
	closed := map[string]time.Time{}
	for _, row := range all {
		closed[row.Workflow] = row.Closed
		if row.Closed.IsZero() {
			closed[row.Workflow] = noon.AddDate(100, 0, 0)
		}
	}
	for _, limit := range []int{1, 3, 39, 40, 100} {
		var got [2][]string
		for i, text := range []string{"ORDER BY CloseTime", "ORDER BY CloseTime DESC"} {
			for token, more := "", true; more; more = token != "" {
				ids, next, err := listed(t, all, text, token, limit)
				if err != nil || len(ids) == 0 || len(ids) > limit {
					t.Fatalf("%s: %d runs, %v", text, len(ids), err)
				}
				got[i], token = append(got[i], ids...), next
			}
		}
		if !slices.IsSortedFunc(got[0], func(a, b string) int { return closed[a].Compare(closed[b]) }) {
			t.Errorf("pages of %d: %v", limit, got[0])
		}
		reversed := slices.Clone(got[1])
		slices.Reverse(reversed)
		if len(got[0]) != len(all) || !slices.Equal(got[0], reversed) {
			t.Errorf("pages of %d: %d runs\n%v\n%v", limit, len(got[0]), got[0], got[1])
		}
	}
}

func TestRefusedByClose(t *testing.T) {
	t.Parallel()
	_, next, err := listed(t, someRows(4), "ORDER BY CloseTime", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{next[:len(next)-25], next[:9] + "!", next[:8] + "AAAA"} {
		if _, _, err := listed(t, someRows(4), "ORDER BY CloseTime", token, 1); !errors.Is(err, refusal.Invalid) {
			t.Errorf("%q: %v", token, err)
		}
	}
	many := someRows(10_001)
	if _, _, err := listed(t, many, "WorkflowType = 'other' ORDER BY CloseTime", "", 1); err == nil || !strings.Contains(err.Error(), "at most 10000 runs, and there are more: bound StartTime") {
		t.Errorf("too many: %v", err)
	}
	if _, _, err := listed(t, many[1:], "WorkflowType = 'other' ORDER BY CloseTime", "", 1); err != nil {
		t.Errorf("just enough: %v", err)
	}
}

// A filter with a name that no run has is refused at the beginning of a list, if neither the page
// nor the latest runs have it.
func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	all := someRows(300)
	for text, want := range map[string]string{
		"Region IS NULL": "300 runs were looked at, and none has",
		"Region = 'eu' AND StartTime > '2030-01-01T00:00:00Z'": "300 runs were looked at, and none has",
		"Region = 'eu' ORDER BY CloseTime":                     "300 runs were looked at, and none has",
		"WorkflowType = 'order'":                               "",
	} {
		_, next, err := listed(t, all, text, "", 100)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, refusal.Invalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
		if err == nil && next == "" {
			t.Errorf("%s: one page", text)
		}
	}
}
