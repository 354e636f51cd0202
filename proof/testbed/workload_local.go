package testbed

import (
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// looks are the lookups of a looker, one after the other or together.
type looks struct {
	Jobs     []Job `json:"jobs,omitempty"`
	Together bool  `json:"together,omitempty"`
	// Stay keeps the workflow open, with its updates, until it is poked.
	Stay bool `json:"stay,omitempty"`
}

// looker is a workflow of local activities. It accepts one update and refuses all others.
var (
	looker = workflow.NewWorkflow[looks, string]("looker")
	lookup = activity.NewLocal("lookup", work, activity.LocalOptions{Retry: activity.Retry{NonRetryable: []*activity.Error{ErrBroken}}})
	once   = activity.NewLocal(lookup.Name(), work, activity.LocalOptions{StartToClose: 10 * time.Second, Retry: activity.Retry{MaxAttempts: 1}})
	ask    = workflow.NewUpdate[Job, string]("ask")    // after it was accepted
	glance = workflow.NewUpdate[Job, string]("glance") // before it is accepted
	peep   = workflow.NewUpdate[Job, string]("peep")   // in its validator, which may not do so

	errEnough = workflow.NewError("enough", "that is enough")
)

func runLooker(ctx workflow.Context, l looks) (string, error) {
	var seen []string
	asked := 0
	look := func(options activity.LocalOptions) func(workflow.Context, Job) (string, error) {
		local := activity.NewLocal(lookup.Name(), work, options) // without lookup's options
		return func(ctx workflow.Context, job Job) (string, error) {
			asked++
			return local.Run(ctx, job)
		}
	}
	enough := workflow.Validate(func(Job) error {
		if asked > 0 {
			return errEnough
		}
		return nil
	})
	ask.Handle(ctx, look(activity.LocalOptions{}), enough)
	glance.Handle(ctx, look(activity.LocalOptions{Speculative: true}), enough)
	peep.Handle(ctx, look(activity.LocalOptions{}), workflow.Validate(func(job Job) error {
		_, err := lookup.Run(ctx, job) //weftvet:ignore readonly what becomes of such a validator is tested
		return err
	}))
	for _, result := range begun(ctx, l) {
		text, err := result()
		if err != nil {
			text = err.Error()
		}
		seen = append(seen, text)
	}
	for l.Stay {
		err := workflow.Select(ctx, workflow.OnSignal(Poke, func(text string) {
			l.Stay = text != "done"
			answer, _ := lookup.Run(ctx, Job{Name: text})
			seen = append(seen, answer)
		}))
		if err != nil {
			return "", err
		}
	}
	return strings.Join(seen, ", "), nil
}

// begun returns functions that return the results of the local activities. The local activities
// start all at once, or each when its result is requested.
func begun(ctx workflow.Context, l looks) (results []func() (string, error)) {
	for _, job := range l.Jobs {
		one := lookup
		if job.Name == "once" {
			one = once
		}
		result := func() (string, error) { return one.Run(ctx, job) }
		if l.Together {
			future := one.Start(ctx, job)
			result = func() (string, error) { return future.Get(ctx) }
		}
		results = append(results, result)
	}
	return results
}

// localWorkload registers the looker, and its activity except in the build blind.
func localWorkload(build string) []workflow.Registration {
	registrations := []workflow.Registration{workflow.Bind(looker, runLooker, workflow.Names(ask, glance, peep, Poke))}
	if build != "blind" {
		registrations = append(registrations, lookup)
	}
	return registrations
}
