package infra_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/proof/alarms"
	"github.com/seed-41655fb1/weft/queue"
)

// Alarms and the dashboard use existing metrics, and alarms those that are sent by default. The
// dashboard has all that are sent.
func TestMetrics(t *testing.T) {
	t.Parallel()
	dashboardHas(t, inputs{}, func(m *observe.Metric) bool { return m.Health })
	dashboardHas(t, inputs{"metrics": "emf"}, func(*observe.Metric) bool { return true })
	byName := map[string]*observe.Metric{}
	for _, m := range observe.Metrics {
		byName[m.Name] = m
	}
	ours := 0
	d := declaredByTemplate(t, inputs{}.parameters())
	for _, name := range d.of("AWS::CloudWatch::Alarm") {
		alarm := d[name]
		if strings.HasPrefix(fmt.Sprint(at(t, alarm, "Namespace")), "AWS/") {
			continue
		}
		ours++
		if m := byName[at(t, alarm, "MetricName").(string)]; m == nil || !m.Health || (m.Unit == observe.Count) != (at(t, alarm, "Statistic") == "Sum") {
			t.Errorf("%s reads the %v of %v, which is not so sent by default", name, at(t, alarm, "Statistic"), at(t, alarm, "MetricName"))
		}
		want(t, "the namespace of "+name, at(t, alarm, "Namespace"), emf.Namespace)
		dimension := at(t, alarm, "Dimensions").([]any)[0].(map[string]any)
		want(t, "the dimension of "+name, dimension["Name"], emf.Dimension)
		want(t, "its value", dimension["Value"], at(t, d["AWS::Lambda::Function weft-api"], "Environment", "Variables", "WEFT_DEPLOYMENT"))
	}
	want(t, "how many alarms read Weft's metrics", ours, 9)
}

// Only a missing sweep rings without data, and no alarm reads what DynamoDB measures: such an alarm
// stays in its state while there is no data.
func TestMissingData(t *testing.T) {
	t.Parallel()
	d := declaredByTemplate(t, inputs{}.parameters())
	alarms := d.of("AWS::CloudWatch::Alarm")
	want(t, "the number of alarms", len(alarms), 21)
	for _, name := range alarms {
		missing := map[bool]string{true: "breaching", false: "notBreaching"}[strings.HasSuffix(name, "-sweep-missing")]
		want(t, "what "+name+" takes missing data for", at(t, d[name], "TreatMissingData"), missing)
		if at(t, d[name], "Namespace") == "AWS/DynamoDB" {
			t.Errorf("%s might never end", name)
		}
	}
}

// Without metrics there are only the alarms on what AWS measures, and without the probe there is
// none on it.
func TestAlarmsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   inputs
		left int
	}{{inputs{}, 21}, {inputs{"metrics": "otlp"}, 21}, {inputs{"metrics": "off"}, 12}, {inputs{"probe": false}, 20}, {inputs{"alarms": false}, 0}} {
		d := declaredByTemplate(t, c.in.parameters())
		want(t, fmt.Sprintf("the number of alarms of %v", c.in), len(d.of("AWS::CloudWatch::Alarm")), c.left)
		_, probed := at(t, d["AWS::Lambda::Function weft-timer"], "Environment", "Variables").(map[string]any)["WEFT_PROBE"]
		want(t, fmt.Sprintf("the probe of %v", c.in), probed, c.in["probe"] != false)
	}
}

// What callers get is measured where they enter: each kind of entrance has its metric, of which a
// single failure rings nothing. The dashboard has it, too.
func TestGatewayAlarm(t *testing.T) {
	t.Parallel()
	for api, c := range map[string]struct{ namespace, metric, dimensions string }{
		"http": {"AWS/ApiGateway", "5xx", `"ApiId"="weft-HttpApi"`},
		"rest": {"AWS/ApiGateway", "5XXError", `"ApiName"="weft","Stage"="live"`},
		"url":  {"AWS/Lambda", "Url5xxCount", `"FunctionName"="weft-api"`},
	} {
		d := declaredByTemplate(t, inputs{"api": api}.parameters())
		if api == "rest" { // by its name, not by its id
			want(t, "the name of the REST API", at(t, d["AWS::ApiGateway::RestApi"], "Name"), "weft")
			want(t, "its stage", at(t, d["AWS::ApiGateway::Stage"], "StageName"), "live")
		}
		alarm, dimensions, graph := d["AWS::CloudWatch::Alarm weft-gateway-failures"], map[string]string{}, []any{c.namespace, c.metric}
		for _, one := range at(t, alarm, "Dimensions").([]any) {
			name, value := at(t, one, "Name").(string), at(t, one, "Value").(string)
			dimensions[name] = value
			graph = append(graph, name, value)
		}
		number := func(name string) int { return int(seconds(t, alarm, name).Seconds()) }
		a := alarms.Alarm{
			Metric:    alarms.Metric{Namespace: at(t, alarm, "Namespace").(string), Name: at(t, alarm, "MetricName").(string), Dimensions: alarms.Dimensions(dimensions)},
			Statistic: at(t, alarm, "Statistic").(string), Period: seconds(t, alarm, "Period"), Missing: at(t, alarm, "TreatMissingData").(string),
			EvaluationPeriods: number("EvaluationPeriods"), DatapointsToAlarm: number("DatapointsToAlarm"),
			Comparison: at(t, alarm, "ComparisonOperator").(string), Threshold: float64(number("Threshold")),
		}
		want(t, api+": the metric", a.Metric, alarms.Metric{Namespace: c.namespace, Name: c.metric, Dimensions: c.dimensions})
		begin := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		for what, of := range map[string]struct {
			failures []time.Duration // when callers got 5xx
			want     alarms.State
		}{
			"nobody calls": {nil, alarms.OK}, "a single failure": {[]time.Duration{0}, alarms.OK},
			"many in a period":    {[]time.Duration{0, time.Minute, 2 * time.Minute}, alarms.OK},
			"two periods":         {[]time.Duration{0, a.Period}, alarms.Alarming},
			"two of three":        {[]time.Duration{0, 2 * a.Period}, alarms.Alarming},
			"far from each other": {[]time.Duration{-20 * time.Minute, 0}, alarms.OK},
		} {
			var data []alarms.Point
			for _, after := range of.failures {
				data = append(data, alarms.Point{At: begin.Add(after), Value: 1})
			}
			if got := a.Evaluate(data, begin.Add(3*a.Period), alarms.OK); got != of.want {
				t.Errorf("%s, %s: %s, want %s", api, what, got, of.want)
			}
		}
		found := false
		for _, widget := range at(t, d["AWS::CloudWatch::Dashboard"], "DashboardBody", "widgets").([]any) {
			for _, one := range at(t, widget, "properties", "metrics").([]any) {
				m := one.([]any)
				found = found || gocmp.Equal(m[:len(m)-1], graph)
			}
		}
		if !found {
			t.Errorf("%s: the dashboard does not have %v", api, graph)
		}
	}
}

// dashboardHas checks that the dashboard of a variant has these metrics of Weft's.
func dashboardHas(t *testing.T, variant inputs, sent func(*observe.Metric) bool) {
	t.Helper()
	d := declaredByTemplate(t, variant.parameters())
	var names, onDashboard []string
	for _, m := range observe.Metrics {
		if sent(m) {
			names = append(names, m.Name)
		}
	}
	for _, widget := range at(t, d["AWS::CloudWatch::Dashboard"], "DashboardBody", "widgets").([]any) {
		for _, one := range at(t, widget, "properties", "metrics").([]any) {
			if m := one.([]any); m[0] == emf.Namespace {
				want(t, "the dimension on the dashboard", m[2], emf.Dimension)
				want(t, "its value", m[3], "weft")
				onDashboard = append(onDashboard, m[1].(string))
			}
		}
	}
	slices.Sort(names)
	slices.Sort(onDashboard)
	if diff := gocmp.Diff(names, onDashboard); diff != "" {
		t.Errorf("the dashboard of %v does not have the metrics that are sent (- metrics, + dashboard):\n%s", variant, diff)
	}
}

// The default limits of the module and of the template are those of the code.
func TestDefaults(t *testing.T) {
	t.Parallel()
	all, limits := moduleVariables(t), executor.Defaults().Engine.Limits
	want(t, "check_commits", all["check_commits"].fallback, executor.Defaults().CheckAtOnce)
	want(t, "retention_days", all["retention_days"].fallback, int(executor.Defaults().Retention.Hours()/24))
	want(t, "updates_in_flight", all["updates_in_flight"].fallback, limits.UpdatesInFlight)
	want(t, "update_bytes_in_flight", all["update_bytes_in_flight"].fallback, limits.UpdateBytesInFlight)
	want(t, "updates_in_total", all["updates_in_total"].fallback, map[int]any{0: "none"}[limits.UpdatesInTotal])
	want(t, "long_timer", duration(t, all["long_timer"].fallback), queue.MaxDelay)
	want(t, "max_message_size", all["max_message_size"].fallback, 1<<20)
}
