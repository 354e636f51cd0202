package doctor

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/queue"
)

// alarm is an alarm of CloudWatch.
type alarm struct {
	Name  string `xml:"AlarmName"`
	State string `xml:"StateValue"`
	// Actions are who is notified.
	Actions []string `xml:"AlarmActions>member"`
}

// mostAlarms is how many alarms one request returns.
const mostAlarms = 100

// The alarms that the template and the module declare, without the deployment's name: those on
// health metrics, which a deployment without them lacks, and those on what AWS measures. A task
// queue has three more of the latter.
var (
	healthAlarms = []string{"api-failures", "api-latency", "calls-failing", "stuck-runs", "no-progress", "timers-late", "check-late", "dead-letters"}
	probeAlarm   = "probe" // also of health, if there is a probe
	awsAlarms    = []string{
		"gateway-failures", "sweep-missing", "age-workflow", "age-timers", "age-activities",
		"errors-api", "errors-workflow", "errors-activity", "errors-timer",
		"throttles-api", "throttles-workflow", "throttles-activity",
	}
	alarmsOfTasks = []string{"age", "errors", "throttles"}
)

// alarms checks that there are all alarms, that somebody hears of them, and that none is on.
func (f *findings) alarms(ctx context.Context, a *AWS, functions map[string]deployedFunction) {
	const check = "alarms"
	var all []alarm
	err := within(ctx, func(ctx context.Context) (err error) {
		all, err = describeAlarms(ctx, a.Config, a.Name+"-")
		return err
	})
	var on []string
	for _, one := range all {
		if one.State == "ALARM" {
			on = append(on, one.Name)
		}
	}
	heard := func(one alarm) bool { return len(one.Actions) > 0 }
	var missing []string
	for _, name := range expectedAlarms(a, functions) {
		if !slices.ContainsFunc(all, func(one alarm) bool { return one.Name == name }) {
			missing = append(missing, name)
		}
	}
	switch {
	case err != nil:
		f.warn(check, "give your credentials cloudwatch:DescribeAlarms to check this", "not checked: %v", err)
		return
	case len(all) == 0:
		f.warn(check, "set Alarms to on", "there are none: nobody learns of dead letters, errors and stuck runs")
		return
	case len(on) > 0:
		f.bad(check, "docs/operations.md says what each means", "on: %s", strings.Join(on, ", "))
	case !slices.ContainsFunc(all, heard):
		f.warn(check, "set AlarmTopics to SNS topics that somebody reads", "%d are off, and none notifies anybody", len(all))
	case len(missing) == 0:
		f.ok(check, "%d are off", len(all))
	}
	if len(missing) > 0 {
		f.warn(check, "deploy the template of this version", "missing: %s", strings.Join(missing, ", "))
	}
}

// expectedAlarms returns the names of the alarms that the deployment has if its template has not
// switched all of them off.
func expectedAlarms(a *AWS, functions map[string]deployedFunction) (names []string) {
	kinds := awsAlarms
	if metricsOf(functions) != "off" {
		kinds = append(slices.Clone(kinds), healthAlarms...)
		if functions["timer"].variables[variableProbe] != "" {
			kinds = append(kinds, probeAlarm)
		}
	}
	for _, queued := range a.TaskQueues {
		for _, kind := range alarmsOfTasks {
			kinds = append(slices.Clone(kinds), kind+"-"+queue.ForTasks(queued))
		}
	}
	for _, kind := range kinds {
		names = append(names, a.Name+"-"+kind)
	}
	return names
}

// describeAlarms returns the alarms whose names begin with a prefix.
func describeAlarms(ctx context.Context, c aws.Config, prefix string) (all []alarm, err error) {
	for next := ""; ; {
		var page []alarm
		if page, next, err = pageOfAlarms(ctx, c, prefix, next); err != nil {
			return nil, err
		}
		if all = append(all, page...); next == "" {
			return all, nil
		}
	}
}

// pageOfAlarms returns alarms, and the token of the next page; empty if there is none.
func pageOfAlarms(ctx context.Context, c aws.Config, prefix, token string) ([]alarm, string, error) {
	form := url.Values{"Action": {"DescribeAlarms"}, "Version": {"2010-08-01"}, "AlarmNamePrefix": {prefix}, "MaxRecords": {fmt.Sprint(mostAlarms)}}
	if token != "" {
		form.Set("NextToken", token)
	}
	var answer struct {
		Alarms []alarm `xml:"DescribeAlarmsResult>MetricAlarms>member"`
		Next   string  `xml:"DescribeAlarmsResult>NextToken"`
	}
	err := askForm(ctx, c, "monitoring", "CloudWatch", form, &answer)
	return answer.Alarms, answer.Next, err
}
