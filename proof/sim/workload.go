package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	weftprogram "github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow that is simulated does a bit of everything, and its result follows from its log.
var (
	ledger  = workflow.NewWorkflow[program, tally]("ledger")
	add     = workflow.NewUpdate[int, int]("add")
	addSlow = workflow.NewUpdate[int, int]("addSlow")
	total   = workflow.NewQuery[workflow.None, int]("total")
	note    = workflow.NewSignal[string]("note")
	unnamed = workflow.NewQuery[workflow.None, int]("unnamed") // the ledger's binding omits it

	// A ledger's visibility: the last sum, and the last slow update.
	sumAttribute = workflow.NewAttribute[int64]("Sum")
	slowMemo     = workflow.NewMemo[int]("slow")
)

// program is the input of a ledger.
type program struct {
	Steps  int           // activities in sequence
	Fan    int           // activities in parallel
	Nap    time.Duration // a timer
	Most   int           // the largest sum that add accepts
	Poison int           // the note at which build 1 panics; 0 means none
	Flaky  int           // how many attempts of each activity fail first
	Once   bool          // activities have one attempt
	Tries  int           `json:",omitempty"` // how many attempts activities have at most; 0 is any number
	Inline bool          // activities may run in the process that ran the one before
	Queue  string        // the task queue of activities; empty means the default one, as for every second step that may run inline
	Laps   int           // how often it continues as new, after its steps
	Base   int           // the sum of the earlier runs
	Notes  int           // how many notes it reads before it continues as new
	Fails  int           // how many runs fail after their steps and are followed by another
	Ask    bool          // activities continue outside, and may be completed there
	Kids   int           // children in parallel
	Leave  bool          // it does not wait for its children
	Policy workflow.ParentClosePolicy
	Local  bool          // its steps and the updates addSlow are local activities
	Tells  string        // the workflow to which it sends a note after its steps; empty means none
	Cron   bool          // it begins each hour, and ends when its steps are done
	Whole  time.Duration // its execution timeout; 0 means none
	Run    time.Duration `json:",omitempty"` // its run timeout; 0 means none
	Close  time.Duration `json:",omitempty"` // the ScheduleToClose of its activities; 0 means none
}

// waits reports whether a canceled ledger waits for the end of its current step.
func (p program) waits() bool { return !p.Local && p.Steps%2 == 1 }

// queueOf returns the task queue of an activity.
func (p program) queueOf(name string) string {
	var step int
	if _, err := fmt.Sscanf(name, "step %d", &step); err == nil && p.Inline && step%2 == 1 {
		return ""
	}
	return p.Queue
}

// taskQueues are the task queues of the deployment, without the default one.
var taskQueues = []string{"reports"}

// tally is the result of a ledger.
type tally struct {
	Sum   int
	Notes int
	Done  []string
	Kids  []string
}

const finish = "finish"

var errFails = errors.New("this attempt is to fail")

// run is the code of a ledger. It checks that no code runs after its return. In a canceled run,
// code that waits for the next task still does.
func (l *code) run(ctx workflow.Context, p program) (tally, error) {
	returned := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := workflow.Await(ctx, func() bool { return returned }); err == nil && ctx.Err() == nil {
			l.runsOn(workflow.InfoOf(ctx).RunID)
		}
	})
	t, err := l.keep(ctx, p)
	returned = true // not in a deferred function, because those also run when code is given up
	return t, err
}

// keep does the work of a ledger. In build 1 it has a bug.
func (l *code) keep(ctx workflow.Context, p program) (tally, error) {
	t := tally{Sum: p.Base}
	finished := false
	total.Handle(ctx, func(workflow.None) (int, error) { return t.Sum, nil })
	add.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		if l.build == 1 && p.Poison > 0 && n == refusedHere {
			panic("the bug of build 1 at an update")
		}
		l.changed(ctx, fmt.Sprint("sum ", t.Sum))
		t.Sum += n
		workflow.UpsertSearchAttributes(ctx, sumAttribute.Set(int64(t.Sum)))
		return t.Sum, nil
	}, workflow.Validate(func(n int) error {
		if t.Sum+n > p.Most {
			return errors.New("too much")
		}
		return nil
	}))
	echo.Handle(ctx, func(_ workflow.Context, text string) (string, error) { return text, nil })
	addSlow.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		if _, err := l.do(ctx, p, fmt.Sprintf("slow %d", n)); err != nil {
			return 0, err
		}
		if l.build == 1 && p.Poison > 0 && n == broken {
			panic("the bug of build 1 in a handler")
		}
		t.Sum += n
		workflow.UpsertMemo(ctx, slowMemo.Set(n))
		return t.Sum, nil
	})
	fails := workflow.InfoOf(ctx).Attempt <= p.Fails
	workflow.Go(ctx, func(ctx workflow.Context) {
		for !fails && (p.Laps == 0 || t.Notes < p.Notes) { // a run that fails leaves its notes to the next
			text, err := note.Receive(ctx)
			if err != nil || text == finish {
				finished = true
				return
			}
			t.Notes++
			l.changed(ctx, fmt.Sprint("note ", t.Notes))
			if l.build == 1 && t.Notes == p.Poison {
				if p.Poison%2 == 1 {
					unnamed.Handle(ctx, func(workflow.None) (int, error) { return 0, nil })
					l.handled(workflow.InfoOf(ctx).RunID)
				}
				panic("the bug of build 1")
			}
		}
	})
	if err := l.steps(ctx, p, &t); err != nil {
		return t, err
	}
	if err := l.runChildren(ctx, p, &t); err != nil {
		return t, err
	}
	if fails {
		return t, errFails
	}
	if p.Cron {
		err := workflow.AwaitHandlers(ctx)
		return t, err
	}
	if p.Laps > 0 && !finished {
		if err := workflow.AwaitHandlers(ctx); err != nil {
			return t, err
		}
	}
	if p.Laps > 0 && !finished { // nor was it told to finish while it waited for its handlers
		p.Laps, p.Base = p.Laps-1, t.Sum
		return ledger.ContinueAsNew(ctx, p)
	}
	if err := workflow.Await(ctx, func() bool { return finished }); err != nil {
		return t, err
	}
	err := workflow.AwaitHandlers(ctx)
	return t, err
}

// steps runs the activities and the timer of a ledger. It records an activity that fails for good,
// and continues.
func (l *code) steps(ctx workflow.Context, p program, t *tally) error {
	outcome := func(name string) error {
		l.changed(ctx, name)
		result, err := l.do(ctx, p, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			result = name + " failed"
		}
		t.Done = append(t.Done, result)
		return nil
	}
	for i := range p.Steps {
		if err := outcome(fmt.Sprintf("step %d", i)); err != nil {
			return err
		}
	}
	var group workflow.WaitGroup
	for i := range p.Fan {
		group.Go(ctx, func(ctx workflow.Context) { _ = outcome(fmt.Sprintf("fan %d", i)) })
	}
	if err := group.Wait(ctx); err != nil {
		return err
	}
	return workflow.Sleep(ctx, p.Nap)
}

// code is what a build registers.
type code struct {
	build int
	// pinned says whether runs stay with their build.
	pinned bool
	// patches says that build 2 does what build 1 does not know.
	patches bool
	// attempt runs an attempt at the activity.
	attempt func(ctx context.Context, name string) (string, error)
	// attemptLocal runs an attempt at the local activity.
	attemptLocal func(ctx context.Context, name string) (string, error)
	// runsOn is called with the id of a run whose code runs after the workflow's function has
	// returned, which must not happen.
	runsOn func(runID string)
	// handled is called with the id of a run whose code handles a name that its binding omits. That
	// must not happen.
	handled func(runID string)
}

// changed does what only build 2 does: a task of build 1 fails at it.
func (l *code) changed(ctx workflow.Context, what string) {
	if l.patches && l.build > 1 && workflow.Patched(ctx, strings.ReplaceAll(what, " ", "-")) {
		_ = workflow.SideEffect(ctx, func() bool { return true })
	}
}

func (l *code) work(p program, name string) activity.Activity[string, string] {
	o := activity.Options{
		StartToClose: time.Minute, Retry: activity.Retry{InitialInterval: time.Second}, Inline: p.Inline, TaskQueue: p.queueOf(name), WaitCancellation: p.waits(),
	}
	o.ScheduleToClose = p.Close
	if p.Ask {
		o.Pending, o.Heartbeat = 2*time.Minute, time.Minute
	}
	if o.Retry.MaxAttempts = p.Tries; p.Once {
		o.Retry.MaxAttempts = 1
	}
	return activity.New("work", l.attempt, o)
}

// do runs an activity, local or not.
func (l *code) do(ctx workflow.Context, p program, name string) (string, error) {
	if p.Local {
		return l.local(p).Run(ctx, name)
	}
	return l.work(p, name).Run(ctx, name)
}

func (l *code) local(p program) activity.Local[string, string] {
	o := activity.LocalOptions{}
	if p.Once {
		o.Retry.MaxAttempts = 1
	}
	return activity.NewLocal("local", l.attemptLocal, o)
}

// attemptLocal takes some time and often fails. It runs for an update only after the update is in
// the log.
func (s *simulation) attemptLocal(ctx context.Context, name string) (string, error) {
	info, n := activity.InfoOf(ctx), 0
	if _, err := fmt.Sscanf(name, "slow %d", &n); err == nil && !s.audit.accepted(info.WorkflowID, info.RunID, n) {
		s.fail("%s of %s ran, although no update that asks for it is in the log", name, info.RunID)
	}
	if name == "" {
		s.fail("an attempt of %s has no input: its activity was scheduled with one", activity.InfoOf(ctx).WorkflowID)
	}
	s.pause(wait{until: s.now.Add(time.Duration(s.random.IntN(2000)) * time.Millisecond)})
	s.audit.executed(info)
	if !s.calm && s.random.oneIn(4) {
		return "", errors.New("flaky")
	}
	return name, nil
}

// attempt makes an attempt, and records how it ends unless its process dies.
func (s *simulation) attempt(ctx context.Context, name string) (string, error) {
	e := s.audit.executes(activity.InfoOf(ctx))
	result, err := s.execute(ctx, name, e)
	e.ended, e.failed = true, err != nil
	return result, err
}

// execute takes some time and often fails.
func (s *simulation) execute(ctx context.Context, name string, e *execution) (string, error) {
	s.audit.checkHeld(activity.InfoOf(ctx))
	if name == "" {
		s.fail("an attempt of %s has no input: its activity was scheduled with one", activity.InfoOf(ctx).WorkflowID)
	}
	s.pause(wait{until: s.now.Add(time.Duration(s.random.IntN(2000)) * time.Millisecond)})
	s.audit.executed(activity.InfoOf(ctx))
	s.audit.began(activity.InfoOf(ctx))
	s.events.begins(activity.InfoOf(ctx), oneIf(s.audit.programs[activity.InfoOf(ctx).WorkflowID].Once))
	if err := s.publish(ctx, activity.InfoOf(ctx), e); err != nil {
		return "", err
	}
	if p, known := s.audit.programs[activity.InfoOf(ctx).WorkflowID]; known && s.running.queue != queue.ForTasks(p.queueOf(name)) {
		s.fail("an attempt at %s of %s, whose task queue is %q, is made by who got a message of the queue %s", name, activity.InfoOf(ctx).WorkflowID, p.queueOf(name), s.running.queue)
	}
	if !s.calm && s.random.oneIn(4) {
		return "", errors.New("flaky")
	}
	if s.audit.programs[activity.InfoOf(ctx).WorkflowID].Ask {
		return "", s.askOutside(ctx, name)
	}
	s.audit.knows(activity.InfoOf(ctx))
	return name, s.collect(ctx, e)
}

// askOutside may let somebody outside continue an attempt.
func (s *simulation) askOutside(ctx context.Context, name string) error {
	token, err := activity.Token(ctx)
	if err != nil {
		return err
	}
	if s.calm || !s.random.oneIn(5) {
		info := activity.InfoOf(ctx)
		s.spawn(s.name("outsider of %s event %d attempt %d", info.WorkflowID, info.EventID, info.Attempt), nil, func() { s.outsider(info, token, name) })
	}
	return activity.ErrPending
}

func registry(s *simulation, build int) *engine.Registry {
	return (&code{build: build, attempt: s.attempt, attemptLocal: s.attemptLocal, pinned: s.plan.pinned, patches: s.gradual != nil, runsOn: func(runID string) {
		s.fail("code of %s runs after the workflow's function has returned: what it does is lost with the run", runID)
	}, handled: func(runID string) {
		s.fail("code of %s handles a query that its binding omits", runID)
	}}).registry()
}

func (l *code) registry() *engine.Registry {
	r, err := weftprogram.Registry(
		//weftvet:ignore names build 1 is refused the query that is omitted
		workflow.Bind(ledger, l.run, workflow.BindOptions{Pinned: l.pinned}, workflow.Names(add, echo, addSlow, total, note, sumAttribute, slowMemo, entries)),
		workflow.Bind(entry, l.entry, workflow.Names(goOn, entries)), workflow.Bind(letters, l.letters, workflow.BindOptions{Dynamic: workflow.Signals}),
		workflow.Bind(job, l.job), workflow.Bind(spinner, l.spin, workflow.Names(wake)), workflow.Bind(member, l.member, workflow.Names(note)),
		l.work(program{}, ""), l.local(program{}),
	)
	if err != nil {
		panic(err)
	}
	return r
}
