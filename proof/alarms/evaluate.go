package alarms

import (
	"slices"
	"time"
)

// State is the state of an alarm.
type State string

// The states, as CloudWatch names them.
const (
	OK               State = "OK"
	Alarming         State = "ALARM"
	InsufficientData State = "INSUFFICIENT_DATA"
)

// The treatments of missing data.
const (
	missing      = "missing"
	ignore       = "ignore"
	breaching    = "breaching"
	notBreaching = "notBreaching"
)

// morePeriods is how many periods before the N latest ones an evaluation looks at: see the package
// comment.
const morePeriods = 2

// resolution is how exactly CloudWatch knows the time of a datum. Periods begin and end at such
// times, so an alarm may change its state that often.
const resolution = time.Minute

// Point is a value at a moment.
type Point struct {
	At    time.Time
	Value float64
}

// dataPoint is a period with data.
type dataPoint struct {
	age      int // in periods; 0 is the latest
	breaches bool
}

// Evaluate returns the state in which an alarm is at a moment, given all data of its metric in any
// order, and the state before.
//
// AWS's tables leave two things open. A point that does not breach keeps the alarm from beginning
// early also if the points that breach are later. And an alarm whose few points neither suffice nor
// begin it early is OK.
func (a Alarm) Evaluate(data []Point, now time.Time, before State) State {
	points := a.dataPoints(data, now.Truncate(resolution))
	points = points[:min(len(points), a.EvaluationPeriods)]
	bad := 0
	for _, p := range points {
		if p.breaches {
			bad++
		}
	}
	switch {
	case a.Missing == notBreaching:
	case a.Missing == breaching:
		bad += a.EvaluationPeriods - len(points)
	case len(points) == 0 && a.Missing == missing:
		return InsufficientData
	case len(points) == 0:
		return before
	case a.beginsEarly(points, bad) && a.Missing == missing:
		return Alarming
	case a.beginsEarly(points, bad):
		return before
	}
	if bad >= a.DatapointsToAlarm {
		return Alarming
	}
	return OK
}

// beginsEarly reports whether an alarm begins although too few points breach. It does if all points
// breach and the oldest is old enough: "Avoiding premature transitions to alarm state".
func (a Alarm) beginsEarly(points []dataPoint, bad int) bool {
	oldest := points[len(points)-1]
	return bad < a.DatapointsToAlarm && bad == len(points) && oldest.age+1 >= a.DatapointsToAlarm
}

// dataPoints returns the data points at which an evaluation looks, the latest first.
func (a Alarm) dataPoints(data []Point, now time.Time) (points []dataPoint) {
	for age := range a.EvaluationPeriods + morePeriods {
		end := now.Add(-time.Duration(age) * a.Period)
		begin := end.Add(-a.Period)
		var values []float64
		for _, d := range data {
			if !d.At.Before(begin) && d.At.Before(end) {
				values = append(values, d.Value)
			}
		}
		if len(values) > 0 {
			value := statistics[a.Statistic](values)
			points = append(points, dataPoint{age, comparisons[a.Comparison](value, a.Threshold)})
		}
	}
	return points
}

// statistics make one value of the values of a period, of which there is at least one.
var statistics = map[string]func([]float64) float64{
	"Sum":         sum,
	"Maximum":     slices.Max[[]float64],
	"Minimum":     slices.Min[[]float64],
	"Average":     func(values []float64) float64 { return sum(values) / float64(len(values)) },
	"SampleCount": func(values []float64) float64 { return float64(len(values)) },
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// comparisons report whether a value breaches a threshold.
var comparisons = map[string]func(value, threshold float64) bool{
	"GreaterThanThreshold":          func(v, t float64) bool { return v > t },
	"GreaterThanOrEqualToThreshold": func(v, t float64) bool { return v >= t },
	"LessThanThreshold":             func(v, t float64) bool { return v < t },
	"LessThanOrEqualToThreshold":    func(v, t float64) bool { return v <= t },
}
