package doctor

import (
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/settings"
)

// The concurrency that a deployment may use is compared with the quota of its account.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	preset := func(p settings.Preset, tasks int) func(answers) {
		return func(a answers) {
			maxima := map[string]int{"workflow.fifo": p.Workflow, "timers": p.Timer, "activities": p.Activity, "tasks-reports": tasks}
			for _, function := range []string{"workflow", "activity", "tasks-reports"} {
				for _, m := range a["mappings weft-"+function]["EventSourceMappings"].([]object) {
					name, _ := strings.CutPrefix(named(new(m["EventSourceArn"].(string))), "weft-")
					m["ScalingConfig"] = object{"MaximumConcurrency": maxima[name]}
					if maxima[name] == 0 {
						delete(m, "ScalingConfig")
					}
				}
			}
			variables(a, "api")["WEFT_WAIT_HOLD"] = p.WaitHold
		}
	}
	usual, small, shared := preset(settings.Presets()[0], 2), preset(settings.Presets()[1], 2), preset(settings.Presets()[2], 0)
	reserve := func(function string, n int) func(answers) {
		return func(a answers) { a["concurrency weft-"+function]["ReservedConcurrentExecutions"] = n }
	}
	pin := func(a answers) {
		for _, function := range []string{"api", "workflow", "activity", "tasks-reports"} {
			variables(a, function)["WEFT_PINNING"] = "on"
		}
	}
	withURL := func(a answers) { a["url weft-api"] = object{"FunctionUrl": "https://a", "AuthType": "AWS_IAM"} }
	for what, c := range map[string]struct {
		quota   int
		changes []func(answers)
		verdict Verdict
		seen    string
		do      string
	}{
		"usual in 1,000":                   {1000, []func(answers){usual}, OK, "queues use at most 702, and callers 282", ""},
		"usual in 984":                     {984, []func(answers){usual}, OK, "queues use at most 702, and callers 282", ""},
		"usual in 983":                     {983, []func(answers){usual}, Warn, "may use 702, and callers 282", "Concurrency=small"},
		"usual in 50":                      {50, []func(answers){usual}, Warn, "may use 702, and callers 282", "Concurrency=small"},
		"usual in 10":                      {10, []func(answers){usual}, Warn, "may use 702, and callers 282", "Concurrency=small"},
		"small in 10, with a task queue":   {10, []func(answers){small}, Warn, "may use 9, and callers 157", "ask for a larger quota"},
		"small in 10":                      {10, []func(answers){small, reserve("tasks-reports", 0)}, OK, "at most 7: callers have at least 3", ""},
		"small in 50":                      {50, []func(answers){small, reserve("tasks-reports", 0)}, OK, "at most 7: callers have at least 43", ""},
		"small in 1,000":                   {1000, []func(answers){small}, OK, "queues use at most 9, and callers 157", ""},
		"usual, pinned, in 1,000":          {1000, []func(answers){usual, pin}, Warn, "may use 1404, and callers 282", "ask for a larger quota"},
		"usual, pinned, in 2,000":          {2000, []func(answers){usual, pin}, OK, "at most 1404", ""},
		"shared":                           {1000, []func(answers){shared}, Warn, "the queues activities, tasks-reports, timers, workflow", "Concurrency=usual"},
		"shared, reserved":                 {1000, []func(answers){shared, reserve("workflow", 50), reserve("activity", 60), reserve("tasks-reports", 70)}, OK, "at most 180", ""},
		"reserved for callers":             {1000, []func(answers){usual, reserve("api", 299)}, Warn, "callers 299", "quota"},
		"a function URL":                   {1000, []func(answers){usual, withURL}, Warn, "no throttle", "ApiReservedConcurrency"},
		"a function URL with a limit":      {1000, []func(answers){usual, withURL, reserve("api", 200)}, OK, "callers 200", ""},
		"a hold that the function refuses": {1000, []func(answers){usual, func(a answers) { variables(a, "api")["WEFT_WAIT_HOLD"] = "1h" }}, OK, "callers 157", ""},
		"no right": {1000, []func(answers){usual, func(a answers) {
			a["account-settings"] = object{"__type": "AccessDeniedException", "message": "not you"}
		}}, Warn, "not checked: AccessDeniedException", "lambda:GetAccountSettings"},
	} {
		a := deployed()
		a["account-settings"] = object{"AccountLimit": object{"ConcurrentExecutions": c.quota}}
		for _, change := range c.changes {
			change(a)
		}
		var worst Finding
		for _, f := range examine(t, a) {
			if f.Check == "concurrency" && (worst.Check == "" || f.Verdict != OK) {
				worst = f
			}
		}
		if worst.Verdict != c.verdict || !strings.Contains(worst.Seen, c.seen) || !strings.Contains(worst.Do, c.do) {
			t.Errorf("%s: %q, want %s with %q and %q", what, text([]Finding{worst}), c.verdict, c.seen, c.do)
		}
	}
}

// variables returns the environment of a function.
func variables(a answers, function string) object {
	return a["configuration weft-"+function]["Environment"].(object)["Variables"].(object)
}
