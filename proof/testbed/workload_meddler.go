package testbed

import (
	"errors"
	"runtime"

	"github.com/seed-41655fb1/weft/workflow"
)

// meddler has validators and handlers that misbehave as their input says.
var (
	meddler = workflow.NewWorkflow[workflow.None, string]("meddler")
	meddle  = workflow.NewUpdate[string, string]("meddle")
	stumble = workflow.NewUpdate[string, string]("stumble")
	extra   = workflow.NewUpdate[workflow.None, workflow.None]("extra")
)

func runMeddler(ctx workflow.Context, _ workflow.None) (string, error) {
	meddle.Handle(ctx, func(_ workflow.Context, how string) (string, error) { return how, nil },
		workflow.Validate(func(how string) error { return meddleAs(ctx, how) })) //weftvet:ignore readonly what becomes of it is tested
	stumble.Handle(ctx, func(_ workflow.Context, how string) (string, error) {
		switch how {
		case "runtime error":
			outOfRange(nil)
		case "exit":
			runtime.Goexit()
		case "twice":
			setExtra(ctx)
			setExtra(ctx)
		case "late":
			setExtra(ctx)
		}
		return how, nil
	})
	return "", workflow.Await(ctx, func() bool { return false })
}

func setExtra(ctx workflow.Context) {
	extra.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil })
}

// outOfRange makes the runtime panic.
func outOfRange(none []int) int { return none[len(none)] }

// meddleAs is a validator that does what its input says. The first cases are defects of the code,
// and the others refuse.
func meddleAs(ctx workflow.Context, how string) error {
	switch how {
	case "activity":
		Work.Start(ctx, Job{})
	case "handler":
		setExtra(ctx)
	case "signal":
		_, _, err := Mail.TryReceive(ctx)
		return err
	case "clock":
		workflow.Now(ctx)
	case "random":
		workflow.Random(ctx).Int()
	case "side effect":
		workflow.SideEffect(ctx, func() int { return 1 })
	case "patch":
		workflow.Patched(ctx, "p")
	case "coroutine":
		workflow.Go(ctx, func(workflow.Context) {})
	case "recovered":
		defer func() { _ = recover() }()
		workflow.Now(ctx)
	case "exit":
		runtime.Goexit()
	case "runtime error":
		outOfRange(nil)
	case "error":
		panic(errors.New("no"))
	case "nothing":
		panic(nil)
	}
	return nil
}
