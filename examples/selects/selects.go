// Package selects shows how to wait for several things at once: activities, channels, signals,
// timers and conditions. Look at the order of the cases: if several are ready, the first of them
// runs.
package selects

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a ride in a taxi. It returns what happened, in order.
var (
	Workflow = workflow.NewWorkflow[Ride, []string]("selects")
	Say      = workflow.NewSignal[string]("selects.say")
	Tip      = workflow.NewSignal[int]("selects.tip")
	Call     = activity.New("selects.call", call)
)

// Ride says how long things take.
type Ride struct {
	Ann time.Duration `json:"ann"` // the drivers, to answer
	Bob time.Duration `json:"bob"`
	// Miles is how long the ride is; each takes a minute.
	Miles int `json:"miles"`
}

// Run finds a driver, rides, and takes a tip if there is one.
func Run(ctx workflow.Context, ride Ride) (log []string, err error) {
	note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }

	// Futures and a timer: the first driver who answers drives, and the call to the other one is
	// canceled.
	calling, hangUp := workflow.WithCancel(ctx)
	driver := ""
	err = workflow.Select(ctx,
		workflow.OnFuture(Call.Start(calling, ride.Ann), func(_ activity.None, _ error) { driver = "ann" }),
		workflow.OnFuture(Call.Start(calling, ride.Bob), func(_ activity.None, _ error) { driver = "bob" }),
		workflow.OnTimeout(10*time.Second, func() { note("nobody answers") }))
	hangUp()
	if err != nil || driver == "" {
		return log, err
	}

	// A channel, a signal and a condition, in a loop: signals do not end the ride.
	miles, arrived := workflow.NewChannel[int](0), false
	workflow.Go(ctx, func(ctx workflow.Context) {
		for n := range ride.Miles {
			if workflow.Sleep(ctx, time.Minute) != nil || miles.Send(ctx, n+1) != nil {
				return
			}
		}
		arrived = true
	})
	for !arrived {
		err := workflow.Select(ctx,
			workflow.OnSignal(Say, func(text string) { note("%s hears: %s", driver, text) }),
			workflow.OnReceive(miles, func(n int, _ bool) { note("mile %d", n) }),
			workflow.OnCondition(func() bool { return arrived }))
		if err != nil {
			return log, err
		}
	}

	// Default does not wait.
	return log, workflow.Select(ctx,
		workflow.OnSignal(Tip, func(coins int) { note("%d coins for %s", coins, driver) }),
		workflow.Default(func() { note("no tip for %s", driver) }))
}

// call calls a driver, and takes this long until the driver answers.
func call(ctx context.Context, d time.Duration) (activity.None, error) {
	select {
	case <-time.After(d):
		return activity.None{}, nil
	case <-ctx.Done():
		return activity.None{}, ctx.Err()
	}
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Say, Tip)), Call}
}
