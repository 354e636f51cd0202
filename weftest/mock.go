package weftest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/workflow"
)

// attempt is an attempt at an activity, as the engine calls it.
type attempt = func(ctx context.Context, input history.Payload) (history.Payload, error)

// Call is an attempt at an activity that was mocked or watched.
type Call[In any] struct {
	Input In
	// WorkflowID is the workflow that called the activity.
	WorkflowID string
	// Attempt is 1 for the first.
	Attempt int
	// At is the time at which the attempt began.
	At time.Time
}

// Mocked is an activity of an environment that was mocked or is watched. It is safe for concurrent
// use.
type Mocked[In, Out any] struct {
	mu       sync.Mutex
	calls    []Call[In]
	failures []error
}

// Activity is an activity, local or not, as package activity declares it.
type Activity[In, Out any] interface {
	workflow.Registration
	Name() string
	Run(ctx workflow.Context, in In) (Out, error)
}

// Mock runs fn in place of an activity, from its next attempt on. It returns the mock, which
// records the attempts.
//
//   - Input and result are encoded as in production. The activity keeps its options: time-outs end
//     the context of fn, and errors of fn are retried.
//   - Mock registers the activity if it is not registered yet. That has to be before the first
//     request.
//   - fn may call time.Sleep, which takes no real time. It may wait for its context, and call
//     workflows through the environment's client. It reports with t.Error, not with t.Fatal.
func Mock[In, Out any](env *Env, a Activity[In, Out], fn func(context.Context, In) (Out, error)) *Mocked[In, Out] {
	env.t.Helper()
	var o activity.Options
	types := &engine.Registry{}
	if err := bridge.Register(types, a); err == nil { // activity.Named has only a name
		o.Converter, _ = types.Activity(a.Name()).Input.Converter.(workflow.Converter)
	}
	return install(env, activity.New(a.Name(), fn, o), false)
}

// Watch records the attempts at an activity. The activity keeps its code or its mock.
func Watch[In, Out any](env *Env, a Activity[In, Out]) *Mocked[In, Out] {
	env.t.Helper()
	return install(env, a, true)
}

// install replaces the activity of the same name, and records its attempts. If keeps is set, it
// only records them.
func install[In, Out any](env *Env, a Activity[In, Out], keeps bool) *Mocked[In, Out] {
	env.t.Helper()
	types := &engine.Registry{}
	if err := bridge.Register(types, a); err != nil {
		env.t.Fatalf("weftest: cannot mock: %v", err)
	}
	code := types.Activity(a.Name())
	m, run := &Mocked[In, Out]{}, code.Run
	if mock := env.mockOf(code.Name); keeps && mock != nil {
		run = mock
	}
	by, _ := code.Input.Converter.(workflow.Converter)
	code.Run = m.before(by, run)
	env.mock(code)
	return m
}

// Fail makes the next n attempts return err. Later attempts run the activity. Fail returns the
// mock, so that calls can be chained:
//
//	charge := weftest.Mock(env, shop.Charge, accept).Fail(2, errors.New("the bank does not answer"))
func (m *Mocked[In, Out]) Fail(n int, err error) *Mocked[In, Out] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = append(m.failures, slices.Repeat([]error{err}, n)...)
	return m
}

// Count returns the number of attempts, including failed ones.
func (m *Mocked[In, Out]) Count() int { return len(m.Calls()) }

// Calls returns the attempts so far.
func (m *Mocked[In, Out]) Calls() []Call[In] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// Inputs returns the inputs of the attempts so far.
func (m *Mocked[In, Out]) Inputs() []In {
	var inputs []In
	for _, c := range m.Calls() {
		inputs = append(inputs, c.Input)
	}
	return inputs
}

// before returns an attempt that records itself and then calls run, or returns the error that Fail
// has set.
func (m *Mocked[In, Out]) before(by workflow.Converter, run attempt) attempt {
	return func(ctx context.Context, input history.Payload) (history.Payload, error) {
		in, err := payload.DecodeOrZeroBy[In](by, input)
		if err != nil {
			return run(ctx, input) // the error of run says what is wrong with the input
		}
		if err := m.record(ctx, in); err != nil {
			return nil, err
		}
		return run(ctx, input)
	}
}

func (m *Mocked[In, Out]) record(ctx context.Context, in In) (fails error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	info := activity.InfoOf(ctx)
	m.calls = append(m.calls, Call[In]{Input: in, WorkflowID: info.WorkflowID, Attempt: info.Attempt, At: time.Now().UTC()})
	if len(m.failures) > 0 {
		fails, m.failures = m.failures[0], m.failures[1:]
	}
	return fails
}

// mockOf returns the mock of an activity, or nil if its own code runs.
func (e *Env) mockOf(name string) attempt {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mocks[name]
}

// mock replaces the activity of the same name.
func (e *Env) mock(code *engine.Activity) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mocks[code.Name] = code.Run
	if e.registry.Registers(code.Name) {
		return
	}
	if e.begun {
		e.t.Fatalf("weftest: activity %q is not registered, and a request was sent already: pass it to weftest.New, or mock it before the first request", code.Name)
	}
	e.divert(code)
	if err := e.registry.AddActivity(code); err != nil {
		e.t.Fatalf("weftest: cannot mock: %v", err)
	}
}

// divert makes the activity run its mock, if it has one.
func (e *Env) divert(a *engine.Activity) {
	name, own := a.Name, a.Run
	a.Run = func(ctx context.Context, input history.Payload) (result history.Payload, err error) {
		run := e.mockOf(name)
		if run == nil {
			run = own
		}
		defer e.note(ctx, name, &err)
		err = errGone
		return run(ctx, input)
	}
}

// errGone is an attempt's error until it returns.
var errGone = errors.New("it ended its goroutine")

// note records why an attempt at an activity failed, for messages. Callers defer it.
func (e *Env) note(ctx context.Context, name string, err *error) {
	value := recover()
	text := fmt.Sprint(*err)
	if value != nil {
		text = fmt.Sprintf("panic: %v\n%s", value, debug.Stack())
	}
	e.changed(func() {
		e.failures[name] = text
		if value == nil && *err == errGone {
			e.trouble = append(e.trouble, trouble{workflowID: activity.InfoOf(ctx).WorkflowID, activity: name, gone: true})
		}
	})
	if value != nil {
		panic(value)
	}
}
