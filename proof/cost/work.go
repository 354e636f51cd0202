package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/workflow"
)

// mostAdded is the largest number that a counter accepts.
const mostAdded = 1_000

// job is the input of the measured workflows.
type job struct {
	Steps int  `json:"steps,omitempty"`
	Local bool `json:"local,omitempty"`
	// TaskQueue is the task queue of the steps; empty means the default one.
	TaskQueue string        `json:"taskQueue,omitempty"`
	Nap       time.Duration `json:"nap,omitempty"`
	// Bytes is the size of each result. Filling makes the input the same size.
	Bytes   int    `json:"bytes,omitempty"`
	Filling string `json:"filling,omitempty"`
}

func (j job) filled() job {
	j.Filling = strings.Repeat("x", j.Bytes)
	return j
}

// The measured workflows.
var (
	sequence = workflow.NewWorkflow[job, string]("sequence")
	fanOut   = workflow.NewWorkflow[job, string]("fanOut")
	sleeper  = workflow.NewWorkflow[job, string]("sleeper")
	counter  = workflow.NewWorkflow[workflow.None, int]("counter")
	flaky    = workflow.NewWorkflow[bool, int]("flaky")

	work = workflow.NewUpdate[job, string]("work")
	sum  = workflow.NewQuery[workflow.None, int]("sum")
	poke = workflow.NewSignal[int]("poke")
	end  = workflow.NewSignal[workflow.None]("end")

	step  = activity.New("step", fill)
	local = activity.NewLocal("local", fill)

	asker = workflow.NewWorkflow[job, string]("asker")
	ask   = activity.New("ask", func(ctx context.Context, _ activity.None) (string, error) {
		token, err := activity.Token(ctx)
		asked <- token
		return "", cmp.Or(err, activity.ErrPending)
	}, activity.Options{Pending: 24 * time.Hour})
	asked = make(chan string, 1) // the last token that was taken

	parent  = workflow.NewWorkflow[job, string]("parent")
	teller  = workflow.NewWorkflow[string, string]("teller")
	settled = workflow.NewWorkflow[workflow.None, int]("settled") // a run of settled stays with its build
)

func fill(_ context.Context, bytes int) (string, error) { return strings.Repeat("x", bytes), nil }

func runAsker(ctx workflow.Context, _ job) (string, error) { return ask.Run(ctx, activity.None{}) }

// completed runs a workflow whose activity is completed from outside.
func completed(ctx context.Context, d *deployment, id string) error {
	if _, err := asker.Start(ctx, d.Client, id, job{}); err != nil {
		return err
	}
	token := <-asked
	if err := d.settle(ctx); err != nil { // by then the activity's function has returned
		return err
	}
	return ask.Complete(ctx, d.Client, token, "yes")
}

func runSequence(ctx workflow.Context, j job) (result string, err error) {
	run := j.at().Run
	if j.Local {
		run = local.Run
	}
	err = measured.InTurn(j.Steps, func() (string, error) { return run(ctx, j.Bytes) }, func(r string) { result = r })
	return result, err
}

// runParent starts children, which end in their first tasks.
func runParent(ctx workflow.Context, j job) (string, error) {
	var all workflow.WaitGroup
	for range j.Steps {
		all.Go(ctx, func(ctx workflow.Context) { _, _ = flaky.RunChild(ctx, false) })
	}
	return "done", all.Wait(ctx)
}

// runTeller sends a signal to another workflow and waits until it was delivered.
func runTeller(ctx workflow.Context, to string) (string, error) {
	_, err := poke.SendTo(ctx, workflow.External(to), 1).Get(ctx)
	return "told", err
}

func runFanOut(ctx workflow.Context, j job) (string, error) {
	start := func(int) workflow.Future[string] { return step.Start(ctx, j.Bytes) }
	return "done", measured.AtOnce(ctx, j.Steps, start, func(string) {})
}

func runSleeper(ctx workflow.Context, j job) (string, error) {
	return "awake", workflow.Sleep(ctx, j.Nap)
}

// runFlaky fails in its first attempt if fails is set.
func runFlaky(ctx workflow.Context, fails bool) (int, error) {
	attempt := workflow.InfoOf(ctx).Attempt
	if fails && attempt == 1 {
		return 0, errors.New("the first attempt fails")
	}
	return attempt, nil
}

func runCounter(ctx workflow.Context, _ workflow.None) (int, error) {
	n, done := 0, false
	sum.Handle(ctx, func(workflow.None) (int, error) { return n, nil })
	measured.HandleAdd(ctx, mostAdded, &n)
	work.Handle(ctx, func(ctx workflow.Context, j job) (string, error) { return step.Run(ctx, j.Bytes) })
	for !done {
		err := workflow.Select(ctx,
			workflow.OnSignal(poke, func(more int) { n += more }),
			workflow.OnSignal(end, func(workflow.None) { done = true }))
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// registry returns the workflows and the activity.
func registry() (*engine.Registry, error) {
	return program.Registry(
		workflow.Bind(sequence, runSequence), workflow.Bind(fanOut, runFanOut), workflow.Bind(sleeper, runSleeper),
		workflow.Bind(counter, runCounter, workflow.Names(measured.Add, work, sum, poke, end)), workflow.Bind(flaky, runFlaky), workflow.Bind(asker, runAsker), step, local, ask,
		workflow.Bind(parent, runParent), workflow.Bind(teller, runTeller), workflow.Bind(settled, runCounter, workflow.BindOptions{Pinned: true}, workflow.Names(measured.Add, work, sum, poke, end)), workflow.Bind(shower, runShower, workflow.Names(amount, region, note)),
		workflow.Bind(publisher, runPublisher, workflow.Names(progress)), workflow.Bind(teaser, runTeaser, workflow.Names(progress, end)), stream,
		workflow.Bind(shaped, runShaped, workflow.Names(nudge, change)), echo,
		workflow.Bind(brittle, runBrittle), workflow.Bind(balky, runBalky), balk,
	)
}

// whole runs a workflow from its start to its result.
func whole(t workflow.Type[job, string], j job) func(context.Context, *deployment, string) error {
	return func(ctx context.Context, d *deployment, id string) error {
		_, err := t.Start(ctx, d.Client, id, j.filled())
		return err
	}
}

// polled is the id of an update that each counter has accepted before it is measured.
const polled = "polled"

// running returns functions that start a counter, and then call do.
func running(do func(ctx context.Context, d *deployment, id string) error) (prepare, run func(context.Context, *deployment, string) error) {
	return func(ctx context.Context, d *deployment, id string) error {
		if _, err := counter.Start(ctx, d.Client, id, workflow.None{}); err != nil {
			return err
		}
		_, err := measured.Add.Call(ctx, d.Client, id, 1, workflow.CallOptions{ID: polled})
		return err
	}, do
}

// refused sends an update that its validator refuses.
func refused(ctx context.Context, d *deployment, id string) error {
	if _, err := measured.Add.Call(ctx, d.Client, id, -1); err == nil || !strings.Contains(err.Error(), "is not between") {
		return fmt.Errorf("the update was not refused: %v", err)
	}
	return nil
}
