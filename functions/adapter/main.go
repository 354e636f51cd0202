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
//	WEFT_BASE_PATH         the prefix of /v1/workflows in the paths of requests, without a stage; empty by default
//	WEFT_TIMEOUT           the function's time-out, as in 60s; by default the time that an invocation has left. With
//	                       it the activity role logs at its start which activities may take longer
//	WEFT_VISIBILITY        the visibility of the activity queue, as in 15m, for ShortenFrom; by default messages are
//	                       never shortened
//	WEFT_LONG_TIMER        the delay from which on timers are stored in the table, as in 30s; 15m by default
//	WEFT_REDRIVE           "on" lets requests move dead letters back to their queues; off by default
//	WEFT_BATCHES           "off" refuses to start batches, and ends those that run; on by default
//	WEFT_STREAM            "on" if the function URL streams (InvokeMode RESPONSE_STREAM): all answers to its requests
//	                       have the form that this demands, and histories and lists may be server-sent events; off by
//	                       default
//	WEFT_PAGE              "off" serves no web page; on by default: the api role serves it at / and below /ui/
//	WEFT_METRICS           the destination of metrics: emf (the default), standard output in CloudWatch's embedded
//	                       metric format; otlp, with Settings.Telemetry; or off
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
