package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// op is one step of a small program. The workflow of the property tests runs such programs. An op
// may have a body.
type op struct {
	Do   string `json:"do"`
	N    int    `json:"n,omitempty"`
	Body []op   `json:"body,omitempty"`
}

// program is what the main coroutine does after it has set the handlers of the program's updates.
// If Stay is set, the coroutine waits for a signal and for the handlers before it returns.
type program struct {
	Handlers [][]op `json:"handlers"`
	Main     []op   `json:"main"`
	Stay     bool   `json:"stay,omitempty"`
}

// request is the input of the program's updates.
type request struct {
	Refuse bool `json:"refuse,omitempty"`
	N      int  `json:"n,omitempty"`
}

var (
	work    = activity.New("work", func(context.Context, string) (string, error) { return "", nil })
	lookup  = activity.NewLocal("lookup", func(context.Context, string) (string, error) { return "", nil })
	signals = []workflow.Signal[string]{workflow.NewSignal[string]("s0"), workflow.NewSignal[string]("s1")}
	updates = []workflow.Update[request, string]{workflow.NewUpdate[request, string]("u0"), workflow.NewUpdate[request, string]("u1")}
	stream  = []workflow.Topic[string]{workflow.NewTopic[string]("t0"), workflow.NewTopic[string]("t1")}
	peek    = workflow.NewQuery[workflow.None, []string]("peek")
	end     = workflow.NewSignal[workflow.None]("end")
)

// machine is the state that the coroutines of a program share. Everything that they see is in its
// log, and they send parts of the log. So a difference anywhere is a difference in the history.
type machine struct {
	log      []string
	counter  int
	mutexes  [2]workflow.Mutex
	units    workflow.Semaphore
	channels [2]workflow.Channel[string]
	futures  []workflow.Future[string]
	handled  [2]bool
	fixed    *bool // "crash" panics until it is true
}

// interpret returns the workflow that runs programs.
func interpret(fixed *bool) func(workflow.Context, program) ([]string, error) {
	return func(ctx workflow.Context, p program) ([]string, error) {
		m := &machine{units: workflow.NewSemaphore(2), fixed: fixed}
		m.channels[0], m.channels[1] = workflow.NewChannel[string](0), workflow.NewChannel[string](1)
		peek.Handle(ctx, func(workflow.None) ([]string, error) { return m.log, nil })
		for n, body := range p.Handlers {
			m.step(ctx, "handler", op{Do: "handle", N: n, Body: body})
		}
		m.run(ctx, "main", p.Main)
		if p.Stay {
			_, err := end.Receive(ctx)
			m.note("main", "end", err, workflow.AwaitHandlers(ctx))
		}
		return m.log, ctx.Err()
	}
}

func (m *machine) note(who, what string, seen ...any) {
	m.log = append(m.log, fmt.Sprint(who, " ", what, " ", seen))
}

func (m *machine) run(ctx workflow.Context, who string, ops []op) {
	for i, o := range ops {
		m.step(ctx, fmt.Sprint(who, ".", i), o)
	}
}

// step does one op. An error is noted, and the program continues.
func (m *machine) step(ctx workflow.Context, who string, o op) {
	if do := alone[o.Do]; do != nil {
		m.note(who, o.Do, do(m, ctx, o.N)...)
		return
	}
	around[o.Do](m, ctx, who, o)
}

type seen []any

// alone are the ops without a body. They return what they have seen.
var alone = map[string]func(m *machine, ctx workflow.Context, n int) seen{
	"run": func(m *machine, ctx workflow.Context, n int) seen {
		v, err := work.Run(ctx, fmt.Sprint(n, m.log))
		return seen{v, err}
	},
	"start": func(m *machine, ctx workflow.Context, n int) seen {
		m.futures = append(m.futures, work.Start(ctx, fmt.Sprint(n, m.log)))
		return nil
	},
	"look": func(m *machine, ctx workflow.Context, n int) seen {
		v, err := lookup.Run(ctx, fmt.Sprint(n, len(m.log)))
		return seen{v, err}
	},
	"startLook": func(m *machine, ctx workflow.Context, n int) seen {
		m.futures = append(m.futures, lookup.Start(ctx, fmt.Sprint(n)))
		return nil
	},
	"publish": func(m *machine, ctx workflow.Context, n int) seen {
		stream[n%2].Publish(ctx, fmt.Sprint(n, len(m.log)))
		return seen{stream[0].Next(ctx), stream[1].Next(ctx)}
	},
	"truncate": func(_ *machine, ctx workflow.Context, n int) seen {
		stream[n%2].Truncate(ctx, int64(n))
		return nil
	},
	"wait": func(m *machine, ctx workflow.Context, n int) seen {
		if len(m.futures) == 0 {
			return nil
		}
		v, err := m.futures[n%len(m.futures)].Get(ctx)
		return seen{v, err}
	},
	"sleep": func(_ *machine, ctx workflow.Context, n int) seen {
		return seen{workflow.Sleep(ctx, seconds(n)), workflow.Now(ctx)}
	},
	"receive": func(_ *machine, ctx workflow.Context, n int) seen {
		v, err := signals[n%2].Receive(ctx)
		return seen{v, err}
	},
	"poll": func(_ *machine, ctx workflow.Context, n int) seen {
		v, ok, err := signals[n%2].TryReceive(ctx)
		return seen{v, ok, err}
	},
	"send": func(m *machine, ctx workflow.Context, n int) seen {
		return seen{m.channels[n%2].Send(ctx, fmt.Sprint(len(m.log)))}
	},
	"trySend": func(m *machine, ctx workflow.Context, n int) seen {
		return seen{m.channels[n%2].TrySend(ctx, fmt.Sprint(len(m.log)))}
	},
	"take": func(m *machine, ctx workflow.Context, n int) seen {
		v, err := m.channels[n%2].Receive(ctx)
		return seen{v, err}
	},
	"close": func(m *machine, ctx workflow.Context, n int) seen { m.channels[n%2].Close(ctx); return nil },
	"count": func(m *machine, _ workflow.Context, n int) seen { m.counter += n; return seen{m.counter} },
	"await": func(m *machine, ctx workflow.Context, n int) seen {
		return seen{workflow.Await(ctx, func() bool { return m.counter >= n })}
	},
	"awaitFor": func(m *machine, ctx workflow.Context, n int) seen {
		ok, err := workflow.AwaitFor(ctx, seconds(n), func() bool { return m.counter > n })
		return seen{ok, err}
	},
	"select": choose,
	"id": func(_ *machine, ctx workflow.Context, _ int) seen {
		return seen{workflow.NewID(ctx), workflow.InfoOf(ctx)}
	},
	"handled": func(_ *machine, ctx workflow.Context, _ int) seen { return seen{workflow.AwaitHandlers(ctx)} },
	"crash": func(m *machine, _ workflow.Context, n int) seen {
		if !*m.fixed {
			panic(fmt.Sprint("crash ", n))
		}
		return nil
	},
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// choose waits for many things, in an order that depends on n.
func choose(m *machine, ctx workflow.Context, n int) (s seen) {
	cases := []workflow.Case{
		workflow.OnSignal(signals[n%2], func(v string) { s = append(s, "signal", v) }),
		workflow.OnTimeout(seconds(n+1), func() { s = append(s, "timeout") }),
		workflow.OnReceive(m.channels[n%2], func(v string, ok bool) { s = append(s, "channel", v, ok) }),
		workflow.OnCondition(func() bool { return m.counter > n }),
	}
	if len(m.futures) > 0 {
		cases = append(cases, workflow.OnFuture(m.futures[n%len(m.futures)], func(v string, err error) { s = append(s, "future", v, err) }))
	}
	cases = append(cases[n%len(cases):], cases[:n%len(cases)]...)
	return append(s, workflow.Select(ctx, cases...))
}

// around are the ops with a body. init fills the map, because such bodies contain such ops in turn.
var around map[string]func(m *machine, ctx workflow.Context, who string, o op)

func init() {
	around = map[string]func(m *machine, ctx workflow.Context, who string, o op){
		"go": (*machine).spawn, "group": (*machine).group, "lock": (*machine).lock, "acquire": (*machine).acquire,
		"branch": (*machine).branch, "handle": (*machine).handle,
		"detached": func(m *machine, ctx workflow.Context, who string, o op) {
			m.run(workflow.Disconnected(ctx), who, o.Body)
		},
	}
}

func (m *machine) spawn(ctx workflow.Context, who string, o op) {
	workflow.Go(ctx, func(ctx workflow.Context) { m.run(ctx, who, o.Body) })
}

func (m *machine) group(ctx workflow.Context, who string, o op) {
	var g workflow.WaitGroup
	for i := range o.N % 3 {
		g.Go(ctx, func(ctx workflow.Context) { m.run(ctx, fmt.Sprint(who, "#", i), o.Body) })
	}
	m.note(who, "group", g.Wait(ctx))
}

func (m *machine) lock(ctx workflow.Context, who string, o op) {
	mutex := &m.mutexes[o.N%2]
	if err := mutex.Lock(ctx); err != nil {
		m.note(who, "lock", err)
		return
	}
	defer mutex.Unlock(ctx)
	m.run(ctx, who, o.Body)
}

func (m *machine) acquire(ctx workflow.Context, who string, o op) {
	n := 1 + o.N%2
	if err := m.units.Acquire(ctx, n); err != nil {
		m.note(who, "acquire", err)
		return
	}
	defer m.units.Release(ctx, n)
	m.run(ctx, who, o.Body)
}

// branch runs the body in a coroutine that is canceled after n seconds.
func (m *machine) branch(ctx workflow.Context, who string, o op) {
	inner, cancel := workflow.WithCancel(ctx)
	workflow.Go(inner, func(ctx workflow.Context) { m.run(ctx, who, o.Body) })
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, seconds(o.N))
		cancel()
		m.note(who, "canceled")
	})
}

// handle sets the handler of an update, if it is not set yet. The update's validator depends on the
// state.
func (m *machine) handle(ctx workflow.Context, who string, o op) {
	n := o.N % 2
	if m.handled[n] {
		return
	}
	m.handled[n] = true
	updates[n].Handle(ctx, func(ctx workflow.Context, r request) (string, error) {
		m.note(who, "handles", r.N)
		m.run(ctx, fmt.Sprint(who, "/", r.N), o.Body)
		if r.N%5 == 4 {
			return "", workflow.NewError("five", fmt.Sprint(len(m.log)))
		}
		return fmt.Sprint(m.log), nil
	}, workflow.Validate(func(r request) error {
		if r.Refuse || m.counter == 3 {
			return errors.New("refused")
		}
		return nil
	}))
}
