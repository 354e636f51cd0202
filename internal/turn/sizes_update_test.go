package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/workflow"
)

// An update brings a run to its end. Its input, its outcome and the run's result fit into two commits, whatever the code does with them.
func TestLargeUpdateThatEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		for _, size := range []int{100 << 10, 150 << 10, 180 << 10} {
			for _, cache := range []int{0, -1} {
				t.Run(fmt.Sprint(waits, size, cache), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { playUpdateThatEnds(t, waits, size, cache) })
				})
			}
		}
	}
}

func playUpdateThatEnds(t *testing.T, waits bool, size, cache int) {
	ends, now := workflow.Declare[int, string]("ends"), workflow.NewUpdate[string, string]("ends.now")
	code := workflow.Bind(ends, func(ctx workflow.Context, _ int) (text string, err error) {
		now.Handle(ctx, func(_ workflow.Context, s string) (string, error) { text = s; return s, nil })
		err = workflow.Await(ctx, func() bool { return text != "" })
		if err == nil && waits {
			err = workflow.AwaitHandlers(ctx)
		}
		return text, err
	})
	d := turntest.New(t)
	p := d.Start(turn.Options{CacheEntries: cache}, code)
	defer d.Replay(code)
	defer p.Stop()
	run, err := ends.Start(t.Context(), p.Client, "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", size)
	got, err := now.Call(t.Context(), p.Client, "a", text)
	if err != nil || got != text {
		t.Fatalf("the update has %d bytes, %v", len(got), err)
	}
	if got, err := run.Result(t.Context()); err != nil || got != text {
		t.Errorf("the run has %d bytes, %v", len(got), err)
	}
}
