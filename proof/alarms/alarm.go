package alarms

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Alarm is an alarm on one metric.
type Alarm struct {
	Name string
	// Metric is the metric whose data count.
	Metric Metric
	// Statistic makes one data point of the data of a period: Sum, Maximum, Minimum, Average or
	// SampleCount.
	Statistic string
	// Period is a number of minutes.
	Period time.Duration
	// Of the EvaluationPeriods latest data points, DatapointsToAlarm have to breach.
	EvaluationPeriods, DatapointsToAlarm int
	// Comparison compares a data point with Threshold: GreaterThanThreshold, for example.
	Comparison string
	Threshold  float64
	// Missing says how a period without data counts: missing, ignore, breaching or notBreaching.
	Missing string
}

// Metric identifies a metric. Data with other dimensions belong to another metric.
type Metric struct {
	Namespace, Name string
	// Dimensions are those of [Dimensions].
	Dimensions string
}

// Dimensions returns the text of a metric's dimensions, whatever their order.
func Dimensions(values map[string]string) string {
	var all []string
	for name, value := range values {
		all = append(all, fmt.Sprintf("%q=%q", name, value))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// described is an alarm in the answer of DescribeAlarms.
type described struct {
	Name       string `xml:"AlarmName"`
	Namespace  string `xml:"Namespace"`
	MetricName string `xml:"MetricName"`
	Dimensions []struct {
		Name  string `xml:"Name"`
		Value string `xml:"Value"`
	} `xml:"Dimensions>member"`
	Statistic         string     `xml:"Statistic"`
	ExtendedStatistic string     `xml:"ExtendedStatistic"`
	Unit              string     `xml:"Unit"`
	Period            int        `xml:"Period"`
	EvaluationPeriods int        `xml:"EvaluationPeriods"`
	DatapointsToAlarm int        `xml:"DatapointsToAlarm"`
	Comparison        string     `xml:"ComparisonOperator"`
	Threshold         float64    `xml:"Threshold"`
	Missing           string     `xml:"TreatMissingData"`
	Metrics           []struct{} `xml:"Metrics>member"`
}

// Parse returns the alarms of an answer of DescribeAlarms, in XML. It returns an error if one of
// them is none that this package knows, or if the answer has not all alarms.
func Parse(answer []byte) ([]Alarm, error) {
	var a struct {
		Alarms []described `xml:"DescribeAlarmsResult>MetricAlarms>member"`
		Next   string      `xml:"DescribeAlarmsResult>NextToken"`
	}
	if err := xml.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("alarms: %w", err)
	}
	if a.Next != "" {
		return nil, errors.New("alarms: the answer has not all alarms: ask for more at once")
	}
	var all []Alarm
	for _, d := range a.Alarms {
		one, err := d.alarm()
		if err != nil {
			return nil, fmt.Errorf("alarms: %s: %w", d.Name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func (d described) alarm() (Alarm, error) {
	dimensions := map[string]string{}
	for _, one := range d.Dimensions {
		dimensions[one.Name] = one.Value
	}
	a := Alarm{
		Name: d.Name, Metric: Metric{d.Namespace, d.MetricName, Dimensions(dimensions)}, Statistic: d.Statistic,
		Period: time.Duration(d.Period) * time.Second, EvaluationPeriods: d.EvaluationPeriods,
		DatapointsToAlarm: cmp.Or(d.DatapointsToAlarm, d.EvaluationPeriods),
		Comparison:        d.Comparison, Threshold: d.Threshold, Missing: cmp.Or(d.Missing, missing),
	}
	switch {
	case len(d.Metrics) > 0:
		return a, errors.New("it has an expression, which this package does not evaluate")
	case d.ExtendedStatistic != "":
		return a, fmt.Errorf("its statistic is %s, which this package does not compute", d.ExtendedStatistic)
	case d.Unit != "":
		return a, fmt.Errorf("it takes only data in %s, which this package does not tell apart", d.Unit)
	case d.Namespace == "AWS/DynamoDB":
		return a, errors.New("it is on AWS/DynamoDB, and AWS's pages disagree on missing data there")
	}
	return a, a.check()
}

// check returns an error if the alarm is none that CloudWatch accepts and Evaluate knows.
func (a Alarm) check() error {
	switch {
	case statistics[a.Statistic] == nil:
		return fmt.Errorf("the statistic %q is unknown", a.Statistic)
	case comparisons[a.Comparison] == nil:
		return fmt.Errorf("the comparison %q is unknown", a.Comparison)
	case !slices.Contains([]string{missing, ignore, breaching, notBreaching}, a.Missing):
		return fmt.Errorf("the treatment of missing data %q is unknown", a.Missing)
	case a.Period < time.Minute || a.Period%time.Minute != 0:
		return fmt.Errorf("its period of %v is no number of minutes", a.Period)
	case a.DatapointsToAlarm < 1 || a.DatapointsToAlarm > a.EvaluationPeriods:
		return fmt.Errorf("it begins with %d of %d data points", a.DatapointsToAlarm, a.EvaluationPeriods)
	}
	return nil
}
