package local

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/workflow"
)

// A server in one process has the task queues that activities are declared with, those that it is given, and those that were
// used in its directory before: what waits there goes on when it is opened again.
func TestTaskQueues(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	made := activity.New("made", func(_ context.Context, at string) (string, error) { return "made " + at, nil }, activity.Options{TaskQueue: "declared"})
	typ := workflow.Declare[string, string]("maker")
	maker := workflow.Bind(typ, func(ctx workflow.Context, at string) (string, error) { return made.On(at).Run(ctx, at) })
	open := func(o Options, registrations ...workflow.Registration) (*Server, error) {
		types := &engine.Registry{}
		for _, r := range registrations {
			if err := r.Register(types); err != nil {
				t.Fatal(err)
			}
		}
		o.Dir = dir
		return Open(types, o)
	}
	s, err := open(Options{TaskQueues: map[string]int{"given": 1}}, maker, made, activity.TaskQueues("named"))
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
	if s, err = open(Options{}, maker, elsewhere); err != nil {
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
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestTaskQueuesThatCannotBe(t *testing.T) {
	t.Parallel()
	for text, queues := range map[string]map[string]int{
		"give a name": {"": 2}, "1 or more": {"slow": -1}, "characters of a-z": {"Slow": 2}, "dead letters": {"slow-dead": 2},
	} {
		if _, err := Open(&engine.Registry{}, Options{TaskQueues: queues}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want an error with %q", queues, err, text)
		}
	}
}
