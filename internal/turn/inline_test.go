package turn_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/workflow"
)

// A run schedules an inline activity in the task in which it continues as new, and the next run begins with another of the same
// number: that one is run with its own input.
func TestInlineOfTheNextRun(t *testing.T) {
	t.Parallel()
	lap := workflow.Declare[int, string]("lap")
	quick := activity.New("quick", func(_ context.Context, text string) (string, error) { return text, nil })
	inline := quick.With(activity.Options{Inline: true})
	sameNumber := false
	for patches := range 8 { // events that stand before the activity of the next run
		run := func(ctx workflow.Context, before int) (string, error) {
			if before < 0 {
				if _, err := quick.Run(ctx, "the one before"); err != nil {
					return "", err
				}
				inline.Start(ctx, "of the run before")
				return lap.ContinueAsNew(ctx, patches)
			}
			for i := range before {
				workflow.Patched(ctx, fmt.Sprint(i))
			}
			return inline.Run(ctx, "of the next run")
		}
		synctest.Test(t, func(t *testing.T) {
			d := turntest.New(t)
			p := d.Start(turn.Options{}, workflow.Bind(lap, run), quick)
			started, err := lap.Start(t.Context(), p.Client, "w", -1)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			result, err := lap.Get(p.Client, "w").Result(t.Context())
			if err != nil || result != "of the next run" {
				t.Errorf("after %d patches the next run's activity returned %q, %v", patches, result, err)
			}
			last := func(runID string) (id int64) {
				told, err := p.Client.History(t.Context(), "w", runID)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range told.Events {
					if _, ok := e.Attributes.(*history.ActivityTaskScheduled); ok {
						id = e.ID
					}
				}
				return id
			}
			sameNumber = sameNumber || last(started.RunID) == last("")
			p.Stop()
			d.CheckReplay(p)
		})
	}
	if !sameNumber {
		t.Error("in no case the two activities have the same number")
	}
}
