package doctor

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awsform"
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

// alarms checks that there are alarms, that somebody hears of them, and that none is on.
func (f *findings) alarms(ctx context.Context, a *AWS) {
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
	switch {
	case err != nil:
		f.warn(check, "give your credentials cloudwatch:DescribeAlarms to check this", "not checked: %v", err)
	case len(all) == 0:
		f.warn(check, "set Alarms to on", "there are none: nobody learns of dead letters, errors and stuck runs")
	case len(on) > 0:
		f.bad(check, "docs/operations.md says what each means", "on: %s", strings.Join(on, ", "))
	case !slices.ContainsFunc(all, heard):
		f.warn(check, "set AlarmTopics to SNS topics that somebody reads", "%d are off, and none notifies anybody", len(all))
	default:
		f.ok(check, "%d are off", len(all))
	}
}

// describeAlarms returns the alarms whose names begin with a prefix.
func describeAlarms(ctx context.Context, c aws.Config, prefix string) ([]alarm, error) {
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{"Action": {"DescribeAlarms"}, "Version": {"2010-08-01"}, "AlarmNamePrefix": {prefix}, "MaxRecords": {fmt.Sprint(mostAlarms)}}
	address := cmp.Or(aws.ToString(c.BaseEndpoint), awsform.Address("monitoring", c.Region)) + "/"
	r, err := awsform.Request(ctx, credentials, "monitoring", c.Region, address, form)
	if err != nil {
		return nil, err
	}
	client := c.HTTPClient
	if client == nil {
		client = http.DefaultClient
	}
	resp, body, err := awsform.Send(client, r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		var said struct {
			Code string `xml:"Error>Code"`
		}
		_ = xml.Unmarshal(body, &said) // what is no XML has no code
		return nil, fmt.Errorf("CloudWatch answers %s", cmp.Or(said.Code, resp.Status))
	}
	var answer struct {
		Alarms []alarm `xml:"DescribeAlarmsResult>MetricAlarms>member"`
	}
	return answer.Alarms, xml.Unmarshal(body, &answer)
}
