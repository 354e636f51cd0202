package workflow_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// Each way of handling a name that the binding omits fails the task, and the message says what to
// add. It works with the name, and if the kind is dynamic.
func TestNamesThatTheBindingOmits(t *testing.T) {
	t.Parallel()
	steps := workflow.NewTopic[int]("steps")
	for i, c := range []struct {
		want    string
		name    workflow.Name
		dynamic workflow.Kinds
		do      func(ctx workflow.Context)
	}{
		{`update "call"`, call, workflow.Updates, func(ctx workflow.Context) { call.Handle(ctx, nil) }},
		{`query "ask"`, ask, workflow.Queries, func(ctx workflow.Context) { ask.Handle(ctx, nil) }},
		{`topic "steps"`, steps, workflow.Topics, func(ctx workflow.Context) { steps.Publish(ctx, 1) }},
		{`signal "word"`, word, workflow.Signals, func(ctx workflow.Context) { _, _, _ = word.TryReceive(ctx) }},
		{`signal "word"`, word, workflow.Signals, func(ctx workflow.Context) {
			_ = workflow.Select(ctx, workflow.OnSignal(word, nil), workflow.Default(nil))
		}},
		{`signal "word"`, word, workflow.Signals, func(ctx workflow.Context) {
			workflow.Go(ctx, func(ctx workflow.Context) { _, _ = word.Receive(ctx) })
		}},
	} {
		code := func(ctx workflow.Context, _ none) (none, error) {
			c.do(ctx)
			return none{}, workflow.Sleep(ctx, time.Hour)
		}
		for _, given := range []workflow.BindOptions{workflow.Names(c.name), {Dynamic: c.dynamic, Names: []workflow.Name{steps}}, {Dynamic: c.dynamic, Names: []workflow.Name{call, ask, word, steps}}} {
			s := enginetest.New(t, code, none{}, given)
			if err := s.Stuck(); err != nil {
				t.Errorf("with %+v: %v", given, err)
			}
		}
		for _, given := range []workflow.BindOptions{workflow.Names(), {Dynamic: ^c.dynamic}, workflow.Names(turnUp, place, about)} {
			s := enginetest.New(t, code, none{}, given)
			want := `workflow type "stage" does not name ` + c.want + ": add its declaration to workflow.Names of the Bind at "
			if err := s.Stuck(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d, %s, with %+v: %v, want %q", i, c.want, given, err, want)
			}
		}
	}
}

// What names declarations that contradict each other is refused at registration.
func TestNamesAreRefusedAtRegistration(t *testing.T) {
	t.Parallel()
	typ, other := workflow.NewWorkflow[none, none]("named"), workflow.NewWorkflow[none, none]("other")
	bind := func(typ workflow.Type[none, none], names ...workflow.Name) workflow.Registration {
		return workflow.Bind(typ, func(workflow.Context, none) (none, error) { return none{}, nil }, workflow.BindOptions{Names: names})
	}
	same, differs := workflow.NewUpdate[none, none]("call"), workflow.NewUpdate[int, none]("call")
	around := workflow.Intercept(workflow.Interceptor{})
	twice := `update "call" is named twice with different types: declared at workflow/misuse_test.go`
	for name, c := range map[string]struct {
		registrations []workflow.Registration
		want          string
	}{
		"the same declaration twice": {[]workflow.Registration{bind(typ, call, call, same)}, ""},
		"one name of two kinds":      {[]workflow.Registration{bind(typ, call, workflow.NewQuery[int, int]("call"), workflow.NewSignal[int]("call"))}, ""},
		"two types of one name":      {[]workflow.Registration{bind(typ, call, differs)}, twice},
		"a name without text":        {[]workflow.Registration{bind(typ, workflow.NewSignal[int](""))}, `workflow type "named" (bound at workflow/names_test.go`},
		"a type that JSON cannot hold": {
			[]workflow.Registration{bind(typ, workflow.NewSignal[struct{ Done chan int }]("done"))},
			`): signal "done" (declared at workflow/names_test.go:`,
		},
		"a field that JSON cannot hold":     {[]workflow.Registration{bind(typ, workflow.NewQuery[none, struct{ Done []chan int }]("done"))}, `Done[]: JSON cannot hold a chan int`},
		"nil":                               {[]workflow.Registration{bind(typ, workflow.Name(nil))}, "a nil Name"},
		"an interceptor, too":               {[]workflow.Registration{bind(typ, call), around.With(workflow.Names(same))}, ""},
		"an interceptor, other types":       {[]workflow.Registration{bind(typ, call), around.With(workflow.Names(differs))}, twice},
		"an interceptor before, other type": {[]workflow.Registration{around.With(workflow.Names(call)), bind(typ, differs)}, "is named twice with different types"},
		"an interceptor's nil":              {[]workflow.Registration{around.With(workflow.Names(nil))}, "a nil Name"},
		"an interceptor, pinned":            {[]workflow.Registration{around.With(workflow.BindOptions{Pinned: true})}, "interceptors take names and no other options"},
		"two workflows, two types":          {[]workflow.Registration{bind(typ, call), bind(other, differs)}, ""},
	} {
		r, err := &engine.Registry{}, error(nil)
		for _, one := range c.registrations {
			if err == nil {
				err = bridge.Register(r, one)
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A registration has the names of its binding and of the interceptors. It may be in several
// registries, and one does not change another.
func TestNamesOfARegistry(t *testing.T) {
	t.Parallel()
	code := func(workflow.Context, none) (none, error) { return none{}, nil }
	bound := workflow.Bind(workflow.NewWorkflow[none, none]("named"), code, workflow.BindOptions{Lenient: true, Dynamic: workflow.Signals}, workflow.Names(call, word), workflow.Names(place, about))
	plain, wrapped := &engine.Registry{}, &engine.Registry{}
	for r, all := range map[*engine.Registry][]workflow.Registration{
		plain: {bound}, wrapped: {workflow.Intercept().With(workflow.Names(ask)).With(workflow.Names(turnUp)), bound},
	} {
		for _, one := range all {
			if err := bridge.Register(r, one); err != nil {
				t.Fatal(err)
			}
		}
	}
	for r, want := range map[*engine.Registry]string{plain: "call  word Place about", wrapped: "call ask turn-up word Place about"} {
		names := r.Workflow("named").Names
		var got []string
		for _, k := range []engine.NameKind{engine.UpdateName, engine.QueryName, engine.SignalName, engine.AttributeName, engine.MemoName} {
			got = append(got, strings.Join(names.Of(k), " "))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q, want %q", text, want)
		}
		if !names.Lenient || !names.Open(engine.SignalName) || names.Open(engine.UpdateName) || names.Find(engine.UpdateName, "call").Where == "" {
			t.Errorf("%+v", names)
		}
	}
}

// Types that JSON cannot hold are refused at registration, with the place and the field.
func TestTypesThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	type job struct{ Done chan int }
	typ := workflow.NewWorkflow[job, none]("job")
	for want, r := range map[string]workflow.Registration{
		`workflow type "job" (bound at workflow/names_test.go:`: workflow.Bind(typ, func(workflow.Context, job) (none, error) { return none{}, nil }),
		`activity type "job" (declared at workflow/names_test`:  activity.New("job", func(context.Context, none) (job, error) { return job{}, nil }),
	} {
		if err := bridge.Register(&engine.Registry{}, r); err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), ".Done: JSON cannot hold a chan int") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
