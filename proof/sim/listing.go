package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/store"
)

// indexLags delays the list of workflows, which is an index.
var indexLags = newFault("dynamodb: an index lags",
	"Amazon DynamoDB Developer Guide, global secondary indexes, data synchronization: an index follows its table asynchronously and eventually "+
		"consistently, usually within a fraction of a second, in unlikely failures later; an application has to expect results that are not up to date.", 0.3, 0.3)

// list is the list of workflows in the index. Each change of a row arrives after a delay.
type list struct {
	s       *simulation
	rows    map[place]row
	changes []change // changes that have not arrived
}

// row is a row of the list, with the time since when it has not changed.
type row struct {
	store.Summary
	since time.Time
}

// change is a change of a row that has not reached the index yet. Changes of one row keep their
// order.
type change struct {
	at   place
	row  *store.Summary // nil if the row was deleted
	when time.Time
}

func newList(s *simulation) *list { return &list{s: s, rows: map[place]row{}} }

// changed adds a change of a row.
func (l *list) changed(at place, r *store.Summary) {
	when := l.s.now
	if l.s.hits(indexLags) {
		when = when.Add(time.Duration(l.s.of(indexLags).ExpFloat64() * float64(5*time.Second)))
	}
	for _, c := range l.changes {
		if c.at == at && c.when.After(when) {
			when = c.when
		}
	}
	l.changes = append(l.changes, change{at, r, when})
	l.follow()
}

// follow applies the changes that are due.
func (l *list) follow() {
	l.changes = slices.DeleteFunc(l.changes, func(c change) bool {
		if c.when.After(l.s.now) {
			return false
		}
		l.s.audit.batches.changed(c.at, c.row)
		if c.row == nil {
			delete(l.rows, c.at)
		} else {
			l.rows[c.at] = row{*c.row, l.s.now}
		}
		return true
	})
}

// token returns a row's place in the list, in which the latest starts are first.
func (r row) token() string {
	return fmt.Sprintf("%020d %s %010d", 1<<62-r.Started.UnixMicro(), r.Workflow, r.Run)
}

// ListRuns implements store.Lister.
func (l *list) ListRuns(_ context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	if parts := strings.Fields(token); token != "" {
		if _, err := strconv.ParseInt(parts[0], 10, 64); err != nil || len(parts) != 3 {
			return nil, "", fmt.Errorf("%w: %q", store.ErrBadToken, token)
		}
	}
	l.follow()
	compare := func(a, b string) int { return cmp.Compare(a, b) }
	if f.Oldest {
		compare = func(a, b string) int { return cmp.Compare(b, a) }
	}
	var rows []row
	for _, r := range l.rows {
		if f.Selects(&r.Summary) && (token == "" || compare(r.token(), token) > 0) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return compare(a.token(), b.token()) })
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].token()
	}
	for _, r := range rows {
		runs = append(runs, r.Summary)
	}
	return runs, next, nil
}

// readList is the life of a client that reads the list from time to time. A walk over its pages has
// each row once that did not change from before the walk began until after it ended.
func (s *simulation) readList() {
	r := s.of(indexLags)
	for range 1 + r.IntN(4) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(60_000)) * time.Millisecond)})
		began, l, seen := s.now, s.list, map[place]int{}
		for token := ""; ; {
			var answer *schema.ListResponse
			_, err := s.insist("list", func(ctx context.Context, t edge.Service) error {
				l, err := t.Service.Process.Parser().List(&filter.Filter{}, command.ListPage{Query: "all", Token: token, Limit: 1 + r.IntN(5)})
				if err != nil {
					return err
				}
				answer, err = t.Service.Lists.List(ctx, l)
				return err
			})
			if err != nil {
				s.fail("the list: %v", err)
				return
			}
			for _, w := range answer.Workflows {
				seen[place{w.WorkflowID, w.RunID.Number()}]++
			}
			if token = answer.NextPageToken; token == "" {
				break
			}
		}
		if s.list == l { // otherwise the table was restored meanwhile
			l.check(began, seen)
		}
	}
}

// check compares what a walk has seen with the rows that have not changed since the walk began.
func (l *list) check(began time.Time, seen map[place]int) {
	for at, r := range l.rows {
		if n := seen[at]; r.since.Before(began) && n != 1 {
			l.s.fail("the list has run %d of %s, and a walk over its pages has seen it %d times", at.run, at.workflow, n)
			return
		}
	}
	for at := range seen {
		if !slices.ContainsFunc(l.s.audit.runs[at.workflow], func(r *engine.Run) bool { return r.Number == at.run }) {
			l.s.fail("the list has run %d of %s, which never was", at.run, at.workflow)
		}
	}
}
