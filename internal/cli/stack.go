package cli

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awsform"
)

// ofStack reads the outputs of the deployment's stack. Its address is among them. That of the
// command line replaces it.
func (d *Deployment) ofStack(ctx context.Context, s *Session, t target) (err error) {
	if err := d.configure(ctx, s, t.Region, t.AWSProfile); err != nil {
		return err
	}
	Waiting(ctx, "the outputs of stack %s", t.Stack)
	stack, err := describeStack(ctx, s, *d.AWS, t.Stack)
	if err != nil {
		return err
	}
	d.Outputs, d.Protected = stack.outputs(), stack.Protected
	own := d.Outputs["Url"]
	if own == "" {
		return Errorf(NotFound, "stack %q in %s has no output Url: is it a deployment of Weft?", t.Stack, d.AWS.Region)
	}
	d.URL = cmp.Or(d.URL, own)
	return checkURL(d.URL)
}

// ProtectStack switches the termination protection of a stack on or off: with it, CloudFormation
// refuses to delete the stack.
func (s *Session) ProtectStack(ctx context.Context, c aws.Config, name string, on bool) error {
	_, err := askCloudFormation(ctx, s, c, name, url.Values{"Action": {"UpdateTerminationProtection"}, "EnableTerminationProtection": {strconv.FormatBool(on)}})
	return err
}

// describeStack returns what CloudFormation says of a stack.
func describeStack(ctx context.Context, s *Session, c aws.Config, name string) (stack, error) {
	body, err := askCloudFormation(ctx, s, c, name, url.Values{"Action": {"DescribeStacks"}})
	if err != nil {
		return stack{}, err
	}
	return onlyStack(body, name)
}

// askCloudFormation sends a request about a stack, and returns the body of the answer.
func askCloudFormation(ctx context.Context, s *Session, c aws.Config, name string, form url.Values) ([]byte, error) {
	form.Set("Version", "2010-05-15")
	form.Set("StackName", name)
	action := form.Get("Action")
	if err := CheckRegion(c, fmt.Sprintf("stack %q", name)); err != nil {
		return nil, err
	}
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("stack %q in %s cannot be %s: %w", name, c.Region, actions[action].done, err)
	}
	r, err := awsform.Request(ctx, credentials, "cloudformation", c.Region, cloudFormation(s, c), form)
	if err != nil {
		return nil, Errorf(Usage, "the address of CloudFormation: %w", err)
	}
	resp, body, err := awsform.Send(http.DefaultClient, r)
	if err != nil {
		return nil, Errorf(Unreachable, "%s stack %q: %w", actions[action].doing, name, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, stackError(resp, body, action, name, c.Region)
	}
	return body, nil
}

// actions are the words for the actions of CloudFormation in errors, and what else there is to do.
var actions = map[string]struct{ doing, done, otherwise string }{
	"DescribeStacks":              {"reading", "read", ", or give --url"},
	"UpdateTerminationProtection": {"protecting", "protected", ""},
}

// cloudFormation returns the address of the service.
func cloudFormation(s *Session, c aws.Config) string {
	return cmp.Or(s.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"), aws.ToString(c.BaseEndpoint), awsform.Address("cloudformation", c.Region)) + "/"
}

// stack is what CloudFormation says of a stack.
type stack struct {
	Protected bool `xml:"EnableTerminationProtection"`
	Outputs   []struct {
		Key   string `xml:"OutputKey"`
		Value string `xml:"OutputValue"`
	} `xml:"Outputs>member"`
}

// outputs returns the outputs by their keys.
func (s *stack) outputs() map[string]string {
	all := map[string]string{}
	for _, o := range s.Outputs {
		all[o.Key] = o.Value
	}
	return all
}

// onlyStack reads the one stack in an answer.
func onlyStack(body []byte, name string) (stack, error) {
	var answer struct {
		Stacks []stack `xml:"DescribeStacksResult>Stacks>member"`
	}
	if err := xml.Unmarshal(body, &answer); err != nil {
		return stack{}, Errorf(Unreachable, "the answer of CloudFormation for stack %q is not what it should be: %w", name, err)
	}
	if len(answer.Stacks) != 1 {
		return stack{}, Errorf(NotFound, "CloudFormation returned %d stacks for %q", len(answer.Stacks), name)
	}
	return answer.Stacks[0], nil
}

// stackError returns the error for an answer that refuses an action.
func stackError(resp *http.Response, body []byte, action, name, region string) error {
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
	err := fmt.Errorf("%s stack %q in %s: %s: %s", actions[action].doing, name, region, answer.Code, answer.Message)
	if resp.StatusCode == http.StatusForbidden {
		err = fmt.Errorf("%w; the credentials need cloudformation:%s%s", err, action, actions[action].otherwise)
	}
	return With(Unreachable, err)
}
