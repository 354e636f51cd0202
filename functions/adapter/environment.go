package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/awstry"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/notify/eventbridge"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/observe/calls"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// environment has the values of the variables that Main lists. Package settings declares them.
type environment struct {
	settings.Function
	// urls has the URLs of all queues. taskQueues has the names of the task queues.
	urls       map[string]string
	taskQueues []string
	rate       limits.Rate
	function   string // its name; set if versions are used
	// payloadKeys has the keys in PayloadKey.
	payloadKeys []string
	// webhooks are the receivers in WebhookHosts.
	webhooks guard.Policy
	// cacheBytes is a quarter of the function's memory: the process needs the rest for its work.
	cacheBytes int
}

// readEnvironment reads the variables. Its error lists everything that is wrong. The optional
// fields may be empty.
func readEnvironment(get func(string) string, optional ...string) (environment, error) {
	var e environment
	wrong := []error{settings.Read(get, &e.Function, optional...)}
	if wrong[0] == nil {
		var err error
		e.rate, err = e.RateOf()
		wrong = append(wrong, err)
	}
	if e.pins() {
		if e.Build == "" {
			wrong = append(wrong, fmt.Errorf("%s is not set: a version is found by its build", settings.Variable("Build")))
		}
		if e.function = get("AWS_LAMBDA_FUNCTION_NAME"); e.function == "" {
			wrong = append(wrong, errors.New("AWS_LAMBDA_FUNCTION_NAME is not set"))
		}
	} else if e.Rollout != "" {
		wrong = append(wrong, fmt.Errorf("%s is set and %s is off: without versions there is no other build to forward to", settings.Variable("Rollout"), settings.Variable("Pinning")))
	}
	if e.PayloadKey != "" {
		e.payloadKeys = strings.Split(e.PayloadKey, ",")
		wrong = append(wrong, awskms.Check(e.payloadKeys))
	}
	var err error
	if e.webhooks, err = guard.Parse(e.WebhookHosts); err != nil {
		wrong = append(wrong, fmt.Errorf("%s: %w", settings.Variable("WebhookHosts"), err))
	}
	e.webhooks.Private = e.WebhookPrivate == "on"
	if e.Build == "" {
		e.Build = buildID()
	}
	if megabytes, err := strconv.Atoi(get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")); err == nil {
		e.cacheBytes = megabytes << 20 / 4
	}
	e.urls = map[string]string{queue.Workflow: e.QueueWorkflow, queue.Timers: e.QueueTimers, queue.Activities: e.QueueActivities}
	if e.QueueUnreadable != "" {
		e.urls[queue.Unreadable] = e.QueueUnreadable
	}
	e.taskQueues = slices.Sorted(maps.Keys(e.TaskQueues))
	for _, name := range e.taskQueues {
		e.urls[queue.ForTasks(name)] = e.TaskQueues[name]
	}
	if err := errors.Join(wrong...); err != nil {
		return e, fmt.Errorf("the environment is wrong for a function: %w", err)
	}
	return e, nil
}

// pins reports whether the function forwards another build's work to that build's version.
func (e *environment) pins() bool { return e.Pinning == "on" }

// open returns the function of a role, with the configuration that the SDK finds.
func (s Settings) open(ctx context.Context, role Role, get func(string) string, log *slog.Logger, registrations []workflow.Registration) (*Function, error) {
	c, err := config.LoadDefaultConfig(ctx, config.WithLogger(ofSDK(log)))
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, role, c, get, log, registrations...)
}

// Open returns the function of a role as Main does, with clients of the caller's configuration. It
// is for tests and for hosts other than Lambda. get returns the variables that Main lists:
// os.Getenv, for instance. The error lists everything that is wrong with the variables or the
// registrations. Open makes no request. Call the function's Flush after each invocation.
func Open(role Role, c aws.Config, get func(string) string, log *slog.Logger, registrations ...workflow.Registration) (*Function, error) {
	return Settings{}.Open(context.Background(), role, c, get, log, registrations...)
}

// sendsAtOnce is how many concurrent requests to SQS a function makes, because the caller waits for
// all of them: one for an activity and one for a timer, for instance, or one for each ten
// activities of a fan-out.
const sendsAtOnce = 8

// Open is the function Open with settings.
func (s Settings) Open(ctx context.Context, role Role, c aws.Config, get func(string) string, log *slog.Logger, registrations ...workflow.Registration) (*Function, error) {
	registry, wrongCode := program.Registry(registrations...)
	if wrongCode != nil {
		wrongCode = fmt.Errorf("cannot use these registrations: %w", wrongCode)
	}
	e, wrongVariables := readEnvironment(get, s.optional()...)
	if err := errors.Join(function.CheckRole(role), wrongVariables, wrongCode); err != nil {
		return nil, err
	}
	exports, err := openTelemetry(ctx, &e, os.Stdout, log, s.Telemetry)
	if err != nil {
		return nil, err
	}
	c.APIOptions = append(slices.Clip(c.APIOptions), awstry.WatchClock(func(ahead time.Duration) { reportClock(log, ahead) }))
	kept, err := s.kept(ctx, &e, c, log)
	if err != nil {
		return nil, err
	}
	hub := exports.hub()
	failing := calls.New(calls.Options{Observe: hub, Log: log})
	codec := e.codec(c, kept.blobs, failing, log)
	var published *versions
	if e.pins() {
		published = newVersions(c, e.function)
	}
	var owner func(ctx context.Context, workflowID, lastBuild string) string
	if e.Rollout != "" {
		owner = newRollout(c, e.Rollout, e.Build, log).Owner
	}
	process := assembly.NewProcess(assembly.Config{
		Ports: kept.ports, Registry: registry, Host: host.NewMachine(), Codec: codec, Calls: failing, Options: executor.Options{
			Build: e.Build, Rate: func(string) limits.Rate { return e.rate }, LongTimer: e.LongTimer, Grace: e.Grace, WaitHold: e.Hold(), SlowRequest: e.SlowRequest, CacheBytes: e.cacheBytes, Logger: log, LogTexts: e.LogFailures == "text",
			Retention: e.Retention(), CheckAtOnce: e.CheckCommits, Engine: engine.Options{Limits: settings.EngineLimits(e.Updates), TaskQueues: e.taskQueues, Chain: e.Chain != "off"}, Observe: hub, SendsAtOnce: sendsAtOnce,
			Namespace: cmp.Or(e.Namespace, "default"), Versions: published.lister(), Owner: owner, NoBatches: e.Batches == "off",
			Webhooks: e.webhooks, WebhookEpoch: int(e.WebhookEpoch), EventBus: e.EventBus != "",
		},
		Notifies: role == Activity, Bus: e.bus(c, get("AWS_ENDPOINT_URL_EVENTBRIDGE")),
	})
	if role == Activity && e.Timeout > 0 {
		tellLong(registry, e.Timeout-Reserve, log)
	}
	var beats function.Probe
	if role == Timer {
		beats = newProbe(c, e.Probe)
	}
	var forward function.Forward
	if published != nil {
		forward = published.Forward
	}
	f, err := function.New(role, process, function.Options{
		Forward: forward, Probe: beats, Tidy: func(ctx context.Context) error { return tidy(ctx, codec, failing.Log(kept.ports.Log)) },
		QueueOf: function.QueueOf(e.urls), DeadOf: function.DeadOf(e.urls), BasePath: e.BasePath, Visibility: e.Visibility, Timeout: e.Timeout, Stream: e.Stream == "on", Page: e.Page != "off", Extend: failing.Extend(kept.extend), Log: log, Flush: exports.flush,
	})
	if err != nil {
		return nil, errors.Join(err, kept.close())
	}
	return &Function{f}, nil
}

// triesOfKMS gives each try of a request to KMS its own timeout. The adapters do so for the other
// clients.
func triesOfKMS(o *kms.Options) {
	o.HTTPClient = awstry.Wrap(o.HTTPClient, awstry.For(0, 2*time.Second))
}

// codec returns the codec that compresses and encrypts. It makes a KMS client only if there is a
// key, because that lengthens a cold start.
func (e *environment) codec(c aws.Config, blobs blob.Blobs, failing *calls.Calls, log *slog.Logger) *codec.Codec {
	o := codec.Options{Namespace: e.Namespace, Compress: e.Compress == "zstd", Blobs: failing.Blobs(blobs), Log: log}
	if e.payloadKeys != nil {
		o.Keys = failing.Keys(awskms.New(kms.NewFromConfig(c, triesOfKMS), e.payloadKeys))
	}
	return codec.New(o)
}

// tidy deletes unreferenced blobs, every codec.TidyEvery. The sweep calls it each minute.
func tidy(ctx context.Context, s *codec.Codec, log store.Log) error {
	if now := time.Now(); !now.Truncate(time.Minute).Equal(now.Truncate(codec.TidyEvery)) {
		return nil
	}
	_, err := s.Tidy(ctx, log)
	return err
}

// reportClock logs that this function's clock is wrong by more than the protocol tolerates.
func reportClock(log *slog.Logger, ahead time.Duration) {
	if log == nil {
		log = slog.Default()
	}
	log.Error("this function's clock differs from AWS's by more than Weft allows for: times in histories may be wrong, and attempts may be repeated too early; end this environment by deploying the function again",
		"ahead", ahead, "allowed", awstry.Tolerated)
}

// tellLong logs which activities may take longer than the function allows: it holds their attempts
// until its timeout is longer.
func tellLong(registry *engine.Registry, longest time.Duration, log *slog.Logger) {
	if log == nil {
		log = slog.Default()
	}
	for _, a := range registry.LongerThan(longest) {
		log.Warn("an activity may take longer than this function allows: this function holds its messages until the function has a longer time-out or the activity a shorter StartToClose",
			"activityType", a.Name, "taskQueue", a.TaskQueue, "startToClose", a.StartToClose, "allowed", longest)
	}
}

// bus returns the event bus that may be notified of the ends of runs; nil is none. It makes no
// request. address is that of the service, if it is not AWS's own.
func (e *environment) bus(c aws.Config, address string) assembly.Bus {
	if e.EventBus == "" {
		return nil
	}
	return eventbridge.New(c, eventbridge.Options{Name: string(e.EventBus), Source: "weft." + cmp.Or(e.Namespace, "default"), Address: address})
}
