package executor_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	listener = workflow.NewWorkflow[time.Duration, []string]("listener")
	spoken   = workflow.NewSignal[string]("spoken")
)

// listen sleeps, and then receives two signals.
func listen(ctx workflow.Context, first time.Duration) (got []string, err error) {
	if err := workflow.Sleep(ctx, first); err != nil {
		return nil, err
	}
	for len(got) < 2 {
		text, err := spoken.Receive(ctx)
		if err != nil {
			return nil, err
		}
		got = append(got, text)
	}
	return got, nil
}

// A signal whose value is not of the declared type is refused, and so is one of a name that the
// binding omits, also before the code has received any. Nothing is written.
func TestASignalOfAnotherTypeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), context.Background()
		var log testbed.Warnings
		o := executor.Options{Logger: log.Logger()}
		p, cold := d.Start(o, workflow.Bind(listener, listen, workflow.Names(spoken))), d.Idle(o, workflow.Bind(listener, listen, workflow.Names(spoken)))
		if _, err := listener.Start(ctx, p.Client, "w", 0, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		before := d.Snapshot()
		for _, s := range []edge.Service{p.Service, cold.Service} {
			_, err := s.Signal(ctx, "w", "", "spoken", schema.SignalRequest{Input: []byte(`{"name":"bob"}`), RequestID: "bad"})
			if !errors.Is(err, refusal.Invalid) {
				t.Errorf("a value that does not decode: %v", err)
			}
			var refused *refusal.Error
			_, err = s.Signal(ctx, "w", "", "spokn", schema.SignalRequest{RequestID: "bad"})
			if !errors.As(err, &refused) || refused.Kind != refusal.Invalid || !slices.Equal(refused.Known, []string{"spoken"}) {
				t.Errorf("a name that the binding omits: %v", err)
			}
		}
		if d.Snapshot() != before {
			t.Error("a refused signal has changed something")
		}
		start := &schema.StartRequest{Type: "listener", Input: []byte("0")}
		_, err := p.Service.Signal(ctx, "other", "", "spoken", schema.SignalRequest{Input: []byte("1"), RequestID: "bad", Start: start})
		if !errors.Is(err, refusal.Invalid) || len(d.Runs("other")) > 0 {
			t.Errorf("with a start: %v, and there are %d runs", err, len(d.Runs("other")))
		}
		if text := log.Take(); text != "" {
			t.Errorf("refused signals are logged: %s", text)
		}
		for _, text := range []string{"a", "b"} {
			if err := spoken.Send(ctx, p.Client, "w", text); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := listener.Get(p.Client, "w").Result(ctx); err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A binding that names no signals and is dynamic accepts all of them. A signal that was accepted
// before its type was known is set aside, and the run continues. The run's description counts that
// signal. It also counts a signal that the code does not receive.
func TestASignalOfAnotherTypeIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), context.Background()
		var log testbed.Warnings
		p := d.Start(executor.Options{Logger: log.Logger()}, workflow.Bind(listener, listen, workflow.BindOptions{Dynamic: workflow.Signals}))
		if _, err := listener.Start(ctx, p.Client, "w", time.Minute, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		send := func(name, value string) {
			t.Helper()
			if _, err := p.Service.Signal(ctx, "w", "", name, schema.SignalRequest{Input: []byte(value)}); err != nil {
				t.Fatal(err)
			}
		}
		describe := func() []schema.UnreadSignal {
			t.Helper()
			what, err := p.Client.Describe(ctx, "w", "")
			if err != nil {
				t.Fatal(err)
			}
			return what.UnreadSignals
		}
		send("spoken", "17")
		send("spoken", `"a"`)
		send("spokn", `"b"`)
		arrived := time.Now()
		send("spokn", `"b"`)
		if u := describe(); len(u) != 2 || u[0].Name != "spoken" && u[1].Name != "spoken" || u[0].Count != 2 || u[1].Count != 2 || u[0].Since == nil || u[0].Since.After(arrived) {
			t.Errorf("before the code receives signals: %+v", u)
		}
		time.Sleep(2 * time.Minute)
		if u := describe(); len(u) != 2 || !reflect.DeepEqual(u[0], schema.UnreadSignal{Name: "spoken", SetAside: 1, SetAsideEvents: []int64{6}}) || u[1].Name != "spokn" || u[1].Count != 2 {
			t.Errorf("after the code has received one: %+v", u)
		}
		if text := log.Take(); strings.Count(text, "was set aside") != 1 || !strings.Contains(text, "signal=spoken count=1 want=string") {
			t.Errorf("the log is: %s", text)
		}
		send("spoken", `"c"`)
		if got, err := listener.Get(p.Client, "w").Result(ctx); err != nil || !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("%q, %v", got, err)
		}
		if u := describe(); len(u) != 2 || !reflect.DeepEqual(u[0], schema.UnreadSignal{Name: "spoken", SetAside: 1, SetAsideEvents: []int64{6}}) || u[1].Name != "spokn" || u[1].Count != 2 || u[1].Since == nil {
			t.Errorf("after the run has closed: %+v", u)
		}
		d.CheckReplay(p)
	})
}

// A history of an earlier version, in which the code received the error of such a signal, replays.
func TestReplayOfASignalThatDidNotDecode(t *testing.T) {
	types := &engine.Registry{}
	if err := bridge.Register(types, workflow.Bind(listener, func(ctx workflow.Context, _ time.Duration) (got []string, err error) {
		if _, err := spoken.Receive(ctx); err != nil {
			return got, workflow.Sleep(ctx, time.Hour)
		}
		return got, nil
	}, workflow.Names(spoken))); err != nil {
		t.Fatal(err)
	}
	fireAt := history.At(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	commits := []*history.Commit{{
		RunID: history.NewRunID(1, [8]byte{7}), FirstEventID: 1, Time: fireAt.Add(-time.Hour), Task: &history.Task{Attempt: 1},
		InputEvents: []history.Event{
			history.Of(&history.WorkflowExecutionStarted{WorkflowType: "listener", Input: history.Payload("0")}),
			history.Of(&history.WorkflowExecutionSignaled{SignalName: "spoken", Input: history.Payload("17")}),
		},
		Commands: []history.Event{history.Of(&history.TimerStarted{FireAt: fireAt})},
	}}
	testbed.ReplayRun(t, types.Workflow("listener"), "w", commits)
}

// A metric counts signals that no code has asked for: once for a name, as long as a signal of that
// name is unread. It does not count signals that the code asks for.
func TestUnhandledSignalsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, told := testbed.New(t), &testbed.Observed{}
		p := d.Start(executor.Options{Observe: observe.New(told)}, workflow.Bind(listener, listen, workflow.BindOptions{Dynamic: workflow.Signals}))
		if _, err := listener.Start(t.Context(), p.Client, "w", 0, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"spokn", "spokn", "spoken", "said"} {
			if err := p.Client.Signal(t.Context(), "w", name, history.Payload(`"x"`), client.SignalOptions{}); err != nil {
				t.Fatal(err)
			}
			want := []float64{1, 1, 1, 2}[i]
			if got := told.Sum(observe.UnhandledSignals); got != want {
				t.Errorf("after signal %d, %q: %v, want %v", i, name, got, want)
			}
		}
	})
}

// Signals that a run has not received when it continues as new belong to the next run, and are
// listed only there.
func TestUnreadSignalsOfARunThatContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testbed.One(t, workflow.Bind(relayType, runRelay, workflow.Names(relayAdd, relaySum, relayNote, workflow.NewSignal[int]("nobody"))))
		ctx := context.Background()
		first, err := relayType.Start(ctx, p.Client, "w", 0, workflow.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Service.Signal(ctx, "w", "", "nobody", schema.SignalRequest{Input: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		if d, err := p.Service.Describe(ctx, "w", history.RunID(first.RunID)); err != nil || len(d.UnreadSignals) != 1 {
			t.Errorf("the open run: %+v, %v", d, err)
		}
		if err := relayNote.Send(ctx, p.Client, "w", "lap"); err != nil {
			t.Fatal(err)
		}
		before, err := p.Service.Describe(ctx, "w", history.RunID(first.RunID))
		if err != nil || !before.Status.Closed() || len(before.UnreadSignals) != 0 {
			t.Errorf("the run that continued as new: %+v, %v", before, err)
		}
		next, err := p.Service.Describe(ctx, "w", "")
		if err != nil || len(next.UnreadSignals) != 1 || next.UnreadSignals[0].Count != 1 {
			t.Errorf("the next run: %+v, %v", next, err)
		}
	})
}
