package weftest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	Archive   = workflow.NewWorkflow[string, int]("archive")
	Keep      = workflow.NewUpdate[string, string]("keep")
	Render    = activity.New("render", func(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil })
	NewPage   = workflow.NewSignal[int]("newPage")
	CloseBook = workflow.NewSignal[workflow.None]("closeBook")
)

// archive renders pages of the sizes that it receives, and returns their total size in bytes.
func archive(ctx workflow.Context, first string) (int, error) {
	total := len(first)
	Keep.Handle(ctx, func(_ workflow.Context, page string) (string, error) {
		total += len(page)
		return page, nil
	})
	var failed error
	for open := true; open && failed == nil; {
		workflow.Select(ctx,
			workflow.OnSignal(NewPage, func(n int) {
				page, err := Render.Run(ctx, n)
				total, failed = total+len(page), err
			}),
			workflow.OnSignal(CloseBook, func(workflow.None) { open = false }))
	}
	return total, failed
}

// inArchive runs a test with an open archive.
func inArchive(t *testing.T, small bool, fn func(t *testing.T, env *weftest.Env, run workflow.Run[int])) {
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(Archive, archive, workflow.Names(Keep, NewPage, CloseBook)), Render)
		if small {
			env.SmallPayloads()
		}
		run, err := Archive.Start(t.Context(), env.Client(), "archive-1", "")
		if err != nil {
			t.Fatal(err)
		}
		fn(t, env, run)
	})
}

// The environment accepts payloads of up to 5 MiB everywhere, as a deployment does.
func TestLargePayloads(t *testing.T) {
	if testing.Short() {
		t.Skip("large payloads are slow with the race detector, and make test runs this")
	}
	t.Parallel()
	inArchive(t, false, func(t *testing.T, env *weftest.Env, run workflow.Run[int]) {
		ctx, c := t.Context(), env.Client()
		page := strings.Repeat("p", 190<<10)
		got, err := Keep.Call(ctx, c, "archive-1", page)
		if err != nil || got != page {
			t.Errorf("an update of 190 KiB with a result of the same size: %d bytes, %v", len(got), err)
		}
		const most = 5<<20 - len(`""`)
		largest := strings.Repeat("p", most)
		if got, err := Keep.Call(ctx, c, "archive-1", largest); err != nil || got != largest {
			t.Errorf("an update of 5 MiB: %d bytes, %v", len(got), err)
		}
		for _, n := range []int{4 << 20, most} {
			if err := NewPage.Send(ctx, c, "archive-1", n); err != nil {
				t.Fatal(err)
			}
		}
		if err := CloseBook.Send(ctx, c, "archive-1", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		want := len(page) + 2*most + 4<<20
		if got, err := run.Result(ctx); err != nil || got != want {
			t.Errorf("%d bytes, %v; want %d", got, err, want)
		}
		h := env.History("archive-1")
		if n := h.Count(history.TypeActivityTaskCompleted); n != 2 {
			t.Errorf("%d activities completed", n)
		}
		if cost := env.Cost(); cost.BlobPuts == 0 {
			t.Errorf("nothing was offloaded: %v", cost)
		}
	})
}

// A failed test leaves out the middle of large payloads when it logs its histories.
func TestLogOfLargePayloads(t *testing.T) {
	t.Parallel()
	said := play(t, func(r *recorder) {
		env := weftest.New(r, workflow.Bind(Archive, archive, workflow.Names(Keep, NewPage, CloseBook)), Render)
		if _, err := Archive.Start(r.Context(), env.Client(), "archive-1", "first"+strings.Repeat("p", 1<<20)+"last"); err != nil {
			t.Error(err)
		}
		r.Errorf("the test fails, so that it logs its histories")
	})
	expect(t, said, `"input":"firstp`, "bytes are left out]pp", `plast"`)
	if len(said) > 10<<10 {
		t.Errorf("the log has %d bytes", len(said))
	}
}

// A payload one byte above the limit is refused with an error that names the limit and says what to
// do. Without a place for large payloads the limit is 256 KiB. An update with a result as large as
// its input then fits into a second commit.
func TestPayloadsAboveTheLimit(t *testing.T) {
	t.Parallel()
	for _, small := range []bool{false, true} {
		limit, advice := 5<<20, "pass larger things by reference"
		if small {
			limit, advice = 256<<10, "have large payloads kept (WEFT_BUCKET, --large-payloads)"
		}
		names := fmt.Sprint("may have ", limit)
		t.Run(names, func(t *testing.T) {
			if !small && testing.Short() {
				t.Skip("large payloads are slow with the race detector, and make test runs this")
			}
			t.Parallel()
			inArchive(t, small, func(t *testing.T, env *weftest.Env, run workflow.Run[int]) {
				ctx, c := t.Context(), env.Client()
				fits := limit - len(`""`)
				if got, err := Keep.Call(ctx, c, "archive-1", strings.Repeat("p", fits)); err != nil || len(got) != fits {
					t.Errorf("an update at the limit: %d bytes, %v", len(got), err)
				}
				_, err := Keep.Call(ctx, c, "archive-1", strings.Repeat("p", fits+1))
				if err == nil || !strings.Contains(err.Error(), names) || !strings.Contains(err.Error(), advice) {
					t.Errorf("an update above the limit: %v", err)
				}
				if err := NewPage.Send(ctx, c, "archive-1", fits+1); err != nil {
					t.Fatal(err)
				}
				_, err = run.Result(ctx)
				if err == nil || !strings.Contains(err.Error(), names) || !strings.Contains(err.Error(), advice) {
					t.Errorf("an activity whose result is above the limit: %v", err)
				}
			})
		})
	}
}
