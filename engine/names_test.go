package engine_test

import (
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/workflow"
)

// listener waits for a poke, handles an update then, and waits for another poke.
func listener(ctx workflow.Context, _ workflow.None) (string, error) {
	first, err := Poke.Receive(ctx)
	if err != nil {
		return "", err
	}
	Slow.Handle(ctx, func(_ workflow.Context, item string) (string, error) { return first + " " + item, nil })
	return Poke.Receive(ctx)
}

// watched waits for a poke. An interceptor handles its query.
func watched(ctx workflow.Context, _ workflow.None) (string, error) { return Poke.Receive(ctx) }

// watch handles the query of workflows of type watched.
var watch = workflow.Interceptor{Run: func(ctx workflow.Context, next func(workflow.Context) error) error {
	if workflow.InfoOf(ctx).WorkflowType == "watched" {
		Sum.Handle(ctx, func(workflow.None) (int, error) { return 1, nil })
	}
	return next(ctx)
}}

// nameRegistrations are workflows whose bindings of the first build omit names. Each later build
// adds a name.
func nameRegistrations(build string) []workflow.Registration {
	listens, watches := workflow.NewWorkflow[workflow.None, string]("listener"), workflow.NewWorkflow[workflow.None, string]("watched")
	//weftvet:ignore names the first build omits the query
	around := workflow.Intercept(watch)
	var named workflow.BindOptions
	switch build {
	case "build-2":
		named, around = workflow.Names(Poke), around.With(workflow.Names(Sum))
	case "build-3":
		named, around = workflow.Names(Poke, Slow), around.With(workflow.Names(Sum))
	}
	return []workflow.Registration{workflow.Bind(listens, listener, named), workflow.Bind(watches, watched, workflow.Names(Poke)), around}
}

// listened returns the first commits of a listener, whose tasks ran by these rules: it has received
// a poke, and handles an update.
func listened(rules history.Rules) []*history.Commit {
	started := history.Of(&history.WorkflowExecutionStarted{WorkflowType: "listener"})
	poked := history.Of(&history.WorkflowExecutionSignaled{SignalName: "poke", Input: history.Payload(`"a"`)})
	accepted := history.Of(&history.WorkflowExecutionUpdateAccepted{UpdateID: "u", UpdateName: "slow", Input: history.Payload(`"b"`), SequencingEventID: 6})
	completed := history.Of(&history.WorkflowExecutionUpdateCompleted{UpdateID: "u", AcceptedEventID: 9, Result: history.Payload(`"a b"`)})
	id := history.NewRunID(1, [8]byte{7})
	return []*history.Commit{
		{RunID: id, FirstEventID: 1, InputEvents: []history.Event{started}, Task: &history.Task{Attempt: 1, Rules: rules}},
		{RunID: id, Slot: 1, FirstEventID: 5, InputEvents: []history.Event{poked}, Task: &history.Task{Attempt: 1, Rules: rules}, Commands: []history.Event{accepted, completed}},
	}
}

// What older rules have recorded replays whatever the binding names. The code continues with the
// names that it handled then.
func TestNamesOfOlderRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, build string
		rules       history.Rules
		want        string
	}{
		{"older rules without names", "build-1", history.SplitSideEffects, ""},
		{"current rules with the names", "build-3", history.NamesOfBinding, ""},
		{"current rules without names", "build-1", history.NamesOfBinding, `does not name signal "poke"`},
		{"current rules without the late name", "build-2", history.NamesOfBinding, `does not name update "slow"`},
	} {
		in := engine.NewInstance(scriptRegistry(c.build).Workflow("listener"), "w", history.NewRunID(1, [8]byte{7}))
		var err error
		for _, commit := range listened(c.rules) {
			if err == nil {
				err = in.Replay(commit)
			}
		}
		if c.want == "" && err == nil {
			_, err = in.Activate(&engine.Activation{
				FirstEventID: 11, Rules: history.CurrentRules,
				InputEvents: []history.Event{history.Of(&history.WorkflowExecutionSignaled{SignalName: "poke", Input: history.Payload(`"c"`)})},
				Updates:     []engine.UpdateRequest{{ID: "v", Name: "slow", Input: history.Payload(`"d"`)}},
			})
		}
		in.Close()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A task that fails because of a name says which other names the code handles already that the
// binding omits. It has set their handlers by older rules.
func TestAllNamesThatAreMissing(t *testing.T) {
	t.Parallel()
	err := failsForName(t, func(ctx workflow.Context) {
		Slow.Handle(ctx, func(workflow.Context, string) (string, error) { return "", nil })
		Sum.Handle(ctx, func(workflow.None) (int, error) { return 1, nil })
	})
	for _, want := range []string{`does not name signal "late", query "sum", update "slow": add their declarations to workflow.Names`, "weftvet -fix"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Of very many names that are missing, the message has some. It still says what to do.
func TestManyNamesThatAreMissing(t *testing.T) {
	t.Parallel()
	err := failsForName(t, func(ctx workflow.Context) {
		for i := range 1000 {
			workflow.NewQuery[workflow.None, int](strings.Repeat("q", i+1)).Handle(ctx, func(workflow.None) (int, error) { return 1, nil })
		}
	})
	if err == nil || !strings.Contains(err.Error(), ` and 981 more: add their declarations to workflow.Names`) || len(err.Error()) > 1000 {
		t.Errorf("%v", err)
	}
}

// failsForName returns the error of a task whose code receives a signal that its binding omits. The
// code has called before in a task of older rules.
func failsForName(t *testing.T, before func(workflow.Context)) error {
	t.Helper()
	typ := workflow.NewWorkflow[workflow.None, string]("hoarder")
	run := func(ctx workflow.Context, _ workflow.None) (string, error) {
		before(ctx)
		if _, err := Poke.Receive(ctx); err != nil {
			return "", err
		}
		_, err := workflow.NewSignal[string]("late").Receive(ctx)
		return "", err
	}
	//weftvet:ignore names the binding omits all but one
	bound := workflow.Bind(typ, run, workflow.Names(Poke))
	registry := &engine.Registry{}
	if err := bridge.Register(registry, bound); err != nil {
		t.Fatal(err)
	}
	in := engine.NewInstance(registry.Workflow("hoarder"), "w", history.NewRunID(1, [8]byte{7}))
	defer in.Close()
	err := in.Replay(&history.Commit{
		RunID: history.NewRunID(1, [8]byte{7}), FirstEventID: 1, Task: &history.Task{Attempt: 1, Rules: history.SplitSideEffects},
		InputEvents: []history.Event{history.Of(&history.WorkflowExecutionStarted{WorkflowType: "hoarder"})},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = in.Activate(&engine.Activation{
		FirstEventID: 5, Rules: history.CurrentRules,
		InputEvents: []history.Event{history.Of(&history.WorkflowExecutionSignaled{SignalName: "poke", Input: history.Payload(`"a"`)})},
	})
	return err
}

// Names that begin with "weft." are reserved, also if code handles all names of a kind.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	names := &engine.Names{}
	names.AddDynamic(engine.SignalName)
	if names.Allows(engine.SignalName, "weft.x") || !names.Allows(engine.SignalName, "x") || names.Allows(engine.QueryName, "x") {
		t.Error("a dynamic binding allows a reserved name, or no other")
	}
}
