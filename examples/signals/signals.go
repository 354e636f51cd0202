// Package signals shows a workflow that receives messages one by one, in the order of arrival,
// including those that arrived before it received. Look at the loop in Run, which reads like one
// over a channel. A message whose value does not decode is refused, or set aside if it arrived
// before the code received its type. It never reaches the loop.
package signals

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is the log of a voyage. The ship reports by signals what it has sighted. The last report
// is the harbor.
var (
	Workflow = workflow.NewWorkflow[workflow.None, Log]("signals")
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
}

// asleep is the time at the beginning in which nobody reads the reports. The reports wait.
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
		if err != nil {
			return log, err // the voyage was canceled
		}
		log.Seen = append(log.Seen, sight.What)
		if sight.What == harbor {
			return log, nil
		}
	}
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Sighted))}
}
