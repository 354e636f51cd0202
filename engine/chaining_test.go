package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// inlines returns for each activity of a run whether it is recorded as inline.
func inlines(s *enginetest.Harness) (all []bool) {
	for _, c := range s.Run.Log {
		for _, e := range c.Commands {
			if a, ok := e.Attributes.(*history.ActivityTaskScheduled); ok {
				all = append(all, a.Inline)
			}
		}
	}
	return all
}

// Options.Chain decides how an activity is recorded in the task that writes its event. That may be
// a later task than the one in which the code asked for it, and the code may have been rebuilt in
// between.
func TestChainIsOfTheTaskThatWrites(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} {
		s := enginetest.Open(t, func(ctx workflow.Context, _ workflow.None) (string, error) {
			var group workflow.WaitGroup
			for _, o := range []activity.Options{{}, {}, {Queued: true}, {Inline: true}, {}} {
				group.Go(ctx, func(ctx workflow.Context) { _, _ = Process.With(o).Run(ctx, "x") })
			}
			return "", group.Wait(ctx)
		})
		s.Cold, s.Starts = cold, 1
		s.Start(workflow.None{})
		for _, chain := range []bool{true, true, false, false} {
			s.Chain = chain
			s.Sleep(time.Millisecond)
		}
		if got, want := inlines(s), []bool{false, true, false, true, false}; !slices.Equal(got, want) {
			t.Errorf("cold %v: the activities are recorded as inline: %v, want %v\n%s", cold, got, want, s.Text())
		}
		for n := range s.Run.Log {
			s.Replay(n)
		}
	}
}

// A task that a process without Options.Chain replays, or runs again, is the same.
func TestChainOfAReplay(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t, func(ctx workflow.Context, _ workflow.None) (string, error) { return Process.Run(ctx, "x") })
	s.Chain = true
	s.Start(workflow.None{})
	s.Chain = false
	s.Deploy()
	s.Replay(0)
	s.Complete(s.Activities()[0], "y")
	if got := inlines(s); !slices.Equal(got, []bool{true}) || !s.Run.State.Status.Closed() {
		t.Errorf("inline: %v\n%s", got, s.Text())
	}
}
