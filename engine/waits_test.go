package engine_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/where"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// waiters are the workflows of the scripts about waits, by their names. Each waits in ways of its
// own.
var waiters = map[string]func(workflow.Context, string) (string, error){
	"selecting": selecting, "locking": locking, "handling": handling, "calling": calling, "crowd": crowd, "many": many, "bounded": bounded,
}

func init() { maps.Copy(parents, waiters) }

// selecting waits for one of many things.
func selecting(ctx workflow.Context, item string) (string, error) {
	done := false
	future, _ := workflow.NewFuture[string](ctx)
	return "", workflow.Select(ctx,
		workflow.OnSignal(Poke, nil),
		workflow.OnTimeout(time.Hour, nil),
		workflow.OnFuture(Process.Start(ctx, item), nil),
		workflow.OnFuture(Ship.StartChild(ctx, item, workflow.ChildOptions{WorkflowID: "ship-" + item}).Result(), nil),
		workflow.OnFuture(Poke.SendTo(ctx, workflow.External("other"), item), nil),
		workflow.OnFuture(future, nil),
		workflow.OnReceive(workflow.NewChannel[int](0), nil),
		workflow.OnCondition(func() bool { return done }))
}

// locking waits for what other coroutines have or do.
func locking(ctx workflow.Context, item string) (string, error) {
	var mutex workflow.Mutex
	var group workflow.WaitGroup
	units, channel := workflow.NewSemaphore(2), workflow.NewChannel[string](0)
	group.Go(ctx, func(ctx workflow.Context) {
		_ = mutex.Lock(ctx)
		_ = units.Acquire(ctx, 2)
		_, _ = Process.Run(ctx, item)
	})
	group.Go(ctx, func(ctx workflow.Context) { _ = mutex.Lock(ctx) })
	group.Go(ctx, func(ctx workflow.Context) { _ = units.Acquire(ctx, 1) })
	group.Go(ctx, func(ctx workflow.Context) { _ = channel.Send(ctx, item) })
	return "", group.Wait(ctx)
}

// handling waits for the handlers of its updates.
func handling(ctx workflow.Context, _ string) (string, error) {
	Slow.Handle(ctx, func(ctx workflow.Context, item string) (string, error) {
		workflow.Go(ctx, func(ctx workflow.Context) { _ = workflow.Sleep(ctx, time.Minute) })
		return Process.Run(ctx, item)
	})
	if _, err := Poke.Receive(ctx); err != nil {
		return "", err
	}
	return "", workflow.AwaitHandlers(ctx)
}

// calling waits for the start of a child, and its other coroutine for a local activity.
func calling(ctx workflow.Context, item string) (string, error) {
	workflow.Go(ctx, func(ctx workflow.Context) { _, _ = Price.Run(ctx, item) })
	_, err := Ship.StartChild(ctx, item, workflow.ChildOptions{WorkflowID: "ship-" + item}).Started(ctx)
	return "", err
}

// crowd waits in many coroutines that are alike.
func crowd(ctx workflow.Context, _ string) (string, error) {
	for range 3 {
		workflow.Go(ctx, func(ctx workflow.Context) { _, _ = Poke.Receive(ctx) })
	}
	_, err := workflow.AwaitFor(ctx, time.Hour, func() bool { return false })
	return "", err
}

// many starts more than fits into a task.
func many(ctx workflow.Context, item string) (string, error) {
	for range 3 {
		Process.Start(ctx, item)
	}
	return Poke.Receive(ctx)
}

// bounded waits for a condition that panics when it is asked after a poke.
func bounded(ctx workflow.Context, _ string) (string, error) {
	workflow.Go(ctx, func(ctx workflow.Context) { _, _ = Process.Run(ctx, "it") })
	text, err := Poke.Receive(ctx)
	if err != nil {
		return "", err
	}
	return "", workflow.Await(ctx, func() bool { panic("cannot wait for " + text) })
}

// waits shows where the code of a fresh instance waits after a replay.
func (p *player) waits() {
	in := p.newInstance(p.run.State.Started.WorkflowType)
	defer in.Close()
	in.Trace()
	if err := p.run.CatchUp(in); err != nil {
		p.printf("stopped: %v", err)
	}
	for _, w := range in.Waits() {
		p.printf("%s", waitText(w))
	}
	p.printf("it has seen event %d", p.run.LastSeen(in))
}

// waitText returns the author's function, without its line, and what a coroutine waits for.
func waitText(w engine.CoroutineWait) string {
	text := w.Name
	if w.UpdateID != "" {
		text += " of " + w.UpdateID
	}
	if at := where.OfCallers(w.PCs); len(at) > 0 {
		text += " in " + at[0].Name()
	}
	for _, what := range w.For {
		text += "\n  " + string(what.Kind)
		for _, detail := range []string{what.Name, what.Type, what.WorkflowID} {
			if detail != "" {
				text += " " + detail
			}
		}
		if what.EventID != 0 {
			text += fmt.Sprint(", event ", what.EventID)
		}
		if what.FireAt != 0 {
			text += " at " + what.FireAt.Time().Format(time.TimeOnly)
		}
		if what.Attempt != 0 {
			text += fmt.Sprint(", attempt ", what.Attempt)
		}
	}
	return text
}

// A replay in which code panics leaves the other coroutines: also those that wait for what the
// failed task has started, which has no event.
func TestWaitsAfterAPanic(t *testing.T) {
	t.Parallel()
	broken := false
	s := enginetest.New(t, func(ctx workflow.Context, item string) (string, error) {
		started := Process.Start(ctx, item)
		workflow.Go(ctx, func(ctx workflow.Context) { _, _ = started.Get(ctx) })
		workflow.Go(ctx, func(ctx workflow.Context) { _ = workflow.Sleep(ctx, time.Minute) })
		workflow.Go(ctx, func(ctx workflow.Context) { _, _ = Ship.RunChild(ctx, item) })
		workflow.Go(ctx, func(ctx workflow.Context) { _, _ = Poke.SendTo(ctx, workflow.External("other"), item).Get(ctx) })
		workflow.Go(ctx, func(workflow.Context) {
			if broken {
				panic("torn")
			}
		})
		return Poke.Receive(ctx)
	}, "socks")
	defer func() { broken = false }() // the harness replays the run at the end
	broken = true
	in := s.Fresh()
	defer in.Close()
	in.Trace()
	if err := s.Run.CatchUp(in); err == nil {
		t.Fatal("the replay did not fail")
	}
	var kinds []string
	for _, w := range in.Waits() {
		for _, what := range w.For {
			kinds = append(kinds, fmt.Sprint(what.Kind, what.EventID))
		}
	}
	if want := []string{"signal0", "activity0", "timer0", "child0", "external0"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
	if seen := s.Run.LastSeen(in); seen != 3 {
		t.Errorf("it has seen event %d", seen)
	}
}

// Code that has not begun has seen nothing.
func TestWaitsBeforeTheFirstTask(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t, func(ctx workflow.Context, _ string) (string, error) { return Poke.Receive(ctx) })
	started := history.Of(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type, Input: payload("x")})
	run := engine.NewRun(enginetest.WorkflowID, 1)
	if err := run.Append(run.Hold(s.Writer(), []history.Event{started}), 0); err != nil {
		t.Fatal(err)
	}
	in := s.Fresh()
	defer in.Close()
	in.Trace()
	if err := run.CatchUp(in); err != nil {
		t.Fatal(err)
	}
	if waits, seen := in.Waits(), run.LastSeen(in); len(waits) != 0 || seen != 0 {
		t.Errorf("it has seen event %d, and waits for %+v", seen, waits)
	}
}

// For every program and all that happens to it, a traced replay of each prefix of its log does the
// same as one that is not traced: it ends in the same way, waits for the same futures, and the next
// task has the same events. Everything that it waits for is pending.
func TestTracedReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		s := p.on(t)
		if s.Run.State.Status.Closed() {
			return
		}
		run := engine.NewRun(s.Run.WorkflowID, 1)
		for i, c := range s.Run.Log {
			if err := run.Append(c, len(s.Bodies[i])); err != nil {
				t.Fatal(err)
			}
			traced, plain := s.Fresh(), s.Fresh()
			traced.Trace()
			err, want := run.CatchUp(traced), run.CatchUp(plain)
			if fmt.Sprint(err) != fmt.Sprint(want) || !slices.Equal(traced.PendingFutures(), plain.PendingFutures()) {
				t.Fatalf("after slot %d: %v and %v, %v and %v", i, err, want, traced.PendingFutures(), plain.PendingFutures())
			}
			checkWaits(t, run, traced)
			if err == nil {
				if got, want := next(t, s, run, traced), next(t, s, run, plain); !bytes.Equal(got, want) {
					t.Fatalf("after slot %d the next task differs: %x and %x", i, got, want)
				}
			}
			if len(plain.Waits()) != 0 {
				t.Fatal("an untraced instance says where it waits")
			}
			traced.Close()
			plain.Close()
		}
	})
}

// next returns the commit of a task that delivers a signal, without the stack of a failure.
func next(t *rapid.T, s *enginetest.Harness, run *engine.Run, in *engine.Instance) []byte {
	t.Helper()
	w := &engine.Writer{Now: run.State.LastTime + 1, Commit: history.CommitID{1}, Build: "b"}
	transition := run.Step(in, w, engine.Task{InputEvents: []history.Event{history.Of(s.Signaled("end", nil))}})
	if transition.Commit == nil {
		return nil // it waits for a local activity
	}
	if f := transition.Failure; f != nil {
		f.Stack = ""
	}
	body, err := history.Encode(transition.Commit)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func checkWaits(t *rapid.T, run *engine.Run, in *engine.Instance) {
	t.Helper()
	pending := in.PendingFutures()
	for _, w := range in.Waits() {
		if len(w.PCs) == 0 || !strings.HasPrefix(where.Frames(w.PCs)[0].Function, "github.com/seed-41655fb1/weft/engine/coro.") {
			t.Fatalf("the frames of %s are %v", w.Name, where.Frames(w.PCs))
		}
		for _, what := range w.For {
			if what.EventID != 0 && !slices.Contains(pending, what.EventID) {
				t.Fatalf("%s waits for event %d, and %v are pending", w.Name, what.EventID, pending)
			}
			if what.Kind == "" {
				t.Fatalf("%s waits for nothing that is known", w.Name)
			}
		}
	}
	if seen := run.LastSeen(in); seen < 0 || seen >= run.State.NextEventID {
		t.Fatalf("it has seen event %d of %d", seen, run.State.NextEventID-1)
	}
}

// What the traced replay costs is beside what a replay costs.
func BenchmarkReplay(b *testing.B) {
	for _, traced := range []bool{false, true} {
		b.Run(fmt.Sprintf("traced=%v", traced), func(b *testing.B) {
			p := &player{}
			p.start(&history.WorkflowExecutionStarted{WorkflowType: "fan", Input: payload("200")})
			for event := int64(5); event < 205; event++ {
				done := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: event, Result: payload("done"), Attempt: 1})
				p.step(engine.Task{InputEvents: []history.Event{done}})
			}
			p.close()
			b.ResetTimer()
			for range b.N {
				in := p.newInstance("fan")
				if traced {
					in.Trace()
				}
				if err := p.run.CatchUp(in); err != nil {
					b.Fatal(err)
				}
				in.Close()
			}
		})
	}
}
