package adapter

import (
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
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// environment is what the variables that Main lists say. Package settings declares them.
type environment struct {
	settings.Function
	// urls are those of all queues, and taskQueues the names of those of task queues.
	urls       map[string]string
	taskQueues []string
	rate       limits.Rate
	function   string // its name; known if versions are used
	// payloadKeys are those of PayloadKey.
	payloadKeys []string
	// cacheBytes is a quarter of the function's memory: the process needs the rest for what it is
	// doing.
	cacheBytes int
}

// readEnvironment reads variables. All that is wrong is in the error. The optional fields may be
// empty.
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
			wrong = append(wrong, fmt.Errorf("%s is not set, and versions are found by it", settings.Variable("Build")))
		}
		if e.function = get("AWS_LAMBDA_FUNCTION_NAME"); e.function == "" {
			wrong = append(wrong, errors.New("AWS_LAMBDA_FUNCTION_NAME is not set"))
		}
	}
	if e.PayloadKey != "" {
		e.payloadKeys = strings.Split(e.PayloadKey, ",")
		wrong = append(wrong, awskms.Check(e.payloadKeys))
	}
	if e.Build == "" {
		e.Build = buildID()
	}
	if megabytes, err := strconv.Atoi(get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")); err == nil {
		e.cacheBytes = megabytes << 20 / 4
	}
	e.urls = map[string]string{queue.Workflow: e.QueueWorkflow, queue.Timers: e.QueueTimers, queue.Activities: e.QueueActivities}
	e.taskQueues = slices.Sorted(maps.Keys(e.TaskQueues))
	for _, name := range e.taskQueues {
		e.urls[queue.ForTasks(name)] = e.TaskQueues[name]
	}
	if err := errors.Join(wrong...); err != nil {
		return e, fmt.Errorf("the environment is not that of a function: %w", err)
	}
	return e, nil
}

// pins reports whether what another build has to do is handed to its version.
func (e *environment) pins() bool { return e.Pinning == "on" }

// open makes the function of a role with the configuration that the SDK finds.
func (s Settings) open(ctx context.Context, role Role, get func(string) string, log *slog.Logger, registrations []workflow.Registration) (*Function, error) {
	c, err := config.LoadDefaultConfig(ctx, config.WithLogger(ofSDK(log)))
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, role, c, get, log, registrations...)
}

// Open makes the function of a role as Main does, with clients of a configuration of the caller's:
// for a host of one's own, and for tests. get returns the variables that Main lists: os.Getenv,
// say. All that is wrong with the variables, or with what is registered, is in the error. It makes
// no request. Call the function's Flush after each invocation.
func Open(role Role, c aws.Config, get func(string) string, log *slog.Logger, registrations ...workflow.Registration) (*Function, error) {
	return Settings{}.Open(context.Background(), role, c, get, log, registrations...)
}

// sendsAtOnce is how many requests to SQS are made at once, because whoever asked waits for all of
// them: those of an activity and of a timer beside it, say, or for a fan-out those of ten
// activities each.
const sendsAtOnce = 8

// Open is the function Open with settings.
func (s Settings) Open(ctx context.Context, role Role, c aws.Config, get func(string) string, log *slog.Logger, registrations ...workflow.Registration) (*Function, error) {
	if err := function.CheckRole(role); err != nil {
		return nil, err
	}
	registry, err := program.Registry(registrations...)
	if err != nil {
		return nil, fmt.Errorf("cannot use these registrations: %w", err)
	}
	e, err := readEnvironment(get, s.optional()...)
	if err != nil {
		return nil, err
	}
	told, err := openTelemetry(ctx, &e, os.Stdout, log, s.Telemetry)
	if err != nil {
		return nil, err
	}
	c.APIOptions = append(slices.Clip(c.APIOptions), awstry.WatchClock(func(ahead time.Duration) { reportClock(log, ahead) }))
	kept, err := s.kept(ctx, &e, c)
	if err != nil {
		return nil, err
	}
	codec := e.codec(c, kept.blobs, log)
	process := assembly.NewProcess(assembly.Config{
		Ports: kept.ports, Registry: registry, Host: host.NewMachine(), Codec: codec, Options: executor.Options{
			Build: e.Build, Rate: func(string) limits.Rate { return e.rate }, LongTimer: e.LongTimer, Grace: e.Grace, CacheBytes: e.cacheBytes, Logger: log,
			Retention: e.Retention(), CheckAtOnce: e.CheckCommits, Engine: engine.Options{Limits: e.Engine(), TaskQueues: e.taskQueues}, Observe: told.hub(), SendsAtOnce: sendsAtOnce,
		},
	})
	if role == Activity && e.Timeout > 0 {
		tellLong(registry, e.Timeout-Reserve, log)
	}
	var forward function.Forward
	if e.pins() {
		forward = newVersions(c, e.function).Forward
	}
	f, err := function.New(role, process, function.Options{
		Forward: forward, Tidy: func(ctx context.Context) error { return tidy(ctx, codec, kept.ports.Log) },
		QueueOf: function.QueueOf(e.urls), BasePath: e.BasePath, Visibility: e.Visibility, Timeout: e.Timeout, Extend: kept.extend, Log: log, Flush: told.flush,
	})
	if err != nil {
		return nil, errors.Join(err, kept.close())
	}
	return &Function{f}, nil
}

// triesOfKMS gives each try of a request to KMS a timeout of its own. The other clients have theirs
// from the adapters that use them.
func triesOfKMS(o *kms.Options) {
	o.HTTPClient = awstry.Wrap(o.HTTPClient, awstry.For(0, 2*time.Second))
}

// codec is what compresses and encrypts. A client of KMS is made only where there is a key: a cold
// start would be longer.
func (e *environment) codec(c aws.Config, blobs blob.Blobs, log *slog.Logger) *codec.Codec {
	o := codec.Options{Namespace: e.Namespace, Compress: e.Compress == "zstd", Blobs: blobs, Log: log}
	if e.payloadKeys != nil {
		o.Keys = awskms.New(kms.NewFromConfig(c, triesOfKMS), e.payloadKeys)
	}
	return codec.New(o)
}

// tidy deletes blobs that nobody refers to, in one of the sweeps that come each minute.
func tidy(ctx context.Context, s *codec.Codec, log store.Log) error {
	if now := time.Now(); !now.Truncate(time.Minute).Equal(now.Truncate(codec.TidyEvery)) {
		return nil
	}
	_, err := s.Tidy(ctx, log)
	return err
}

// reportClock logs that this function's clock is wrong by more than the protocol allows for.
func reportClock(log *slog.Logger, ahead time.Duration) {
	if log == nil {
		log = slog.Default()
	}
	log.Error("this function's clock differs from AWS's by more than Weft allows for: times in histories may be wrong, and attempts may be repeated too early; end this environment by deploying the function again",
		"ahead", ahead, "allowed", awstry.Tolerated)
}

// tellLong logs which activities a function could not run: their attempts are held until its
// time-out is longer.
func tellLong(registry *engine.Registry, longest time.Duration, log *slog.Logger) {
	if log == nil {
		log = slog.Default()
	}
	for _, a := range registry.LongerThan(longest) {
		log.Warn("an activity may take longer than this function allows: if its messages come here it is held, until the function has a longer time-out or the activity a shorter StartToClose",
			"activityType", a.Name, "taskQueue", a.TaskQueue, "startToClose", a.StartToClose, "allowed", longest)
	}
}
