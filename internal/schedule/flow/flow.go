// Package flow is the workflow of a schedule: it waits for the schedule's next moment, starts a
// run, and waits for the run's end. Everything that makes workflows durable makes schedules
// durable. Pausing, triggering and the like are updates of the workflow, and describing is a query.
package flow

import (
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schedule"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow of a schedule, its updates and its queries.
var (
	Workflow = workflow.NewWorkflow[State, workflow.None](stored.WorkflowType)

	pause      = workflow.NewUpdate[stored.Note, workflow.None](stored.UpdatePause)
	unpause    = workflow.NewUpdate[stored.Note, workflow.None](stored.UpdateUnpause)
	trigger    = workflow.NewUpdate[stored.Trigger, workflow.None](stored.UpdateTrigger)
	backfill   = workflow.NewUpdate[stored.Backfill, workflow.None](stored.UpdateBackfill)
	change     = workflow.NewUpdate[stored.Change, workflow.None](stored.UpdateChange)
	describe   = workflow.NewQuery[workflow.None, stored.Description](stored.QueryDescribe)
	describeAt = workflow.NewQuery[stored.Describe, stored.Description](stored.QueryDescribeAt)
)

// Registration returns the workflow, which each registry has besides what a program registers.
func Registration() workflow.Registration { return bridge.PartOf(register) }

// register adds the workflow to the registry. The input that creates a schedule is checked against
// the types that the registry has then.
func register(r *engine.Registry) error {
	bound := workflow.Bind(Workflow, func(ctx workflow.Context, s State) (workflow.None, error) { return run(ctx, s, r) },
		workflow.Names(pause, unpause, trigger, backfill, change, describe, describeAt))
	if err := bridge.Register(r, bound); err != nil {
		return err
	}
	code := r.Workflow(Workflow.Name())
	code.CheckInput = func(p history.Payload) error {
		s, err := payload.Decode[State](p)
		if err == nil {
			err = check(r, s.ID, &s.Schedule)
		}
		if err != nil {
			return refusal.Invalid.New("%v", err)
		}
		return nil
	}
	code.Carried = func(name string, input history.Payload) *engine.CarriedStart { return carried(r, name, input) }
	return nil
}

// carried returns the new action of a change, or nil if the update is none. The schedule itself
// refuses a change that does not decode, and an action without a type or with one of Weft's own.
func carried(types *engine.Registry, update string, input history.Payload) *engine.CarriedStart {
	if update != stored.UpdateChange {
		return nil
	}
	c, err := payload.Decode[stored.Change](input)
	if err != nil || c.Schedule == nil || c.Schedule.Action.Type == "" || engine.OwnType(c.Schedule.Action.Type) {
		return nil
	}
	a := &c.Schedule.Action
	return &engine.CarriedStart{
		Type: a.Type, Code: types.Workflow(a.Type), Known: types.WorkflowNames(), Input: history.Payload(a.Input), At: "schedule.action.input",
		SearchAttributes: a.SearchAttributes,
	}
}

// check returns an error if a schedule is invalid, given the existing types.
func check(types *engine.Registry, id string, s *stored.Schedule) error {
	if err := schedule.Check(id, s); err != nil {
		return err
	}
	code := types.Workflow(s.Action.Type)
	if code == nil {
		return fmt.Errorf("there is no workflow type %q", s.Action.Type)
	}
	if err := code.CheckInput(history.Payload(s.Action.Input)); err != nil {
		return fmt.Errorf("the input of the action does not decode as that of workflow type %q: %w", s.Action.Type, err)
	}
	return nil
}

// State is what a schedule keeps from run to run.
type State struct {
	ID       string          `json:"id"`
	Schedule stored.Schedule `json:"schedule"`
	// Last is the last moment that was handled.
	Last    time.Time        `json:"last,omitzero"`
	Machine schedule.Machine `json:"machine"`
	// Running are the runs that are open, and Recent the last ones that were started.
	Running []stored.Run `json:"running,omitempty"`
	Recent  []stored.Run `json:"recent,omitempty"`
	Started int          `json:"started,omitempty"`
	Missed  int          `json:"missed,omitempty"`
}

// flow is a running schedule.
type flow struct {
	State
	ctx workflow.Context
	// types are the workflow types that a change may name.
	types *engine.Registry
	// next is the moment that it waits for. stale says that next must be computed again.
	next  schedule.Moment
	stale bool
	// resume is when it handles the moments that did not fit into one task; zero if all did.
	resume time.Time
	// woken says that something has happened that the main loop has not seen.
	woken bool
	// seen is when code last ran.
	seen time.Time
	// beginning counts the coroutines that have not issued their first command.
	beginning int
}

func run(ctx workflow.Context, s State, types *engine.Registry) (workflow.None, error) {
	f := &flow{State: s, ctx: ctx, types: types, stale: true, seen: workflow.Now(ctx)}
	if f.Last.IsZero() {
		f.Last = f.seen
	}
	f.handle()
	f.Running = nil // those of the run before: the schedule no longer waits for them
	f.settle()
	for {
		f.woken, f.seen = false, workflow.Now(ctx)
		f.look()
		if f.long() && f.beginning > 0 {
			// The decided starts and ends are issued first: no coroutine runs after the return.
			// That may take another task, in which more moments are due.
			if err := workflow.Await(workflow.Disconnected(ctx), func() bool { return f.beginning == 0 }); err != nil {
				return workflow.None{}, err
			}
			continue
		}
		if f.long() {
			f.Running = nil // they may be many, and the next run does not wait for them
			return Workflow.ContinueAsNew(ctx, f.State)
		}
		f.settle()
		if err := workflow.Select(ctx, f.cases()...); err != nil {
			return workflow.None{}, err
		}
	}
}

// cases returns what the schedule waits for.
func (f *flow) cases() []workflow.Case {
	all := []workflow.Case{workflow.OnCondition(func() bool { return f.woken })}
	if f.ticks() && !f.next.Due.IsZero() {
		at := f.next.Due
		if f.resume.After(at) {
			at = f.resume
		}
		all = append(all, workflow.OnTimer(at, nil))
	}
	return all
}

// ticks reports whether moments are handled when they are due.
func (f *flow) ticks() bool {
	return !f.Schedule.Paused && !f.Machine.Waits(f.Schedule.Overlap)
}

// long reports whether the schedule should continue as new: the history is long, and nothing is in
// progress that the next run could not continue. The schedule does not wait for runs that may
// overlap.
func (f *flow) long() bool {
	quiet := len(f.Running) == 0 || f.Schedule.Overlap == stored.OverlapAllowAll
	return f.suggested() && quiet && workflow.AllHandlersFinished(f.ctx)
}

func (f *flow) suggested() bool { return workflow.InfoOf(f.ctx).SuggestContinueAsNew }

// look handles the moments that are due.
func (f *flow) look() {
	if f.resume.After(workflow.Now(f.ctx)) {
		return
	}
	if f.ticks() && (f.stale || !f.next.Due.IsZero() && !f.next.Due.After(workflow.Now(f.ctx))) {
		f.catchUp()
	}
}

const (
	// momentsAtOnce is how many moments one task handles. They are in one event, which cannot be
	// split between tasks.
	momentsAtOnce = 100
	// partEvery is how long a schedule that has more moments to handle waits for the next task.
	partEvery = time.Second
)

// catchUp handles the moments up to now, and reports whether there are more than one task handles.
// It records them, because another build may have other time zones.
func (f *flow) catchUp() (more bool) {
	now, last := workflow.Now(f.ctx), f.Last
	for more = true; more; {
		m := workflow.SideEffect(f.ctx, func() schedule.Part { return f.part(last, now, f.passes(now)) })
		if m.Passed > 0 {
			last = m.Last
			f.countPassed(m.Passed)
		}
		for _, moment := range m.Due {
			last = moment.At
			f.handleMoment(moment, now)
		}
		more = !m.Next.Due.IsZero() && !m.Next.Due.After(now)
		f.next = m.Next
		if m.Bounded && !m.Goes {
			break
		}
	}
	f.Last, f.stale, f.resume = last, false, time.Time{}
	if more {
		f.resume = now.Add(partEvery)
	}
	return more
}

// part returns the moments after last that one task handles. If each run replaces the one before
// it, these are the first and, in a second part for the same task, the last one.
func (f *flow) part(last, now time.Time, passes func(schedule.Moment) bool) schedule.Part {
	spec := f.compile(f.Schedule.Spec)
	if !f.replaces() || f.Machine.Open > 0 {
		return spec.Part(last, now, momentsAtOnce, passes)
	}
	p := spec.Part(last, now, 1, passes)
	p.Goes = len(p.Due) > 0
	return p
}

// replaces reports whether a new run replaces an open one.
func (f *flow) replaces() bool {
	return f.Schedule.Overlap == stored.OverlapCancel || f.Schedule.Overlap == stored.OverlapTerminate
}

// passes returns whether a moment needs no action in the present state: the moment is missed or
// left out, or the run of a later moment would replace its run before it begins.
func (f *flow) passes(now time.Time) func(schedule.Moment) bool {
	idle, open := f.Machine.Idle(f.Schedule.Overlap), f.Machine.Open > 0
	if open && f.replaces() {
		spec := f.compile(f.Schedule.Spec)
		return func(m schedule.Moment) bool {
			later := spec.Next(m.At)
			return !later.IsZero() && !spec.Jittered(later).After(now)
		}
	}
	return func(m schedule.Moment) bool { return idle || !open && now.Sub(m.Due) > f.window() }
}

// countPassed counts moments that needed no action.
func (f *flow) countPassed(n int) {
	if f.Machine.Open > 0 {
		f.Machine.Skipped += n
	} else {
		f.Missed += n
	}
}

// missRest counts the moments up to now that no task has handled as missed.
func (f *flow) missRest() {
	now, last := workflow.Now(f.ctx), f.Last
	m := workflow.SideEffect(f.ctx, func() schedule.Part {
		return f.part(last, now, func(schedule.Moment) bool { return true })
	})
	f.Missed += m.Passed
	f.resume = time.Time{}
}

func (f *flow) window() time.Duration {
	if window := time.Duration(f.Schedule.CatchUpWindow); window > 0 {
		return window
	}
	return schedule.DefaultCatchUp
}

// handleMoment handles a moment. A moment that is late after an outage is missed; one that was due
// while a run was open is not late.
func (f *flow) handleMoment(m schedule.Moment, now time.Time) {
	if f.Machine.Open == 0 && now.Sub(m.Due) > f.window() {
		f.Missed++
		return
	}
	f.arrive(stored.Run{At: m.At, Overlap: f.Schedule.Overlap})
}

func (f *flow) compile(s stored.Spec) *schedule.Spec {
	spec, err := schedule.Compile(f.ID, s)
	if err != nil {
		panic(err) // it was checked before: the task fails, and continues under a build that reads it
	}
	return spec
}
