package testbed

import (
	"context"
	"fmt"
	"sync"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// Observed is a sink that keeps events.
type Observed struct {
	mu     sync.Mutex
	events []observe.Event
	sums   map[string]float64
}

// Observe implements observe.Sink.
func (o *Observed) Observe(_ context.Context, e observe.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
	if o.sums == nil {
		o.sums = map[string]float64{}
	}
	observe.Measure(e, func(m *observe.Metric, value float64) { o.sums[m.Name] += value })
}

// Sum returns the sum of the values that were added to a metric.
func (o *Observed) Sum(m *observe.Metric) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sums[m.Name]
}

// Take returns the events since the last call, abbreviated, without requests and costs.
func (o *Observed) Take() (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.events {
		if line := inShort(e); line != "" {
			lines = append(lines, line)
		}
	}
	o.events = nil
	return lines
}

func inShort(e observe.Event) string {
	failed := func(kind string) string {
		if kind == "" {
			return ""
		}
		return ": " + kind
	}
	switch e := e.(type) {
	case *observe.Task:
		return fmt.Sprintf("task %s %s %d, %d events, %s%s", e.Trigger, e.Kind, e.Attempt, e.Events, e.Outcome, failed(e.Failure))
	case *observe.Update:
		return fmt.Sprintf("update %s %s", e.Name, e.Outcome)
	case *observe.Attempt:
		return fmt.Sprintf("attempt %s %d, %s%s", e.ActivityType, e.Number, e.Outcome, failed(e.Failure))
	case *observe.Timer:
		return fmt.Sprintf("timer %v", e.Ended.Sub(e.Began))
	case *observe.Reset:
		return "reset"
	case *observe.Closed:
		return fmt.Sprintf("closed %s, %d events", e.Status, e.Events)
	case *observe.LostRace:
		return "lost a race"
	case *observe.Hung:
		return "hung"
	case *observe.DeadLetter:
		return "dead letter " + e.Kind
	case *observe.LettersLeft:
		return fmt.Sprintf("%d dead letters of %s", e.Letters, e.Queue)
	case *observe.Returned:
		return fmt.Sprintf("%d messages returned", e.Messages)
	case *observe.LateTimers:
		return fmt.Sprintf("timers are %v late", e.Lag)
	case *observe.LateCheck:
		return "the check is late"
	case *observe.ProbeFailed:
		return "the probe failed"
	case *observe.Held:
		return "held " + e.ActivityType
	case *observe.Unhandled:
		return "unhandled " + e.Signal
	}
	return ""
}
