package local

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// A server in one process has the task queues that activities are declared with, those that it is
// given, and those that were used in its directory before. Work that waits in an old queue
// continues when the directory is opened again.
func TestTaskQueues(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	made := activity.New("made", func(_ context.Context, at string) (string, error) { return "made " + at, nil }, activity.Options{TaskQueue: "declared"})
	typ := workflow.NewWorkflow[string, string]("maker")
	maker := workflow.Bind(typ, func(ctx workflow.Context, at string) (string, error) { return made.On(at).Run(ctx, at) })
	open := func(o Options, registrations ...workflow.Registration) (*Server, error) {
		types := &engine.Registry{}
		for _, r := range registrations {
			if err := bridge.Register(types, r); err != nil {
				t.Fatal(err)
			}
		}
		o.Dir = dir
		return Open(types, o)
	}
	s, err := open(Options{TaskQueues: map[string]limits.TaskQueue{"given": {AtOnce: 1, Rate: limits.Rate{PerSecond: 1}}}}, maker, made, activity.TaskQueues("named"))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"declared", "given", "named", ""}
	for _, at := range all {
		if _, err := typ.Start(ctx, client.ForHandler(s.Handler()), "at-"+at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // nothing has run: the messages wait
		t.Fatal(err)
	}
	elsewhere := activity.New("made", func(_ context.Context, at string) (string, error) { return "made " + at, nil })
	rate := limits.Rate{PerSecond: 1000}
	if s, err = open(Options{Rate: rate, TaskQueues: map[string]limits.TaskQueue{"given": {Rate: rate}}}, maker, elsewhere); err != nil {
		t.Fatal(err)
	}
	working, stop := context.WithCancel(ctx)
	var worked sync.WaitGroup
	worked.Go(func() { s.Work(working) })
	for _, at := range all {
		got, err := typ.Get(client.ForHandler(s.Handler()), "at-"+at).Result(ctx)
		if err != nil || got != "made "+at {
			t.Errorf("on %q: %q, %v", at, got, err)
		}
	}
	stop()
	worked.Wait()
	for name, rated := range map[string]bool{"": true, "given": true, "named": false} {
		at, err := s.backend.ports.Rates.Reserve(ctx, store.Reservation{TaskQueue: name, Floor: time.Unix(0, 0), By: time.Microsecond})
		if err != nil || at.After(time.Unix(1, 0)) != rated {
			t.Errorf("the slots of %q are given out until %v, %v; it has a rate: %v", name, at, err, rated)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestInvalidTaskQueues(t *testing.T) {
	t.Parallel()
	for text, queues := range map[string]map[string]limits.TaskQueue{
		"give a name": {"": {}}, "1 or more": {"slow": {AtOnce: -1}}, "characters of a-z": {"Slow": {}}, "dead letters": {"slow-dead": {}},
		"1000 in a second": {"slow": {Rate: limits.Rate{PerSecond: 1e6}}}, "without a rate": {"slow": {Rate: limits.Rate{Burst: 2}}},
	} {
		if _, err := Open(&engine.Registry{}, Options{TaskQueues: queues}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want an error with %q", queues, err, text)
		}
	}
	if _, err := Open(&engine.Registry{}, Options{Rate: limits.Rate{PerSecond: -1}}); err == nil || !strings.Contains(err.Error(), "default task queue") {
		t.Errorf("a rate below 0: %v", err)
	}
}
