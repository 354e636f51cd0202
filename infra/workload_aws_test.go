//go:build aws

package infra_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// walk is a workflow that takes the steps of its input, one after the other. The process that
// handles the event which ends a step (a request, an activity's message, a result or a timer) takes
// the next one. So all pairs of steps show the requests of each function.
var (
	walk   = workflow.NewWorkflow[[]string, string]("walk")
	pinned = workflow.NewWorkflow[[]string, string]("pinned walk") // stays with its build
	detour = workflow.NewUpdate[[]string, string]("detour")
	note   = workflow.NewSignal[[]string]("note")
	left   = workflow.NewQuery[workflow.None, int]("left")
)

// The kinds of steps.
const (
	work     = "work"          // an activity
	fanOut   = "fan out"       // two at once: their results take the workflow queue
	children = "children"      // two at once: their results take the workflow queue
	flaky    = "flaky"         // an activity that fails once, and is soon retried
	distant  = "distant"       // an activity that fails once, and is retried after longer than a queue's delay
	nap      = "nap"           // a timer that a queue delays
	sleep    = "sleep"         // one that is kept in the table
	haul     = "haul"          // an activity whose input and result are large
	convoy   = "convoy"        // two at once: their results take the workflow queue
	beat     = "beat"          // an activity that sends a heartbeat
	ask      = "ask"           // an activity that continues outside
	trip     = "trip"          // the code panics a few times
	again    = "again"         // continue as new, with the steps that are left
	listen   = "listen"        // wait for a signal, which has the steps to make next
	longNap  = 3 * time.Second // more than WEFT_LONG_TIMER
	shortNap = time.Second     // less
	longTime = 100 * time.Hour // a timer that need not fire

	askInVain = "ask in vain"    // one that nobody completes
	forever   = "sleep for ever" // the step that waits for it
)

// Activities of a walk.
var (
	working = activity.New("working", func(context.Context, workflow.None) (string, error) { return "did", nil })
	hauling = activity.New("hauling", func(_ context.Context, load string) (string, error) { return load, nil })
	failing = activity.New("failing", func(ctx context.Context, _ workflow.None) (string, error) {
		if activity.InfoOf(ctx).Attempt == 1 {
			return "", errors.New("not at once")
		}
		return "did", nil
	}, activity.Options{Retry: activity.Retry{InitialInterval: shortNap}})
	beating = activity.New("beating", func(ctx context.Context, _ workflow.None) (string, error) {
		return "did", activity.Heartbeat(ctx, "halfway")
	}, activity.Options{Heartbeat: time.Minute, StartToClose: time.Hour})
	asking = activity.New("asking", func(ctx context.Context, _ workflow.None) (string, error) {
		token, err := activity.Token(ctx)
		if err == nil && activity.InfoOf(ctx).WorkflowID != "ask-in-vain" {
			asked <- token
		}
		return "", cmp.Or(err, activity.ErrPending)
	}, activity.Options{Pending: time.Hour, Retry: activity.Retry{InitialInterval: time.Millisecond}})
	askingInVain = asking.With(activity.Options{Pending: shortNap, Retry: activity.Retry{MaxAttempts: 2, InitialInterval: time.Millisecond}})
	failingLong  = failing.With(activity.Options{Retry: activity.Retry{InitialInterval: longNap}})
)

// freight is large: a commit and a message with it are offloaded to the bucket.
var freight = strings.Repeat("freight ", 1<<17)

// asked has the tokens that asking has taken.
var asked = make(chan string, 4)

// traveller has the code of walks. It panics at the step trip for the first trips times, as code
// would before it is fixed.
type traveller struct{ trips atomic.Int32 }

func (v *traveller) run(ctx workflow.Context, steps []string) (string, error) {
	at := 0
	left.Handle(ctx, func(workflow.None) (int, error) { return len(steps) - at, nil })
	detour.Handle(ctx, func(ctx workflow.Context, more []string) (string, error) {
		for _, step := range more {
			if err := v.step(ctx, step); err != nil {
				return "", err
			}
		}
		return strings.Join(more, ", "), nil
	}, workflow.Validate(func(more []string) error {
		if len(more) == 0 {
			return errors.New("there is nothing to do")
		}
		return nil
	}))
	for ; at < len(steps); at++ {
		switch steps[at] {
		case again:
			return walk.ContinueAsNew(ctx, steps[at+1:])
		case listen:
			more, err := note.Receive(ctx)
			if err != nil {
				return "", err
			}
			steps = append(steps[:at+1:at+1], append(more, steps[at+1:]...)...)
		default:
			if err := v.step(ctx, steps[at]); err != nil {
				return "", err
			}
		}
	}
	return strings.Join(steps, ", "), workflow.AwaitHandlers(ctx)
}

func (v *traveller) step(ctx workflow.Context, step string) (err error) {
	switch step {
	case work:
		_, err = working.Run(ctx, workflow.None{})
	case fanOut:
		one, other := working.Start(ctx, workflow.None{}), working.Start(ctx, workflow.None{})
		if _, err = one.Get(ctx); err == nil {
			_, err = other.Get(ctx)
		}
	case children:
		one, other := walk.StartChild(ctx, []string{work}), walk.StartChild(ctx, []string{work})
		if _, err = one.Get(ctx); err == nil {
			_, err = other.Get(ctx)
		}
	case haul:
		_, err = hauling.Run(ctx, freight)
	case convoy:
		one, other := hauling.Start(ctx, freight), hauling.Start(ctx, freight)
		if _, err = one.Get(ctx); err == nil {
			_, err = other.Get(ctx)
		}
	case freight: // needs no step
	case beat:
		_, err = beating.Run(ctx, workflow.None{})
	case flaky:
		_, err = failing.Run(ctx, workflow.None{})
	case distant:
		_, err = failingLong.Run(ctx, workflow.None{})
	case ask:
		_, err = asking.Run(ctx, workflow.None{})
	case askInVain:
		_, err = askingInVain.Run(ctx, workflow.None{})
	case nap:
		err = workflow.Sleep(ctx, shortNap)
	case sleep:
		err = workflow.Sleep(ctx, longNap)
	case forever:
		err = workflow.Sleep(ctx, longTime)
	case trip:
		if v.trips.Add(-1) >= 0 {
			panic("tripped")
		}
	default:
		err = fmt.Errorf("there is no step %q", step)
	}
	return err
}

func (v *traveller) registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(walk, v.run, workflow.Names(detour, left, note)), workflow.Bind(pinned, v.run, workflow.BindOptions{Pinned: true}, workflow.Names(detour, left, note)), working, hauling, failing, beating, asking}
}
