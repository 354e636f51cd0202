package requests_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/requests"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// slowly is a list whose every read takes some time.
type slowly struct {
	rows
	takes time.Duration
	clock *clock
}

// ListRuns implements store.Lister.
func (s slowly) ListRuns(ctx context.Context, f store.Filter, token string, limit int) ([]store.Summary, string, error) {
	s.clock.now = s.clock.now.Add(s.takes)
	return s.rows.ListRuns(ctx, f, token, limit)
}

// clock is a host that only has a clock.
type clock struct {
	host.Host
	now time.Time
}

// Now implements host.Host.
func (c *clock) Now() time.Time { return c.now }

func counted(t *testing.T, all slowly, text, by, token string) (*schema.CountResponse, error) {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var group *filter.Grouping
	if by != "" {
		if group, err = filter.Group(by); err != nil {
			t.Fatal(err)
		}
	}
	l, err := (&command.Parser{Lists: true}).List(f, command.ListPage{Query: text, Token: token, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	lists := requests.Lists{Process: &session.Process{Ports: session.Ports{Lister: all}, World: all.clock}}
	return lists.Count(t.Context(), l, group)
}

// The pages of a count have each run once. A page ends after some time, or some runs.
func TestPagesOfCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runs, pages int
		takes       time.Duration
	}{{0, 1, 0}, {1, 1, time.Minute}, {2500, 1, 0}, {2500, 3, time.Minute}, {12_000, 3, time.Second}, {120_000, 3, 0}} {
		all := slowly{rows: someRows(c.runs), takes: c.takes, clock: &clock{now: noon}}
		sum, running, pages := 0, 0, 0
		for token := ""; pages == 0 || token != ""; pages++ {
			answer, err := counted(t, all, "", "ExecutionStatus", token)
			if err != nil {
				t.Fatal(err)
			}
			sum, token = sum+answer.Count, answer.NextPageToken
			for _, g := range answer.Groups {
				if g.Value == "running" {
					running += g.Count
				}
			}
		}
		if sum != c.runs || running != (c.runs+2)/3 || pages != c.pages {
			t.Errorf("%d runs of %v a read: %d, of which %d run, in %d pages; want %d pages", c.runs, c.takes, sum, running, pages, c.pages)
		}
	}
}

// The groups of a count are bounded, and the rest is counted.
func TestManyGroups(t *testing.T) {
	t.Parallel()
	all := someRows(3000)
	for i := range all {
		all[i].Build = fmt.Sprint("build-", i%1500)
	}
	all[2999].Build = "build-3"
	list := slowly{rows: all, clock: &clock{now: noon}}
	answer, err := counted(t, list, "", "BuildId", "")
	if err != nil || len(answer.Groups) != 1000 || answer.Others != 999 || answer.Groups[0] != (schema.CountGroup{Value: "build-3", Count: 3}) {
		t.Errorf("%d groups, first %+v, others %d, %v", len(answer.Groups), answer.Groups[:1], answer.Others, err)
	}
	if _, err := counted(t, list, "NOT Region = 'eu'", "", ""); err == nil {
		t.Error("a name that no run has is counted")
	}
}
