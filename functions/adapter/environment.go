package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	blobs3 "github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/awstry"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/schedule/flow"
	"github.com/seed-41655fb1/weft/internal/seal"
	"github.com/seed-41655fb1/weft/internal/seal/awskms"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/workflow"
)

// environment is what the variables that Main lists say.
type environment struct {
	table, namespace      string
	noList, pinning       bool
	urls                  map[string]string
	taskQueues            []string
	rate                  limits.Rate
	build, basePath       string
	function              string // its name; known where versions are used
	metrics               string
	visibility, longTimer time.Duration
	timeout               time.Duration
	grace, retention      time.Duration
	checkCommits          int
	limits                engine.Limits
	payloadKeys           []string
	compress              bool
	bucket                string
	// cacheBytes is a quarter of the function's memory: the process needs the rest for what it is doing.
	cacheBytes int
}

// readEnvironment reads variables. All that is wrong is in the error.
func readEnvironment(get func(string) string) (environment, error) {
	v := variables{get: get}
	const longestVisibility, longestTimeout = 12 * time.Hour, 15 * time.Minute // SQS and Lambda have no longer ones
	e := environment{
		table: v.required("WEFT_TABLE"), namespace: get("WEFT_NAMESPACE"), urls: map[string]string{},
		build: get("WEFT_BUILD"), basePath: get("WEFT_BASE_PATH"),
		visibility: v.duration("WEFT_VISIBILITY", longestVisibility), longTimer: v.duration("WEFT_LONG_TIMER", queue.MaxDelay),
		grace: v.duration("WEFT_GRACE", queue.MaxDelay), timeout: v.duration("WEFT_TIMEOUT", longestTimeout),
		noList: v.choice("WEFT_LIST", "on", "off") == "off", metrics: v.choice("WEFT_METRICS", metricsEMF, metricsOTLP, metricsOff),
	}
	e.pinning = v.choice("WEFT_PINNING", "off", "on") == "on"
	if e.pinning {
		v.required("WEFT_BUILD") // versions are found by it
		e.function = v.required("AWS_LAMBDA_FUNCTION_NAME")
	}
	const mostDays, mostCommits = 10 * 365, 1_000_000
	e.retention = time.Duration(v.number("WEFT_RETENTION_DAYS", mostDays)) * 24 * time.Hour
	e.checkCommits = v.number("WEFT_CHECK_COMMITS", mostCommits)
	for _, name := range []string{queue.Workflow, queue.Timers, queue.Activities} {
		e.urls[name] = v.required("WEFT_QUEUE_" + strings.ToUpper(name))
	}
	e.taskQueues = v.taskQueues("WEFT_TASK_QUEUES", e.urls)
	e.bucket = get("WEFT_BUCKET")
	e.compress = v.choice("WEFT_COMPRESS", "off", "zstd") == "zstd"
	if keys := get("WEFT_PAYLOAD_KEY"); keys != "" {
		e.payloadKeys = strings.Split(keys, ",")
		v.check(awskms.Check(e.payloadKeys))
	}
	if e.build == "" {
		e.build = buildID()
	}
	if megabytes, err := strconv.Atoi(get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")); err == nil {
		e.cacheBytes = megabytes << 20 / 4
	}
	var err error
	e.limits, err = limits.Environment(get)
	v.check(err)
	e.rate, err = limits.RateOf(get)
	v.check(err)
	if v.wrong != nil {
		return e, fmt.Errorf("the environment is not that of a function: %w", errors.Join(v.wrong...))
	}
	return e, nil
}

// variables reads variables, and collects what is wrong with them.
type variables struct {
	get   func(string) string
	wrong []error
}

// check takes what is wrong with variables that something else reads.
func (v *variables) check(err error) {
	if err != nil {
		v.wrong = append(v.wrong, err)
	}
}

func (v *variables) required(name string) string {
	value := v.get(name)
	if value == "" {
		v.wrong = append(v.wrong, fmt.Errorf("%s is not set", name))
	}
	return value
}

func (v *variables) duration(name string, most time.Duration) time.Duration {
	text := v.get(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > most {
		v.wrong = append(v.wrong, fmt.Errorf("%s is %q: give a duration up to %v, for example 30s", name, text, most))
	}
	return d
}

func (v *variables) number(name string, most int) int {
	text := v.get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > most {
		v.wrong = append(v.wrong, fmt.Errorf("%s is %q: give a number from 1 to %d", name, text, most))
	}
	return n
}

// taskQueues reads the URLs of task queues into urls, and returns their names, sorted.
func (v *variables) taskQueues(name string, urls map[string]string) (names []string) {
	text := v.get(name)
	if text == "" {
		return nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		taskQueue, url, _ := strings.Cut(pair, "=")
		err := engine.CheckTaskQueue(taskQueue)
		switch {
		case taskQueue == "" || url == "":
			err = fmt.Errorf("%q names no queue: give name=URL, parted by commas", pair)
		case slices.Contains(names, taskQueue):
			err = fmt.Errorf("the task queue %q is there twice", taskQueue)
		}
		if err != nil {
			v.wrong = append(v.wrong, fmt.Errorf("%s: %w", name, err))
			continue
		}
		names, urls[queue.ForTasks(taskQueue)] = append(names, taskQueue), url
	}
	slices.Sort(names)
	return names
}

// choice reads one of some values; the first is that of a variable that is not set.
func (v *variables) choice(name string, values ...string) string {
	value := cmp.Or(v.get(name), values[0])
	if !slices.Contains(values, value) {
		v.wrong = append(v.wrong, fmt.Errorf("%s is %q: give one of %q", name, value, values))
	}
	return value
}

// open makes the function of a role with the configuration that the SDK finds.
func (s Settings) open(ctx context.Context, role Role, get func(string) string, log *slog.Logger, registrations []workflow.Registration) (*Function, error) {
	c, err := config.LoadDefaultConfig(ctx, config.WithLogger(ofSDK(log)))
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, role, c, get, log, registrations...)
}

// Open makes the function of a role as Main does, with clients of a configuration of the caller's: for a host of one's own,
// and for tests. get returns the variables that Main lists: os.Getenv, say. All that is wrong with the variables, or with what
// is registered, is in the error. It makes no request. Call the function's Flush after each invocation.
func Open(role Role, c aws.Config, get func(string) string, log *slog.Logger, registrations ...workflow.Registration) (*Function, error) {
	return Settings{}.Open(context.Background(), role, c, get, log, registrations...)
}

// sendsAtOnce is how many requests to SQS are made at once, because whoever asked waits for all of them: those of an activity and of a
// timer beside it, say, or for a fan-out those of ten activities each.
const sendsAtOnce = 8

// Open is the function Open with settings.
func (s Settings) Open(ctx context.Context, role Role, c aws.Config, get func(string) string, log *slog.Logger, registrations ...workflow.Registration) (*Function, error) {
	if err := function.CheckRole(role); err != nil {
		return nil, err
	}
	registry, err := register(registrations)
	if err != nil {
		return nil, err
	}
	e, err := readEnvironment(get)
	if err != nil {
		return nil, err
	}
	told, err := openTelemetry(ctx, &e, os.Stdout, log, s.Telemetry)
	if err != nil {
		return nil, err
	}
	c.APIOptions = append(slices.Clip(c.APIOptions), awstry.WatchClock(func(ahead time.Duration) { reportClock(log, ahead) }))
	table, err := dynamo.New(dynamodb.NewFromConfig(c), dynamo.Options{Table: e.table, Namespace: e.namespace, NoList: e.noList})
	if err != nil {
		return nil, err
	}
	q := sqs.New(awssqs.NewFromConfig(c), sqs.Options{URLs: e.urls})
	ports := turn.Ports{Log: table, Attempts: table, Timers: table, Lister: table.Lister(), Scanner: table, Keys: table, Rates: table, Queue: q}
	sealer := e.sealer(c, log)
	service := turn.New(sealer.Ports(ports), registry, host.NewMachine(), sealer.Options(turn.Options{
		Build: e.build, Rate: func(string) limits.Rate { return e.rate }, LongTimer: e.longTimer, Grace: e.grace, CacheBytes: e.cacheBytes, Logger: log,
		Retention: e.retention, CheckAtOnce: e.checkCommits, Engine: engine.Options{Limits: e.limits, TaskQueues: e.taskQueues}, Observe: told.hub(), SendsAtOnce: sendsAtOnce,
	}))
	if role == Activity && e.timeout > 0 {
		tellLong(registry, e.timeout-Reserve, log)
	}
	var forward function.Forward
	if e.pinning {
		forward = newVersions(c, e.function).Forward
	}
	f, err := function.New(role, service, function.Options{
		Forward: forward, Tidy: func(ctx context.Context) error { return tidy(ctx, sealer, table) },
		QueueOf: function.QueueOf(e.urls), BasePath: e.basePath, Visibility: e.visibility, Timeout: e.timeout, Extend: q.Extend, Open: sealer.Deliveries, Log: log, Flush: told.flush,
	})
	if err != nil {
		return nil, err
	}
	return &Function{f}, nil
}

// triesOfKMS gives each try of a request to KMS a timeout of its own. The other clients have theirs from the adapters that use them.
func triesOfKMS(o *kms.Options) {
	o.HTTPClient = awstry.Wrap(o.HTTPClient, awstry.For(0, 2*time.Second))
}

// sealer is what compresses and encrypts. A client of KMS is made only where there is a key: a cold start would be longer.
func (e *environment) sealer(c aws.Config, log *slog.Logger) *seal.Sealer {
	o := seal.Options{Namespace: e.namespace, Compress: e.compress, Log: log}
	if e.payloadKeys != nil {
		o.Keys = awskms.New(kms.NewFromConfig(c, triesOfKMS), e.payloadKeys)
	}
	if e.bucket != "" {
		o.Blobs = blobs3.New(s3.NewFromConfig(c, pathStyle), e.bucket)
	}
	return seal.New(o)
}

// pathStyle has the bucket in the path where there is an endpoint of one's own, whose name has none before it.
func pathStyle(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil }

// tidy deletes blobs that nobody refers to, in one of the sweeps that come each minute.
func tidy(ctx context.Context, s *seal.Sealer, log store.Log) error {
	if now := time.Now(); !now.Truncate(time.Minute).Equal(now.Truncate(seal.TidyEvery)) {
		return nil
	}
	_, err := s.Tidy(ctx, log)
	return err
}

// register makes a registry. All that is wrong with what is registered is in the error.
func register(registrations []workflow.Registration) (*engine.Registry, error) {
	types := &engine.Registry{}
	var wrong []error
	for _, r := range append([]workflow.Registration{flow.Registration()}, registrations...) {
		wrong = append(wrong, bridge.Register(types, r))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("cannot use these registrations: %w", err)
	}
	return types, nil
}

// reportClock logs that this function's clock is wrong by more than the protocol allows for.
func reportClock(log *slog.Logger, ahead time.Duration) {
	if log == nil {
		log = slog.Default()
	}
	log.Error("this function's clock differs from AWS's by more than Weft allows for: times in histories may be wrong, and attempts may be repeated too early; end this environment by deploying the function again",
		"ahead", ahead, "allowed", awstry.Tolerated)
}

// tellLong logs which activities a function could not run: their attempts are held until its time-out is longer.
func tellLong(registry *engine.Registry, longest time.Duration, log *slog.Logger) {
	if log == nil {
		log = slog.Default()
	}
	for _, a := range registry.LongerThan(longest) {
		log.Warn("an activity may take longer than this function allows: if its messages come here it is held, until the function has a longer time-out or the activity a shorter StartToClose",
			"activityType", a.Name, "taskQueue", a.TaskQueue, "startToClose", a.StartToClose, "allowed", longest)
	}
}
