package observe

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Metric is a metric that Weft keeps. Alarms and dashboards name it, so it never changes its
// meaning.
type Metric struct {
	// Name is its name in CloudWatch, and OTel that in OpenTelemetry.
	Name, OTel string
	// Unit is its unit. A count is added up; of the other units each value is kept.
	Unit Unit
	// Text says what it counts.
	Text string
	// Health says that it is above 0 only if something is wrong: a healthy deployment never sends
	// it.
	Health bool
}

// Unit is the unit of a metric.
type Unit uint8

// The units.
const (
	Count Unit = iota
	Milliseconds
	Seconds
)

func health(name, otel, text string) *Metric   { return &Metric{name, otel, Count, text, true} }
func count(name, otel, text string) *Metric    { return &Metric{name, otel, Count, text, false} }
func duration(name, otel, text string) *Metric { return &Metric{name, otel, Milliseconds, text, false} }

// The health metrics.
var (
	APIFailures           = health("ApiFailures", "weft.api_failures", "requests that were answered with 5xx: the sum of the next four")
	UnavailableStore      = health("UnavailableStore", "weft.unavailable_store", "requests that were answered with 503 because of the table")
	UnavailableQueue      = health("UnavailableQueue", "weft.unavailable_queue", "requests that were answered with 503 because of a queue")
	UnavailableContention = health("UnavailableContention", "weft.unavailable_contention", "requests that were answered with 503 because of contention for a run")
	ServerErrors          = health("ServerErrors", "weft.server_errors", "requests that were answered with another 5xx")
	SlowRequests          = health("SlowRequests", "weft.slow_requests", "requests that took too long, without the time for which they waited on purpose")
	CallFailures          = health("CallFailures", "weft.call_failures", "calls of other services that failed after their retries, and notifications that receivers did not take: the sum of the next eight")
	StoreRefused          = health("StoreRefused", "weft.store_refused", "calls that the table refused")
	StoreThrottled        = health("StoreThrottled", "weft.store_throttled", "calls that the table throttled")
	StoreUnanswered       = health("StoreUnanswered", "weft.store_unanswered", "calls that the table did not answer")
	QueueRefused          = health("QueueRefused", "weft.queue_refused", "calls that a queue refused")
	QueueThrottled        = health("QueueThrottled", "weft.queue_throttled", "calls that a queue throttled")
	QueueUnanswered       = health("QueueUnanswered", "weft.queue_unanswered", "calls that a queue did not answer")
	PayloadFailures       = health("PayloadFailures", "weft.payload_failures", "calls of KMS or S3 that failed")
	NotificationFailures  = health("NotificationFailures", "weft.notification_failures", "second and later attempts at notifications that failed, and notifications that were given up")
	CodeFailures          = health("CodeFailures", "weft.code_failures", "the sum of the next three")
	StuckTasks            = health("StuckTasks", "weft.stuck_tasks", "failed attempts at workflow tasks that had failed before")
	RefusedByCode         = health("RefusedByCode", "weft.refused_by_code", "requests that were refused because workflow code failed")
	HungInstances         = health("HungInstances", "weft.hung_instances", "instances of workflow code that do not return")
	TaskFailures          = health("TaskFailures", "weft.task_failures", "workflow tasks whose code failed")
	ReturnedMessages      = health("ReturnedMessages", "weft.returned_messages", "messages that were returned to their queue after their third receive or later")
	DeadLetters           = health("DeadLetters", "weft.dead_letters", "messages that were received too often, and each five minutes those that are still in the queues of dead letters")
	HeldAttempts          = health("HeldAttempts", "weft.held_attempts", "attempts that may take longer than their function allows, each few minutes")
	TimerLag              = &Metric{"TimerLag", "weft.timer_lag", Seconds, "how late the earliest timer in the table is, if it is a minute late", true}
	CheckLate             = health("CheckLate", "weft.check_late", "steps of the slow check that failed, or whose walk began too long ago")
	ProbeFailures         = health("ProbeFailures", "weft.probe_failures", "synthetic updates that failed")
)

// The other metrics.
var (
	WorkflowTasks    = count("WorkflowTasks", "weft.workflow_tasks", "workflow tasks that were run")
	LostRaces        = count("LostRaces", "weft.lost_races", "puts that came too late")
	UpdatesAccepted  = count("UpdatesAccepted", "weft.updates_accepted", "updates that were accepted")
	UpdatesRejected  = count("UpdatesRejected", "weft.updates_rejected", "updates that a validator or the contract rejected")
	ActivityAttempts = count("ActivityAttempts", "weft.activity_attempts", "attempts at activities")
	ActivityFailures = count("ActivityFailures", "weft.activity_failures", "attempts at activities that failed")
	Writes           = count("Writes", "weft.writes", "writes to the table")
	Reads            = count("Reads", "weft.reads", "pages read from the table")
	Messages         = count("Messages", "weft.messages", "messages sent")
	TaskDuration     = duration("TaskDuration", "weft.task_duration", "how long the code of a workflow task ran")
	UpdateDuration   = duration("UpdateDuration", "weft.update_duration", "how long an update waited for its verdict")
	RequestDuration  = duration("RequestDuration", "weft.request_duration", "how long a request of the API took, without the time for which it waited on purpose")
	UnhandledSignals = count("UnhandledSignals", "weft.unhandled_signals", "names of signals that arrived at a run whose code has not asked for them")
)

// Metrics are all metrics, in the order of the documentation.
var Metrics = []*Metric{
	APIFailures, UnavailableStore, UnavailableQueue, UnavailableContention, ServerErrors, SlowRequests,
	CallFailures, StoreRefused, StoreThrottled, StoreUnanswered, QueueRefused, QueueThrottled, QueueUnanswered, PayloadFailures, NotificationFailures,
	CodeFailures, StuckTasks, RefusedByCode, HungInstances, TaskFailures, ReturnedMessages, DeadLetters, HeldAttempts, TimerLag, CheckLate, ProbeFailures,
	WorkflowTasks, LostRaces, UpdatesAccepted, UpdatesRejected, ActivityAttempts, ActivityFailures,
	Writes, Reads, Messages, TaskDuration, UpdateDuration, RequestDuration, UnhandledSignals,
}

// Measure calls add with each metric that an event adds to, and what it adds. An event of the probe
// adds to health metrics only.
func Measure(e Event, add func(*Metric, float64)) {
	if of, is := e.(interface{ about() *Run }); is && of.about().Type == history.ProbeWorkflow {
		e.measure(func(m *Metric, value float64) {
			if m.Health {
				add(m, value)
			}
		})
		return
	}
	e.measure(add)
}

func millis(d time.Duration) float64 { return float64(max(d, 0)) / float64(time.Millisecond) }

func (t *Task) measure(add func(*Metric, float64)) {
	add(WorkflowTasks, 1)
	add(TaskDuration, millis(t.Ran))
	if t.Failure != "" {
		add(TaskFailures, 1)
	}
	if t.Stuck {
		add(StuckTasks, 1)
		add(CodeFailures, 1)
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
		if a.ActivityType == stored.DeliverType { // the first attempt is a local activity
			notificationFailed(add)
		}
	}
}

func notificationFailed(add func(*Metric, float64)) {
	add(CallFailures, 1)
	add(NotificationFailures, 1)
}

func (*Timer) measure(func(*Metric, float64)) {}
func (*Reset) measure(func(*Metric, float64)) {}

func (c *Closed) measure(add func(*Metric, float64)) {
	if c.Type == stored.WorkflowType && c.Status == history.Failed {
		notificationFailed(add)
	}
}

func (r *Request) measure(add func(*Metric, float64)) {
	spend(r.Cost, add)
	add(RequestDuration, millis(r.Took()))
	if r.Slow {
		add(SlowRequests, 1)
	}
	switch {
	case r.Left, r.Cause == refusal.ByCaller: // nobody has the answer, or there was no time for one
	case r.Status >= statusFailed:
		add(APIFailures, 1)
		add(r.failure(), 1)
	case r.Cause == refusal.ByCode:
		add(RefusedByCode, 1)
		add(CodeFailures, 1)
	}
}

// HTTP statuses: of a failure of the server, and of one that passes.
const (
	statusFailed      = 500
	statusUnavailable = 503
)

// failure returns the metric of a request that was answered with 5xx.
func (r *Request) failure() *Metric {
	if r.Status != statusUnavailable {
		return ServerErrors
	}
	switch r.Cause {
	case refusal.ByStore:
		return UnavailableStore
	case refusal.ByQueue:
		return UnavailableQueue
	case refusal.ByContention:
		return UnavailableContention
	case refusal.ByCode, refusal.ByBuild, refusal.ByDefect, refusal.ByCaller:
	}
	return ServerErrors
}

func (s *Spent) measure(add func(*Metric, float64)) { spend(s.Cost, add) }

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

func (*Hung) measure(add func(*Metric, float64)) {
	add(HungInstances, 1)
	add(CodeFailures, 1)
}

func (*LostRace) measure(add func(*Metric, float64))      { add(LostRaces, 1) }
func (*DeadLetter) measure(add func(*Metric, float64))    { add(DeadLetters, 1) }
func (l *LettersLeft) measure(add func(*Metric, float64)) { add(DeadLetters, float64(l.Letters)) }
func (*Held) measure(add func(*Metric, float64))          { add(HeldAttempts, 1) }
func (r *Returned) measure(add func(*Metric, float64))    { add(ReturnedMessages, float64(r.Messages)) }
func (l *LateTimers) measure(add func(*Metric, float64))  { add(TimerLag, l.Lag.Seconds()) }
func (*ProbeFailed) measure(add func(*Metric, float64))   { add(ProbeFailures, 1) }
func (*LateCheck) measure(add func(*Metric, float64))     { add(CheckLate, 1) }
func (*Unhandled) measure(add func(*Metric, float64))     { add(UnhandledSignals, 1) }
