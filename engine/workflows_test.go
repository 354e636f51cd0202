package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow of the go-workflows post runs two activities, one after the other.
var (
	Process          = activity.New("Process", func(context.Context, string) (string, error) { return "", nil })
	SendConfirmation = activity.New("SendConfirmation", func(context.Context, string) (string, error) { return "", nil })
	Refund           = activity.New("Refund", func(context.Context, string) (string, error) { return "", nil })
)

func OrderWorkflow(ctx workflow.Context, item string) (string, error) {
	processed, err := Process.Run(ctx, item)
	if err != nil {
		return "", err
	}
	return SendConfirmation.Run(ctx, processed)
}

// changedOrderWorkflow is OrderWorkflow in a later deployment. Its author forgot that there are
// open runs.
func changedOrderWorkflow(ctx workflow.Context, item string) (string, error) {
	if err := workflow.Sleep(ctx, time.Minute); err != nil {
		return "", err
	}
	return OrderWorkflow(ctx, item)
}

var (
	Add    = workflow.NewUpdate[int, int]("add")
	Slow   = workflow.NewUpdate[string, string]("slow")
	Nap    = workflow.NewUpdate[workflow.None, workflow.None]("nap")
	Boom   = workflow.NewUpdate[workflow.None, workflow.None]("boom")
	Finish = workflow.NewUpdate[workflow.None, workflow.None]("finish")
	Bad    = workflow.NewUpdate[workflow.None, workflow.None]("bad")
	Sum    = workflow.NewQuery[workflow.None, int]("sum")
	Poke   = workflow.NewSignal[string]("poke")
)

// counter is a workflow that is driven by its updates.
func counter(ctx workflow.Context, limit int) (int, error) {
	sum, done := 0, false
	Sum.Handle(ctx, func(workflow.None) (int, error) { return sum, nil })
	Add.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
		sum += n
		return sum, nil
	}, workflow.Validate(func(n int) error {
		if sum+n > limit {
			return fmt.Errorf("%d and %d are more than %d", sum, n, limit)
		}
		return nil
	}))
	Slow.Handle(ctx, func(ctx workflow.Context, item string) (string, error) { return Process.Run(ctx, item) })
	Nap.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		return workflow.None{}, workflow.Sleep(ctx, time.Hour)
	})
	Boom.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) { panic("boom") })
	Bad.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil },
		workflow.Validate(func(workflow.None) error { return workflow.Sleep(ctx, time.Second) })) //weftvet:ignore readonly the script shows this misuse
	Finish.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) {
		done = true
		return workflow.None{}, nil
	})
	err := workflow.Await(ctx, func() bool { return done })
	return sum, err
}

// fragile panics when it receives a poke, until build-2 fixes it.
func fragile(fixed bool) func(workflow.Context, workflow.None) (string, error) {
	return func(ctx workflow.Context, _ workflow.None) (string, error) {
		n := 0
		Sum.Handle(ctx, func(workflow.None) (int, error) { return n, nil })
		Add.Handle(ctx, func(_ workflow.Context, by int) (int, error) { n += by; return n, nil })
		for {
			text, err := Poke.Receive(ctx)
			if err != nil {
				return "", err
			}
			if text == "stop" {
				return fmt.Sprint(n), nil
			}
			if !fixed {
				panic("cannot take " + text)
			}
			n++
		}
	}
}

// idler waits for a signal or a timer, again and again.
func idler(ctx workflow.Context, _ workflow.None) (string, error) {
	deadline := workflow.Now(ctx).Add(time.Hour)
	var heard []string
	for {
		fired := false
		err := workflow.Select(ctx,
			workflow.OnSignal(Poke, func(text string) { heard = append(heard, text) }),
			workflow.OnTimer(deadline, func() { fired = true }))
		if err != nil || fired {
			return fmt.Sprint(heard), err
		}
	}
}

// saga charges, and refunds under a disconnected context when it is canceled.
func saga(ctx workflow.Context, item string) (string, error) {
	_, err := Process.Run(ctx, item)
	if errors.Is(err, workflow.ErrCanceled) {
		if _, err := Refund.Run(workflow.Disconnected(ctx), item); err != nil {
			return "", err
		}
	}
	return "charged", err
}

// careful cancels an activity when it receives a poke, and waits until the activity has ended.
func careful(ctx workflow.Context, item string) (string, error) {
	under, cancel := workflow.WithCancel(ctx)
	future := Process.With(activity.Options{WaitCancellation: true}).Start(under, item)
	if _, err := Poke.Receive(ctx); err != nil {
		return "", err
	}
	cancel()
	result, err := future.Get(under)
	return fmt.Sprintf("%s %v, canceled: %t", result, err, errors.Is(err, workflow.ErrCanceled)), nil
}

// fan starts several activities and adds up their results in the order of arrival.
func fan(ctx workflow.Context, n int) (string, error) {
	var group workflow.WaitGroup
	order := ""
	for i := range n {
		group.Go(ctx, func(ctx workflow.Context) {
			result, err := Process.Run(ctx, fmt.Sprint(i))
			order += fmt.Sprintf("%d:%s,%v ", i, result, err)
		})
	}
	err := group.Wait(ctx)
	return order, err
}

// collector receives pokes in a coroutine, and continues as new after an hour. In the next run it
// ends when it has received "end".
func collector(ctx workflow.Context, heard []string) ([]string, error) {
	first := len(heard) == 0
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			text, err := Poke.Receive(ctx)
			if err != nil {
				return
			}
			if heard = append(heard, text); text == "work" {
				_, _ = Process.Run(ctx, text)
			}
		}
	})
	if first {
		if err := workflow.Sleep(ctx, time.Hour); err != nil {
			return heard, err
		}
		return workflow.NewWorkflow[[]string, []string]("collector").ContinueAsNew(ctx, append([]string{"lap"}, heard...))
	}
	return heard, workflow.Await(ctx, func() bool { return heard[len(heard)-1] == "end" })
}

// scriptRegistry returns the registry of a build.
func scriptRegistry(build string) *engine.Registry {
	fixed := build != "build-1"
	order := OrderWorkflow
	if build == "changed" {
		order = changedOrderWorkflow
	}
	r := &engine.Registry{}
	registrations := []workflow.Registration{
		workflow.Bind(workflow.NewWorkflow[string, string]("order"), order),
		workflow.Bind(workflow.NewWorkflow[int, int]("counter"), counter, workflow.Names(Add, Slow, Nap, Boom, Bad, Finish, Sum)),
		workflow.Bind(workflow.NewWorkflow[workflow.None, string]("fragile"), fragile(fixed), workflow.Names(Add, Sum, Poke)),
		workflow.Bind(workflow.NewWorkflow[workflow.None, string]("idler"), idler, workflow.Names(Poke)),
		workflow.Bind(workflow.NewWorkflow[[]string, []string]("collector"), collector, workflow.Names(Poke)),
		workflow.Bind(workflow.NewWorkflow[string, string]("saga"), saga), workflow.Bind(workflow.NewWorkflow[string, string]("careful"), careful, workflow.Names(Poke)),
		workflow.Bind(workflow.NewWorkflow[int, string]("fan"), fan), workflow.Bind(workflow.NewWorkflow[string, string]("pricer"), pricer, workflow.Names(Slow, Poke)), Price,
		workflow.Bind(reporterType, reporter, workflow.Names(Report, Steps, Noise, Poke)),
	}
	for name, code := range parents {
		registrations = append(registrations, workflow.Bind(workflow.NewWorkflow[string, string](name), code, workflow.Names(Poke, Slow)))
	}
	registrations = append(registrations, nameRegistrations(build)...)
	for _, reg := range registrations {
		if err := bridge.Register(r, reg); err != nil {
			panic(err)
		}
	}
	return r
}
