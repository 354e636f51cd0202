// Package faults tests the deployed binaries under faults: see TestFaults, which needs servers and
// has the build tag aws. Besides the examples it runs the workflows here, each of which waits for
// one kind of event, for a short time.
package faults

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflows. The result of each shows whether its steps ran once, and in order.
var (
	// Naps sleeps for each of its durations, concurrently with a longer sleep that it cancels, and
	// counts them.
	Naps = workflow.NewWorkflow[[]time.Duration, int]("faults.naps")
	// Chain runs a number of activities one after the other, the second of each three inline.
	Chain = workflow.NewWorkflow[int, []int]("faults.chain")
	// Flaky runs an activity that fails a number of times; its result is the attempt that
	// succeeded.
	Flaky = workflow.NewWorkflow[int, int]("faults.flaky")
	// Buried runs an activity that kills its process, and has one attempt.
	Buried = workflow.NewWorkflow[workflow.None, string]("faults.buried")
	// Relay squares a number and continues as new with the one below it; its result is the sum.
	Relay = workflow.NewWorkflow[Lap, int]("faults.relay")
	// Inbox takes this many signals; its result is their contents, in order.
	Inbox  = workflow.NewWorkflow[int, []int]("faults.inbox")
	Letter = workflow.NewSignal[int]("faults.letter")
)

// Lap is the input of a run of Relay.
type Lap struct {
	Left int `json:"left"`
	Sum  int `json:"sum"`
}

var (
	square       = activity.New("faults.square", func(_ context.Context, n int) (int, error) { return n * n, nil })
	squareInline = activity.New("faults.squareInline", func(_ context.Context, n int) (int, error) { return n * n, nil }, activity.Options{Inline: true})
	stumble      = activity.New("faults.stumble", stumbleUntil, activity.Options{Retry: activity.Retry{InitialInterval: 100 * time.Millisecond}})
	die          = activity.New("faults.die", dieAtOnce, activity.Options{Retry: activity.Retry{MaxAttempts: 1}})
)

// errStumbled is the failure of an attempt.
var errStumbled = activity.NewError("stumbled", "it was one of the first attempts")

func stumbleUntil(ctx context.Context, failures int) (int, error) {
	attempt := activity.InfoOf(ctx).Attempt
	if attempt <= failures {
		return 0, errStumbled
	}
	return attempt, nil
}

// dieAtOnce ends its process as a kernel that is out of memory does.
func dieAtOnce(context.Context, workflow.None) (workflow.None, error) {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	return workflow.None{}, err
}

func runNaps(ctx workflow.Context, naps []time.Duration) (slept int, err error) {
	for _, d := range naps {
		err := workflow.Select(ctx,
			workflow.OnTimeout(d, func() { slept++ }),
			workflow.OnTimeout(d+time.Hour, func() { slept += len(naps) }))
		if err != nil {
			return slept, err
		}
	}
	return slept, nil
}

func runChain(ctx workflow.Context, steps int) ([]int, error) {
	var results []int
	for i := range steps {
		step := square
		if i%3 == 1 {
			step = squareInline
		}
		n, err := step.Run(ctx, i)
		if err != nil {
			return nil, err
		}
		results = append(results, n)
	}
	return results, nil
}

func runFlaky(ctx workflow.Context, failures int) (int, error) { return stumble.Run(ctx, failures) }

func runBuried(ctx workflow.Context, _ workflow.None) (string, error) {
	_, err := die.Run(ctx, workflow.None{})
	var timeout *workflow.TimeoutError
	if errors.As(err, &timeout) {
		return "interrupted", nil
	}
	return "", err
}

func runRelay(ctx workflow.Context, l Lap) (int, error) {
	n, err := square.Run(ctx, l.Left)
	if err != nil || l.Left == 0 {
		return l.Sum, err
	}
	return Relay.ContinueAsNew(ctx, Lap{Left: l.Left - 1, Sum: l.Sum + n})
}

func runInbox(ctx workflow.Context, letters int) ([]int, error) {
	var read []int
	for range letters {
		n, err := Letter.Receive(ctx)
		if err != nil {
			return nil, err
		}
		read = append(read, n)
	}
	return read, nil
}

// Registrations returns everything that a program has to register to run them.
func Registrations() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(Naps, runNaps), workflow.Bind(Chain, runChain), workflow.Bind(Flaky, runFlaky), workflow.Bind(Buried, runBuried),
		workflow.Bind(Relay, runRelay), workflow.Bind(Inbox, runInbox, workflow.Names(Letter)), square, squareInline, stumble, die,
	}
}
