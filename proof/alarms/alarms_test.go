package alarms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/proof/alarms"
)

// retained is a state that no evaluation returns by itself.
const retained alarms.State = "the state before"

var began = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

// five is an alarm with periods of five minutes on values above 0.
func five(atLeast, of int, missing string) alarms.Alarm {
	return alarms.Alarm{
		Name: "five", Metric: alarms.Metric{Namespace: "Weft", Name: "Failures"}, Statistic: "Sum", Period: 5 * time.Minute,
		EvaluationPeriods: of, DatapointsToAlarm: atLeast, Comparison: "GreaterThanThreshold", Missing: missing,
	}
}

// points returns the data of a row of AWS's tables, the latest last: 0 does not breach, X breaches,
// and - is missing. now is the end of the latest period.
func points(row string, period time.Duration) (data []alarms.Point, now time.Time) {
	now = began
	for _, field := range strings.Fields(row) {
		switch field {
		case "0":
			data = append(data, alarms.Point{At: now.Add(time.Minute)})
		case "X":
			data = append(data, alarms.Point{At: now.Add(time.Minute), Value: 1})
		}
		now = now.Add(period)
	}
	return data, now
}

// The tables of "Configuring how CloudWatch alarms treat missing data", and the sentences below
// them.
func TestMissingData(t *testing.T) {
	t.Parallel()
	const (
		ok, on, insufficient = alarms.OK, alarms.Alarming, alarms.InsufficientData
	)
	treatments := []string{"missing", "ignore", "breaching", "notBreaching"}
	for _, table := range []struct {
		atLeast, of int
		rows        map[string][4]alarms.State
	}{
		{3, 3, map[string][4]alarms.State{
			"0 - X - X": {ok, ok, ok, ok},
			"0 - - - -": {ok, ok, ok, ok},
			"- - - - -": {insufficient, retained, on, ok},
			"0 X X - X": {on, on, on, on},
			"- - X - -": {on, retained, on, ok},
			// "the alarm does not go immediately into ALARM state"
			"- - - - X": {ok, ok, on, ok},
			"- - - X -": {ok, ok, on, ok},
			"- - X - 0": {ok, ok, ok, ok},
			"- - X - X": {on, retained, on, ok}, // "all other more recent data points are breaching or missing"
			// What is older than the evaluation range does not count.
			"0 - - - - -":     {insufficient, retained, on, ok},
			"X X X 0 - - - -": {ok, ok, ok, ok},
		}},
		{2, 3, map[string][4]alarms.State{
			"0 - X - X": {on, on, on, on},
			"0 0 X 0 X": {on, on, on, on},
			"0 - X - -": {ok, ok, on, ok},
			"- - - - 0": {ok, ok, on, ok},
			"- - - X -": {on, retained, on, ok},
			// "If no data points are missing, the extra data points are ignored."
			"X X 0 0 X": {ok, ok, ok, ok},
			"X X - - -": {on, on, on, on},
		}},
		{1, 1, map[string][4]alarms.State{
			"X 0":     {ok, ok, ok, ok},
			"0 X - -": {on, on, on, on}, // "might repeatedly re-evaluate the last set of data points"
			"X - - -": {insufficient, retained, on, ok},
		}},
		{1, 4, map[string][4]alarms.State{
			"X - - - - -":   {on, on, on, on},
			"X - - - - - -": {insufficient, retained, on, ok},
			"X 0 0 0 0":     {ok, ok, ok, ok},
		}},
		{2, 2, map[string][4]alarms.State{
			"0 - - -":   {ok, ok, ok, ok},
			"0 - - - -": {insufficient, retained, on, ok},
			"0 0 X -":   {ok, ok, ok, ok},
		}},
	} {
		for row, want := range table.rows {
			for i, missing := range treatments {
				a := five(table.atLeast, table.of, missing)
				data, now := points(row, a.Period)
				if got := a.Evaluate(data, now, retained); got != want[i] {
					t.Errorf("%d of %d, %s, %s: %s, want %s", table.atLeast, table.of, row, missing, got, want[i])
				}
			}
		}
	}
}

// A period begins at a minute and ends before another one.
func TestPeriods(t *testing.T) {
	t.Parallel()
	a := five(1, 1, "notBreaching")
	for at, want := range map[time.Duration]alarms.State{
		-15*time.Minute - time.Second: alarms.OK,
		-15 * time.Minute:             alarms.Alarming, // the evaluation range begins here
		-time.Second:                  alarms.Alarming,
		0:                             alarms.OK,
	} {
		for _, now := range []time.Time{began, began.Add(59 * time.Second)} {
			if got := a.Evaluate([]alarms.Point{{At: began.Add(at), Value: 1}}, now, retained); got != want {
				t.Errorf("a datum %v from then, at %v: %s, want %s", at, now, got, want)
			}
		}
	}
	a.EvaluationPeriods, a.DatapointsToAlarm = 3, 2
	one := []alarms.Point{{At: began.Add(-time.Minute), Value: 1}, {At: began.Add(-5 * time.Minute), Value: 1}}
	if got := a.Evaluate(one, began, retained); got != alarms.OK {
		t.Errorf("two data in one period: %s, want OK", got)
	}
	one[1].At = one[1].At.Add(-time.Minute)
	if got := a.Evaluate(one, began, retained); got != alarms.Alarming {
		t.Errorf("two data in two periods: %s, want ALARM", got)
	}
}

func TestStatisticsAndComparisons(t *testing.T) {
	t.Parallel()
	data := []alarms.Point{{At: began, Value: 4}, {At: began.Add(time.Minute), Value: 1}, {At: began.Add(2 * time.Minute), Value: 1}}
	for statistic, value := range map[string]float64{"Sum": 6, "Maximum": 4, "Minimum": 1, "Average": 2, "SampleCount": 3} {
		for comparison, breaches := range map[string][3]bool{
			"GreaterThanThreshold":          {true, false, false},
			"GreaterThanOrEqualToThreshold": {true, true, false},
			"LessThanThreshold":             {false, false, true},
			"LessThanOrEqualToThreshold":    {false, true, true},
		} {
			for i, want := range breaches {
				a := five(1, 1, "missing")
				a.Statistic, a.Comparison, a.Threshold = statistic, comparison, value+float64(i-1)
				if got := a.Evaluate(data, began.Add(a.Period), retained); (got == alarms.Alarming) != want {
					t.Errorf("%s of %v, %s %v: %s", statistic, data, comparison, a.Threshold, got)
				}
			}
		}
	}
}

// line is a line of a log in the embedded metric format, with parts replaced.
func line(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`{"_aws":{"Timestamp":1000,"CloudWatchMetrics":[{"Namespace":"Weft","Dimensions":[["Deployment","Role"]],` +
		`"Metrics":[{"Name":"Lag","Unit":"Seconds"},{"Name":"Count"}]}]},"Deployment":"shop","Role":"api","Lag":[1,2.5],"Count":3}`)
}

func TestReadEMF(t *testing.T) {
	t.Parallel()
	const dimensions = `"Deployment"="shop","Role"="api"`
	at := time.UnixMilli(1000)
	want := fmt.Sprint([]alarms.Datum{
		{Metric: alarms.Metric{Namespace: "Weft", Name: "Lag", Dimensions: dimensions}, Unit: "Seconds", Point: alarms.Point{At: at, Value: 1}},
		{Metric: alarms.Metric{Namespace: "Weft", Name: "Lag", Dimensions: dimensions}, Unit: "Seconds", Point: alarms.Point{At: at, Value: 2.5}},
		{Metric: alarms.Metric{Namespace: "Weft", Name: "Count", Dimensions: dimensions}, Point: alarms.Point{At: at, Value: 3}},
	})
	for _, text := range []string{line(), line(`["Deployment","Role"]`, `["Role","Deployment"]`), line() + "\n", line(`"Count"}]`, `"Count","StorageResolution":60}]`)} {
		if got, err := alarms.ReadEMF([]byte(text)); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s:\n%v, %v; want\n%s", text, got, err, want)
		}
	}
	two, err := alarms.ReadEMF([]byte(line(`["Deployment","Role"]`, `["Deployment"],[]`)))
	if err != nil || len(two) != 6 || two[0].Metric.Dimensions != `"Deployment"="shop"` || two[3].Metric.Dimensions != "" {
		t.Errorf("two sets of dimensions: %v, %v", two, err)
	}
	for _, text := range []string{"START RequestId: 1", `{"level":"warn"}`, `[1]`, `{"_aws":{"Timestamp":1}}`, "INFO " + line()} {
		if got, err := alarms.ReadEMF([]byte(text)); err != nil || got != nil {
			t.Errorf("%s: %v, %v; want no data", text, got, err)
		}
	}
}

// CloudWatch drops such lines, so that an alarm would never begin.
func TestReadEMFRefuses(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`"d",`, 30) + `"d"`
	for _, text := range []string{
		line(`"Timestamp":1000,`, ""), line(`"Timestamp":1000`, `"Timestamp":"now"`),
		line(`"Namespace":"Weft",`, ""), line(`"Dimensions":[["Deployment","Role"]],`, ""), line(`"Metrics"`, `"Metric"`),
		line(`"Deployment":"shop",`, ""), line(`"Role":"api"`, `"Role":1`), line(`"Role":"api"`, `"Role":null`),
		line(`["Deployment","Role"]`, "["+many+"]", `"Role":"api"`, `"d":"x"`),
		line(`,"Count":3`, ""), line(`"Count":3`, `"Count":"3"`), line(`"Count":3`, `"Count":null`), line(`"Count":3`, `"Count":{}`), line(`"Count":3`, `"Count":[]`),
		line(`"Count":3`, `"Count":[`+strings.Repeat("1,", 100)+`1]`),
		line(`{"Name":"Count"}`, strings.Repeat(`{"Name":"Count"},`, 99)+`{"Name":"Count"}`),
		line(`"Count"}]`, `"Count","StorageResolution":1}]`),
	} {
		if got, err := alarms.ReadEMF([]byte(text)); err == nil {
			t.Errorf("%s: %v, want an error", text, got)
		}
	}
}

// answer is an answer of DescribeAlarms with one alarm, with parts replaced.
func answer(replace ...string) []byte {
	return []byte(strings.NewReplacer(replace...).Replace(`<DescribeAlarmsResponse><DescribeAlarmsResult><MetricAlarms><member>
		<AlarmName>shop-stuck-runs</AlarmName><StateValue>OK</StateValue><Namespace>Weft</Namespace><MetricName>CodeFailures</MetricName>
		<Dimensions><member><Name>Deployment</Name><Value>shop</Value></member></Dimensions><Statistic>Sum</Statistic><Period>300</Period>
		<EvaluationPeriods>4</EvaluationPeriods><DatapointsToAlarm>1</DatapointsToAlarm><Threshold>1.0</Threshold>
		<ComparisonOperator>GreaterThanOrEqualToThreshold</ComparisonOperator><TreatMissingData>notBreaching</TreatMissingData>
		</member></MetricAlarms></DescribeAlarmsResult></DescribeAlarmsResponse>`))
}

func TestParse(t *testing.T) {
	t.Parallel()
	want := alarms.Alarm{
		Name: "shop-stuck-runs", Metric: alarms.Metric{Namespace: "Weft", Name: "CodeFailures", Dimensions: `"Deployment"="shop"`}, Statistic: "Sum",
		Period: 5 * time.Minute, EvaluationPeriods: 4, DatapointsToAlarm: 1, Comparison: "GreaterThanOrEqualToThreshold", Threshold: 1, Missing: "notBreaching",
	}
	if got, err := alarms.Parse(answer()); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	want.DatapointsToAlarm, want.Missing = 4, "missing" // the defaults of PutMetricAlarm
	got, err := alarms.Parse(answer("<DatapointsToAlarm>1</DatapointsToAlarm>", "", "<TreatMissingData>notBreaching</TreatMissingData>", ""))
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range [][]byte{
		[]byte("{}"), answer("</MetricAlarms>", "</MetricAlarms><NextToken>more</NextToken>"),
		answer("<Statistic>Sum</Statistic>", "<Metrics><member><Id>m</Id></member></Metrics>"),
		answer("<Statistic>Sum</Statistic>", "<ExtendedStatistic>p99</ExtendedStatistic>"),
		answer("<Statistic>Sum</Statistic>", "<Statistic>Median</Statistic>"),
		answer("<Period>", "<Unit>Seconds</Unit><Period>"), answer(">Weft<", ">AWS/DynamoDB<"),
		answer("GreaterThanOrEqualToThreshold", "GreaterThanUpperThreshold"), answer("notBreaching", "bad"),
		answer(">300<", ">10<"), answer(">300<", ">90<"), answer("<DatapointsToAlarm>1", "<DatapointsToAlarm>5"), answer("<DatapointsToAlarm>1", "<DatapointsToAlarm>-1"),
	} {
		if got, err := alarms.Parse(bad); err == nil {
			t.Errorf("%s: %+v, want an error", bad, got)
		}
	}
}

// The order of a map is chance, so there are more dimensions than it gets right by chance.
func TestDimensions(t *testing.T) {
	values := map[string]string{}
	var want []string
	for _, name := range strings.Split("abcdefghijkl", "") {
		values[name] = "v" + name
		want = append(want, fmt.Sprintf(`"%s"="v%s"`, name, name))
	}
	if got := alarms.Dimensions(values); got != strings.Join(want, ",") {
		t.Errorf("%s, want %s", got, strings.Join(want, ","))
	}
}

// With a faster clock an alarm sees data as late and as long as they would be on AWS.
func TestClock(t *testing.T) {
	t.Parallel()
	c := alarms.Clock{Begin: began, Faster: 50}
	late := began.Add(6 * time.Second)
	for unit, want := range map[string]float64{"Seconds": 350, "Count": 7, "": 7} {
		got := c.Datum(alarms.Datum{Unit: unit, Point: alarms.Point{At: late, Value: 7}})
		if !got.At.Equal(began.Add(5*time.Minute)) || got.Value != want {
			t.Errorf("%q: %+v, want %v", unit, got, want)
		}
	}
	if got := c.At(late); !got.Equal(began.Add(5 * time.Minute)) {
		t.Errorf("six seconds are %v", got.Sub(began))
	}
}
