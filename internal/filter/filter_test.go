package filter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/store"
)

var (
	started = time.Date(2026, 11, 21, 17, 45, 0, 0, time.UTC)
	closed  = started.Add(time.Hour)
)

// row is a run that has a search attribute of each type.
func row(t *testing.T) *store.Summary {
	t.Helper()
	var all history.SearchAttributes
	for name, v := range map[string]history.AttributeValue{
		"Region": history.NewAttributeValue("eu-west"), "Amount": history.NewAttributeValue(int64(1<<60 + 1)), "Rate": history.NewAttributeValue(0.25),
		"Most": history.NewAttributeValue(int64(math.MaxInt64)), "Least": history.NewAttributeValue(int64(math.MinInt64)), "Small": history.NewAttributeValue(int64(-2)),
		"Paid": history.NewAttributeValue(true), "Due": history.NewAttributeValue(started), "Tags": history.NewAttributeValue([]string{"gift", "o'neill"}),
	} {
		all = all.With(name, v)
	}
	body, err := history.EncodeBody(all)
	if err != nil {
		t.Fatal(err)
	}
	return &store.Summary{
		Workflow: "order-7", Run: 1, RunID: "1-00ff00ff00ff00ff", Type: "order", Status: "completed", Started: started, Closed: closed,
		Attributes: string(body),
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"":                           true,
		"Region = 'eu-west'":         true,
		"region = 'eu-west'":         false, // names are case-sensitive
		`Region = "eu-west"`:         true,
		"Region != 'eu-west'":        false,
		"Region != 'us'":             true,
		"Nothing != 'us'":            false,
		"Region > 'eu'":              true,
		"Region STARTS_WITH 'eu-'":   true,
		"Region starts_with 'us-'":   false,
		"Region IN ('us','eu-west')": true,
		"Region IN ('us', 7)":        false,
		"Region = 7":                 false,
		"Region = TRUE":              false,
		"Region IS NULL":             false,
		"Region IS NOT NULL":         true,
		"Nothing IS NULL":            true,
		"Nothing is not null":        false,

		"Amount = 1152921504606846977":            true,
		"Amount > 1152921504606846976":            true,
		"Amount <= 1152921504606846976":           false,
		"Amount >= 1152921504606846977.0":         true,
		"Amount > 1152921504606846976.0":          true,
		"Amount < 1152921504606847232.5":          true,
		"Amount < 9223372036854775808":            true,
		"Most < 9223372036854775808":              true,
		"Least <= -9223372036854775808.0":         true,
		"Least BETWEEN -1e300 AND 1e300":          true,
		"Least = -9223372036854775809":            false,
		"Least >= -9223372036854775809":           true,
		"Least > -99999999999999999999":           true,
		"Most = 9223372036854775808":              false,
		"Most <= 9223372036854775808":             true,
		"Most != +9223372036854775808":            true,
		"Least IN (-9223372036854775809)":         false,
		"Rate < 99999999999999999999":             true,
		"Small > -2.5":                            true,
		"Small > -1.5":                            false,
		"Small = -2.0":                            true,
		"Amount > 0.5":                            true,
		"Amount > -1e3":                           true,
		"Amount = '1152921504606846977'":          false,
		"Amount IN (1, 1152921504606846977)":      true,
		"Rate = .25":                              true,
		"Rate >= 1":                               false,
		"Rate < 1":                                true,
		"Rate BETWEEN 0.25 AND 1 AND Paid = true": true,
		"Rate BETWEEN 0.26 AND 1":                 false,
		"Paid = TRUE":                             true,
		"Paid != TRUE":                            false,
		"Paid = false":                            false,
		"Paid > false":                            false,
		"Due = '2026-11-21T17:45:00Z'":            true,
		"Due = '2026-11-21T18:45:00+01:00'":       true,
		"Due > '2026-11-21T17:45:00Z'":            false,
		"Due >= '2026-11-21T17:44:59.999999Z'":    true,
		"Due = 'soon'":                            false,
		"Tags = 'gift'":                           true,
		"Tags = 'o''neill'":                       true,
		`Tags = "o'neill"`:                        true,
		"Tags = 'toy'":                            false,
		"Tags != 'gift'":                          false,
		"Tags != 'toy'":                           true,
		"Tags IN ('toy', 'gift')":                 true,
		"Tags STARTS_WITH 'gi'":                   true,

		"WorkflowId = 'order-7'":                                              true,
		"WorkflowId STARTS_WITH 'order-'":                                     true,
		"RunId = '1-00ff00ff00ff00ff'":                                        true,
		"WorkflowType IN ('cart', 'order')":                                   true,
		"BuildId IS NULL":                                                     true,
		"BuildId = 'build-1'":                                                 false,
		"ExecutionStatus = 'Completed'":                                       true,
		"ExecutionStatus = 'completed'":                                       true,
		"ExecutionStatus IN ('Running', 'TimedOut')":                          false,
		"ExecutionStatus != 'Running'":                                        true,
		"StartTime = '2026-11-21T17:45:00Z'":                                  true,
		"StartTime > '2026-11-21T17:45:00Z'":                                  false,
		"StartTime >= '2026-11-21T17:45:00Z'":                                 true,
		"StartTime < '2026-11-21T17:45:00Z'":                                  false,
		"StartTime <= '2026-11-21T17:45:00Z'":                                 true,
		"StartTime != '2026-11-21T17:45:00Z'":                                 false,
		"StartTime BETWEEN '2026-11-21T17:45:00Z' AND '2026-11-21T17:45:00Z'": true,
		"StartTime > '2026-11-21T17:44:00Z' AND StartTime > '2026-11-20T00:00:00Z' AND StartTime < '2027-01-01T00:00:00Z' AND StartTime < '2026-12-01T00:00:00Z'": true,
		"CloseTime > '2026-11-21T18:00:00Z'":                     true,
		"CloseTime IS NULL":                                      false,
		"WorkflowType = 'order' AND Amount > 5 and Paid = TRUE":  true,
		"WorkflowType = 'order' AND Amount > 5 AND Paid = FALSE": false,

		"Region = 'us' OR Region = 'eu-west'":                                      true,
		"Region = 'us' OR Region = 'eu'":                                           false,
		"Region = 'us' OR Paid = TRUE AND Rate = .25":                              true,
		"Region = 'eu-west' OR Paid = FALSE AND Rate = 7":                          true, // AND binds tighter
		"(Region = 'eu-west' OR Paid = FALSE) AND Rate = 7":                        false,
		"NOT Region = 'us'":                                                        true,
		"NOT Region = 'eu-west' OR Paid = TRUE":                                    true, // NOT binds tighter
		"NOT (Region = 'eu-west' OR Paid = TRUE)":                                  false,
		"not not Region = 'eu-west'":                                               true,
		"NOT NOT NOT Region = 'eu-west'":                                           false,
		"NOT Nothing = 'x'":                                                        true,
		"NOT Nothing IS NOT NULL":                                                  true,
		"NOT (StartTime < '2026-11-21T17:45:00Z')":                                 true,
		"NOT (StartTime >= '2026-11-21T17:45:00Z')":                                false,
		"StartTime > '2026-12-01T00:00:00Z' OR WorkflowId = 'order-7'":             true,
		"StartTime > '2026-12-01T00:00:00Z' OR StartTime < '2026-11-01T00:00:00Z'": false,
		"((((Region IN ('us', 'eu-west')))))":                                      true,
		"Region = 'eu-west' ORDER BY StartTime":                                    true,
		"ORDER BY CloseTime DESC":                                                  true,
	}
	for text, want := range tests {
		f, err := filter.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if s := f.Store(); s.Selects(row(t)) != want {
			t.Errorf("%s: %v, want %v (from %v, before %v)", text, !want, want, s.StartedAfter, s.StartedBefore)
		}
	}
}

// Alternatives are bounded by their hull, and what is turned around is not.
func TestBoundsOfAlternatives(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	for text, want := range map[string][2]time.Time{
		"StartTime > '2026-11-03T00:00:00Z' OR StartTime > '2026-11-02T00:00:00Z'":                                                         {day(2), {}},
		"StartTime < '2026-11-03T00:00:00Z' OR StartTime < '2026-11-02T00:00:00Z'":                                                         {{}, day(3)},
		"StartTime < '2026-11-03T00:00:00Z' OR StartTime > '2026-11-02T00:00:00Z'":                                                         {},
		"StartTime = '2026-11-03T00:00:00Z' OR StartTime = '2026-11-05T00:00:00Z' AND Paid = TRUE":                                         {day(3), day(5)},
		"StartTime > '2026-11-03T00:00:00Z' OR Paid = TRUE":                                                                                {},
		"(StartTime > '2026-11-03T00:00:00Z' OR Paid = TRUE) AND (StartTime > '2026-11-02T00:00:00Z')":                                     {day(2), {}},
		"NOT StartTime > '2026-11-03T00:00:00Z'":                                                                                           {},
		"NOT NOT StartTime > '2026-11-03T00:00:00Z'":                                                                                       {day(3), {}},
		"NOT (StartTime > '2026-11-03T00:00:00Z' AND Paid = TRUE) AND StartTime BETWEEN '2026-11-02T00:00:00Z' AND '2026-11-04T00:00:00Z'": {day(2), day(4)},
	} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s, got := f.Store(), [2]time.Time{}
		if !s.StartedAfter.IsZero() {
			got[0] = s.StartedAfter.Add(time.Microsecond)
		}
		if !s.StartedBefore.IsZero() {
			got[1] = s.StartedBefore.Add(-time.Microsecond)
		}
		if got != want {
			t.Errorf("%s: after %v, before %v; want %v", text, got[0], got[1], want)
		}
	}
}

// Bounds on the start of runs bound what the store reads.
func TestBounds(t *testing.T) {
	t.Parallel()
	f, err := filter.Parse("Region = 'eu' AND StartTime >= '2026-11-01T00:00:00Z' AND StartTime BETWEEN '2026-10-01T00:00:00Z' AND '2026-11-02T00:00:00Z'")
	if err != nil {
		t.Fatal(err)
	}
	first, last := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	s := f.Store()
	if first.Sub(s.StartedAfter) != time.Microsecond || s.StartedBefore.Sub(last) != time.Microsecond {
		t.Errorf("%v and %v", s.StartedAfter, s.StartedBefore)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Region":                               "Region has no operator",
		"NOT WorkflowId":                       "WorkflowId has no operator",
		"Stuk":                                 "Stuk has no operator: is it Stuck?",
		"NOT retryin":                          "retryin has no operator: is it Retrying?",
		"Stick OR Region":                      "Stick has no operator: is it Stuck?",
		"Shop":                                 "Shop has no operator: give for example",
		"Stuck = 'yes'":                        "Stuck is TRUE or FALSE",
		"Stuck > FALSE":                        "Stuck is TRUE or FALSE",
		"Stuck IS NULL":                        "Stuck is TRUE or FALSE",
		"PausedSince = FALSE":                  "compared with a text",
		"Paused IN (TRUE)":                     "Paused is TRUE or FALSE",
		"stuck":                                "it is written Stuck",
		"StuckSince = TRUE":                    "compared with a text",
		"StuckSince > 'x'":                     "compared with a time",
		"CloseReason = 7":                      "compared with a text",
		"Region = ":                            "missing at its end",
		"= 'eu'":                               "at character 1",
		"Region = 'eu' OR":                     "missing at its end",
		"OR Region = 'eu'":                     "at character",
		"Region = 'eu' XOR Region = 'us'":      `at character 15: "XOR" is not expected there`,
		"NOT":                                  "missing at its end",
		"(Region = 'eu'":                       "missing at its end",
		"Region = 'eu')":                       `at character 14: ")" is not expected there`,
		"()":                                   `")" is not expected there`,
		"Region = 'eu' ORDER StartTime":        `"StartTime" is not expected there`,
		"ORDER BY Region":                      "give StartTime or CloseTime",
		"ORDER BY startTime":                   "give StartTime or CloseTime",
		"ORDER BY StartTime, CloseTime":        `"," is not expected there`,
		"ORDER BY StartTime AND Region = 'eu'": `"AND" is not expected there`,
		strings.Repeat("(", 33) + "Region = 'eu'" + strings.Repeat(")", 33): "nested deeper than 32",
		"Region = 'eu":                          "at character 10",
		"Region = eu":                           `"eu" is not expected there`,
		"Region == 'eu'":                        "at character 9",
		"Region IN ()":                          `")" is not expected there`,
		"Amount > 1e999":                        "out of range",
		"workflowId = 'x'":                      "it is written WorkflowId",
		"WorkflowId = 7":                        "compared with a text",
		"StartTime > 'today'":                   "compared with a time",
		"StartTime STARTS_WITH '2026'":          "compared with a time",
		"ExecutionStatus > 'Running'":           "compared with =, != and IN",
		"ExecutionStatus = 'Done'":              `unknown status "done": use one of running`,
		"ExecutionStatus = ''":                  "unknown status",
		"and = 'x'":                             "filters have that word already",
		strings.Repeat("x", filter.MaxLength+1): "give at most 4096",
	} {
		_, err := filter.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want an error with %q", text, err, want)
		}
	}
}

// FuzzParse looks for a filter that makes the parser, or a condition, panic.
func FuzzParse(f *testing.F) {
	f.Add("NOT (Region = 'eu' OR NOT Paid = TRUE AND (Amount > 2)) ORDER BY CloseTime DESC")
	f.Add("Region = 'eu' AND Amount BETWEEN 1 AND 2.5 AND StartTime > '2026-11-21T17:45:00Z' AND Tags IN ('a', TRUE) AND X IS NOT NULL")
	f.Fuzz(func(t *testing.T, text string) {
		if parsed, err := filter.Parse(text); err == nil {
			parsed.Store().Selects(row(t))
		}
	})
}
