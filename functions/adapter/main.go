package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/seed-41655fb1/weft/workflow"
)

// Main runs a Lambda function in a role, with these workflows and activities, on the table and the queues that its
// environment names. It does not return: where the function cannot run, it ends the process with status 1 and the reason
// in the log.
//
// These variables are required: WEFT_TABLE, the name of the DynamoDB table; WEFT_QUEUE_WORKFLOW, WEFT_QUEUE_TIMERS and
// WEFT_QUEUE_ACTIVITIES, the URLs of the queues. These are not: WEFT_NAMESPACE, what of the table this deployment has
// (default); WEFT_LIST, off to keep no list of workflows (on); WEFT_BUILD, the name of the code (its commit, or a hash);
// WEFT_PINNING, on to hand what another build has to do to the published version of the function that has it (off);
// WEFT_TIMEOUT, the function's time-out (what an invocation has left); WEFT_BASE_PATH, what stands before /v1/workflows in the paths of requests besides a stage (nothing); WEFT_VISIBILITY,
// the visibility of the activity queue, for ShortenFrom (unknown); WEFT_LONG_TIMER, the delay from which timers are kept in
// the table (15m); WEFT_METRICS, where metrics go: emf, otlp or off (emf); WEFT_LOG_LEVEL, debug, info, warn or error
// (info); WEFT_PAYLOAD_KEY, the ARN of the KMS key that encrypts what is kept and sent, or several, of which the first
// encrypts (none: it is kept as it is); WEFT_COMPRESS, zstd to compress it (off); WEFT_BUCKET, the
// S3 bucket of large payloads (none: those of more than 256 KiB are refused); WEFT_GRACE, how long a message waits for the commit that it names before it is given up (1m; no clock is
// trusted with it, so that only cost depends on it).
func Main(role Role, registrations ...workflow.Registration) { Settings{}.Main(role, registrations...) }

// Settings are what a program may set that its environment cannot. The zero value is what the function Main takes.
type Settings struct {
	// Telemetry opens what exports spans, and metrics where WEFT_METRICS is otlp: weftotel.Open, which the program has to
	// import. nil exports nothing.
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
		// Lambda freezes the process when it asks for the next event: what is flushed before, after the answer was sent,
		// holds nobody up.
		return &answer{body: bytes.NewReader(body), sent: func() {
			f.Flush()
			exitIfHung(f, log, os.Exit)
		}}, nil
	})
}

// answer is an answer to an event that learns when it has been sent: the Lambda runtime closes it then, before it asks
// for the next event.
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
