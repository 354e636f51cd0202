package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	blobs3 "github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/probe"
	"github.com/seed-41655fb1/weft/proof/awsmeter"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/queue"
	weftsqs "github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/queue/sqs/sqstest"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// settings are the settings of a deployment.
type settings struct {
	dynamoDB, sqs aws.Config
	name          string // the table's name, and the prefix of the queues
	list          bool
	chain         bool // activities are chained
	longTimer     time.Duration
	ahead         time.Duration // of the clock of its functions
	encrypted     bool          // payloads are encrypted
	offloaded     bool          // large payloads are offloaded to a bucket
	filled        bool          // the list has runs whose logs nobody can read
}

// deployment is a deployment of the functions in this process. It counts everything that AWS would
// bill: the functions' requests to DynamoDB and SQS, their invocations, and the event source
// mappings' requests to SQS. It does not count empty answers to the mappings, which long-poll all
// the time.
type deployment struct {
	*client.Client
	settings
	tables   *dynamodb.Client // not counted
	queues   *sqs.Client      // not counted
	urls     map[string]string
	registry *engine.Registry
	ports    executor.Ports // counted
	stop     func()
	played   *played // plays KMS and S3

	// receiving is read-locked by those who receive from the workflow queue. While together holds
	// it, results wait, and then arrive together.
	receiving sync.RWMutex
	// invocations is read-locked by each running invocation.
	invocations sync.RWMutex
	metered     awsmeter.Meter // requests of functions, and those of mappings that return messages
	active      atomic.Int64   // running invocations and deliveries
	build       atomic.Value   // the newest build, a string
	runs        sync.Map       // ids of runs, by workflow
	mu          sync.Mutex
	bill        counted
}

// The builds are the newest one and the one before it.
const buildNow, buildBefore = "now", "before"

// deploy creates a table and queues, and the functions and mappings over them.
func deploy(ctx context.Context, s settings, registry *engine.Registry) (*deployment, error) {
	d := &deployment{settings: s, tables: dynamodb.NewFromConfig(s.dynamoDB), queues: sqs.NewFromConfig(s.sqs), registry: registry, played: newPlayed(latency)}
	d.build.Store(buildNow)
	if err := dynamo.CreateTable(ctx, d.tables, s.name); err != nil {
		return nil, err
	}
	var err error
	if d.urls, err = sqstest.Create(ctx, d.queues, s.name+"-", queue.Standard(taskQueues()...)); err != nil {
		return nil, err
	}
	if d.ports, err = d.counted(); err != nil {
		return nil, err
	}
	d.Client = client.ForHandler(lambdahost.Gateway(d, string(function.API)))
	d.startMappings()
	return d, nil
}

// latency is roughly how much longer a request takes on AWS.
const latency = 5 * time.Millisecond

// counted returns the ports of the functions. Each request takes roughly as much longer as on AWS.
// Otherwise results that arrive at the same time on AWS, and are committed together, would arrive
// one by one here.
func (d *deployment) counted() (executor.Ports, error) {
	count := awsmeter.Install(nil, awsmeter.Options{Units: true})
	table := d.dynamoDB.Copy()
	table.APIOptions, table.HTTPClient = append(table.APIOptions, count), &slow{table.HTTPClient, latency}
	queues := d.sqs.Copy()
	queues.APIOptions, queues.HTTPClient = append(queues.APIOptions, count), &slow{queues.HTTPClient, latency}
	store, err := dynamo.New(dynamodb.NewFromConfig(table), dynamo.Options{Table: d.name, NoList: !d.list})
	if err != nil {
		return executor.Ports{}, err
	}
	queue := weftsqs.New(sqs.NewFromConfig(queues), weftsqs.Options{URLs: d.urls})
	ports := assembly.PortsOf(store, store.Lister(), queue)
	ports.Scanner = nil // the check over all runs does not belong to an operation's cost
	return ports, nil
}

// codec returns the codec of a process that has just started and has no data key.
func (d *deployment) codec(log *slog.Logger) *codec.Codec {
	c := aws.Config{Region: d.dynamoDB.Region, Credentials: d.dynamoDB.Credentials, BaseEndpoint: aws.String("http://played"), HTTPClient: d.played}
	c.APIOptions = append(c.APIOptions, awsmeter.Install(nil, awsmeter.Options{}))
	o := codec.Options{Log: log}
	if d.encrypted {
		o.Keys = awskms.New(kms.NewFromConfig(c), []string{"arn:aws:kms:us-east-1:000000000000:key/played"})
	}
	if d.offloaded {
		o.Blobs = blobs3.New(s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }), "played")
	}
	return codec.New(o)
}

// machine is a host whose clock is ahead.
type machine struct {
	host.Machine
	ahead time.Duration
}

// Now returns the time by that clock.
func (m machine) Now() time.Time { return m.Machine.Now().Add(m.ahead) }

// untilSweepAlone returns how far ahead a clock has to be to show the minute after one with a beat.
// The sweeps of that minute and of the next three neither send a beat nor count dead letters, which
// the bill counts by themselves.
func untilSweepAlone(now time.Time) time.Duration {
	return now.Truncate(probe.Every).Add(probe.Every + outbox.SweepEvery).Sub(now)
}

// function returns the function of a role and a build in a process that has just started and holds
// no run. That is the most expensive state that an invocation can find. The function end ends the
// process. It returns how many bytes the lines of its health metrics have, and those of all its
// metrics.
func (d *deployment) function(role, build string) (f *function.Function, end func() (logged, metrics int64, err error), err error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	lines, all := &bytes.Buffer{}, &bytes.Buffer{}
	health, every := emf.New(lines, "default", emf.Options{}), emf.New(all, "default", emf.Options{All: true})
	process := assembly.NewProcess(assembly.Config{
		Ports: d.ports, Registry: d.registry, Host: machine{ahead: d.ahead}, Codec: d.codec(log), Options: executor.Options{
			Build: build, LongTimer: d.longTimer, Rate: rateOf, Engine: engine.Options{TaskQueues: taskQueues(), Chain: d.chain}, Logger: log, Observe: observe.New(health, every),
		},
	})
	f, err = function.New(function.Role(role), process, function.Options{
		Log: log, QueueOf: function.QueueOf(d.urls),
		Forward: func(ctx context.Context, build string, event []byte) ([]byte, error) {
			return d.invoke(ctx, role, build, event)
		},
	})
	return f, func() (int64, int64, error) {
		process.Service.Process.Close()
		err := errors.Join(health.Flush(), every.Flush())
		return int64(lines.Len()), int64(all.Len()), err
	}, err
}

// startMappings starts the event source mappings, as infra declares them.
func (d *deployment) startMappings() {
	ctx, cancel := context.WithCancel(context.Background())
	counted := d.sqs.Copy()
	counted.APIOptions = append(counted.APIOptions, awsmeter.Install(nil, awsmeter.Options{}))
	poller := &poller{Client: sqs.NewFromConfig(counted), d: d}
	var all sync.WaitGroup
	mappings := []lambdahost.Mapping{
		{Function: string(function.Activity), URL: d.urls[queue.Activities], BatchSize: 1, Concurrency: 100},
		{Function: string(function.Workflow), URL: d.urls[queue.Timers], Concurrency: 2},
		{Function: string(function.Workflow), URL: d.urls[queue.Workflow], Concurrency: 2},
	}
	for _, name := range taskQueues() {
		mappings = append(mappings, lambdahost.Mapping{Function: string(function.Activity), URL: d.urls[queue.ForTasks(name)], BatchSize: 1, Concurrency: 2})
	}
	for _, m := range mappings {
		m.Functions, m.Queues = d, poller
		all.Go(func() { m.Run(ctx) })
	}
	d.stop = func() {
		cancel()
		all.Wait()
	}
}

// Invoke implements lambdahost.Invoker: it invokes the newest build.
func (d *deployment) Invoke(ctx context.Context, role string, event []byte) ([]byte, error) {
	const timeout = time.Minute
	ctx, cancel := context.WithTimeout(d.metered.Counting(ctx), timeout)
	defer cancel()
	d.invocations.RLock()
	defer d.invocations.RUnlock()
	if role == string(function.API) {
		answer, err := d.invoke(ctx, role, d.build.Load().(string), event)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.bill.APIRequests++
		return answer, err
	}
	return d.invoke(ctx, role, d.build.Load().(string), event)
}

// invoke invokes a build, and counts the invocation and its cost.
func (d *deployment) invoke(ctx context.Context, role, build string, event []byte) ([]byte, error) {
	d.active.Add(1)
	defer d.active.Add(-1)
	f, end, err := d.function(role, build)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	answer, err := f.Invoke(ctx, event)
	took := time.Since(begun).Seconds()
	logged, metrics, ended := end()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bill.Invocations++
	d.bill.Seconds += took
	d.bill.LoggedBytes += logged
	d.bill.MetricBytes += metrics
	return answer, errors.Join(err, ended)
}

// poller sends the mappings' requests to SQS, and counts them.
type poller struct {
	*sqs.Client
	d *deployment
}

// ReceiveMessage receives messages. It counts only answers with messages, and returns them when no
// function runs. On AWS a delivery takes longer than a put, so a message hardly ever overtakes the
// commit that it names.
func (p *poller) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	ctx, m := awsmeter.With(ctx)
	if aws.ToString(in.QueueUrl) == p.d.urls[queue.Workflow] {
		p.d.receiving.RLock()
		defer p.d.receiving.RUnlock()
		in.WaitTimeSeconds = 1
	}
	out, err := p.Client.ReceiveMessage(ctx, in, o...)
	if err == nil && len(out.Messages) > 0 {
		p.d.active.Add(1)
		defer p.d.active.Add(-1)
		p.d.invocations.Lock()
		defer p.d.invocations.Unlock()
		p.d.mu.Lock()
		defer p.d.mu.Unlock()
		c := m.Cost()
		p.d.bill.Cost.Requests += c.Requests
		p.d.bill.Chunks += c.Chunks
		p.d.bill.FIFOChunks += c.FIFOChunks
	}
	return out, err
}

// DeleteMessageBatch deletes messages, and counts the request.
func (p *poller) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	return p.Client.DeleteMessageBatch(p.d.metered.Counting(ctx), in, o...)
}

// total returns the bill so far, without work that is under way.
func (d *deployment) total(ctx context.Context) (counted, error) {
	d.mu.Lock()
	b := d.bill
	d.mu.Unlock()
	c := d.metered.Cost()
	c.Requests, c.Chunks, c.FIFOChunks = c.Requests+b.Cost.Requests, c.Chunks+b.Chunks, c.FIFOChunks+b.FIFOChunks
	b.Cost = c
	var err error
	if b.StoredBytes, b.IndexBytes, err = d.stored(ctx); err == nil {
		b.Derived, err = d.derived(ctx)
	}
	return b, err
}

// settle waits until no invocation runs and no queue holds a message.
func (d *deployment) settle(ctx context.Context) error {
	for quiet := 0; quiet < 3; quiet++ {
		n, err := d.waiting(ctx)
		if err != nil {
			return err
		}
		if n+int(d.active.Load()) > 0 {
			quiet = -1
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d messages are left: %w", n, ctx.Err())
		}
	}
	return nil
}

// waiting returns the number of messages in all queues, visible or not.
func (d *deployment) waiting(ctx context.Context) (n int, err error) {
	for name := range d.urls {
		one, err := d.waitingIn(ctx, name)
		if err != nil {
			return 0, err
		}
		n += one
	}
	return n, nil
}

func (d *deployment) waitingIn(ctx context.Context, name string) (n int, err error) {
	out, err := d.queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(d.urls[name]), AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
			types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
		},
	})
	if err != nil {
		return 0, err
	}
	for _, value := range out.Attributes {
		one, err := strconv.Atoi(value)
		if err != nil {
			return 0, err
		}
		n += one
	}
	return n, nil
}

// together calls do, which n results follow from. It holds the results back until all of them have
// arrived.
func (d *deployment) together(ctx context.Context, n int, do func() error) error {
	d.receiving.Lock()
	defer d.receiving.Unlock()
	if err := do(); err != nil {
		return err
	}
	for {
		there, err := d.waitingIn(ctx, queue.Workflow)
		if err != nil || there == n {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
