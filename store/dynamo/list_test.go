package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// An expired run is not listed, whichever of its items have been deleted.
func TestExpiredRunsAreNotListed(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFake()
	s, err := dynamo.New(f.client(), dynamo.Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	opening, closing := item(1, 0, 1), item(1, 1, 2)
	opening.Summary, closing.Summary = summary(1, "running", time.Time{}), summary(1, "completed", noon)
	opening.Expires, closing.Expires = noon.Add(time.Hour), noon.Add(time.Hour)
	if err := s.Append(t.Context(), opening, closing); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{0, 1}, {time.Hour - time.Second, 1}, {time.Hour, 0}, {2 * time.Hour, 0}} {
		now = noon.Add(step.at)
		if runs, _, err := s.Lister().ListRuns(t.Context(), store.Filter{}, "", 10); err != nil || len(runs) != step.want {
			t.Errorf("after %v: %d runs, %v; want %d", step.at, len(runs), err, step.want)
		}
	}
}

// If a filter selects few runs, one call does not read the whole list: it returns a short page and
// a token.
func TestListLooksAtSoMany(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := f.open(t, "n")
	for i := range 2500 {
		opening := item(1, 0, 1)
		opening.Workflow = fmt.Sprint("order-", i)
		opening.Summary = &store.Summary{Workflow: opening.Workflow, Run: 1, Type: "Order", Status: "running", Started: noon.Add(time.Duration(i) * time.Second)}
		if err := s.Append(t.Context(), opening); err != nil {
			t.Fatal(err)
		}
	}
	filter := store.Filter{Where: func(row *store.Summary) bool { return row.Type == "Parcel" }}
	runs, token, err := s.Lister().ListRuns(t.Context(), filter, "", 100)
	if len(runs) != 0 || token == "" || err != nil {
		t.Fatalf("the first page: %d runs, token %q, %v", len(runs), token, err)
	}
	if runs, token, err = s.Lister().ListRuns(t.Context(), filter, token, 100); len(runs) != 0 || token != "" || err != nil {
		t.Errorf("the second page: %d runs, token %q, %v", len(runs), token, err)
	}
}
