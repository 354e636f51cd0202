//go:build deploycheck

package operations_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/proof/alarms"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

// monitoring is the version of CloudWatch's API.
const monitoring = "2010-08-01"

// watch judges the alarms that were deployed, by what the functions logged, and by what LocalStack
// and the gateway counted.
type watch struct {
	cloud
	functions *lambda.Client
	gateway   *gateway
	clock     alarms.Clock
	alarms    []alarms.Alarm
	state     map[string]alarms.State
	data      map[alarms.Metric][]alarms.Point
	seen      map[string]bool      // the events of the logs
	warnings  []string             // the last lines of the logs that warn
	waiting   map[string]time.Time // when a message was first seen whose delay is over
	since     time.Time            // until then the metrics of LocalStack are known
}

func newWatch(ctx context.Context, c cloud, functions *lambda.Client, g *gateway, clock alarms.Clock) (*watch, error) {
	var answer []byte
	if err := c.form(ctx, "monitoring", monitoring, "DescribeAlarms", map[string]string{"AlarmNamePrefix": stack + "-", "MaxRecords": "100"}, &answer); err != nil {
		return nil, err
	}
	all, err := alarms.Parse(answer)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the deployment has no alarms")
	}
	w := &watch{
		cloud: c, functions: functions, gateway: g, clock: clock, alarms: all, state: map[string]alarms.State{},
		data: map[alarms.Metric][]alarms.Point{}, seen: map[string]bool{}, waiting: map[string]time.Time{},
		since: clock.Begin.Truncate(time.Second),
	}
	for _, a := range all {
		w.state[a.Name] = alarms.InsufficientData
	}
	return w, nil
}

// states returns the states of all alarms now, and has CloudWatch show them.
func (w *watch) states(ctx context.Context, now time.Time) (map[string]alarms.State, error) {
	if err := errors.Join(w.readLogs(ctx, now), w.readMetrics(ctx, now), w.readThrottles(ctx, now), w.readQueues(ctx, now)); err != nil {
		return nil, err
	}
	for _, d := range w.gateway.take() {
		w.add(d)
	}
	states := map[string]alarms.State{}
	for _, a := range w.alarms {
		before := w.state[a.Name]
		state := a.Evaluate(w.data[a.Metric], w.clock.At(now), before)
		if state != before {
			if err := w.show(ctx, a.Name, state); err != nil {
				return nil, err
			}
		}
		w.state[a.Name] = state
		states[strings.TrimPrefix(a.Name, stack+"-")] = state
	}
	return states, nil
}

// show has CloudWatch show the state of an alarm.
func (w *watch) show(ctx context.Context, name string, state alarms.State) error {
	parameters := map[string]string{"AlarmName": name, "StateValue": string(state), "StateReason": "localstack/operations-check"}
	return w.form(ctx, "monitoring", monitoring, "SetAlarmState", parameters, nil)
}

// showAll has CloudWatch show the alarms that are on once more. LocalStack also judges alarms
// itself, each minute and without their data, and turns them off.
func (w *watch) showAll(ctx context.Context) error {
	for name, state := range w.state {
		if state != alarms.Alarming {
			continue
		}
		if err := w.show(ctx, name, state); err != nil {
			return err
		}
	}
	return nil
}

// add adds a datum as alarms see it.
func (w *watch) add(d alarms.Datum) {
	d = w.clock.Datum(d)
	w.data[d.Metric] = append(w.data[d.Metric], d.Point)
}

// readLogs reads the metrics in the functions' logs.
func (w *watch) readLogs(ctx context.Context, now time.Time) error {
	for _, role := range roles {
		// Logs arrive late: what was logged since a while ago is read again.
		request := map[string]any{"logGroupName": "/aws/lambda/" + stack + "-" + role, "startTime": now.Add(-20 * time.Second).UnixMilli()}
		for {
			var answer struct {
				Events []struct {
					EventID, Message, LogStreamName string
				}
				NextToken string
			}
			if err := w.json(ctx, "logs", "Logs_20140328.FilterLogEvents", request, &answer); err != nil {
				return err
			}
			for _, e := range answer.Events {
				id := e.LogStreamName + " " + e.EventID
				if w.seen[id] {
					continue
				}
				w.seen[id] = true
				w.warn(role, e.Message)
				data, err := alarms.ReadEMF([]byte(e.Message))
				if err != nil {
					return err
				}
				for _, d := range data {
					w.add(d)
				}
			}
			if answer.NextToken == "" {
				break
			}
			request["nextToken"] = answer.NextToken
		}
	}
	return nil
}

// warn keeps a line of a function's log for the report if it warns. It keeps the last ones.
func (w *watch) warn(role, line string) {
	const most = 100
	if !strings.Contains(line, `"level":"WARN"`) && !strings.Contains(line, `"level":"ERROR"`) {
		return
	}
	w.warnings = append(w.warnings, role+": "+strings.TrimSpace(line))
	w.warnings = w.warnings[max(len(w.warnings)-most, 0):]
}

// readMetrics reads how often the functions were invoked and failed, by seconds.
func (w *watch) readMetrics(ctx context.Context, now time.Time) error {
	end := now.Add(-time.Second).Truncate(time.Second) // LocalStack counts in threads of their own
	if !end.After(w.since) {
		return nil
	}
	parameters := map[string]string{"StartTime": w.since.UTC().Format(time.RFC3339), "EndTime": end.UTC().Format(time.RFC3339)}
	metrics := map[string]alarms.Metric{}
	for _, role := range roles {
		for _, name := range []string{"Invocations", "Errors"} {
			id := fmt.Sprintf("m%d", len(metrics)+1)
			function := stack + "-" + role
			metrics[id] = alarms.Metric{Namespace: "AWS/Lambda", Name: name, Dimensions: alarms.Dimensions(map[string]string{"FunctionName": function})}
			for key, value := range map[string]string{
				"Id": id, "MetricStat.Metric.Namespace": "AWS/Lambda", "MetricStat.Metric.MetricName": name,
				"MetricStat.Metric.Dimensions.member.1.Name": "FunctionName", "MetricStat.Metric.Dimensions.member.1.Value": function,
				"MetricStat.Period": "1", "MetricStat.Stat": "Sum",
			} {
				parameters[fmt.Sprintf("MetricDataQueries.member.%d.%s", len(metrics), key)] = value
			}
		}
	}
	var answer struct {
		Results []struct {
			ID     string      `xml:"Id"`
			At     []time.Time `xml:"Timestamps>member"`
			Values []float64   `xml:"Values>member"`
		} `xml:"GetMetricDataResult>MetricDataResults>member"`
	}
	if err := w.form(ctx, "monitoring", monitoring, "GetMetricData", parameters, &answer); err != nil {
		return err
	}
	for _, r := range answer.Results {
		if len(r.At) != len(r.Values) {
			return fmt.Errorf("%d values at %d times", len(r.Values), len(r.At))
		}
		for i, at := range r.At {
			w.add(alarms.Datum{Metric: metrics[r.ID], Point: alarms.Point{At: at, Value: r.Values[i]}})
		}
	}
	w.since = end
	return nil
}

// readThrottles invokes each function that has an alarm on throttles while it has no concurrency:
// LocalStack throttles, and does not count that.
func (w *watch) readThrottles(ctx context.Context, now time.Time) error {
	for _, a := range w.alarms {
		if a.Metric.Name != "Throttles" {
			continue
		}
		name, err := strconv.Unquote(strings.TrimPrefix(a.Metric.Dimensions, `"FunctionName"=`))
		if err != nil {
			return fmt.Errorf("the alarm %s is not on one function: %s", a.Name, a.Metric.Dimensions)
		}
		reserved, err := w.functions.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &name})
		if err != nil {
			return err
		}
		if reserved.ReservedConcurrentExecutions == nil || *reserved.ReservedConcurrentExecutions > 0 {
			continue
		}
		_, err = w.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &name}, once)
		if throttled := (*lambdatypes.TooManyRequestsException)(nil); !errors.As(err, &throttled) {
			return fmt.Errorf("%s has a concurrency of 0, and is not throttled: %v", name, err)
		}
		w.add(alarms.Datum{Metric: a.Metric, Point: alarms.Point{At: now, Value: 1}})
	}
	return nil
}

// once has the client of Lambda send a request once.
func once(o *lambda.Options) { o.Retryer = aws.NopRetryer{} }

// readQueues measures how old the oldest message of each queue is. SQS leaves out of a standard
// queue what was received three times ("Available CloudWatch metrics for Amazon SQS").
func (w *watch) readQueues(ctx context.Context, now time.Time) error {
	for _, a := range w.alarms {
		if a.Metric.Name != "ApproximateAgeOfOldestMessage" {
			continue
		}
		name, err := strconv.Unquote(strings.TrimPrefix(a.Metric.Dimensions, `"QueueName"=`))
		if err != nil {
			return fmt.Errorf("the alarm %s is not on one queue: %s", a.Name, a.Metric.Dimensions)
		}
		oldest, err := w.oldest(ctx, name, now)
		if err != nil {
			return err
		}
		w.add(alarms.Datum{Metric: a.Metric, Unit: "Seconds", Point: alarms.Point{At: now, Value: now.Sub(oldest).Seconds()}})
	}
	return nil
}

// oldest returns since when the oldest message of a queue waits, of those that count. It does not
// count what a message was delayed: a delay does not pass faster here than on AWS, where five
// minutes of a dead letter are less than each alarm's threshold.
func (w *watch) oldest(ctx context.Context, name string, now time.Time) (time.Time, error) {
	const tooOften = 3
	var answer struct {
		Messages []struct {
			ID         string `xml:"MessageId"`
			Attributes []struct {
				Name  string `xml:"Name"`
				Value string `xml:"Value"`
			} `xml:"Attribute"`
		} `xml:"ReceiveMessageResult>Message"`
	}
	path := "/_aws/sqs/messages/" + awstest.Region + "/" + account + "/" + name + "?ShowInvisible=true"
	if err := w.get(ctx, path, &answer); err != nil {
		return now, err
	}
	oldest := now
	for _, m := range answer.Messages {
		since, known := w.waiting[m.ID]
		if !known {
			since = now
			w.waiting[m.ID] = now
		}
		received := int64(0)
		for _, a := range m.Attributes {
			n, err := strconv.ParseInt(a.Value, 10, 64)
			if err == nil && a.Name == "ApproximateReceiveCount" { // others are no numbers
				received = n
			}
		}
		if since.Before(oldest) && (received < tooOften || strings.HasSuffix(name, ".fifo")) {
			oldest = since
		}
	}
	return oldest, nil
}
