package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	late    = workflow.NewSignal[int]("late")
	openAll = workflow.BindOptions{Dynamic: workflow.Signals | workflow.Updates | workflow.Queries, Names: []workflow.Name{word, late, call, ask}}
)

// Code that receives signals of all names gets those that it has not received by name, in the order
// of arrival, also those that arrived before. Once it receives a name, that name's signals go
// there.
func TestSignalsOfAllNames(t *testing.T) {
	t.Parallel()
	code := func(ctx workflow.Context, _ none) (log []string, err error) {
		text, err := word.Receive(ctx)
		log = append(log, text)
		for err == nil {
			var name string
			var value workflow.Raw
			err = workflow.Select(ctx, workflow.OnSignals(func(n string, v workflow.Raw) { name, value = n, v }))
			log = append(log, name+"="+string(value))
			switch name {
			case "one by one":
				name, value, err = workflow.ReceiveSignals(ctx)
				log = append(log, name+"="+string(value))
			case "by name":
				n, bad := late.Receive(ctx)
				log = append(log, fmt.Sprint("late ", n, bad))
			case "end":
				n, _, bad := late.TryReceive(ctx)
				_, _, more := workflow.TryReceiveSignals(ctx)
				return append(log, fmt.Sprint("late ", n, bad, more)), nil
			}
		}
		return log, err
	}
	var logs []string
	for _, together := range []int{1, 3, 20} {
		for _, cold := range []bool{false, true} {
			s := enginetest.New(t, code, none{}, openAll)
			s.Cold = cold
			all := []history.Attributes{
				s.Signaled("a", 1), s.Signaled("late", 7), s.Signaled("b", 2), s.Signaled("a", 3), s.Signaled("word", "go"), s.Signaled("late", "bad"),
				s.Signaled("word", "again"), s.Signaled("by name", nil), s.Signaled("late", 8), s.Signaled("one by one", nil), s.Signaled("late", 9), s.Signaled("c", 4), s.Signaled("end", nil),
			}
			for part := range slices.Chunk(all, together) {
				s.Bring(part...)
			}
			var log []string
			if err := s.Outcome(&log); err != nil {
				t.Fatal(err)
			}
			logs = append(logs, strings.Join(log, ", "))
			if n := s.Run.State.Unread["word"]; n == nil || n.Count != 1 {
				t.Errorf("the signal that was not received by its name is %+v", n)
			}
		}
	}
	const want = `go, a=1, late=7, b=2, a=3, late="bad", by name=null, late 8 <nil>, one by one=null, c=4, end=null, late 9 <nil> false`
	for _, log := range logs {
		if log != want {
			t.Errorf("%s\nwant %s", log, want)
		}
	}
}

// A signal that code has not received goes to the run that continues this one, whichever way the
// code receives.
func TestSignalsOfAllNamesContinue(t *testing.T) {
	t.Parallel()
	typ := workflow.NewWorkflow[none, string](enginetest.Type)
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (string, error) {
		for {
			name, _, err := workflow.ReceiveSignals(ctx)
			if err != nil || name == "next" {
				return typ.ContinueAsNew(ctx, none{})
			}
		}
	}, none{}, openAll)
	transition := s.Bring(s.Signaled("a", 1), s.Signaled("next", 2), s.Signaled("b", 3), s.Signaled("a", 4))
	var left []string
	for _, e := range transition.Next[1:] {
		a := e.Attributes.(*history.WorkflowExecutionSignaled)
		left = append(left, a.SignalName+string(a.Input))
	}
	if !slices.Equal(left, []string{"b3", "a4"}) {
		t.Errorf("the next run begins with %q", left)
	}
}

// Handlers of all names take what has no handler of its own.
func TestHandlersOfAllNames(t *testing.T) {
	t.Parallel()
	code := func(ctx workflow.Context, _ none) (none, error) {
		call.Handle(ctx, func(workflow.Context, none) (none, error) { return none{}, nil })
		ask.Handle(ctx, func(none) (none, error) { return none{}, nil })
		var log []string
		workflow.HandleUpdates(ctx, func(ctx workflow.Context, name string, in workflow.Raw) (workflow.Raw, error) {
			if name == "wait" {
				return nil, workflow.Sleep(ctx, time.Hour)
			}
			log = append(log, name)
			return json.Marshal(name + string(in))
		}, workflow.UpdatesOptions{Validate: func(name string, in workflow.Raw) error {
			if string(in) == "13" {
				return errNo
			}
			return nil
		}})
		workflow.HandleQueries(ctx, func(name string, in workflow.Raw) (workflow.Raw, error) {
			if name == "bad" {
				return nil, errNo
			}
			return json.Marshal(fmt.Sprint(name, string(in), log))
		})
		_, err := word.Receive(ctx)
		return none{}, errors.Join(err, workflow.AwaitHandlers(ctx))
	}
	for _, cold := range []bool{false, true} {
		s := enginetest.Open(t, code, openAll)
		s.Cold = cold
		// The update arrives with the start, before the code has set any handler.
		transition := s.Step(engine.Task{
			InputEvents: []history.Event{history.Of(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type})},
			Updates:     []engine.UpdateRequest{{ID: "first", Name: "early", Input: history.Payload("1")}, {ID: "own", Name: "call"}},
		})
		if transition.Failure != nil || transition.Updates[0].Verdict != engine.Accepted || transition.Updates[1].Verdict != engine.Accepted {
			t.Fatalf("%+v", transition)
		}
		s.Update("two", "wait", nil)
		s.Update("three", "any", 2)
		if u, _ := s.Update("four", "any", 13); u.Verdict != engine.Rejected {
			t.Errorf("the validator's refusal: %+v", u)
		}
		if got, err := s.Query("what", 3); string(got) != `"what3[early any]"` || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if got, err := s.Query("ask", nil); err != nil {
			t.Errorf("the query with a handler of its own: %s, %v", got, err)
		}
		if _, err := s.Query("bad", nil); err == nil {
			t.Error("the handler's error is lost")
		}
		if got := string(s.Run.State.Updates["three"].Completed.Result); got != `"any2"` {
			t.Errorf("the result is %s", got)
		}
		s.Signal("word", "over")
		s.Sleep(2 * time.Hour)
		if s.Run.State.Status != history.Completed {
			t.Errorf("%v: %s", s.Run.State.Status, s.Text())
		}
	}
}

// A binding that does not allow names of a kind refuses what handles all of them.
func TestNamesHaveToBeDynamic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		do   func(ctx workflow.Context)
	}{
		{`receives signals of all names: add workflow.Signals to BindOptions.Dynamic`, func(ctx workflow.Context) { workflow.TryReceiveSignals(ctx) }},
		{`handles updates of all names: add workflow.Updates to BindOptions.Dynamic`, func(ctx workflow.Context) { workflow.HandleUpdates(ctx, nil) }},
		{`handles queries of all names: add workflow.Queries to BindOptions.Dynamic`, func(ctx workflow.Context) { workflow.HandleQueries(ctx, nil) }},
	} {
		code := func(ctx workflow.Context, _ none) (none, error) { c.do(ctx); return none{}, nil }
		for _, given := range []workflow.BindOptions{workflow.Names(), workflow.Names(word, call, ask)} {
			if err := enginetest.New(t, code, none{}, given).Stuck(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		}
		twice := func(ctx workflow.Context, _ none) (none, error) { c.do(ctx); c.do(ctx); return none{}, nil }
		if err := enginetest.New(t, twice, none{}, openAll).Stuck(); !strings.Contains(c.want, "signal") && (err == nil || !strings.Contains(err.Error(), "of all names is set twice: at workflow/dynamic_test.go:")) {
			t.Errorf("%v, want that it is set twice", err)
		}
	}
}

// interpret runs the activity of the name that it is told, for any type.
func interpret(ctx workflow.Context, typ string, in workflow.Raw) (workflow.Raw, error) {
	name, value, err := workflow.ReceiveSignals(ctx)
	if err != nil {
		return nil, err
	}
	done, err := activity.Named[workflow.Raw, workflow.Raw](name).Run(ctx, value)
	return json.RawMessage(fmt.Sprintf(`{"type":%q,"in":%s,"did":%s}`, typ, in, done)), err
}

// Workflows and activities of types that are not registered run the code of all types. A type that
// is registered has its own code, and a later registration takes over the runs of its name.
func TestDynamicTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		do := activity.Dynamic(func(_ context.Context, typ string, in workflow.Raw) (workflow.Raw, error) {
			if typ == "nothing" {
				return nil, nil
			}
			return json.Marshal(typ + " of " + string(in))
		})
		own := workflow.NewWorkflow[int, string]("own")
		ownCode := workflow.Bind(own, func(ctx workflow.Context, n int) (string, error) { return echo.Run(ctx, fmt.Sprint("own ", n)) })
		d, ctx := testbed.New(t), t.Context()
		p := d.Start(executor.Options{}, workflow.Dynamic(interpret), ownCode, echo, do)
		begin := func(id, typ string) {
			t.Helper()
			if _, _, err := p.Client.Start(ctx, id, typ, []byte(`{"n":1}`), client.StartOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		result := func(id string) string {
			t.Helper()
			got, err := p.Client.Result(ctx, id, "")
			if err != nil {
				t.Fatal(id, err)
			}
			return string(got)
		}
		begin("w", "made up")
		if err := p.Client.Signal(ctx, "w", "ship", []byte(`[2]`), client.SignalOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := result("w"); got != `{"type":"made up","in":{"n":1},"did":"ship of [2]"}` {
			t.Error(got)
		}
		begin("x", "made up")
		if err := p.Client.Signal(ctx, "x", "echo", []byte(`"hello"`), client.SignalOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := result("x"); got != `{"type":"made up","in":{"n":1},"did":"hello"}` {
			t.Errorf("a registered activity: %s", got)
		}
		if _, err := own.Start(ctx, p.Client, "y", 3); err != nil {
			t.Fatal(err)
		}
		if got := result("y"); got != `"own 3"` {
			t.Errorf("a registered workflow: %s", got)
		}
		for _, typ := range []string{"", "weft.mine", strings.Repeat("x", 256)} {
			if _, _, err := p.Client.Start(ctx, "z", typ, nil, client.StartOptions{}); !errors.Is(err, client.ErrInvalid) {
				t.Errorf("a start of type %.20q: %v", typ, err)
			}
		}
		begin("taken", "later")
		p.Stop()
		p = d.Start(executor.Options{}, workflow.Dynamic(interpret), ownCode, echo, do,
			workflow.Bind(workflow.NewWorkflow[workflow.Raw, workflow.Raw]("later"), func(ctx workflow.Context, in workflow.Raw) (workflow.Raw, error) {
				text, err := word.Receive(ctx)
				return json.RawMessage(`"` + text + `"`), err
			}, workflow.Names(word)))
		if err := word.Send(ctx, p.Client, "taken", "mine now"); err != nil {
			t.Fatal(err)
		}
		if got := result("taken"); got != `"mine now"` {
			t.Errorf("a run whose type was registered later: %s", got)
		}
		d.CheckReplay(p)
	})
}

// What is registered twice, or is only a name, is refused.
func TestDynamicRegistrations(t *testing.T) {
	t.Parallel()
	do := activity.Dynamic(func(context.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil })
	for want, all := range map[string][]workflow.Registration{
		"the workflow of all types is registered twice: at workflow/dynamic_test.go:": {workflow.Dynamic(interpret), workflow.Dynamic(interpret)},
		"the activity of all types is registered twice: at workflow/dynamic_test.go:": {do, do},
		`activity "ship" (at workflow/dynamic_test.go:`:                               {activity.Named[none, none]("ship")},
		"of all types (bound at workflow/dynamic_test.go:":                            {workflow.Dynamic(interpret, workflow.Names(workflow.Name(nil)))},
	} {
		r, err := &engine.Registry{}, error(nil)
		for _, one := range all {
			if err == nil {
				err = bridge.Register(r, one)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
