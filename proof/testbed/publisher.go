package testbed

import "github.com/seed-41655fb1/weft/workflow"

// Publisher publishes what it is told. Steps is its topic, and Say the signal.
var (
	Publisher = workflow.NewWorkflow[int, int]("publisher")
	Steps     = workflow.NewTopic[string]("steps")
	Say       = workflow.NewSignal[string]("say")
)

// publisher publishes each text that it is told. "next" continues as new, "hide" truncates, and
// "end" ends it.
func publisher(ctx workflow.Context, laps int) (int, error) {
	for {
		text, err := Say.Receive(ctx)
		switch {
		case err != nil || text == "end":
			return laps, err
		case text == "next":
			return Publisher.ContinueAsNew(ctx, laps+1)
		case text == "hide":
			Steps.Truncate(ctx, Steps.Next(ctx)-1)
		default:
			Steps.Publish(ctx, text)
		}
	}
}
