package filter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/store"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]filter.Order{
		"":                                      filter.LatestStart,
		"Region = 'eu'":                         filter.LatestStart,
		"ORDER BY StartTime":                    filter.EarliestStart,
		"Region = 'eu' order by StartTime asc":  filter.EarliestStart,
		"Region = 'eu' ORDER BY StartTime DESC": filter.LatestStart,
		"ORDER BY CloseTime ASC":                filter.EarliestClose,
		"ORDER BY CloseTime DESC":               filter.LatestClose,
	} {
		f, err := filter.Parse(text)
		if err != nil || f.Order() != want || f.Store().Oldest != (want == filter.EarliestStart) || f.Order().ByClose() != strings.Contains(text, "Close") {
			t.Errorf("%q: order %v, %v", text, f.Order(), err)
		}
	}
}

// A look finds the names that no row has, and suggests others.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "",
		"Region = 'eu'":                         "",
		"WorkflowType = 'x'":                    "",
		"Region = 'eu' AND Amount > 5":          "",
		"Regoin = 'eu'":                         "1 runs were looked at, and none has the search attribute Regoin. Is it Region? Every run has BuildId, CloseReason, CloseTime,",
		"region = 'eu'":                         "Is it Region?",
		"NOT (WorkflowId = 'x' OR amounts = 5)": "the search attribute amounts. Is it Amount?",
		"Status = 'running'":                    "the search attribute Status. Is it ExecutionStatus? Every run has",
		"Typo IS NULL":                          "Search attributes of these runs: Amount, Due, Least, Most, Paid, Rate, Region, Small, Tags. Give unknown=allow if other runs have Typo",
	} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		look := f.Look()
		look.Store().Selects(row(t))
		checkNames(t, text, look, want)
		if look.Rows() != 1 {
			t.Errorf("%q: %d rows", text, look.Rows())
		}
		look = f.Look()
		if look.Names().Selects(row(t)) {
			t.Error("a look at names selects a row")
		}
		checkNames(t, text, look, want)
	}
	f, err := filter.Parse("Region = 'eu' AND StartTime > '2030-01-01T00:00:00Z'")
	if err != nil {
		t.Fatal(err)
	}
	look := f.Look()
	if s := look.Store(); s.Selects(row(t)) || !look.Bounded() {
		t.Error("the filter's bounds select a row outside of them")
	}
	checkNames(t, "no row", look, "0 runs were looked at, and none has the search attribute Region. Every run has")
}

func checkNames(t *testing.T, text string, look *filter.Look, want string) {
	t.Helper()
	err := look.Err()
	if look.Missing() != (err != nil) || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%q: %v, want %q", text, err, want)
	}
}

// The text of an error is bounded, however many names there are.
func TestManyNames(t *testing.T) {
	t.Parallel()
	f, err := filter.Parse("Nothing = 1")
	if err != nil {
		t.Fatal(err)
	}
	look := f.Look()
	for i := range 5000 {
		body, err := history.EncodeBody(history.SearchAttributes{{Name: fmt.Sprintf("%s%04d", strings.Repeat("n", 60), i), Value: history.NewAttributeValue("x")}})
		if err != nil {
			t.Fatal(err)
		}
		look.Names().Selects(&store.Summary{Attributes: string(body)})
	}
	if err := look.Err(); err == nil || len(err.Error()) > 5000 || !strings.Contains(err.Error(), "and 950 more") {
		t.Errorf("%v", err)
	}
}

// twin is an expression as text, what it says of a row with these values, and whether it may be
// true of a run that started at this time.
type twin struct {
	text string
	is   func(a, b bool, started int) bool
}

// expression draws an expression over two booleans and the start.
func expression(t *rapid.T, depth int) twin {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return twin{"A = TRUE", func(a, _ bool, _ int) bool { return a }}
	case 1:
		return twin{"B IS NULL", func(_, b bool, _ int) bool { return !b }}
	case 2:
		n := rapid.IntRange(0, 5).Draw(t, "minute")
		return twin{fmt.Sprintf("StartTime < '2026-11-21T17:%02d:00Z'", n), func(_, _ bool, s int) bool { return s < n }}
	case 3:
		n := rapid.IntRange(0, 5).Draw(t, "minute")
		return twin{fmt.Sprintf("StartTime >= '2026-11-21T17:%02d:00Z'", n), func(_, _ bool, s int) bool { return s >= n }}
	case 4:
		e := expression(t, depth-1)
		return twin{"NOT (" + e.text + ")", func(a, b bool, s int) bool { return !e.is(a, b, s) }}
	}
	e, f := expression(t, depth-1), expression(t, depth-1)
	if kind == 5 {
		return twin{"(" + e.text + ") AND (" + f.text + ")", func(a, b bool, s int) bool { return e.is(a, b, s) && f.is(a, b, s) }}
	}
	return twin{e.text + " OR " + f.text, func(a, b bool, s int) bool { return e.is(a, b, s) || f.is(a, b, s) }}
}

// A filter, with the bounds that the store gets, selects what its twin does.
func TestExpressionsAreLikeTheirTwins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := expression(t, 4)
		f, err := filter.Parse(e.text)
		if err != nil {
			if len(e.text) > filter.MaxLength {
				return
			}
			t.Fatalf("%s: %v", e.text, err)
		}
		s := f.Store()
		for minute := range 6 {
			for _, a := range []bool{false, true} {
				for _, b := range []bool{false, true} {
					attributes := history.SearchAttributes{{Name: "A", Value: history.NewAttributeValue(a)}}
					if b {
						attributes = attributes.With("B", history.NewAttributeValue("x"))
					}
					body, err := history.EncodeBody(attributes)
					if err != nil {
						t.Fatal(err)
					}
					r := &store.Summary{Started: time.Date(2026, 11, 21, 17, minute, 0, 0, time.UTC), Attributes: string(body)}
					if got, want := s.Selects(r), e.is(a, b, minute); got != want {
						t.Fatalf("%s: %v, want %v (A %v, B %v, minute %d; from %v, before %v)", e.text, got, want, a, b, minute, s.StartedAfter, s.StartedBefore)
					}
				}
			}
		}
	})
}

// Filters and groups use the facts of a row. A row without facts, or with damaged ones, has none.
func TestFacts(t *testing.T) {
	t.Parallel()
	stuck := engine.Facts{Stuck: &engine.StuckFact{Since: history.At(started), FailureType: "panic"}, Parent: "boss"}
	closed, paused := engine.Facts{CloseReason: "Declined"}, engine.Facts{Paused: history.At(started)}
	for text, want := range map[string][4]bool{
		"Stuck":                               {true, false, false, false},
		"NOT Stuck":                           {false, true, true, true},
		"Stuck = FALSE":                       {false, true, true, true},
		"Stuck != FALSE ORDER BY StartTime":   {true, false, false, false},
		"StuckSince = '2026-11-21T17:45:00Z'": {true, false, false, false},
		"StuckSince < '2026-11-21T17:45:00Z'": {false, false, false, false},
		"FailureType = 'panic' AND (Stuck OR WorkflowId = 'x')": {true, false, false, false},
		"FailureType IS NULL":                   {false, true, true, true},
		"CloseReason STARTS_WITH 'Decl'":        {false, true, false, false},
		"CloseReason IS NULL":                   {true, false, true, true},
		"ParentWorkflowId = 'boss'":             {true, false, false, false},
		"Paused":                                {false, false, false, true},
		"Paused = FALSE AND NOT Stuck":          {false, true, true, false},
		"PausedSince >= '2026-11-21T17:45:00Z'": {false, false, false, true},
		"PausedSince IS NULL":                   {true, true, true, false},
	} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got [4]bool
		for i, facts := range []engine.Facts{stuck, closed, {}, paused} {
			got[i] = f.Store().Selects(withFacts(t, facts))
		}
		if got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	damaged := &store.Summary{Facts: "\xff\x00"}
	for by, want := range map[string][3]string{"Stuck": {"true", "false", "false"}, "FailureType": {"panic", "", ""}, "CloseReason": {"", "Declined", ""}, "Paused": {"false", "false", "false"}, "WorkflowType": {}} {
		group, err := filter.Group(by)
		if err != nil {
			t.Fatal(err)
		}
		if got := group.Of(withFacts(t, paused), nil); by == "Paused" && got != "true" {
			t.Errorf("%s: %q", by, got)
		}
		if got := [3]string{group.Of(withFacts(t, stuck), nil), group.Of(withFacts(t, closed), nil), group.Of(damaged, nil)}; got != want {
			t.Errorf("%s: %q, want %q", by, got, want)
		}
	}
}

func withFacts(t *testing.T, facts engine.Facts) *store.Summary {
	t.Helper()
	if facts.Empty() {
		return &store.Summary{Started: started}
	}
	body, err := history.EncodeBody(facts)
	if err != nil {
		t.Fatal(err)
	}
	return &store.Summary{Started: started, Facts: string(body)}
}
