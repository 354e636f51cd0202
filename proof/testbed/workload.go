package testbed

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflows of the scenarios. What they do depends on the build of the process:
//
//	build-1  panics where a workflow is poked to, and in the updates boom and late
//	build-2  does not
//	unborn   panics in the first task of every run
//	blind    has no local activity
//	strict   has validators that refuse everything
//	changed, forgetful, eager, reversed
//	         do other things than build-1 did (another one, one less, one more, in another order):
//	         its histories do not replay

// Job is the input of the activity work.
type Job struct {
	Name string `json:"name"`
	// For is how long an attempt takes, as "1m".
	For string `json:"for,omitempty"`
	// Fails is how many attempts fail before one succeeds; negative means all.
	Fails int `json:"fails,omitempty"`
}

// Work is the activity of the workflows.
var Work = activity.New("work", work, activity.Options{
	StartToClose: 2 * time.Hour, Retry: activity.Retry{NonRetryable: []*activity.Error{ErrBroken}},
})

// Errors of workflows and activities that callers decode.
var (
	ErrNegative = workflow.NewError("negative", "the number is negative")
	ErrLimit    = workflow.NewError("limit", "that is more than the limit")
	ErrSour     = workflow.NewError("sour", "this handler always fails")
	ErrBroken   = activity.NewError("broken", "the job is broken")
)

func work(ctx context.Context, job Job) (string, error) {
	d, _ := time.ParseDuration(job.For) // no duration means 0
	if err := pause(ctx, d); err != nil {
		return "", err
	}
	attempt := activity.InfoOf(ctx).Attempt
	switch {
	case job.Fails < 0:
		return "", ErrBroken
	case attempt <= job.Fails:
		return "", fmt.Errorf("attempt %d of %s failed", attempt, job.Name)
	}
	return "did " + job.Name, nil
}

// The workflow counter, with its updates, signals and queries.
var (
	Counter = workflow.NewWorkflow[int, int]("counter")
	// Pinned is a counter whose runs stay with their build.
	Pinned = workflow.NewWorkflow[int, int]("pinned")

	Add     = workflow.NewUpdate[int, int]("add")
	Sour    = workflow.NewUpdate[workflow.None, workflow.None]("sour")
	Nap     = workflow.NewUpdate[string, string]("nap")
	Do      = workflow.NewUpdate[Job, string]("do")
	Boom    = workflow.NewUpdate[workflow.None, workflow.None]("boom")
	Late    = workflow.NewUpdate[workflow.None, string]("late")
	Finish  = workflow.NewUpdate[workflow.None, workflow.None]("finish")
	Renew   = workflow.NewUpdate[workflow.None, workflow.None]("renew")
	Leave   = workflow.NewUpdate[workflow.None, workflow.None]("leave")
	Desert  = workflow.NewUpdate[workflow.None, workflow.None]("desert")
	Lock    = workflow.NewUpdate[workflow.None, workflow.None]("lock")
	Sleepy  = workflow.NewUpdate[workflow.None, workflow.None]("sleepy")
	Panicky = workflow.NewUpdate[workflow.None, workflow.None]("panicky")
	Both    = workflow.NewUpdate[Job, string]("both")
	Read    = workflow.NewUpdate[workflow.None, string]("read")
	Tell    = workflow.NewUpdate[workflow.None, Told]("tell")

	Sum   = workflow.NewQuery[workflow.None, int]("sum")
	Plus  = workflow.NewQuery[int, int]("plus")
	Wrong = workflow.NewQuery[workflow.None, int]("wrong")

	Poke = workflow.NewSignal[string]("poke")
	Mail = workflow.NewSignal[string]("mail")
	// Deep and odd are signals that nothing receives.
	Deep = workflow.NewSignal[any]("deep")
	odd  = workflow.NewSignal[any]("any name/at all ü")
)

// Told is what workflow code can read about its task.
type Told struct {
	Now     time.Time `json:"now"`
	Length  int       `json:"length"`
	Suggest bool      `json:"suggest"`
}

type counter struct {
	build  string
	limit  int
	sum    int
	done   bool // the workflow's function may return
	deaf   bool // it ignores its cancellation
	drain  bool // it waits for the handlers first
	again  bool // ... and then continues as new, with its sum as the limit
	locked bool
	kicked bool
}

func (c *counter) run(ctx workflow.Context, limit int) (int, error) {
	if c.build == "unborn" {
		panic("this build cannot start anything")
	}
	if c.limit = limit; limit == 0 {
		c.limit = 100
	}
	c.handle(ctx)
	for !c.done {
		err := workflow.Select(ctx,
			workflow.OnCondition(func() bool { return c.done || c.kicked }),
			workflow.OnSignal(Poke, func(text string) { c.poke(ctx, text) }))
		if err != nil {
			return c.sum, err
		}
		if c.deaf {
			ctx, c.deaf = workflow.Disconnected(ctx), false
		}
		if c.kicked {
			c.kicked = false
			Work.Start(ctx, Job{Name: "for main"})
		}
	}
	if c.drain {
		if err := workflow.AwaitHandlers(ctx); err != nil {
			return c.sum, err
		}
	}
	if c.again {
		return Counter.ContinueAsNew(ctx, c.limit+1)
	}
	return c.sum, nil
}

func (c *counter) poke(ctx workflow.Context, text string) {
	switch {
	case text == "done":
		c.done = true
	case text == "deafen":
		c.deaf = true
	case text == "fail":
		Work.Start(ctx, Job{Name: "hard", Fails: 9})
	case text == "work":
		Work.Start(ctx, Job{Name: "for a signal", For: "1h"})
	case text == "raise":
		c.limit += 100
	case text == "end" && c.build == "build-1":
		panic("cannot end")
	case text == "end":
		c.done = true
	case text == "drain":
		c.done, c.drain = true, true
	case text == "again":
		c.done, c.again = true, true
	case text == "drain and again":
		c.done, c.drain, c.again = true, true, true
	case text == "panic" && c.build == "build-1":
		panic("cannot take this")
	}
}

func (c *counter) handle(ctx workflow.Context) {
	Sum.Handle(ctx, func(workflow.None) (int, error) { return c.sum, nil })
	Plus.Handle(ctx, func(n int) (int, error) { return c.sum + n, nil })
	Wrong.Handle(ctx, func(workflow.None) (int, error) { return 0, ErrSour })
	Add.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		if c.build == "eager" {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return 0, err
			}
		}
		c.sum += n
		return c.sum, nil
	}, workflow.Validate(c.canAdd))
	Tell.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (Told, error) {
		info := workflow.InfoOf(ctx)
		return Told{workflow.Now(ctx), info.HistoryLength, info.SuggestContinueAsNew}, nil
	})
	Read.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (string, error) {
		text, _, err := Mail.TryReceive(ctx)
		return text, err
	})
	c.handleWaiting(ctx)
	c.handleEnding(ctx)
	c.handleBroken(ctx)
}

func (c *counter) canAdd(n int) error {
	switch {
	case n < 0 || c.build == "strict":
		return ErrNegative
	case c.sum+n > c.limit:
		return ErrLimit
	}
	return nil
}

// handleWaiting sets the handlers that wait.
func (c *counter) handleWaiting(ctx workflow.Context) {
	Nap.Handle(ctx, func(ctx workflow.Context, d string) (string, error) {
		length, err := time.ParseDuration(d)
		if err == nil {
			err = workflow.Sleep(ctx, length)
		}
		return "slept", err
	})
	Do.Handle(ctx, func(ctx workflow.Context, job Job) (string, error) {
		switch c.build {
		case "changed":
			return "", workflow.Sleep(ctx, time.Minute)
		case "forgetful":
			return "did nothing", nil
		}
		return Work.Run(ctx, job)
	})
	Both.Handle(ctx, func(ctx workflow.Context, job Job) (string, error) {
		c.kicked = true
		return Work.Run(ctx, job)
	})
	Lock.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		c.locked = true
		defer func() { c.locked = false }()
		return workflow.None{}, workflow.Sleep(ctx, time.Minute)
	}, workflow.Validate(func(workflow.None) error {
		if c.locked {
			return workflow.NewError("locked", "somebody holds the lock")
		}
		return nil
	}))
}

// handleEnding sets the handlers after which the workflow's function returns.
func (c *counter) handleEnding(ctx workflow.Context) {
	Finish.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) {
		c.done = true
		return workflow.None{}, nil
	})
	Renew.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) {
		c.done, c.again = true, true
		return workflow.None{}, nil
	})
	leave := func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		c.done = true
		return workflow.None{}, workflow.Await(ctx, func() bool { return false })
	}
	Leave.Handle(ctx, leave)
	Desert.Handle(ctx, leave, workflow.HandlerOptions[workflow.None]{Abandon: true})
}

// handleBroken sets the handlers that misbehave.
func (c *counter) handleBroken(ctx workflow.Context) {
	none := func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil }
	Sour.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, ErrSour })
	Boom.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) {
		if c.build == "build-1" {
			panic("boom")
		}
		return workflow.None{}, nil
	})
	Late.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (string, error) {
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return "", err
		}
		if c.build == "build-1" {
			panic("late")
		}
		return "fixed", nil
	})
	//weftvet:ignore readonly what becomes of such a validator is tested
	Sleepy.Handle(ctx, none, workflow.Validate(func(workflow.None) error { return workflow.Sleep(ctx, time.Second) }))
	Panicky.Handle(ctx, none, workflow.Validate(func(workflow.None) error { panic("ouch") }))
}

// Watcher waits for an activity. It accepts its update look only after the result has arrived and
// before the workflow sees it.
var (
	Watcher = workflow.NewWorkflow[Job, string]("watcher")
	Look    = workflow.NewUpdate[workflow.None, string]("look")
)

func watcher(build string) func(workflow.Context, Job) (string, error) {
	return func(ctx workflow.Context, job Job) (string, error) {
		seen, result := "nothing", Work.Start(ctx, job)
		Look.Handle(ctx, func(workflow.Context, workflow.None) (string, error) { return "the code has seen " + seen, nil },
			workflow.Validate(func(workflow.None) error {
				if !result.Ready() || seen != "nothing" {
					return fmt.Errorf("too early or too late")
				}
				return nil
			}))
		text, err := result.Get(ctx)
		if build == "build-1" {
			panic("cannot take the result")
		}
		seen = text
		if err == nil {
			err = workflow.Sleep(ctx, time.Hour)
		}
		return seen, err
	}
}

// Registrar sets the handlers of its updates a and b late, as its input says.
var (
	Registrar = workflow.NewWorkflow[string, string]("registrar")
	A         = workflow.NewUpdate[workflow.None, int]("a")
	B         = workflow.NewUpdate[workflow.None, int]("b")
)

func registrar(build string) func(workflow.Context, string) (string, error) {
	return func(ctx workflow.Context, how string) (string, error) {
		if build == "unborn" {
			panic("this build cannot start anything")
		}
		calls := 0
		handler := func(workflow.Context, workflow.None) (int, error) {
			calls++
			return calls, nil
		}
		set := func(ctx workflow.Context) {
			B.Handle(ctx, handler)
			A.Handle(ctx, handler)
		}
		if how == "elsewhere" {
			workflow.Go(ctx, set)
		} else {
			set(ctx)
		}
		if how == "return" {
			return "at once", nil
		}
		return "", workflow.Sleep(ctx, time.Hour)
	}
}

// The workflows that are measured.
var (
	Sequence = workflow.NewWorkflow[int, int]("sequence")
	Inline   = workflow.NewWorkflow[int, int]("inline")
	Parallel = workflow.NewWorkflow[[]Job, int]("parallel")
	Sleeper  = workflow.NewWorkflow[string, string]("sleeper")
)

// sequence runs activities one after the other, in one process if their options allow it.
func sequence(o activity.Options) func(workflow.Context, int) (int, error) {
	one := activity.New(Work.Name(), work, o) // with the defaults for what o leaves out
	return func(ctx workflow.Context, n int) (int, error) {
		for i := range n {
			if _, err := one.Run(ctx, Job{Name: fmt.Sprint(i)}); err != nil {
				return i, err
			}
		}
		return n, nil
	}
}

func parallel(ctx workflow.Context, jobs []Job) (int, error) {
	var all []workflow.Future[string]
	for _, job := range jobs {
		all = append(all, Work.Start(ctx, job))
	}
	for i, result := range all {
		if _, err := result.Get(ctx); err != nil {
			return i, err
		}
	}
	return len(all), nil
}

func sleeper(ctx workflow.Context, d string) (string, error) {
	length, err := time.ParseDuration(d)
	if err != nil {
		return "", err
	}
	return d, workflow.Sleep(ctx, length)
}

// Workload returns what a build of the scenarios registers.
func Workload(build string) []workflow.Registration {
	return append(append(largeWorkload(build), localWorkload(build)...),
		//weftvet:ignore names callers send signals that nothing receives
		workflow.Bind(Counter, func(ctx workflow.Context, limit int) (int, error) {
			return (&counter{build: build}).run(ctx, limit)
		}, workflow.Names(Add, Tell, Read, Nap, Do, Both, Lock, Finish, Renew, Leave, Desert, Sour, Boom, Late, Sleepy, Panicky, Sum, Plus, Wrong, Poke, Mail, Deep, odd)),
		//weftvet:ignore names callers send signals that nothing receives
		workflow.Bind(Pinned, func(ctx workflow.Context, limit int) (int, error) {
			return (&counter{build: build}).run(ctx, limit)
		}, workflow.BindOptions{Pinned: true}, workflow.Names(Add, Tell, Read, Nap, Do, Both, Lock, Finish, Renew, Leave, Desert, Sour, Boom, Late, Sleepy, Panicky, Sum, Plus, Wrong, Poke, Mail, Deep, odd)),
		workflow.Bind(Watcher, watcher(build), workflow.Names(Look)), workflow.Bind(Registrar, registrar(build), workflow.Names(B, A)),
		workflow.Bind(Sequence, sequence(activity.Options{})), workflow.Bind(Inline, sequence(activity.Options{Inline: true})),
		workflow.Bind(Parallel, parallel), workflow.Bind(Sleeper, sleeper), Work,
		//weftvet:ignore names callers send signals that nothing receives
		workflow.Bind(leaver, runLeaver, workflow.Names(stay, linger, part, unread)), workflow.Bind(Parent, runParent), workflow.Bind(Member, runMember, workflow.Names(Word)), workflow.Bind(meddler, runMeddler, workflow.Names(meddle, stumble, extra, Mail)), workflow.Bind(flaky, runFlaky, workflow.Names(see, look, Poke, Mail)),
		workflow.Bind(Shower, runShower, workflow.Names(Show, VisibilityNow, On, Region, Amount, Tags, Rate, Paid, Due, Note, Size)),
		workflow.Bind(waiter, runWaiter, workflow.BindOptions{Pinned: true}, workflow.Names(giveUp)), workflow.Bind(patient, runPatient, workflow.Names(giveUp)), approve,
		workflow.Bind(Courier, courier), workflow.Bind(Publisher, publisher, workflow.Names(Say, Steps)),
	)
}
