package operations

// outage has what an outage of the store may begin besides the alarm of its page.
var outage = []string{
	"api-failures", "gateway-failures", "api-latency", "calls-failing", "probe", "no-progress", "age-*", "dead-letters", "errors-timer", "timers-late", "check-late",
}

// Names returns the names of the cases, in order.
func Names() (names []string) {
	for _, c := range Cases() {
		names = append(names, c.Name)
	}
	return names
}

// Cases returns the cases without their faults: each page of docs/operations.md has one. They are
// in the order in which they are played.
func Cases() []Case {
	return []Case{
		{Name: "wrong table, api", Alarm: "api-failures", Also: []string{"gateway-failures"}, Allowed: []string{"calls-failing", "probe"}},
		{Name: "wrong table, workflow", Alarm: "no-progress", Allowed: []string{"calls-failing", "age-*", "dead-letters"}},
		{Name: "permission removed", Alarm: "calls-failing", Allowed: []string{"api-failures", "gateway-failures", "probe"}},
		{Name: "store throttled", Alarm: "api-failures", Allowed: outage},
		{Name: "store stopped", Alarm: "api-failures", Allowed: outage},
		{Name: "store slow", Alarm: "api-latency", Allowed: outage},
		{Name: "bad build: all updates", Alarm: "stuck-runs"},
		{Name: "bad build: cannot start", Alarm: "errors-api", Allowed: []string{"gateway-failures", "probe"}},
		{Name: "killed: api", Alarm: "errors-api", Allowed: []string{"gateway-failures", "probe"}},
		{Name: "killed: workflow", Alarm: "errors-workflow", Allowed: []string{"age-*", "dead-letters"}},
		{Name: "killed: activity", Alarm: "errors-activity", Allowed: []string{"probe", "age-*", "dead-letters"}},
		{Name: "killed: timer", Alarm: "errors-timer", Allowed: []string{"timers-late"}},
		{Name: "stopped: api", Alarm: "errors-api", Allowed: []string{"gateway-failures", "probe"}},
		{Name: "stopped: workflow", Alarm: "errors-workflow", Allowed: []string{"age-*", "dead-letters"}},
		{
			Name: "concurrency 0", Alarm: "throttles-api", Also: []string{"throttles-workflow", "throttles-activity"},
			Allowed: []string{"gateway-failures", "probe", "age-*", "dead-letters"},
		},
		{Name: "rule disabled", Alarm: "sweep-missing", Allowed: []string{"timers-late"}},
		{Name: "sweep cannot send", Alarm: "timers-late", Allowed: []string{"errors-timer", "calls-failing"}},
		{Name: "check cannot scan", Alarm: "check-late", Allowed: []string{"calls-failing"}},
		{Name: "garbage in each queue", Alarm: "no-progress", Also: []string{"dead-letters"}, Allowed: []string{"age-*"}},
		{Name: "full dead-letter queues", Alarm: "dead-letters", Allowed: []string{"age-*"}},
		{Name: "mapping of activities disabled", Alarm: "age-activities", Allowed: []string{"probe"}},
		{Name: "mappings of workflows disabled", Alarm: "age-workflow", Also: []string{"age-timers"}},
		{Name: "probe may not invoke", Alarm: "probe"},
		{Name: "gateway may not invoke", Alarm: "gateway-failures"},
		{Name: "dead function cannot start", Alarm: "dead-letters"},
	}
}
