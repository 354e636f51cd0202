package fanout_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/fanout"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

func TestFanout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, fanout.Registrations()...)
		pages, want := []string{}, []string{}
		for i := range 50 {
			pages = append(pages, strings.Repeat("a", i+1))
			want = append(want, strings.Repeat("A", i+1))
		}
		run, err := fanout.Workflow.Start(ctx, p.Client, "book-1", pages)
		if err != nil {
			t.Fatal(err)
		}
		book, err := run.Result(ctx)
		if err != nil || !slices.Equal(book.Pages, want) {
			t.Errorf("pages %q, %v", book.Pages, err)
		}
		if len(book.Order) != 50 || slices.IsSorted(book.Order) {
			t.Errorf("the pages were ready in the order %v, want each once, and the last ones first", book.Order)
		}
		// The first task has scheduled all of them.
		events, err := p.History(ctx, "book-1")
		if err != nil || testbed.Count(events[:4+50], history.TypeActivityTaskScheduled) != 50 {
			t.Errorf("the history begins with %v, %v; want 50 activities after the first task", events[:4+50], err)
		}
	})
}

func TestABookWithoutPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, fanout.Registrations()...)
		run, err := fanout.Workflow.Start(ctx, p.Client, "book-1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if book, err := run.Result(ctx); err != nil || len(book.Pages) != 0 {
			t.Errorf("%+v, %v", book, err)
		}
	})
}
