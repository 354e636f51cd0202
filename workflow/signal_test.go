package workflow_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

const flood = 10_000

// collect receives signals until one is "stop".
func collect(ctx workflow.Context, _ none) (got []string, err error) {
	for {
		text, err := word.Receive(ctx)
		if err != nil || text == "stop" {
			return got, err
		}
		got = append(got, text)
	}
}

// collectBySelect does the same with Select, like a loop that also waits for other things.
func collectBySelect(ctx workflow.Context, _ none) (got []string, err error) {
	for done := false; !done && err == nil; {
		err = workflow.Select(ctx, workflow.OnSignal(word, func(text string) {
			if done = text == "stop"; !done {
				got = append(got, text)
			}
		}))
	}
	return got, err
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// Ten thousand signals arrive one by one, or all in one task. None is lost, and their order is
// kept.
func TestSignalFlood(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]func(workflow.Context, none) ([]string, error){"Receive": collect, "OnSignal": collectBySelect} {
		for _, together := range []int{1, 100, flood} {
			t.Run(fmt.Sprint(name, " of ", together), func(t *testing.T) {
				t.Parallel()
				s := enginetest.New(t, code, none{})
				for part := range slices.Chunk(append(numbers(flood), "stop"), together) {
					var events []history.Attributes
					for _, text := range part {
						events = append(events, s.Signaled("word", text))
					}
					s.Bring(events...)
				}
				var got []string
				if err := s.Outcome(&got); err != nil || !slices.Equal(got, numbers(flood)) {
					t.Errorf("received %d of %d in order, %v", len(got), flood, err)
				}
			})
		}
	}
}

// The same happens through the API: each sender waits for the answer to its signal, while others
// send as well.
func TestSignalFloodThroughTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := workflow.NewWorkflow[none, []string]("collect")
		ctx, p := t.Context(), testbed.One(t, workflow.Bind(typ, collect, workflow.Names(word)))
		run, err := typ.Start(ctx, p.Client, "w", none{})
		if err != nil {
			t.Fatal(err)
		}
		send := func(text string) {
			if err := word.Send(ctx, p.Client, "w", text); err != nil {
				t.Error(err)
			}
		}
		var senders sync.WaitGroup
		const each = 500
		for i := range 4 {
			senders.Go(func() {
				for j := range each {
					send(fmt.Sprint(i, "/", j))
				}
			})
		}
		senders.Wait()
		send("stop")
		got, err := run.Result(ctx)
		if err != nil || len(got) != 4*each {
			t.Fatalf("received %d of %d, %v", len(got), 4*each, err)
		}
		next := map[string]int{}
		for _, text := range got {
			var sender, n int
			if _, err := fmt.Sscanf(text, "%d/%d", &sender, &n); err != nil || next[text[:1]] != n {
				t.Fatalf("%q was received when number %d of its sender was due: %v", text, next[text[:1]], err)
			}
			next[text[:1]]++
		}
	})
}

// Signals wait until the code receives them, in any coroutine. Each name has a queue of its own.
func TestSignalsWait(t *testing.T) {
	t.Parallel()
	other := workflow.NewSignal[int]("other")
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (log []string, err error) {
		for {
			v, ok, err := other.TryReceive(ctx)
			if !ok || err != nil {
				break
			}
			log = append(log, fmt.Sprint(v))
		}
		text, err := word.Receive(ctx)
		_, ok, _ := word.TryReceive(ctx)
		return append(log, text, fmt.Sprint(ok)), err
	})
	s.Bring(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type}, s.Signaled("other", 1), s.Signaled("word", "up"), s.Signaled("other", 2))
	var got []string
	if err := s.Outcome(&got); err != nil || !slices.Equal(got, []string{"1", "2", "up", "false"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// bomb is a value whose decoder panics.
type bomb struct{}

func (*bomb) UnmarshalJSON([]byte) error { panic("boom") }

// Every way to receive sets aside a signal whose value does not decode or whose decoder panics, and
// then receives the next signal.
func TestPoisonedSignals(t *testing.T) {
	t.Parallel()
	bombs := workflow.NewSignal[bomb]("bombs")
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (log []string, err error) {
		text, err := word.Receive(ctx)
		log = append(log, fmt.Sprint(text, err != nil))
		text, ok, err := word.TryReceive(ctx)
		log = append(log, fmt.Sprint(text, ok, err != nil))
		err = workflow.Select(ctx, workflow.OnSignal(word, func(text string) { log = append(log, text) }))
		_, ok, bad := bombs.TryReceive(ctx)
		return append(log, fmt.Sprint(err, ok, bad)), nil
	})
	poison := s.Signaled("word", history.Payload(`{"not":"a string"}`))
	s.Bring(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type},
		poison, s.Signaled("word", "one"), poison, poison, s.Signaled("word", "two"), poison, s.Signaled("word", "three"), s.Signaled("bombs", 1))
	want := []string{"onefalse", "twotrue false", "three", "<nil> false <nil>"}
	var got []string
	if err := s.Outcome(&got); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
	aside := s.Run.State.SetAside
	if words := aside["word"]; words.Count != 4 || !slices.Equal(words.Events, []int64{2, 4, 5, 7}) {
		t.Errorf("the state counts as set aside: %v", words)
	}
	if one := aside["bombs"]; one.Count != 1 || !slices.Equal(one.Events, []int64{9}) {
		t.Errorf("the state counts as set aside: %v", one)
	}
}

// An input that does not decode is refused. It never ends a process or strands a run.
func TestPoisonThroughTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := workflow.NewWorkflow[bomb, none]("bombed")
		update := workflow.NewUpdate[bomb, none]("update")
		query := workflow.NewQuery[bomb, none]("query")
		code := func(ctx workflow.Context, _ bomb) (none, error) {
			update.Handle(ctx, func(workflow.Context, bomb) (none, error) { return none{}, nil })
			query.Handle(ctx, func(bomb) (none, error) { return none{}, nil })
			_, err := word.Receive(ctx)
			return none{}, err
		}
		ctx, p := t.Context(), testbed.One(t, workflow.Bind(typ, code, workflow.Names(update, query, word)))
		body := []byte(`{"a":1}`)
		if _, _, err := p.Client.Start(ctx, "w", typ.Name(), body, workflow.StartOptions{}); err == nil {
			t.Error("a start whose input's decoder panics: no error")
		}
		if _, _, err := p.Client.Start(ctx, "w", typ.Name(), nil, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Client.Call(ctx, "w", update.Name(), body, workflow.CallOptions{}); err == nil {
			t.Error("an update whose input's decoder panics: no error")
		}
		if _, err := p.Client.Query(ctx, "w", "", query.Name(), body); err == nil {
			t.Error("a query whose input's decoder panics: no error")
		}
		if err := p.Client.Signal(ctx, "w", word.Name(), body, client.SignalOptions{}); err == nil {
			t.Error("a signal whose value does not decode: no error")
		}
		if err := word.Send(ctx, p.Client, "w", "good"); err != nil {
			t.Error(err)
		}
		if _, err := typ.Get(p.Client, "w").Result(ctx); err != nil {
			t.Error(err)
		}
	})
}
