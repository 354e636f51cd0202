// Package signals shows a workflow that takes messages one by one, in the order in which they arrived, those that came
// before it asked included. Look at the loop in Run, which reads like one over a channel, and at what it does about a
// message that does not decode.
package signals

import (
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is the log of a voyage. The ship reports by signals what it has sighted; the last report is the harbor.
var (
	Workflow = workflow.Declare[workflow.None, Log]("signals")
	Sighted  = workflow.NewSignal[Sight]("signals.sighted")
)

// Sight is something that was seen, and how far away.
type Sight struct {
	What  string `json:"what"`
	Miles int    `json:"miles"`
}

// Log is what was seen, in order.
type Log struct {
	Seen []string `json:"seen"`
	// Illegible is how many reports nobody could read.
	Illegible int `json:"illegible"`
}

// asleep is how long nobody looks at the reports at first. They wait.
const asleep = 8 * time.Hour

// harbor is the last thing that is sighted.
const harbor = "harbor"

// Run writes down every report.
func Run(ctx workflow.Context, _ workflow.None) (Log, error) {
	log := Log{Seen: []string{}}
	if err := workflow.Sleep(ctx, asleep); err != nil {
		return log, err
	}
	for {
		sight, err := Sighted.Receive(ctx)
		switch {
		case errors.Is(err, workflow.ErrCanceled):
			return log, err
		case err != nil: // not a Sight: it is gone, and the next call receives the next report
			log.Illegible++
			continue
		}
		log.Seen = append(log.Seen, sight.What)
		if sight.What == harbor {
			return log, nil
		}
	}
}

// Registrations is all that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run)}
}
