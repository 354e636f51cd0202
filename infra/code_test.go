package infra_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/queue"
)

// The alarm and the dashboard use existing metrics, and the dashboard has all of them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	d := declaredByTemplate(t, inputs{}.parameters())
	var names, onDashboard []string
	for _, m := range observe.Metrics {
		names = append(names, m.Name)
	}
	for _, widget := range at(t, d["AWS::CloudWatch::Dashboard"], "DashboardBody", "widgets").([]any) {
		for _, one := range at(t, widget, "properties", "metrics").([]any) {
			if m := one.([]any); m[0] == emf.Namespace {
				want(t, "the dimension on the dashboard", m[2], emf.Dimension)
				onDashboard = append(onDashboard, m[1].(string))
			}
		}
	}
	slices.Sort(names)
	slices.Sort(onDashboard)
	if diff := gocmp.Diff(names, onDashboard); diff != "" {
		t.Errorf("the dashboard does not have the metrics that there are (- metrics, + dashboard):\n%s", diff)
	}
	stuck := d["AWS::CloudWatch::Alarm weft-stuck-runs"]
	want(t, "the alarm's metric", at(t, stuck, "MetricName"), observe.StuckTasks.Name)
	want(t, "its namespace", at(t, stuck, "Namespace"), emf.Namespace)
	want(t, "its dimension", at(t, stuck, "Dimensions").([]any)[0].(map[string]any)["Name"], emf.Dimension)
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
