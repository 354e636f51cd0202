package workflow_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// things are the objects that code acts on. newThings creates them while the code may still act.
type things struct {
	future, ready workflow.Future[int]
	set           func(int, error)
	channel       workflow.Channel[int]
	free, locked  workflow.Mutex
	semaphore     workflow.Semaphore
	group         workflow.WaitGroup
	cancel        workflow.CancelFunc
	random        *rand.Rand
}

func newThings(ctx workflow.Context) *things {
	x := &things{channel: workflow.NewChannel[int](2), semaphore: workflow.NewSemaphore(2), random: workflow.Random(ctx)}
	x.future, x.set = workflow.NewFuture[int](ctx)
	ready, set := workflow.NewFuture[int](ctx)
	x.ready = ready
	set(1, nil)
	x.channel.TrySend(ctx, 1)
	x.locked.TryLock(ctx)
	x.semaphore.TryAcquire(ctx, 1)
	x.group.Add(ctx, 1)
	_, x.cancel = workflow.WithCancel(ctx)
	return x
}

// acts are the calls that are allowed only in code that may act.
var acts = []struct {
	name string
	do   func(ctx workflow.Context, x *things)
}{
	{"start an activity", func(ctx workflow.Context, _ *things) { echo.Start(ctx, "a") }},
	{"run an activity", func(ctx workflow.Context, x *things) { _, _ = echo.Run(ctx, "a") }},
	{"sleep", func(ctx workflow.Context, x *things) { _ = workflow.Sleep(ctx, time.Hour) }},
	{"sleep not at all", func(ctx workflow.Context, x *things) { _ = workflow.Sleep(ctx, 0) }},
	{"start a timer", func(ctx workflow.Context, x *things) { workflow.NewTimer(ctx, time.Hour) }},
	{"read the clock", func(ctx workflow.Context, x *things) { workflow.Now(ctx) }},
	{"draw a number", func(_ workflow.Context, x *things) { x.random.IntN(10) }},
	{"make an id", func(ctx workflow.Context, x *things) { workflow.NewID(ctx) }},
	{"start a coroutine", func(ctx workflow.Context, x *things) { workflow.Go(ctx, func(workflow.Context) {}) }},
	{"wait for a future", func(ctx workflow.Context, x *things) { _, _ = x.future.Get(ctx) }},
	{"wait for a future that is ready", func(ctx workflow.Context, x *things) { _, _ = x.ready.Get(ctx) }},
	{"set a future", func(_ workflow.Context, x *things) { x.set(1, nil) }},
	{"send", func(ctx workflow.Context, x *things) { _ = x.channel.Send(ctx, 1) }},
	{"try to send", func(ctx workflow.Context, x *things) { x.channel.TrySend(ctx, 1) }},
	{"receive", func(ctx workflow.Context, x *things) { _, _ = x.channel.Receive(ctx) }},
	{"try to receive", func(ctx workflow.Context, x *things) { x.channel.TryReceive(ctx) }},
	{"close a channel", func(ctx workflow.Context, x *things) { x.channel.Close(ctx) }},
	{"receive a signal", func(ctx workflow.Context, x *things) { _, _ = word.Receive(ctx) }},
	{"try to receive a signal", func(ctx workflow.Context, x *things) { _, _, _ = word.TryReceive(ctx) }},
	{"select", func(ctx workflow.Context, x *things) { _ = workflow.Select(ctx, workflow.Default(nil)) }},
	{"lock", func(ctx workflow.Context, x *things) { _ = x.free.Lock(ctx) }},
	{"try to lock", func(ctx workflow.Context, x *things) { x.free.TryLock(ctx) }},
	{"unlock", func(ctx workflow.Context, x *things) { x.locked.Unlock(ctx) }},
	{"acquire", func(ctx workflow.Context, x *things) { _ = x.semaphore.Acquire(ctx, 1) }},
	{"try to acquire", func(ctx workflow.Context, x *things) { x.semaphore.TryAcquire(ctx, 1) }},
	{"release", func(ctx workflow.Context, x *things) { x.semaphore.Release(ctx, 1) }},
	{"add to a wait group", func(ctx workflow.Context, x *things) { x.group.Add(ctx, 1) }},
	{"be done", func(ctx workflow.Context, x *things) { x.group.Done(ctx) }},
	{"wait for a wait group", func(ctx workflow.Context, x *things) { _ = x.group.Wait(ctx) }},
	{"wait for a condition", func(ctx workflow.Context, x *things) { _ = workflow.Await(ctx, func() bool { return true }) }},
	{"wait for a condition for a time", func(ctx workflow.Context, x *things) { _, _ = workflow.AwaitFor(ctx, 1, func() bool { return true }) }},
	{"wait for handlers", func(ctx workflow.Context, x *things) { _ = workflow.AwaitHandlers(ctx) }},
	{"set an update handler", func(ctx workflow.Context, x *things) {
		workflow.NewUpdate[none, none]("late").Handle(ctx, func(workflow.Context, none) (none, error) { return none{}, nil })
	}},
	{"set a query handler", func(ctx workflow.Context, x *things) {
		workflow.NewQuery[none, none]("late").Handle(ctx, func(none) (none, error) { return none{}, nil })
	}},
	{"make a context that can be canceled", func(ctx workflow.Context, _ *things) { workflow.WithCancel(ctx) }},
	{"cancel", func(_ workflow.Context, x *things) { x.cancel() }},
	{"run a side effect", func(ctx workflow.Context, _ *things) { workflow.SideEffect(ctx, func() int { return 1 }) }},
	{"ask for a patch", func(ctx workflow.Context, _ *things) { workflow.Patched(ctx, "late") }},
	{"change attributes", func(ctx workflow.Context, _ *things) { workflow.UpsertSearchAttributes(ctx, mood.Set("late")) }},
	{"change the memo", func(ctx workflow.Context, _ *things) { workflow.UpsertMemo(ctx, carrier.Set("late")) }},
	{"change the header", func(ctx workflow.Context, _ *things) { workflow.SetHeader(ctx, "late", 1) }},
	{"publish", func(ctx workflow.Context, _ *things) { steps.Publish(ctx, "late") }},
	{"truncate", func(ctx workflow.Context, _ *things) { steps.Truncate(ctx, 1) }},
	{"run a local activity", func(ctx workflow.Context, _ *things) { _, _ = lookUp.Run(ctx, "a") }},
	{"start a child", func(ctx workflow.Context, _ *things) { stray.StartChild(ctx, none{}) }},
	{"signal another", func(ctx workflow.Context, _ *things) { word.SendTo(ctx, workflow.External("other"), "a") }},
	{"end another", func(ctx workflow.Context, _ *things) { workflow.External("other").Cancel(ctx, "") }},
	{"terminate another", func(ctx workflow.Context, _ *things) { workflow.External("other").Terminate(ctx, "") }},
}

var (
	mood    = workflow.NewAttribute[string]("Mood")
	carrier = workflow.NewMemo[string]("carrier")
	steps   = workflow.NewTopic[string]("steps")
	stray   = workflow.NewWorkflow[none, none]("stray")
)

func wantMisuse(t *testing.T, err error, who string) {
	t.Helper()
	var misuse *failure.OtherError
	if !errors.As(err, &misuse) || misuse.Kind != failure.KindMisuse || !strings.HasPrefix(misuse.Message, who+" may not ") {
		t.Errorf("%v, want a misuse by %s", err, who)
	}
}

var (
	call = workflow.NewUpdate[none, none]("call")
	ask  = workflow.NewQuery[none, none]("ask")
)

// A validator may only read. One that acts fails the task. The update is not refused, and the run
// continues.
//
//weftvet:ignore readonly they do more
func TestValidatorsMayOnlyLook(t *testing.T) {
	t.Parallel()
	for _, a := range acts {
		for _, recovers := range []bool{false, true} {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
					x := newThings(ctx)
					call.Handle(ctx, func(workflow.Context, none) (none, error) { return none{}, nil }, workflow.Validate(func(none) error {
						defer func() {
							if recovers {
								_ = recover()
							}
						}()
						a.do(ctx, x)
						return nil
					}))
					return none{}, workflow.Await(ctx, func() bool { return false })
				}, none{})
				result, f := s.Update("u1", "call", none{})
				if result.Verdict != engine.Unanswered {
					t.Errorf("the update's result is %+v, want no answer", result)
				}
				wantMisuse(t, f.Err(), `the validator of update "call"`)
				if s.Stuck() != nil {
					t.Errorf("the run is stuck: %v", s.Stuck())
				}
			})
		}
	}
}

//weftvet:ignore readonly they do more
func TestQueryHandlersMayOnlyLook(t *testing.T) {
	t.Parallel()
	for _, a := range acts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
				x := newThings(ctx)
				ask.Handle(ctx, func(none) (none, error) { a.do(ctx, x); return none{}, nil })
				return none{}, workflow.Await(ctx, func() bool { return false })
			}, none{})
			_, err := s.Query("ask", none{})
			wantMisuse(t, err, `the handler of query "ask"`)
			var noAnswer *engine.QueryError
			if errors.As(err, &noAnswer) {
				t.Error("the misuse is reported as the query's answer, and not as a failure of the code")
			}
		})
	}
}

// The code evaluates a condition first, and the engine evaluates it later. The condition may only
// read both times.
func TestConditionsMayOnlyLook(t *testing.T) {
	t.Parallel()
	waits := map[string]func(workflow.Context, func() bool) error{
		"Await": workflow.Await,
		"AwaitFor": func(ctx workflow.Context, c func() bool) error {
			_, err := workflow.AwaitFor(ctx, time.Hour, c)
			return err
		},
		"Select": func(ctx workflow.Context, c func() bool) error { return workflow.Select(ctx, workflow.OnCondition(c)) },
	}
	for _, a := range acts {
		for wait, await := range waits {
			for _, asked := range []int{1, 2, 3} {
				t.Run(wait+"/"+a.name, func(t *testing.T) {
					t.Parallel()
					s := enginetest.Open(t, func(ctx workflow.Context, _ none) (none, error) {
						x, n := newThings(ctx), 0
						return none{}, await(ctx, func() bool {
							if n++; n == asked {
								a.do(ctx, x)
							}
							return false
						})
					})
					s.Start(none{})
					for range 3 {
						if s.Stuck() == nil {
							s.Signal("other", none{})
						}
					}
					wantMisuse(t, s.Stuck(), "a condition")
				})
			}
		}
	}
}

// The function of a side effect may not act: it is not called on replay, and its actions would be
// missing then.
func TestSideEffectsDoNothingElse(t *testing.T) {
	t.Parallel()
	for _, a := range acts {
		for _, recovers := range []bool{false, true} {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				s := enginetest.Open(t, func(ctx workflow.Context, _ none) (none, error) {
					x := newThings(ctx)
					workflow.SideEffect(ctx, func() int {
						defer func() {
							if recovers {
								_ = recover()
							}
						}()
						a.do(ctx, x) //weftvet:ignore readonly it is the misuse
						return 1
					})
					return none{}, nil
				})
				s.Start(none{})
				wantMisuse(t, s.Stuck(), "the function of a side effect")
			})
		}
	}
}

// Reading is allowed everywhere.
func TestLookingIsAllowedEverywhere(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
		f, _ := workflow.NewFuture[int](ctx)
		c := workflow.NewChannel[int](1)
		look := func() bool {
			info := workflow.InfoOf(ctx)
			workflow.Logger(ctx).Debug("looked")
			return ctx.Err() == nil && !f.Ready() && c.Len() == 0 && info.WorkflowID == enginetest.WorkflowID && workflow.AllHandlersFinished(ctx)
		}
		ask.Handle(ctx, func(none) (none, error) {
			if !look() {
				return none{}, errors.New("the query reads another state")
			}
			return none{}, nil
		})
		done := false
		call.Handle(ctx, func(workflow.Context, none) (none, error) { done = true; return none{}, nil }, workflow.Validate(func(none) error {
			look() // the update's own handler has not finished
			return nil
		}))
		return none{}, workflow.Await(ctx, func() bool { return look() && done })
	}, none{})
	if _, err := s.Query("ask", none{}); err != nil {
		t.Error(err)
	}
	if result, f := s.Update("u1", "call", none{}); result.Verdict != engine.Accepted {
		t.Errorf("%+v, %v", result, f.Err())
	}
	if err := s.Outcome(nil); err != nil {
		t.Error(err)
	}
}

// uses are all calls that take a Context, by name.
var uses = map[string]func(workflow.Context){
	"WithCancel":          func(ctx workflow.Context) { workflow.WithCancel(ctx) },
	"Disconnected":        func(ctx workflow.Context) { workflow.Disconnected(ctx) },
	"Now":                 func(ctx workflow.Context) { workflow.Now(ctx) },
	"InfoOf":              func(ctx workflow.Context) { workflow.InfoOf(ctx) },
	"Logger":              func(ctx workflow.Context) { workflow.Logger(ctx) },
	"Random":              func(ctx workflow.Context) { workflow.Random(ctx) },
	"NewFuture":           func(ctx workflow.Context) { workflow.NewFuture[int](ctx) },
	"Go":                  func(ctx workflow.Context) { workflow.Go(ctx, func(workflow.Context) {}) },
	"Sleep":               func(ctx workflow.Context) { _ = workflow.Sleep(ctx, 1) },
	"Select":              func(ctx workflow.Context) { _ = workflow.Select(ctx) },
	"Await":               func(ctx workflow.Context) { _ = workflow.Await(ctx, func() bool { return true }) },
	"AwaitFor":            func(ctx workflow.Context) { _, _ = workflow.AwaitFor(ctx, 1, func() bool { return true }) },
	"Lock":                func(ctx workflow.Context) { _ = new(workflow.Mutex).Lock(ctx) },
	"Acquire":             func(ctx workflow.Context) { _ = workflow.NewSemaphore(1).Acquire(ctx, 1) },
	"Wait":                func(ctx workflow.Context) { _ = new(workflow.WaitGroup).Wait(ctx) },
	"Send":                func(ctx workflow.Context) { _ = workflow.NewChannel[int](1).Send(ctx, 1) },
	"Receive":             func(ctx workflow.Context) { _, _ = word.Receive(ctx) },
	"Run":                 func(ctx workflow.Context) { _, _ = echo.Run(ctx, "a") },
	"Publish":             func(ctx workflow.Context) { steps.Publish(ctx, "a") },
	"Truncate":            func(ctx workflow.Context) { steps.Truncate(ctx, 1) },
	"Update":              func(ctx workflow.Context) { call.Handle(ctx, nil) },
	"Query":               func(ctx workflow.Context) { ask.Handle(ctx, nil) },
	"AllHandlersFinished": func(ctx workflow.Context) { workflow.AllHandlersFinished(ctx) },
}

func TestZeroContext(t *testing.T) {
	t.Parallel()
	for name, use := range uses { //weftvet:ignore maporder a test goes over it
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				err, _ := recover().(error)
				var misuse *failure.OtherError
				if !errors.As(err, &misuse) || misuse.Kind != failure.KindMisuse || !strings.Contains(misuse.Message, "zero workflow.Context") {
					t.Errorf("%v, want a panic that names the zero Context", err)
				}
			}()
			use(workflow.Context{})
		})
	}
	if err := (workflow.Context{}).Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}

// A child with invalid options fails the task. The run continues when the code is fixed.
func TestOptionsOfChildren(t *testing.T) {
	t.Parallel()
	for says, o := range map[string]workflow.ChildOptions{
		"negative RunTimeout":           {RunTimeout: -1},
		"negative RunTimeout or StartD": {StartDelay: -1},
		"the ParentClosePolicy 77":      {ParentClosePolicy: 77},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) { return stray.RunChild(ctx, none{}, o) }, none{})
			var misuse *failure.OtherError
			if err := s.Stuck(); !errors.As(err, &misuse) || misuse.Kind != failure.KindMisuse || !strings.Contains(misuse.Message, says) {
				t.Errorf("%v", err)
			}
		})
	}
}
