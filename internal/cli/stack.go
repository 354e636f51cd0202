package cli

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awsform"
)

// ofStack reads the address of a deployment from the outputs of its stack.
func (d *Deployment) ofStack(ctx context.Context, s *Session, t target) (err error) {
	if err := d.configure(ctx, s, t.Region, t.AWSProfile); err != nil {
		return err
	}
	Waiting(ctx, "the outputs of stack %s", t.Stack)
	if d.Outputs, err = describeStack(ctx, s, *d.AWS, t.Stack); err != nil {
		return err
	}
	if d.URL = d.Outputs["Url"]; d.URL == "" {
		return Errorf(NotFound, "stack %q in %s has no output Url: is it a deployment of Weft?", t.Stack, d.AWS.Region)
	}
	return checkURL(d.URL)
}

// describeStack returns the outputs of a stack.
func describeStack(ctx context.Context, s *Session, c aws.Config, name string) (map[string]string, error) {
	if c.Region == "" {
		return nil, Errorf(Usage, "stack %q is in a region, and none is configured: give --region, or set AWS_REGION", name)
	}
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("stack %q in %s cannot be read: %w", name, c.Region, err)
	}
	form := url.Values{"Action": {"DescribeStacks"}, "Version": {"2010-05-15"}, "StackName": {name}}
	r, err := awsform.Request(ctx, credentials, "cloudformation", c.Region, cloudFormation(s, c), form)
	if err != nil {
		return nil, Errorf(Usage, "the address of CloudFormation: %w", err)
	}
	resp, body, err := awsform.Send(http.DefaultClient, r)
	if err != nil {
		return nil, Errorf(Unreachable, "reading stack %q: %w", name, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, stackError(resp, body, name, c.Region)
	}
	return outputs(body, name)
}

// cloudFormation returns the address of the service.
func cloudFormation(s *Session, c aws.Config) string {
	return cmp.Or(s.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"), aws.ToString(c.BaseEndpoint), awsform.Address("cloudformation", c.Region)) + "/"
}

// outputs reads the outputs of the one stack in an answer.
func outputs(body []byte, name string) (map[string]string, error) {
	var answer struct {
		Stacks []struct {
			Outputs []struct {
				Key   string `xml:"OutputKey"`
				Value string `xml:"OutputValue"`
			} `xml:"Outputs>member"`
		} `xml:"DescribeStacksResult>Stacks>member"`
	}
	if err := xml.Unmarshal(body, &answer); err != nil {
		return nil, Errorf(Unreachable, "the answer of CloudFormation for stack %q is not what it should be: %w", name, err)
	}
	if len(answer.Stacks) != 1 {
		return nil, Errorf(NotFound, "CloudFormation returned %d stacks for %q", len(answer.Stacks), name)
	}
	all := map[string]string{}
	for _, o := range answer.Stacks[0].Outputs {
		all[o.Key] = o.Value
	}
	return all, nil
}

// stackError returns the error for an answer without a stack.
func stackError(resp *http.Response, body []byte, name, region string) error {
	var answer struct {
		Code    string `xml:"Error>Code"`
		Message string `xml:"Error>Message"`
	}
	if xml.Unmarshal(body, &answer) != nil || answer.Code == "" {
		answer.Code, answer.Message = resp.Status, "no reason was given"
	}
	if strings.Contains(answer.Message, "does not exist") {
		return Errorf(NotFound, "there is no stack %q in %s: give its name and --region", name, region)
	}
	err := fmt.Errorf("reading stack %q in %s: %s: %s", name, region, answer.Code, answer.Message)
	if resp.StatusCode == http.StatusForbidden {
		err = fmt.Errorf("%w; the credentials need cloudformation:DescribeStacks, or give --url", err)
	}
	return With(Unreachable, err)
}
