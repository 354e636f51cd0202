package dynamo_test

import (
	"fmt"
	"slices"
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

// A run with more rows than one call reads is listed once in either order, with its last row.
func TestListOfManyRows(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := f.open(t, "n")
	add := func(workflow string, slot uint32, started time.Time, attributes string) {
		i := item(1, slot, 1)
		i.Workflow, i.Commit = workflow, [16]byte{byte(slot >> 8), byte(slot), 1}
		i.Summary = &store.Summary{Workflow: workflow, Run: 1, Type: "Order", Status: "running", Started: started, Attributes: attributes}
		if err := s.Append(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	const changes = 2100
	add("early", 0, noon.Add(-time.Hour), "")
	for slot := range uint32(changes) {
		add("changes", slot, noon, fmt.Sprint(slot))
	}
	add("late", 0, noon.Add(time.Hour), "")
	for _, oldest := range []bool{false, true} {
		var got []string
		for token, calls := "", 0; calls == 0 || token != ""; calls++ {
			if calls > 5 {
				t.Fatalf("the list does not end: %q", got)
			}
			runs, next, err := s.Lister().ListRuns(t.Context(), store.Filter{Oldest: oldest}, token, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range runs {
				got = append(got, r.Workflow+r.Attributes)
			}
			token = next
		}
		want := []string{"late", fmt.Sprint("changes", changes-1), "early"}
		if oldest {
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("oldest %v: %q, want %q", oldest, got, want)
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
