package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/workflow"
)

// Main runs a Lambda function in a role, with these workflows and activities, on the table and the
// queues that its environment names. It does not return:
//
//   - If the function cannot run, it ends the process with status 1. The log has all that is wrong
//     with the variables, or with what is registered. Nothing is asked of AWS before the first
//     event.
//   - It makes slog.Default the function's logger: lines of JSON on the standard error, with the id
//     of the request.
//   - It answers one event after the other. When Lambda has the answer it hands on metrics, and
//     spans for at most half a second.
//   - If workflow code has hung, it ends the process with status 1 when Lambda has the answer.
//
// It reads these variables, in all roles; the first four are required. WEFT_ROLE is what
// FromEnvironment reads.
//
//	WEFT_TABLE             the name of the DynamoDB table
//	WEFT_QUEUE_WORKFLOW    the URLs of the queues
//	WEFT_QUEUE_TIMERS
//	WEFT_QUEUE_ACTIVITIES
//	WEFT_ROLE              api, workflow, activity, timer or dead
//	WEFT_TASK_QUEUES       the URLs of the queues of task queues, as in
//	                       reports=https://...,slow=https://...; the same in all functions, or one
//	                       would not know where to send an activity. Else there is the default one
//	                       alone
//	WEFT_RATE              how many attempts at the activities of the queue that this function
//	                       consumes may begin in a second, as 50 or 0.5, over all of its
//	                       instances; 0, or else, any number
//	WEFT_BURST             how many of them at once after a while in which none has begun; 0, or
//	                       else, those of a second, and 1 at least
//	WEFT_NAMESPACE         what of the table this deployment has; else "default"
//	WEFT_LIST              "off" keeps no list of workflows, which saves two index writes a run;
//	                       else on
//	WEFT_BUILD             the name of the code; else its commit, or a hash of the program
//	WEFT_PINNING           "on" hands what another build has to do to the published version of
//	                       this function whose WEFT_BUILD that is, and WEFT_BUILD is required
//	                       then; else off
//	WEFT_BASE_PATH         what stands before /v1/workflows in the paths of requests, besides a
//	                       stage; else nothing
//	WEFT_TIMEOUT           the function's time-out, as in 60s; else what an invocation has left.
//	                       With it the activity role logs, when it starts, which activities may
//	                       take longer
//	WEFT_VISIBILITY        the visibility of the activity queue, as in 15m, for ShortenFrom; else
//	                       messages are never shortened
//	WEFT_LONG_TIMER        the delay from which timers are kept in the table, as in 30s; else 15m
//	WEFT_METRICS           where metrics go: emf, the log, in CloudWatch's embedded metric format
//	                       on the standard output; otlp, with Settings.Telemetry; or off; else emf
//	WEFT_LOG_LEVEL         debug, info, warn or error; else what Lambda lets through
//	                       (AWS_LAMBDA_LOG_LEVEL), or info
//	WEFT_PAYLOAD_KEY       the ARN of the KMS key that encrypts what is kept and sent; or several,
//	                       separated by commas: the first encrypts, all of them open. "none" in
//	                       the first place encrypts nothing new; else nothing is encrypted
//	WEFT_COMPRESS          "zstd" compresses what is kept and sent, from 1 KiB on; else off
//	WEFT_BUCKET            the S3 bucket of payloads, commits and messages that are too large for
//	                       the table and the queues; else payloads of more than 256 KiB are
//	                       refused
//	WEFT_GRACE             how long a message waits for the commit that it names before it is
//	                       given up; else 1m. No clock is trusted with it: only cost depends on it
//	WEFT_RETENTION_DAYS    how long a run is kept after its deadline or, where it has none, after
//	                       it has closed; else 7
//	WEFT_CHECK_COMMITS     how many commits each sweep's part of the slow check over all runs
//	                       looks at; else 20000
//	WEFT_UPDATES_IN_FLIGHT
//	                       how many updates of a run may be accepted and not completed, or none
//	                       for no limit; else 10
//	WEFT_UPDATE_BYTES_IN_FLIGHT
//	                       from how many bytes of their inputs on another one has to wait, or
//	                       none; else 20 MiB
//	WEFT_UPDATES_IN_TOTAL  how many updates a run accepts in its life; else any number
//
// Lambda sets AWS_LAMBDA_LOG_LEVEL, AWS_LAMBDA_FUNCTION_NAME, by which versions are found, and
// AWS_LAMBDA_FUNCTION_MEMORY_SIZE, a quarter of which is for the cache of runs. The SDK reads its
// own: credentials, AWS_REGION, AWS_ENDPOINT_URL. weftotel.Open reads those of OpenTelemetry.
func Main(role Role, registrations ...workflow.Registration) { Settings{}.Main(role, registrations...) }

// Settings are what a program may set that its environment cannot. The zero value is what the
// function Main takes.
type Settings struct {
	// Backend opens a store, queues and blobs of the program's own, each in place of DynamoDB, SQS
	// and S3; nil is none. WEFT_TABLE is not required then if there is a store among them.
	// WEFT_LIST and WEFT_NAMESPACE do not concern a store of one's own. Queues of one's own are fed
	// to the function by something of the program's own, in the events that [Batch] returns.
	// WEFT_QUEUE_WORKFLOW and the others name them in these events.
	Backend backend.Open
	// Telemetry opens what exports spans, and metrics where WEFT_METRICS is otlp: weftotel.Open,
	// which the program has to import. nil exports nothing.
	Telemetry Telemetry
}

// Main is the function Main with settings.
func (s Settings) Main(role Role, registrations ...workflow.Registration) {
	log, err := newLogger(os.Stderr, os.Getenv)
	slog.SetDefault(log) // what workflows and activities log has the same form
	var f *Function
	if err == nil {
		f, err = s.open(context.Background(), role, os.Getenv, log, registrations)
	}
	if err != nil {
		log.Error("the function cannot run", "error", err)
		os.Exit(1)
	}
	lambda.Start(func(ctx context.Context, event json.RawMessage) (*answer, error) {
		body, err := f.Invoke(ctx, event)
		if err != nil {
			f.Flush() // nothing is called after an error was sent
			return nil, err
		}
		// Lambda freezes the process when it asks for the next event: what is flushed before, after
		// the answer was sent, holds nobody up.
		return &answer{body: bytes.NewReader(body), sent: func() {
			f.Flush()
			exitIfHung(f, log, os.Exit)
		}}, nil
	})
}

// answer is an answer to an event that learns when it has been sent: the Lambda runtime closes it
// then, before it asks for the next event.
type answer struct {
	body *bytes.Reader
	sent func()
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) { return a.body.Read(p) }

// ContentType is the type of all answers.
func (*answer) ContentType() string { return "application/json" }

// Close implements io.Closer.
func (a *answer) Close() error {
	a.sent()
	return nil
}
