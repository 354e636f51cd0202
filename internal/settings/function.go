package settings

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/limits"
)

// Function are the settings of a Lambda function. A field whose variable is not set is empty, which
// stands for the default; a field with an enum has its first value.
type Function struct {
	Role            string    `env:"WEFT_ROLE" reader:"FromEnvironment" given:"each function has its own" help:"The role of the function: api, workflow, activity, timer or dead. A program that sets its role itself needs none."`
	Table           string    `env:"WEFT_TABLE" required:"" given:"the name of the table" help:"The DynamoDB table."`
	QueueWorkflow   string    `env:"WEFT_QUEUE_WORKFLOW" required:"" given:"the URL of the queue" help:"The workflow queue."`
	QueueTimers     string    `env:"WEFT_QUEUE_TIMERS" required:"" given:"the URL of the queue" help:"The timer queue."`
	QueueActivities string    `env:"WEFT_QUEUE_ACTIVITIES" required:"" given:"the URL of the queue" help:"The activity queue."`
	TaskQueues      QueueURLs `env:"WEFT_TASK_QUEUES" given:"their URLs, if there are any" help:"The URLs of the task queues, by their names, as in reports=https://...,slow=https://... All functions need the same ones, to know where to send an activity."`

	Namespace     string        `env:"WEFT_NAMESPACE" parameter:"Namespace" pattern:"^[A-Za-z0-9_.-]{1,128}$" wrong:"A namespace has up to 128 letters, digits, underscores, dots and hyphens." unset:"default" help:"The part of the table that this deployment may use, and the dimension of its metrics."`
	List          string        `env:"WEFT_LIST" enum:"on,off" parameter:"List" help:"Whether runs can be listed. It costs an index write when a run opens, and one when it closes."`
	Build         string        `env:"WEFT_BUILD" parameter:"Build" help:"The name of the code; empty is the commit that it was built from."`
	BasePath      string        `env:"WEFT_BASE_PATH" parameter:"BasePath" help:"The prefix of /v1/workflows in the paths of requests, besides a stage: the path of a custom domain's mapping."`
	LongTimer     time.Duration `env:"WEFT_LONG_TIMER" most:"15m" parameter:"LongTimer" pattern:"^([1-9][0-9]?s|[1-8][0-9][0-9]s|900s|[1-9]m|1[0-5]m)$" wrong:"Give a duration up to 15m, for example 30s." unset:"15m" help:"Timers from this delay on, for example 30s, wait in the table; a queue delays by 15 minutes at most."`
	RetentionDays int           `env:"WEFT_RETENTION_DAYS" most:"3650" parameter:"RetentionDays" wrong:"Give a whole number of days from 1 to 3650." unset:"7" help:"Days for which a run is kept after it has closed. It is fixed when the run opens."`
	CheckCommits  int           `env:"WEFT_CHECK_COMMITS" most:"1000000" parameter:"CheckCommits" wrong:"Give a whole number from 1 to 1000000." unset:"20000" help:"How many commits the slow check over all runs reads in a minute. It deletes runs whose retention is over, and resends lost messages."`
	Updates
	Compress string `env:"WEFT_COMPRESS" enum:"off,zstd" parameter:"Compress" wrong:"Give off or zstd." help:"How payloads are compressed before they are stored and sent: off or zstd."`
	Redrive  string `env:"WEFT_REDRIVE" enum:"off,on" parameter:"Redrive" wrong:"Redrive is on or off." help:"Whether requests may move dead letters back to their queues. Then the api function may receive and delete dead letters, and send to all queues."`
	Batches  string `env:"WEFT_BATCHES" enum:"on,off" parameter:"Batches" wrong:"Batches is on or off." help:"Whether requests may start batches, which act on all runs that a filter selects. Then the activity function may list runs, and delete closed ones. Batches need List."`
	Stream   string `env:"WEFT_STREAM" enum:"off,on" parameter:"Stream" wrong:"Stream is on or off." help:"Whether the function URL streams its answers, so that histories and lists can be server-sent events. It needs a function URL. Each reader of events keeps an instance of the api function busy."`
	Page     string `env:"WEFT_PAGE" enum:"on,off" parameter:"Page" wrong:"Page is on or off." help:"Whether the api function serves the web page at / and below /ui/, to those whom the API admits."`
	Metrics  string `env:"WEFT_METRICS" enum:"emf,otlp,off" parameter:"Metrics" wrong:"Metrics are emf, otlp or off." help:"Where the program's metrics go. emf: to CloudWatch, through the log. otlp: to the program's exporter. off: nowhere. Only with emf is there an alarm on stuck runs."`
	Logging
	LogFailures string `env:"WEFT_LOG_FAILURES" enum:"types,text" parameter:"LogFailures" wrong:"Give types or text." help:"What the log has of a failure in workflows and activities. types: its kind, its type and its place. text: also what the error or the panic says, which may hold payloads. What the Go runtime says of its own panics is always logged."`

	Pinning    string           `env:"WEFT_PINNING" enum:"off,on" given:"on in the functions that have versions, if Pinning is" help:"Whether requests and messages for another build are forwarded to the version of this function with that WEFT_BUILD. It needs WEFT_BUILD."`
	PayloadKey string           `env:"WEFT_PAYLOAD_KEY" given:"PayloadKeys and PayloadEncryption" help:"The ARN of the KMS key that encrypts what is stored and sent, or several, separated by commas: the first encrypts, all of them decrypt. With none in the first place, nothing new is encrypted. Without it, nothing is encrypted."`
	Bucket     string           `env:"WEFT_BUCKET" given:"Bucket, or the one that is created" help:"The S3 bucket for bodies that are too large for the table and the queues. Without it, payloads of more than 256 KiB are refused."`
	Visibility time.Duration    `env:"WEFT_VISIBILITY" most:"12h" given:"ActivityVisibility" help:"The visibility of the activity queue, as in 15m. Without it, the visibility of a message is never shortened."`
	Timeout    time.Duration    `env:"WEFT_TIMEOUT" most:"15m" given:"ActivityTimeout, in the activity functions" help:"The function's time-out, as in 60s, which Lambda does not report. Without it, the time that an invocation has left counts."`
	Rate       limits.PerSecond `env:"WEFT_RATE" given:"ActivityRate, in the activity functions" help:"How many attempts at the activities of the queue that this function consumes may begin in a second, as 50 or 0.5, over all of its instances. 0 or no value is no limit."`
	Burst      limits.Burst     `env:"WEFT_BURST" given:"ActivityBurst, in the activity functions" help:"How many of these attempts may begin at once after a pause. 0 or no value is the number of one second, and at least 1."`
	Grace      time.Duration    `env:"WEFT_GRACE" most:"15m" given:"no deployment needs it: only cost depends on it" unset:"1m" help:"How long a message waits for the commit that it names before a fence takes the commit's slot."`
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
