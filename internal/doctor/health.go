package doctor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/probe"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// The variables of a function that say where its metrics go, and whom it sends beats.
var (
	variableMetrics = settings.Variable("Metrics")
	variableProbe   = settings.Variable("Probe")
)

// metricsOf returns where the metrics of the functions go; empty if that is not known. A deployment
// gives all functions the same; if somebody has changed one by hand, off of any of them counts.
func metricsOf(functions map[string]deployedFunction) (to string) {
	for _, role := range slices.Sorted(maps.Keys(functions)) {
		if d := functions[role]; d.variables != nil && to != "off" {
			to = cmp.Or(d.variables[variableMetrics], "health")
		}
	}
	return to
}

// metrics checks that health metrics reach CloudWatch.
func (f *findings) metrics(functions map[string]deployedFunction) {
	const check = "metrics"
	var dropped []string
	for _, role := range slices.Sorted(maps.Keys(functions)) {
		if d := functions[role]; d.variables != nil && slices.Contains([]string{"WARN", "ERROR", "FATAL"}, d.logLevel) {
			dropped = append(dropped, role)
		}
	}
	switch to := metricsOf(functions); {
	case to == "off":
		f.warn(check, "set Metrics to health", "off: there are alarms only on errors, throttles, 5xx of the gateway, the age of messages and missing sweeps, "+
			"so nobody learns of refused requests, failed calls, stuck runs and dead letters")
	case len(dropped) > 0:
		f.warn(check, "set the ApplicationLogLevel to INFO, and reduce the log with LogLevel",
			"Lambda drops the metrics of the functions that log only warnings: %s", strings.Join(dropped, ", "))
	case to != "":
		f.ok(check, "%s: health metrics reach CloudWatch through the log", to)
	}
}

// beatAge is how old the last beat may be: two of them are sent in less.
const beatAge = 2*probe.Every + time.Minute

// probe checks that the synthetic updates of the deployment are carried out. It says nothing if
// the timer function or the API did not say anything.
func (f *findings) probe(ctx context.Context, a *AWS, timer deployedFunction) {
	const check = "probe"
	if timer.variables == nil || a.API == nil {
		return
	}
	if timer.variables[variableProbe] == "" {
		f.ok(check, "there is none (Probe is off)")
		return
	}
	var h *client.History
	err := within(ctx, func(ctx context.Context) (err error) {
		h, err = a.API.History(ctx, probe.WorkflowID, "")
		return err
	})
	const page = "docs/operations.md says what to do under weft-probe"
	switch {
	case errors.Is(err, client.ErrNotFound):
		const never = "no synthetic update was ever accepted"
		if age := a.Now.Sub(timer.changed).Round(time.Second); age < beatAge {
			f.warn(check, "ask again in five minutes", never+": the timer function was deployed %s ago, and sends one within %s", max(age, 0), probe.Every)
			return
		}
		f.bad(check, page, never+": the timer function sends one within %s", probe.Every)
		return
	case err != nil:
		f.warn(check, "try again", "not checked: %v", err)
		return
	}
	last, waiting := beats(h)
	switch age := a.Now.Sub(last).Round(time.Second); {
	case age > beatAge:
		f.bad(check, page, "the last synthetic update was accepted %s ago: one is due each %s", age, probe.Every)
	case !waiting.IsZero() && a.Now.Sub(waiting) > probe.Every:
		f.bad(check, page, "the synthetic update of %s ago has not completed: activities do not run, or are late", a.Now.Sub(waiting).Round(time.Second))
	default:
		f.ok(check, "the last synthetic update was accepted %s ago", max(age, 0))
	}
}

// beats returns when the run of the probe accepted the last beat, and the earliest one that has not
// completed; zero if all have. A run that has accepted none continues one that has: it began with
// a beat.
func beats(h *client.History) (last, waiting time.Time) {
	open := map[string]time.Time{}
	for _, e := range h.Events {
		switch a := e.Attributes.(type) {
		case *history.WorkflowExecutionStarted:
			last = e.Time
		case *history.WorkflowExecutionUpdateAccepted:
			last, open[a.UpdateID] = e.Time, e.Time
		case *history.WorkflowExecutionUpdateCompleted:
			delete(open, a.UpdateID)
		case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // not about beats
		}
	}
	for _, at := range open {
		if waiting.IsZero() || at.Before(waiting) {
			waiting = at
		}
	}
	return last, waiting
}
