//go:build aws

package infra_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/proof/privilege"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	blobs3 "github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs/sqstest"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/workflow"
)

// deployment runs what a template declares in this process: its functions with their
// environment, over a table and queues with its names, on servers of this machine. It records the
// requests of each function to AWS.
type deployment struct {
	*client.Client
	t         *testing.T
	functions map[string]function // what the template says
	tables    *dynamodb.Client    // not recorded, as queues
	queues    *sqs.Client
	objects   *s3.Client
	urls      map[string]string // of the queues, by their names on the server
	versions  *httptest.Server  // plays Lambda's API: see lambda

	mu       sync.Mutex
	running  map[string]*adapter.Function
	recorded map[string]*privilege.Recorder
}

// deploy creates the table and the queues.
func deploy(t *testing.T, stack string, functions map[string]function) *deployment {
	t.Helper()
	d := &deployment{
		t: t, functions: functions, urls: map[string]string{}, running: map[string]*adapter.Function{}, recorded: map[string]*privilege.Recorder{},
		tables: dynamodb.NewFromConfig(awstest.DynamoDB(t)[0].Config), queues: sqs.NewFromConfig(awstest.SQS(t)[0].Config),
		objects: s3.NewFromConfig(awstest.LocalStack(t).Config, func(o *s3.Options) { o.UsePathStyle = true }),
	}
	if _, err := d.objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(d.bucket())}); err != nil {
		t.Fatal(err)
	}
	if err := dynamo.CreateTable(t.Context(), d.tables, d.table()); err != nil {
		t.Fatal(err)
	}
	settings := queue.Standard()
	settings[queue.Unreadable] = queue.Settings{Visibility: 30 * time.Second}
	urls, err := sqstest.Create(t.Context(), d.queues, stack+"-", settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range urls {
		d.urls[path.Base(url)] = url
	}
	t.Cleanup(func() {
		ctx := context.Background()
		_, err := d.tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(d.table())})
		if err != nil {
			t.Error(err)
		}
		if err := sqstest.Delete(ctx, d.queues, urls); err != nil {
			t.Error(err)
		}
	})
	d.Client = client.ForHandler(lambdahost.Gateway(d, string(adapter.API)))
	d.versions = httptest.NewServer(http.HandlerFunc(d.lambda))
	t.Cleanup(d.versions.Close)
	return d
}

func (d *deployment) table() string { return d.functions[string(adapter.API)].variables["WEFT_TABLE"] }

func (d *deployment) bucket() string {
	return d.functions[string(adapter.API)].variables["WEFT_BUCKET"]
}

// store returns the table, without recording.
func (d *deployment) store() *dynamo.Store {
	d.t.Helper()
	s, err := dynamo.New(d.tables, dynamo.Options{Table: d.table(), Namespace: namespace})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// codec returns a codec that offloads to the bucket, as the functions do, with the time of a
// clock if one is given.
func (d *deployment) codec(objects *s3.Client, clock ...func() time.Time) *codec.Codec {
	o := codec.Options{Namespace: namespace, Blobs: blobs3.New(objects, d.bucket())}
	if len(clock) > 0 {
		o.Clock = clock[0]
	}
	return codec.New(o)
}

// url returns the URL, on the server, of a queue that is named by its URL or ARN in the
// template.
func (d *deployment) url(name string) string {
	d.t.Helper()
	name = name[strings.LastIndexAny(name, "/:")+1:]
	if d.urls[name] == "" {
		d.t.Fatalf("the template names a queue %s, and there are only %v", name, d.urls)
	}
	return d.urls[name]
}

// start starts a function, and replaces the one of that role that ran before, if any. The
// variables are added to those of the template, or replace them.
func (d *deployment) start(role adapter.Role, variables map[string]string, registrations ...workflow.Registration) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	name := string(role)
	all := maps.Clone(d.functions[name].variables)
	_, all["AWS_LAMBDA_FUNCTION_NAME"], _ = strings.Cut(d.functions[name].Function, ":function:") // Lambda sets it
	maps.Copy(all, variables)
	for variable, value := range all {
		if strings.HasPrefix(variable, "WEFT_QUEUE_") {
			all[variable] = d.url(value)
		}
	}
	if d.recorded[name] == nil {
		d.recorded[name] = &privilege.Recorder{}
	}
	f, err := adapter.Open(role, d.config(name), func(name string) string { return all[name] }, slog.New(slog.NewTextHandler(d.t.Output(), nil)), registrations...)
	if err != nil {
		d.t.Fatal(err)
	}
	d.running[name] = f
}

// config returns the configuration of a function's clients, which use several servers. It
// records their requests.
func (d *deployment) config(name string) aws.Config {
	c, recorder := awstest.DynamoDB(d.t)[0].Config.Copy(), d.recorded[name]
	c.BaseEndpoint = nil
	c.ConfigSources = []any{endpoints{
		dynamodb.ServiceID: *awstest.DynamoDB(d.t)[0].Config.BaseEndpoint, sqs.ServiceID: *awstest.SQS(d.t)[0].Config.BaseEndpoint,
		lambda.ServiceID: d.versions.URL, s3.ServiceID: *awstest.LocalStack(d.t).Config.BaseEndpoint,
	}}
	c.APIOptions = append(c.APIOptions, privilege.Install(lambdahost.ARN, func(context.Context) *privilege.Recorder { return recorder }))
	return c
}

// endpoints has the addresses of services, by the services' ids. The SDK asks for them as it
// does for AWS_ENDPOINT_URL_SQS.
type endpoints map[string]string

// GetServiceBaseEndpoint implements the SDK's interface.
func (e endpoints) GetServiceBaseEndpoint(_ context.Context, id string) (string, bool, error) {
	return e[id], e[id] != "", nil
}

// Invoke implements lambdahost.Invoker.
func (d *deployment) Invoke(ctx context.Context, role string, event []byte) ([]byte, error) {
	d.mu.Lock()
	f := d.running[role]
	d.mu.Unlock()
	return f.Invoke(ctx, event)
}

// deliver begins to pass the messages of the queues to the functions that the template maps them
// to, and to fire the schedule more often than each minute.
func (d *deployment) deliver() {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	broken := func(err error) { d.t.Error(err) }
	for _, f := range d.functions {
		for _, arn := range f.Receives {
			m := lambdahost.Mapping{Functions: d, Function: f.Name, Queues: d.queues, URL: d.url(arn), Concurrency: 2, Broken: broken}
			all.Go(func() { m.Run(ctx) })
		}
	}
	all.Go(func() {
		for tick := time.Tick(250 * time.Millisecond); ctx.Err() == nil; <-tick {
			if _, err := d.Invoke(context.WithoutCancel(ctx), string(adapter.Timer), []byte(`{"source":"aws.events"}`)); err != nil {
				d.t.Error(err)
			}
		}
	})
	d.t.Cleanup(func() {
		cancel()
		all.Wait()
	})
}

// take takes a message from a queue, whose URL in the template a variable of the functions has.
func (d *deployment) take(variable string) string {
	d.t.Helper()
	url := d.url(d.functions[string(adapter.API)].variables[variable])
	for {
		out, err := d.queues.ReceiveMessage(d.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 2})
		if err != nil {
			d.t.Fatal(err)
		}
		for _, m := range out.Messages {
			if _, err := d.queues.DeleteMessage(d.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				d.t.Fatal(err)
			}
			return aws.ToString(m.Body)
		}
	}
}

// hand passes a message to a function, as if from the queue of activities, and demands that the
// function handles it.
func (d *deployment) hand(role adapter.Role, body string) {
	d.t.Helper()
	activities := path.Base(d.functions[string(role)].variables["WEFT_QUEUE_ACTIVITIES"])
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "1", ReceiptHandle: "1", Body: body, Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		EventSource: "aws:sqs", EventSourceARN: lambdahost.ARN("sqs", activities),
	}}})
	if err != nil {
		d.t.Fatal(err)
	}
	answer, err := d.Invoke(d.t.Context(), string(role), event)
	if want := `{"batchItemFailures":[]}`; err != nil || string(answer) != want {
		d.t.Errorf("%s answers %s, %v to %s; want %s", role, answer, err, body, want)
	}
}

// body returns the text of a message.
func body(t testing.TB, m *engine.Message) string {
	t.Helper()
	b, err := history.EncodeBody(m)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

// newStack returns a name that no other stack has.
func newStack() string { return fmt.Sprintf("weft-%s", strings.ToLower(rand.Text()[:10])) }
