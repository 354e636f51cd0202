package requests_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/requests"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/store"
)

// looked counts the runs whose records are read. There are none.
type looked struct {
	store.Attempts
	runs map[string]int
}

// ReadAttempts implements store.Attempts.
func (l looked) ReadAttempts(_ context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	l.runs[fmt.Sprint(workflow, " ", run)]++
	return nil, nil
}

// Together implements host.Host.
func (c *clock) Together(fns ...func()) {
	for _, fn := range fns {
		fn()
	}
}

// A list that finds nothing by its retries ends after some time, with a token. The pages look at
// each open run once, and at no closed one.
func TestListOfRetriesEndsInTime(t *testing.T) {
	t.Parallel()
	var all rows
	for i := range 1000 {
		row := store.Summary{Workflow: fmt.Sprintf("w%03d", i), Run: 1, RunID: "1-00000000000000aa", Status: "running", Started: time.Unix(int64(2000-i), 0)}
		if i%2 == 0 {
			row.Status, row.Closed = "completed", time.Unix(3000, 0)
		}
		all = append(all, row)
	}
	world := &clock{}
	l := looked{runs: map[string]int{}}
	lists := requests.Lists{Process: &session.Process{
		Ports: session.Ports{Lister: slowly{all, 2 * time.Second, world}}, World: world, Attempts: attempts.NewRecords(l, world),
	}}
	f, err := filter.Parse("Retrying OR WorkflowId = 'w000'")
	if err != nil {
		t.Fatal(err)
	}
	pages, runs := 0, 0
	for token := ""; ; {
		query, err := (&command.Parser{Lists: true}).List(f, command.ListPage{Query: "q", Token: token, Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		began := world.now
		page, err := lists.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if took := world.now.Sub(began); took > 6*time.Second {
			t.Errorf("page %d took %s", pages, took)
		}
		pages, runs = pages+1, runs+len(page.Workflows)
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if pages != 2 || runs != 1 || len(l.runs) != 500 {
		t.Errorf("%d pages with %d runs, and %d runs were looked at", pages, runs, len(l.runs))
	}
	for run, n := range l.runs {
		if n != 1 {
			t.Errorf("%s was looked at %d times", run, n)
		}
	}
}

// slowlyLooked is looked, and each read takes some time.
type slowlyLooked struct {
	looked
	world *clock
}

// ReadAttempts implements store.Attempts.
func (l slowlyLooked) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	l.world.now = l.world.now.Add(50 * time.Millisecond)
	return l.looked.ReadAttempts(ctx, workflow, run)
}

// A count by retries looks at the clock after each 100 runs, however slow it is to read them. So do
// the rows that a dry run of a batch asks for: their step has a few seconds.
func TestCountOfRetriesEndsInTime(t *testing.T) {
	t.Parallel()
	var all rows
	for i := range 1000 {
		all = append(all, store.Summary{Workflow: fmt.Sprintf("w%03d", i), Run: 1, RunID: "1-00000000000000aa", Status: "running", Started: time.Unix(int64(2000-i), 0)})
	}
	world := &clock{}
	lists := requests.Lists{Process: &session.Process{
		Ports: session.Ports{Lister: all}, World: world, Attempts: attempts.NewRecords(slowlyLooked{looked{runs: map[string]int{}}, world}, world),
	}}
	count := 0
	for token := ""; ; {
		began, query := world.now, queryOf(t, "NOT Retrying", token, 1000)
		page, err := lists.Count(t.Context(), query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := world.now.Sub(began); took > 10*time.Second {
			t.Errorf("a page took %s", took)
		}
		count += page.Count
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if count != 1000 {
		t.Errorf("%d runs", count)
	}
	began := world.now
	runs, next, err := lists.Rows(t.Context(), queryOf(t, "NOT Retrying", "", 1).Filter(), "", 1000)
	if took := world.now.Sub(began); err != nil || len(runs) != 100 || next == "" || took > 5*time.Second {
		t.Errorf("%d rows, then %q, in %s, %v", len(runs), next, took, err)
	}
}
