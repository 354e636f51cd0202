//go:build aws

package localstack_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

// Settings that the tests shorten, so that they wait less than a deployment may. On AWS a queue's
// visibility is at least six times the timeout of its function. Here a message that failed is
// redelivered as soon as possible.
var shortened = []string{
	"WorkflowTimeout=15", "WorkflowVisibility=15", "ActivityTimeout=40", "ActivityVisibility=40",
	fmt.Sprintf("MaxReceives=%d", maxReceives), fmt.Sprintf("LongTimer=%v", longTimer),
}

const (
	maxReceives = 3
	longTimer   = 5 * time.Second
)

// TestMain runs the tests, and ends the mappings of the stacks that they have deployed: LocalStack
// would otherwise poll their queues for as long as it runs, which takes a core. `make test-aws`
// runs the tests of other packages afterwards.
func TestMain(m *testing.M) {
	code := m.Run()
	if err := unmap(); err != nil {
		fmt.Fprintln(os.Stderr, "mappings are left in LocalStack:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// stacks are those that the tests have begun to deploy.
var stacks struct {
	sync.Mutex
	names []string
}

// unmap deletes the event source mappings of the stacks.
func unmap() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stacks.Lock()
	defer stacks.Unlock()
	if len(stacks.names) == 0 {
		return nil
	}
	functions := lambda.NewFromConfig(awstest.At("localstack", os.Getenv("WEFT_LOCALSTACK")).Config)
	for pages := lambda.NewListEventSourceMappingsPaginator(functions, &lambda.ListEventSourceMappingsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, mapping := range page.EventSourceMappings {
			ours := func(stack string) bool { return strings.Contains(aws.ToString(mapping.FunctionArn), ":"+stack+"-") }
			if !slices.ContainsFunc(stacks.names, ours) {
				continue
			}
			if _, err := functions.DeleteEventSourceMapping(ctx, &lambda.DeleteEventSourceMappingInput{UUID: mapping.UUID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// deployment has the compiled functions behind API Gateway on LocalStack. All tests of a run share
// it.
type deployment struct {
	client  *client.Client
	server  awstest.Server
	address *url.URL
	stack   string // with which the names of its resources begin
}

// deploy deploys infra/sam, or uses the deployment that WEFT_DEPLOYED names: the name and the
// address of a deployment of functions/all, in the form name=address. That deployment needs the
// shortened settings, a key of payloads and a bucket.
var deploy = sync.OnceValues(func() (*deployment, error) {
	if given := os.Getenv("WEFT_DEPLOYED"); given != "" {
		name, text, _ := strings.Cut(given, "=")
		address, err := url.Parse(text)
		return &deployment{address: address, stack: name}, err
	}
	return deployStack("PayloadKeys=create", "Bucket=create")
})

// deployStack deploys infra/sam as a stack of its own, with the shortened settings and these
// parameters.
func deployStack(parameters ...string) (*deployment, error) {
	build, err := os.MkdirTemp("", "weft-build-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(build) }()
	stack := fmt.Sprintf("weft-%d", time.Now().UnixNano()) // a LocalStack of one's own keeps what earlier runs deployed
	stacks.Lock()
	stacks.names = append(stacks.names, stack)
	stacks.Unlock()
	var complaints bytes.Buffer
	command := exec.Command("./deploy", slices.Concat([]string{os.Getenv("WEFT_LOCALSTACK"), build + "/build", stack}, shortened, parameters)...)
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("localstack/deploy: %w\n%s", err, complaints.Bytes())
	}
	address, err := url.Parse(strings.TrimSpace(string(out)))
	return &deployment{address: address, stack: stack}, err
}

// deployed returns the one deployment of all tests, and the context in which a test has to end.
func deployed(t *testing.T) (context.Context, *deployment) {
	t.Helper()
	awstest.LocalStack(t)
	d, err := deploy()
	if err != nil {
		t.Fatal(err)
	}
	return d.within(t)
}

// within returns a deployment for one test, and the context in which the test has to end.
func (d *deployment) within(t *testing.T) (context.Context, *deployment) {
	t.Helper()
	server := awstest.LocalStack(t)
	ctx := t.Context()
	if end, limited := t.Deadline(); limited {
		const toReport = 10 * time.Second
		limited, cancel := context.WithDeadline(ctx, end.Add(-toReport))
		t.Cleanup(cancel)
		ctx = limited
	}
	c := client.New(d.address.String(), client.Options{HTTP: &http.Client{Transport: apitest.Below(t, d.address.Path, nil)}})
	return ctx, &deployment{client: c, server: server, address: d.address, stack: d.stack}
}

// queue returns the URL of one of its queues.
func (d *deployment) queue(ctx context.Context, t *testing.T, name string) (*sqs.Client, *string) {
	t.Helper()
	queues := sqs.NewFromConfig(d.server.Config)
	out, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(d.stack + "-" + name)})
	if err != nil {
		t.Fatal(err)
	}
	return queues, out.QueueUrl
}

// until asks repeatedly until the answer is yes, or the context ends.
func until(ctx context.Context, t *testing.T, what string, yes func() (bool, error)) {
	t.Helper()
	for tick := time.Tick(50 * time.Millisecond); ; {
		ok, err := yes()
		if ok {
			return
		}
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatalf("until %s: %v; the last answer was %v", what, ctx.Err(), err)
		}
	}
}
