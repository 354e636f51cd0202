//go:build aws

package faults_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/faultproxy"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs/sqstest"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// The settings of the deployment, all shorter than in production. The visibility is shorter than
// the functions' timeouts, which AWS refuses: here it causes one more kind of duplicate, a message
// that is redelivered while it is handled.
const (
	visibility  = 4 * time.Second
	maxReceives = 7
	longTimer   = 2 * time.Second
	grace       = 2 * time.Second
)

// deployment has the functions, the table and the queues, with proxies between them.
type deployment struct {
	host        *lambdahost.Host
	disturbance *lambdahost.Disturbance
	mappings    []*lambdahost.Mapping
	proxies     map[string]*faultproxy.Proxy // dynamodb and sqs
	store       *dynamo.Store                // past the proxies
	queues      *sqs.Client                  // past the proxies
	urls        map[string]string
	logs        string
}

// deploy builds and deploys the functions. Nothing runs before work is called.
func deploy(t *testing.T, seed uint64) *deployment {
	t.Helper()
	tables, queues := awstest.DynamoDB(t)[0], awstest.SQS(t)[0]
	t.Logf("on %s and %s", tables.Name, queues.Name)
	d := &deployment{queues: sqs.NewFromConfig(queues.Config), disturbance: lambdahost.Disturb(seed, lambdahost.Deliveries{})}
	table := "faults-" + rand.Text()
	d.createTable(t, dynamodb.NewFromConfig(tables.Config), table)
	d.createQueues(t, table)
	d.proxies = map[string]*faultproxy.Proxy{}
	for name, server := range map[string]awstest.Server{"dynamodb": tables, "sqs": queues} {
		p, err := faultproxy.Start(aws.ToString(server.Config.BaseEndpoint), seed, faultproxy.Rates{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		d.proxies[name] = p
	}
	d.startHost(t, table)
	disturbed := queues.Config.Copy()
	disturbed.BaseEndpoint = aws.String(d.proxies["sqs"].URL())
	// A mapping retries sooner than a client should.
	d.mapQueues(t, sqs.NewFromConfig(disturbed, func(o *sqs.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = 100 * time.Millisecond })
	}))
	return d
}

func (d *deployment) createTable(t *testing.T, client *dynamodb.Client, table string) {
	t.Helper()
	if err := dynamo.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	})
	var err error
	if d.store, err = dynamo.New(client, dynamo.Options{Table: table}); err != nil {
		t.Fatal(err)
	}
}

func (d *deployment) createQueues(t *testing.T, prefix string) {
	t.Helper()
	settings := queue.Standard()
	for name, s := range settings {
		s.Visibility = visibility
		if s.MaxReceives > 0 {
			s.MaxReceives = maxReceives
		}
		settings[name] = s
	}
	var err error
	if d.urls, err = sqstest.Create(t.Context(), d.queues, prefix+"-", settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sqstest.Delete(context.Background(), d.queues, d.urls); err != nil {
			t.Error(err)
		}
	})
}

// build builds the functions' program, as a deployment does.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bootstrap")
	out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-trimpath", "-o", program, "./bootstrap").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func (d *deployment) startHost(t *testing.T, table string) {
	t.Helper()
	program := build(t)
	logs, err := os.CreateTemp("", "weft-faults-*.log")
	if err != nil {
		t.Fatal(err)
	}
	d.logs = logs.Name()
	t.Cleanup(func() {
		_ = logs.Close() // it is read again from the start
		if t.Failed() {
			t.Logf("the functions' log is %s", d.logs)
			return
		}
		_ = os.Remove(d.logs)
	})
	var functions []lambdahost.Function
	for role, f := range map[string]lambdahost.Function{
		"api":      {Timeout: 10 * time.Second, Concurrency: 24},
		"workflow": {Timeout: 10 * time.Second, Concurrency: 5},
		// The 30 s of an attempt, adapter.Reserve, and a small margin for a process that is stopped
		// before it has read the time: if it then has less than 30 s left, it returns the message.
		"activity": {Timeout: 36 * time.Second, Concurrency: 6},
		"timer":    {Timeout: 10 * time.Second, Concurrency: 1},
		"dead":     {Timeout: 10 * time.Second, Concurrency: 2},
	} {
		f.Name, f.Bootstrap, f.Log, f.Memory, f.Freeze = role, program, logs, 256, true
		f.Environment = map[string]string{
			"WEFT_ROLE": role, "WEFT_TABLE": table, "WEFT_BUILD": "faults", "WEFT_LONG_TIMER": longTimer.String(), "WEFT_GRACE": grace.String(), "WEFT_TIMEOUT": f.Timeout.String(),
			"AWS_ENDPOINT_URL_DYNAMODB": d.proxies["dynamodb"].URL(), "AWS_ENDPOINT_URL_SQS": d.proxies["sqs"].URL(),
		}
		for _, name := range []string{queue.Workflow, queue.Timers, queue.Activities} {
			f.Environment["WEFT_QUEUE_"+strings.ToUpper(name)] = d.urls[name]
		}
		functions = append(functions, f)
	}
	d.host = lambdahost.New(functions...)
	t.Cleanup(d.host.Close)
}

func (d *deployment) mapQueues(t *testing.T, client *sqs.Client) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler) // failing deliveries are expected in this test
	for name, m := range map[string]lambdahost.Mapping{
		queue.Workflow:   {Function: "workflow", Concurrency: 3},
		queue.Timers:     {Function: "workflow", Concurrency: 2},
		queue.Activities: {Function: "activity", Concurrency: 6, BatchSize: 1},
	} {
		m.URL = d.urls[name]
		dead := lambdahost.Mapping{Function: "dead", URL: d.urls[queue.DeadLetters(name)], BatchSize: 1}
		for _, m := range []*lambdahost.Mapping{&m, &dead} {
			m.Functions, m.Queues, m.Disturb, m.Log = d.host, client, d.disturbance, quiet
			m.Broken = func(err error) { t.Error(err) }
			d.mappings = append(d.mappings, m)
		}
	}
}

// work delivers messages and sweeps timers until ctx ends, and returns when all deliveries have
// been handled.
func (d *deployment) work(ctx context.Context) {
	var all sync.WaitGroup
	for _, m := range d.mappings {
		all.Go(func() { m.Run(ctx) })
	}
	all.Go(func() {
		for each(ctx, 500*time.Millisecond) {
			_, _ = d.host.Invoke(ctx, "timer", []byte(`{"source":"aws.events","detail-type":"Scheduled Event"}`)) // the next sweep continues
		}
	})
	all.Wait()
}

// each waits, and reports whether ctx has not ended.
func each(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// left returns the number of messages in each queue that is not empty, hidden ones included.
func (d *deployment) left(t *testing.T) map[string]string {
	t.Helper()
	left := map[string]string{}
	for name, url := range d.urls {
		out, err := d.queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: numbers})
		if err != nil {
			t.Fatal(err)
		}
		for attribute, n := range out.Attributes {
			if n != "0" {
				left[name] += strings.TrimPrefix(attribute, "ApproximateNumberOf") + "=" + n + " "
			}
		}
	}
	maps.DeleteFunc(left, func(_, text string) bool { return text == "" })
	return left
}
