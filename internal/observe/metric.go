package observe

import (
	"time"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// Metric is a metric that Weft keeps. Alarms and dashboards name it, so it never changes its
// meaning.
type Metric struct {
	// Name is its name in CloudWatch, and OTel that in OpenTelemetry.
	Name, OTel string
	// Unit is its unit: a count, or milliseconds.
	Unit Unit
	// Text says what it counts.
	Text string
}

// Unit is the unit of a metric.
type Unit uint8

// The units.
const (
	Count Unit = iota
	Milliseconds
)

// The metrics.
var (
	StuckTasks       = &Metric{"StuckTasks", "weft.stuck_tasks", Count, "failed attempts at workflow tasks that had failed before"}
	TaskFailures     = &Metric{"TaskFailures", "weft.task_failures", Count, "workflow tasks whose code failed"}
	WorkflowTasks    = &Metric{"WorkflowTasks", "weft.workflow_tasks", Count, "workflow tasks that were run"}
	LostRaces        = &Metric{"LostRaces", "weft.lost_races", Count, "puts that came too late"}
	UpdatesAccepted  = &Metric{"UpdatesAccepted", "weft.updates_accepted", Count, "updates that were accepted"}
	UpdatesRejected  = &Metric{"UpdatesRejected", "weft.updates_rejected", Count, "updates that a validator rejected"}
	ActivityAttempts = &Metric{"ActivityAttempts", "weft.activity_attempts", Count, "attempts at activities"}
	ActivityFailures = &Metric{"ActivityFailures", "weft.activity_failures", Count, "attempts at activities that failed"}
	Writes           = &Metric{"Writes", "weft.writes", Count, "writes to the table"}
	Reads            = &Metric{"Reads", "weft.reads", Count, "pages read from the table"}
	Messages         = &Metric{"Messages", "weft.messages", Count, "messages sent"}
	TaskDuration     = &Metric{"TaskDuration", "weft.task_duration", Milliseconds, "how long the code of a workflow task ran"}
	UpdateDuration   = &Metric{"UpdateDuration", "weft.update_duration", Milliseconds, "how long an update waited for its verdict"}
	HungInstances    = &Metric{"HungInstances", "weft.hung_instances", Count, "instances of workflow code that do not return"}
	DeadLetters      = &Metric{"DeadLetters", "weft.dead_letters", Count, "messages that were received too often"}
	HeldAttempts     = &Metric{"HeldAttempts", "weft.held_attempts", Count, "attempts that may take longer than their function allows, each few minutes"}
	UnhandledSignals = &Metric{"UnhandledSignals", "weft.unhandled_signals", Count, "names of signals that arrived at a run whose code has not asked for them"}
)

// Metrics are all metrics, in the order of the documentation.
var Metrics = []*Metric{
	StuckTasks, TaskFailures, WorkflowTasks, LostRaces, UpdatesAccepted, UpdatesRejected, ActivityAttempts, ActivityFailures,
	Writes, Reads, Messages, TaskDuration, UpdateDuration, HungInstances, DeadLetters, HeldAttempts, UnhandledSignals,
}

// Measure calls add with each metric that an event adds to, and what it adds.
func Measure(e Event, add func(*Metric, float64)) { e.measure(add) }

func millis(d time.Duration) float64 { return float64(max(d, 0)) / float64(time.Millisecond) }

func (t *Task) measure(add func(*Metric, float64)) {
	add(WorkflowTasks, 1)
	add(TaskDuration, millis(t.Ran))
	if t.Failure != "" {
		add(TaskFailures, 1)
	}
	if t.Stuck {
		add(StuckTasks, 1)
	}
}

func (u *Update) measure(add func(*Metric, float64)) {
	switch u.Outcome {
	case Accepted:
		add(UpdatesAccepted, 1)
	case Rejected:
		add(UpdatesRejected, 1)
	default:
		return
	}
	add(UpdateDuration, millis(u.Ended.Sub(u.Began)))
}

func (a *Attempt) measure(add func(*Metric, float64)) {
	add(ActivityAttempts, 1)
	if a.Outcome != Completed && a.Outcome != Pending {
		add(ActivityFailures, 1)
	}
}

func (*Timer) measure(func(*Metric, float64))  {}
func (*Closed) measure(func(*Metric, float64)) {}
func (*Reset) measure(func(*Metric, float64))  {}

func (r *Request) measure(add func(*Metric, float64)) { spend(r.Cost, add) }
func (s *Spent) measure(add func(*Metric, float64))   { spend(s.Cost, add) }

func spend(c meter.Cost, add func(*Metric, float64)) {
	for _, part := range []struct {
		metric *Metric
		units  int64
	}{{Writes, c.Writes}, {Reads, c.Reads}, {Messages, c.Messages}} {
		if part.units > 0 {
			add(part.metric, float64(part.units))
		}
	}
}

func (*LostRace) measure(add func(*Metric, float64))   { add(LostRaces, 1) }
func (*Hung) measure(add func(*Metric, float64))       { add(HungInstances, 1) }
func (*DeadLetter) measure(add func(*Metric, float64)) { add(DeadLetters, 1) }
func (*Held) measure(add func(*Metric, float64))       { add(HeldAttempts, 1) }
func (*Unhandled) measure(add func(*Metric, float64))  { add(UnhandledSignals, 1) }
