package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/precheck"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

// Main runs a Lambda function in a role, with these workflows and activities, on the table and the
// queues that its environment names. It does not return:
//
//   - If the function cannot run, Main ends the process with status 1. The log lists everything
//     that is wrong with the variables or the registrations. Main makes no request to AWS before
//     the first event.
//   - It makes slog.Default the function's logger: lines of JSON on standard error, with the id of
//     the request.
//   - It answers one event after the other. When Lambda has the answer, it exports metrics, and
//     spans for at most half a second. It does so before it returns an error, because Lambda calls
//     nothing after that.
//   - If workflow code hangs, it ends the process with status 1 when Lambda has the answer.
//
// It reads these variables, in all roles. The first four are required. FromEnvironment reads
// WEFT_ROLE.
//
//	WEFT_TABLE             the name of the DynamoDB table
//	WEFT_QUEUE_WORKFLOW    the URLs of the queues
//	WEFT_QUEUE_TIMERS
//	WEFT_QUEUE_ACTIVITIES
//	WEFT_ROLE              api, workflow, activity, timer or dead
//	WEFT_QUEUE_UNREADABLE  the URL of the queue that keeps dead letters which no version of Weft can read; by default
//	                       they are deleted
//	WEFT_TASK_QUEUES       the URLs of the queues of task queues, as in reports=https://...,slow=https://...; the
//	                       same in all functions, so that each can send to all of them. By default there is only the
//	                       default task queue
//	WEFT_RATE              how many attempts at activities of this function's queue may begin in a second, as 50 or
//	                       0.5, over all instances of the function; by default, and with 0, any number
//	WEFT_BURST             how many attempts may begin at once after a pause; by default, and with 0, as many as in a
//	                       second, and at least 1
//	WEFT_NAMESPACE         the part of the table that this deployment uses; "default" by default
//	WEFT_LIST              "off" keeps no list of workflows, which saves two index writes a run; on by default
//	WEFT_BUILD             the name of the code; by default its commit, or a hash of the program
//	WEFT_PINNING           "on" forwards another build's work to the published version of this function with that
//	                       WEFT_BUILD, and then WEFT_BUILD is required; off by default
//	WEFT_ROLLOUT           the name of the workflow function, whose alias live says which of two builds owns which
//	                       runs while a deployment is rolled out; it needs WEFT_PINNING. By default there is no
//	                       rollout, and each process does the work that it gets
//	WEFT_BASE_PATH         the prefix of /v1/workflows in the paths of requests, without a stage; empty by default
//	WEFT_TIMEOUT           the function's time-out, as in 60s; by default the time that an invocation has left. With
//	                       it the activity role logs at its start which activities may take longer
//	WEFT_VISIBILITY        the visibility of the activity queue, as in 15m, for ShortenFrom; by default messages are
//	                       never shortened
//	WEFT_WAIT_HOLD         how long the api function may be held by one call that waits, over all its requests, from
//	                       0s to 20s; 250ms by default. Callers pause between the requests
//	WEFT_SLOW_REQUEST      how long a request of the API may take before it counts as slow, as in 2s, which is the
//	                       default; without the time for which its caller asked it to wait
//	WEFT_PROBE             the api function, to which the timer function sends a synthetic update every five minutes;
//	                       by default there is none
//	WEFT_WEBHOOK_HOSTS     the hosts that callers may have notified of the ends of runs, as hooks.example.com; none by
//	                       default. *.example.com is all below, and * is all
//	WEFT_WEBHOOK_PRIVATE   "on" lets these hosts have private addresses; off by default
//	WEFT_WEBHOOK_EPOCH     the number of the secrets that sign notifications; 1 by default
//	WEFT_EVENT_BUS         the EventBridge bus that callers may have notified of the ends of runs: default, or the
//	                       name or the ARN of a custom bus, one with rules and targets; by default there is none
//	WEFT_CHAIN             "off" sends a message for each activity that follows from another, and does not run it in
//	                       the same invocation; on by default
//	WEFT_LONG_TIMER        the delay from which on timers are stored in the table, as in 30s; 15m by default
//	WEFT_REDRIVE           "on" lets requests move dead letters back to their queues; off by default
//	WEFT_BATCHES           "off" refuses to start batches, and ends those that run; on by default
//	WEFT_STREAM            "on" if the function URL streams (InvokeMode RESPONSE_STREAM): all answers to its requests
//	                       have the form that this demands, and histories and lists may be server-sent events; off by
//	                       default
//	WEFT_PAGE              "off" serves no web page; on by default: the api role serves it at / and below /ui/
//	WEFT_DEPLOYMENT        the name of the deployment, the dimension of its metrics; by default the namespace
//	WEFT_METRICS           the destination of metrics: health (the default), standard output in CloudWatch's embedded
//	                       metric format, and only metrics that are above 0 if something is wrong; emf, all metrics in
//	                       that format; otlp, all metrics with Settings.Telemetry, and those of health as before;
//	                       or off
//	WEFT_LOG_LEVEL         debug, info, warn or error; by default Lambda's own level (AWS_LAMBDA_LOG_LEVEL), or info
//	WEFT_LOG_FAILURES      "text" logs also what errors and panics of workflows and activities say, which may hold
//	                       payloads; by default "types": kinds, types and places
//	WEFT_PAYLOAD_KEY       the ARN of the KMS key that encrypts stored and sent data; or several, separated by
//	                       commas: the first one encrypts, and all of them decrypt. "none" in the first place
//	                       encrypts nothing new. By default nothing is encrypted
//	WEFT_COMPRESS          "zstd" compresses stored and sent data, from 1 KiB on; off by default
//	WEFT_BUCKET            the S3 bucket of payloads, commits and messages that are too large for the table and the
//	                       queues; by default there is none, and payloads of more than 256 KiB are refused
//	WEFT_GRACE             how long a message waits for the commit that it names before a fence takes the commit's
//	                       slot; 1m by default. Only cost depends on it, and no clock has to be right
//	WEFT_RETENTION_DAYS    how many days a run is kept after it has closed; fixed when it opens; 7 by default
//	WEFT_CHECK_COMMITS     how many commits each sweep reads for the slow check over all runs; 20000 by default
//	WEFT_UPDATES_IN_FLIGHT         how many updates of a run may be accepted and not completed, or none for no limit;
//	                               10 by default
//	WEFT_UPDATE_BYTES_IN_FLIGHT    from how many bytes of their inputs on another one has to wait, or none; 20 MiB by
//	                               default
//	WEFT_UPDATES_IN_TOTAL          how many updates a run accepts in its life; any number by default
//	WEFT_CHECK             "1" serves weft check on standard input and output instead, if the process is no Lambda
//	                       function. Then no other variable is read, and nothing is called
//
// Lambda sets AWS_LAMBDA_LOG_LEVEL, AWS_LAMBDA_FUNCTION_NAME (to find versions) and
// AWS_LAMBDA_FUNCTION_MEMORY_SIZE (a quarter of it is for the cache of runs). The SDK reads its own
// variables: credentials, AWS_REGION, AWS_ENDPOINT_URL. weftotel.Open reads those of OpenTelemetry.
func Main(role Role, registrations ...workflow.Registration) { Settings{}.Main(role, registrations...) }

// Settings are the options of a program that its environment cannot express. The zero value is what
// the function Main uses.
type Settings struct {
	// Backend opens the program's own store, queues and blobs, each in place of DynamoDB, SQS and
	// S3; nil means none.
	//
	//   - If it has a store, WEFT_TABLE is not required. WEFT_LIST and WEFT_NAMESPACE do not affect
	//     it.
	//   - If it has queues, the program passes their messages to the function, in the events that
	//     [Batch] returns. WEFT_QUEUE_WORKFLOW and the other variables name the queues in these
	//     events.
	Backend backend.Open
	// Telemetry opens an exporter of spans, and of metrics if WEFT_METRICS is otlp: weftotel.Open,
	// which the program has to import. nil exports nothing.
	Telemetry Telemetry
}

// Main is the function Main with settings.
func (s Settings) Main(role Role, registrations ...workflow.Registration) {
	if precheck.Wanted(os.Getenv) {
		types, wrong := program.Registry(registrations...)
		os.Exit(precheck.Program{Types: types, Wrong: wrong, Build: buildID()}.Main())
	}
	log, wrongLevel := newLogger(os.Stderr, os.Getenv)
	slog.SetDefault(log) // workflows and activities log in the same form
	f, err := s.open(context.Background(), role, os.Getenv, log, registrations)
	if err := errors.Join(wrongLevel, err); err != nil {
		log.Error("the function cannot run", "error", err)
		os.Exit(1)
	}
	lambda.Start(func(ctx context.Context, event json.RawMessage) (*answer, error) {
		given, err := f.inner.Stream(ctx, event)
		if err != nil {
			f.Flush() // Lambda calls nothing after it has received an error
			return nil, err
		}
		// Lambda freezes the process when it asks for the next event. A flush between the answer
		// and that request delays nobody.
		return &answer{Answer: given, sent: func() {
			f.Flush()
			exitIfHung(f, log, os.Exit)
		}}, nil
	})
}

// answer is an answer to an event. The Lambda runtime closes it after it has sent it, before it
// asks for the next event.
type answer struct {
	*function.Answer
	sent func()
}

// Close implements io.Closer.
func (a *answer) Close() error {
	err := a.Answer.Close()
	a.sent()
	return err
}
