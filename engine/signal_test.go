package engine_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// A task records the events of the signals that it sets aside, of each name as many as there is
// room for, and how many it has set aside in all.
func TestTheEventsOfSignalsThatAreSetAside(t *testing.T) {
	t.Parallel()
	other := workflow.NewSignal[int]("other")
	s := enginetest.New(t, func(ctx workflow.Context, _ workflow.None) (string, error) {
		for range 2 { // each takes a signal of every second wake-up
			workflow.Go(ctx, func(ctx workflow.Context) {
				for {
					if _, err := Poke.Receive(ctx); err != nil {
						return
					}
				}
			})
		}
		workflow.Go(ctx, func(ctx workflow.Context) { _, _ = other.Receive(ctx) })
		return paper.Receive(ctx)
	}, workflow.None{})
	bad, good := s.Signaled("poke", 1), s.Signaled("poke", "a")
	s.Bring(good, bad, bad, good, s.Signaled("other", "b"), bad)
	task := func() []history.Unread { return s.Run.Log[len(s.Run.Log)-1].Task.SetAside }
	if got, want := task(), []history.Unread{{Name: "other", Count: 1, EventID: 9}, {Name: "poke", Count: 1, EventID: 6}, {Name: "poke", Count: 1, EventID: 7}, {Name: "poke", Count: 1, EventID: 10}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the task has set aside %v, want %v", got, want)
	}
	s.Bring(good)
	if got := task(); got != nil {
		t.Errorf("the next task has set aside %v", got)
	}
	var many []history.Attributes
	for range 12 {
		many = append(many, bad)
	}
	s.Bring(append(many, s.Signaled("other", "c"))...)
	if got := task(); len(got) != 10 || got[0] != (history.Unread{Name: "other", Count: 1, EventID: 30}) || got[1].EventID != 18 || got[9] != (history.Unread{Name: "poke", Count: 4, EventID: 26}) {
		t.Errorf("a task has set aside %v", got)
	}
	aside := s.Run.State.SetAside
	if p := aside["poke"]; p.Count != 15 || fmt.Sprint(p.Events) != "[10 18 19 20 21 22 23 24 25 26]" {
		t.Errorf("the run has set aside %v", p)
	}
	if o := aside["other"]; o.Count != 2 || fmt.Sprint(o.Events) != "[9 30]" {
		t.Errorf("the run has set aside %v", o)
	}
}
