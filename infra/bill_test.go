package infra_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// What the bill has by default is what SAM and Terraform deploy by default: nothing is on without a
// price. A switch that neither of them has is as it is without them.
func TestDefaultsOfTheBill(t *testing.T) {
	t.Parallel()
	c, variables := load(t, "sam/template.yaml", "weft", nil), moduleVariables(t)
	given := func(parameter, without string) string {
		value, ok := c.parameters[parameter]
		v, ok2 := variables[snake(parameter)]
		switch {
		case ok != ok2:
			t.Errorf("the template and the module differ in %s", parameter)
		case !ok:
			return without
		case v.fallback != value:
			t.Errorf("%s is %v in the template, and %q in the module", parameter, value, v.fallback)
		}
		return value.(string)
	}
	number := func(parameter string) int {
		n, err := strconv.Atoi(given(parameter, ""))
		if err != nil {
			t.Errorf("%s: %v", parameter, err)
		}
		return n
	}
	backup := c.properties("Table")["PointInTimeRecoverySpecification"].(map[string]any)["PointInTimeRecoveryEnabled"]
	want := bill.Settings{
		API: given("Api", ""), List: given("List", "") == "on", PITR: backup == "true", AccessLog: given("AccessLog", "") == "on",
		Chain: given("Chain", "") == "on", Deletion: true, RetentionDays: float64(number("RetentionDays")),
		Metrics: given("Metrics", ""), SystemLogLevel: given("SystemLogLevel", "INFO"), LogRetentionDays: float64(number("LogRetentionDays")),
		Memory: number("Memory"), X86: given("Architecture", "") != "arm64", Key: given("Kms", "") != "none", Bucket: given("Bucket", "") != "",
		Alarms: c.alarmMetrics("AWS/"), HealthAlarms: c.alarmMetrics("Weft") - bill.ProbeAlarms, Probe: given("Probe", "") == "on",
	}
	if got := bill.Default(); got != want {
		t.Errorf("bill.Default() is\n%+v, and by default the template and the module deploy\n%+v", got, want)
	}
	custom := 0
	for _, m := range observe.Metrics {
		if !m.Health {
			custom++
		}
	}
	if custom != bill.CustomMetrics {
		t.Errorf("%d metrics are sent while all is well, and the bill has %d", custom, bill.CustomMetrics)
	}
	if activities := number("ActivityMemory"); activities != want.Memory {
		t.Errorf("activities have %d MB, and the bill says %d for all functions", activities, want.Memory)
	}
	mappings := c.polled()
	ordered := 0
	for _, id := range c.of("AWS::SQS::Queue") {
		if c.properties(id)["FifoQueue"] == "true" {
			ordered++
		}
	}
	if mappings != 2*(bill.StandardQueues+bill.OrderedQueues) || ordered != 2*bill.OrderedQueues {
		t.Errorf("%d queues are polled, and %d are FIFO queues; the bill has %d standard ones and %d, and as many of dead letters",
			mappings, ordered, bill.StandardQueues, bill.OrderedQueues)
	}
}

// A task queue has what the bill says: two queues that are polled, and alarms.
func TestTaskQueuesOfTheBill(t *testing.T) {
	t.Parallel()
	text, err := infra.SAMWith("reports")
	if err != nil {
		t.Fatal(err)
	}
	without, with := load(t, "sam/template.yaml", "weft", nil), read(t, text, "weft", nil)
	if alarms, mappings := with.alarmMetrics("")-without.alarmMetrics(""), with.polled()-without.polled(); alarms != bill.TaskQueueAlarms || mappings != 2 {
		t.Errorf("a task queue has %d metrics of alarms and %d mappings, and the bill says %d and 2", alarms, mappings, bill.TaskQueueAlarms)
	}
}

// The bill has the metrics of those alarms that are deployed, whatever decides about them.
func TestAlarmsOfTheBill(t *testing.T) {
	t.Parallel()
	for _, probe := range []string{"on", "off"} {
		for _, metrics := range []string{"health", "emf", "otlp", "off"} {
			for _, api := range []string{"http", "rest", "url"} {
				s := bill.Default()
				s.Metrics, s.Probe, s.API = metrics, probe == "on", api
				billed := 0.0
				for _, l := range bill.Idle(s) {
					if l.Name == "metrics of alarms" {
						billed = l.Count
					}
				}
				c := load(t, "sam/template.yaml", "weft", map[string]string{"Metrics": metrics, "Probe": probe, "Api": api})
				if deployed := c.alarmMetrics(""); billed != float64(deployed) {
					t.Errorf("metrics %s, probe %s, API %s: the bill has %v metrics of alarms, and %d are deployed", metrics, probe, api, billed, deployed)
				}
			}
		}
	}
}

// polled returns how many queues are polled.
func (c *template) polled() int { return len(c.of("AWS::Lambda::EventSourceMapping")) }

// alarmMetrics returns how many metrics the alarms read whose namespace begins so.
func (c *template) alarmMetrics(namespace string) (n int) {
	for _, id := range c.of("AWS::CloudWatch::Alarm") {
		if c.properties(id)["MetricName"] == nil {
			c.t.Errorf("%s reads no metric, or several: say in the bill how many", id)
		}
		if strings.HasPrefix(c.value(c.properties(id)["Namespace"]).(string), namespace) {
			n++
		}
	}
	return n
}
