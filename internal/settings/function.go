package settings

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/limits"
)

// LiveAlias is the alias through which the functions are called while builds are rolled out
// (Rollout): the template and the module make it.
const LiveAlias = "live"

// Function are the settings of a Lambda function. A field whose variable is not set is empty, which
// stands for the default; a field with an enum has its first value.
type Function struct {
	Role            string    `env:"WEFT_ROLE" reader:"FromEnvironment" given:"each function has its own" help:"The role of the function: api, workflow, activity, timer or dead. A program that sets its role itself needs none."`
	Table           string    `env:"WEFT_TABLE" required:"" given:"the name of the table" help:"The DynamoDB table."`
	QueueWorkflow   string    `env:"WEFT_QUEUE_WORKFLOW" required:"" given:"the URL of the queue" help:"The workflow queue."`
	QueueTimers     string    `env:"WEFT_QUEUE_TIMERS" required:"" given:"the URL of the queue" help:"The timer queue."`
	QueueActivities string    `env:"WEFT_QUEUE_ACTIVITIES" required:"" given:"the URL of the queue" help:"The activity queue."`
	QueueUnreadable string    `env:"WEFT_QUEUE_UNREADABLE" given:"the URL of the queue" help:"The queue that keeps dead letters which no version of Weft can read. Without it, they are deleted."`
	TaskQueues      QueueURLs `env:"WEFT_TASK_QUEUES" given:"their URLs, if there are any" help:"The URLs of the task queues, by their names, as in reports=https://...,slow=https://... All functions need the same ones, to know where to send an activity."`

	Deployment string `env:"WEFT_DEPLOYMENT" given:"the name of the stack, or of the module" help:"The name of the deployment, the dimension of its metrics. Without it, they have the namespace's."`

	Namespace     string        `env:"WEFT_NAMESPACE" parameter:"Namespace" fallback:"name" pattern:"^[A-Za-z0-9_.-]{1,128}$" wrong:"A namespace has up to 128 letters, digits, underscores, dots and hyphens." unset:"default" help:"The part of the table that this deployment may use."`
	List          string        `env:"WEFT_LIST" enum:"on,off" parameter:"List" help:"Whether runs can be listed. It costs an index write when a run opens, and one when it closes."`
	Build         string        `env:"WEFT_BUILD" parameter:"Build" help:"The name of the code; empty is the commit that it was built from."`
	BasePath      string        `env:"WEFT_BASE_PATH" parameter:"BasePath" help:"The prefix of /v1/workflows in the paths of requests, besides a stage: the path of a custom domain's mapping."`
	LongTimer     time.Duration `env:"WEFT_LONG_TIMER" most:"15m" parameter:"LongTimer" pattern:"^([1-9][0-9]?s|[1-8][0-9][0-9]s|900s|[1-9]m|1[0-5]m)$" wrong:"Give a duration up to 15m, for example 30s." unset:"15m" help:"Timers from this delay on, for example 30s, wait in the table; a queue delays by 15 minutes at most."`
	RetentionDays int           `env:"WEFT_RETENTION_DAYS" most:"3650" parameter:"RetentionDays" wrong:"Give a whole number of days from 1 to 3650." unset:"7" help:"Days for which a run is kept after it has closed. It is fixed when the run opens."`
	CheckCommits  int           `env:"WEFT_CHECK_COMMITS" most:"1000000" parameter:"CheckCommits" wrong:"Give a whole number from 1 to 1000000." unset:"20000" help:"How many commits the slow check over all runs reads in a minute. It deletes runs whose retention is over, and resends lost messages."`
	Updates
	Chain    string `env:"WEFT_CHAIN" enum:"on,off" parameter:"Chain" wrong:"Chain is on or off." help:"Whether the invocation that ends an activity runs the next one, if nothing else follows and there is time: on or off. That saves a message and an invocation. Activities with the option Queued, a task queue, a rate, or only one attempt always get a message. With off, so do all others but those with the option Inline."`
	Compress string `env:"WEFT_COMPRESS" enum:"off,zstd" parameter:"Compress" wrong:"Give off or zstd." help:"How payloads are compressed before they are stored and sent: off or zstd."`
	Redrive  string `env:"WEFT_REDRIVE" enum:"off,on" parameter:"Redrive" wrong:"Redrive is on or off." help:"Whether requests may move dead letters back to their queues. Then the api function may receive and delete dead letters, and send to all queues."`
	Batches  string `env:"WEFT_BATCHES" enum:"on,off" parameter:"Batches" wrong:"Batches is on or off." help:"Whether requests may start batches, which act on all runs that a filter selects. Then the activity function may list runs, and delete closed ones. Batches need List."`
	Stream   string `env:"WEFT_STREAM" enum:"off,on" parameter:"Stream" wrong:"Stream is on or off." help:"Whether the function URL streams its answers, so that histories and lists can be server-sent events. It needs a function URL. Each reader of events keeps an instance of the api function busy."`
	Page     string `env:"WEFT_PAGE" enum:"on,off" parameter:"Page" wrong:"Page is on or off." help:"Whether the api function serves the web page at / and below /ui/, to those whom the API admits."`
	Metrics  string `env:"WEFT_METRICS" enum:"health,emf,otlp,off" parameter:"Metrics" wrong:"Metrics are health, emf, otlp or off." help:"Where the program's metrics go. health: those that are above 0 only if something is wrong, to CloudWatch, through the log. emf: all of them to CloudWatch. otlp: all of them to the program's exporter, and those of health to CloudWatch. off: nowhere, and then there are alarms only on what AWS measures itself: errors, throttles, 5xx of the gateway, the age of messages and missing sweeps."`
	Logging
	LogFailures string `env:"WEFT_LOG_FAILURES" enum:"types,text" parameter:"LogFailures" wrong:"Give types or text." help:"What the log has of a failure in workflows and activities. types: its kind, its type and its place. text: also what the error or the panic says, which may hold payloads. What the Go runtime says of its own panics is always logged."`

	Pinning     string           `env:"WEFT_PINNING" enum:"off,on" given:"on in the functions that have versions, if Pinning is" help:"Whether requests and messages for another build are forwarded to the version of this function with that WEFT_BUILD. It needs WEFT_BUILD."`
	Rollout     string           `env:"WEFT_ROLLOUT" given:"the name of the workflow function, in the functions that have versions, unless Rollout is off" help:"The workflow function, whose alias live says which build owns which runs while a deployment is rolled out. Work for runs of the other build is forwarded to it. It needs WEFT_PINNING."`
	PayloadKey  string           `env:"WEFT_PAYLOAD_KEY" given:"PayloadKeys and PayloadEncryption" help:"The ARN of the KMS key that encrypts what is stored and sent, or several, separated by commas: the first encrypts, all of them decrypt. With none in the first place, nothing new is encrypted. Without it, nothing is encrypted."`
	Bucket      string           `env:"WEFT_BUCKET" given:"Bucket, or the one that is created" help:"The S3 bucket for bodies that are too large for the table and the queues. Without it, payloads of more than 256 KiB are refused."`
	Visibility  time.Duration    `env:"WEFT_VISIBILITY" most:"12h" given:"ActivityVisibility" help:"The visibility of the activity queue, as in 15m. Without it, the visibility of a message is never shortened."`
	Timeout     time.Duration    `env:"WEFT_TIMEOUT" most:"15m" given:"ActivityTimeout, in the activity functions" help:"The function's time-out, as in 60s, which Lambda does not report. Without it, the time that an invocation has left counts."`
	Rate        limits.PerSecond `env:"WEFT_RATE" given:"ActivityRate, in the activity functions" help:"How many attempts at the activities of the queue that this function consumes may begin in a second, as 50 or 0.5, over all of its instances. 0 or no value is no limit."`
	Burst       limits.Burst     `env:"WEFT_BURST" given:"ActivityBurst, in the activity functions" help:"How many of these attempts may begin at once after a pause. 0 or no value is the number of one second, and at least 1."`
	WaitHold    Hold             `env:"WEFT_WAIT_HOLD" parameter:"WaitHold" fallback:"preset" pattern:"^(0s|[1-9][0-9]{0,3}ms|1[0-9]{4}ms|20000ms|[1-9]s|1[0-9]s|20s)$" wrong:"Give a duration from 0s to 20s, for example 250ms, or nothing." unset:"250ms" help:"How long the api function may be held by one call that waits, over all its requests, up to 20s. With 0s it is held by none. Callers pause between the requests."`
	Probe       string           `env:"WEFT_PROBE" given:"the name of the api function, in the timer function, if Probe is on" help:"The api function, to which the timer function sends a synthetic update every five minutes. Without it, there is none."`
	SlowRequest time.Duration    `env:"WEFT_SLOW_REQUEST" most:"30s" given:"SlowRequestMilliseconds" unset:"2s" help:"How long a request of the API may take before it counts as slow, as in 2s, without the time for which its caller asked it to wait."`

	WebhookHosts   string       `env:"WEFT_WEBHOOK_HOSTS" parameter:"WebhookHosts" pattern:"^$|^[A-Za-z0-9_.:*-]+(, ?[A-Za-z0-9_.:*-]+)*$" wrong:"Give names of hosts, separated by commas, for example hooks.example.com or *.example.com." help:"The hosts that callers may have notified of the ends of runs, separated by commas: hooks.example.com; hooks.example.com:8443 for another port than 443; *.example.com for all names below; * for all. Without it, nobody is notified by a URL."`
	WebhookPrivate string       `env:"WEFT_WEBHOOK_PRIVATE" enum:"off,on" parameter:"WebhookPrivate" wrong:"WebhookPrivate is on or off." help:"Whether these hosts may have private addresses, for receivers in the VPC of the functions. Loopback and link-local addresses are never connected to."`
	WebhookEpoch   WebhookEpoch `env:"WEFT_WEBHOOK_EPOCH" most:"1000000" parameter:"WebhookEpoch" wrong:"Give a whole number from 1 to 1000000, one more than before." unset:"1" help:"The number of the secrets that sign notifications. One more gives each receiver a new secret; the one before signs as well."`

	EventBus EventBus `env:"WEFT_EVENT_BUS" parameter:"EventBus" pattern:"^$|^(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9._/-]{1,256}$" wrong:"Give default, or the name or the ARN of an event bus." help:"The EventBridge bus that callers may have notified of the ends of runs: default, or the name or the ARN of a custom bus, one with rules and targets. Without it, no bus is notified."`

	Grace time.Duration `env:"WEFT_GRACE" most:"15m" given:"no deployment needs it: only cost depends on it" unset:"1m" help:"How long a message waits for the commit that it names before a fence takes the commit's slot."`
}

// Hold is how long a call that waits may hold a function. The zero value is not set. A call that
// holds none is negative.
type Hold time.Duration

// UnmarshalText reads a duration from 0s to 20s.
func (h *Hold) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 || d > 20*time.Second {
		return fmt.Errorf("%q: give a duration from 0s to 20s, for example 250ms", text)
	}
	if d == 0 {
		d = -1
	}
	*h = Hold(d)
	return nil
}

// usualHold is the hold of a function whose setting is not there.
const usualHold = 250 * time.Millisecond

// Hold returns how long a call that waits may hold the function; a negative value is not at all.
func (f *Function) Hold() time.Duration { return cmp.Or(time.Duration(f.WaitHold), usualHold) }

// WebhookEpoch is the number of the secrets of receivers. The zero value is not set.
type WebhookEpoch int

// UnmarshalText reads a number from 1 to 1,000,000.
func (e *WebhookEpoch) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 1_000_000 {
		return fmt.Errorf("%q: give a number from 1 to 1000000, one more than before", text)
	}
	*e = WebhookEpoch(n)
	return nil
}

// EventBus is the name or the ARN of an event bus.
type EventBus string

// eventBus matches the name and the ARN of an event bus.
var eventBus = regexp.MustCompile(`^(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9._/-]{1,256}$`)

// UnmarshalText reads the name or the ARN of an event bus.
func (e *EventBus) UnmarshalText(text []byte) error {
	if !eventBus.Match(text) {
		return fmt.Errorf("%q: give default, or the name or the ARN of an event bus: arn:aws:events:REGION:ACCOUNT:event-bus/NAME", text)
	}
	*e = EventBus(text)
	return nil
}

// QueueURLs are the URLs of task queues, by their names.
type QueueURLs map[string]string

// UnmarshalText reads name=URL pairs, separated by commas.
func (q *QueueURLs) UnmarshalText(text []byte) error {
	all := QueueURLs{}
	var wrong []error
	for pair := range strings.SplitSeq(string(text), ",") {
		name, url, _ := strings.Cut(pair, "=")
		err := engine.CheckTaskQueue(name)
		switch {
		case name == "" || url == "":
			err = fmt.Errorf("%q names no queue: give name=URL, separated by commas", pair)
		case all[name] != "":
			err = fmt.Errorf("the task queue %q is there twice", name)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all[name] = url
	}
	*q = all
	return errors.Join(wrong...)
}

// RateOf returns the rate of the activities that the function runs. Without Rate, or with 0, there
// is no limit.
func (f *Function) RateOf() (limits.Rate, error) {
	r := limits.Rate{PerSecond: float64(f.Rate), Burst: int(f.Burst)}
	if err := r.Check(); err != nil {
		return limits.Rate{}, fmt.Errorf("%s and %s: %w", Variable("Rate"), Variable("Burst"), err)
	}
	return r, nil
}

// Retention is how long a run is kept; 0 is the default.
func (f *Function) Retention() time.Duration { return time.Duration(f.RetentionDays) * 24 * time.Hour }
