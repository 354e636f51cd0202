// Package function is a Lambda function of a deployment in one role: it answers the events that
// Lambda gives it. Package adapter creates one from its environment; that package's comment is the
// contract.
package function

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/page"
)

// Options are the options of a function. The zero value works.
type Options struct {
	// BasePath is the prefix of /v1/workflows in the paths of requests, besides a stage: the path
	// of a custom domain's mapping.
	BasePath string
	// Visibility is that of the activity queue, and Extend sets that of a message in flight; see
	// ShortenFrom. Unless both are set, none is shortened.
	Visibility time.Duration
	Extend     func(ctx context.Context, queue, receipt string, d time.Duration) error
	// QueueOf returns the queue with an ARN, for the activity role: a task queue, or the default
	// one; nil always returns that. If it returns an empty name, the invocation fails, and the
	// messages stay in their queue.
	QueueOf func(arn string) string
	// DeadOf returns the queue whose dead letters are in the queue with an ARN, for the dead role;
	// nil always returns that of activities. Only letters that cannot be read need it.
	DeadOf func(arn string) string
	// Tidy is called with each schedule event, to delete offloaded bodies without a reference; nil
	// if nothing is offloaded.
	Tidy func(ctx context.Context) error
	// Stream says that the function URL streams (InvokeMode RESPONSE_STREAM): answers to its
	// requests have another form, and may be server-sent events. See Stream.
	Stream bool
	// Page says that the API function serves the web page at / and below /ui/.
	Page bool
	// Timeout is the function's timeout; 0 takes what an invocation has left when it begins. With
	// it, a process that is delayed before an activity returns the message, instead of holding the
	// activity because its StartToClose is too long.
	Timeout time.Duration
	// Forward forwards events that only another build of the function may handle. If it is nil,
	// such requests are refused, and such messages wait.
	Forward Forward
	// Probe lets the timer function send beats to the api function; nil sends none.
	Probe Probe
	// Flush sends the service's reports on an invocation; nil if the service holds none back.
	Flush func()
	// Log gets what operators should know; nil is slog.Default. No payload is ever logged.
	Log *slog.Logger
}

// Function is a Lambda function in one role, without the runtime around it: lambda.Handler. It
// serves one invocation at a time or many.
type Function struct {
	options Options
	log     *slog.Logger
	process *assembly.Process
	api     http.Handler
	streams http.Handler // the API of a function URL that streams; nil if none does
	serve   serve
}

// serve answers an event.
type serve func(f *Function, ctx context.Context, a allowance, event []byte) (answer any, err error)

// New returns the function of a role in a process. All its invocations share the process, which
// keeps the runs that it has loaded.
func New(role Role, process *assembly.Process, o Options) (*Function, error) {
	if err := CheckRole(role); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	f := &Function{options: o, log: o.Log, process: process, api: reporting(process.API)}
	if role == API && o.Stream {
		f.streams = streaming(f.api)
	}
	if role == API && o.Page {
		f.api = page.Handler(f.api)
		if f.streams != nil {
			f.streams = page.Handler(f.streams)
		}
	}
	f.serve = map[Role]serve{
		API: (*Function).request, Workflow: (*Function).results, Activity: (*Function).attempts,
		Timer: (*Function).sweep, Dead: (*Function).deadLetters,
	}[role]
	return f, nil
}

// Invoke answers an event. It returns an error if the event does not belong to this role, or if a
// sweep failed. It answers what can be answered, and lists a message to redeliver in the answer.
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	ctx, ended := waitedFor(ctx)
	defer ended()
	ctx, a, cancel := begin(ctx, f.options.Timeout)
	defer cancel()
	answer, err := f.serve(f, ctx, a, event)
	if err != nil {
		return nil, err
	}
	return encode(answer)
}

// Flush sends what the service has recorded since the last call: spans and metrics. Call it before
// the process is frozen.
func (f *Function) Flush() {
	if f.options.Flush != nil {
		f.options.Flush()
	}
}

// Hung reports whether workflow code of this process has not returned. Such a process must exit
// after its answer.
func (f *Function) Hung() bool { return f.process.Service.Hung() > 0 }

// sweep sends the long timers that are due soon. Even if that failed, it then takes a step of the
// slow check over all runs in the time that the invocation has left. Before that step, each
// probe.Every, it sends a beat, and counts the dead letters; also if the event asks for it, as
// {"weft":{"beat":true}} and {"weft":{"beat":true,"number":7}} do. It ignores what else the event
// says. The check may fail: no run waits for it (see Maintenance.Maintain).
func (f *Function) sweep(ctx context.Context, _ allowance, event []byte) (any, error) {
	sent, failed := f.process.Service.Deliveries.Sweep(ctx)
	if number := beatOf(event, f.process.Service.Process.World.Now()); number > 0 {
		f.probe(ctx, number)
		f.process.Service.Inventory.CountDead(ctx)
	}
	did, err := f.process.Service.Maintenance.Maintain(ctx)
	if err != nil {
		f.log.WarnContext(ctx, "the check over all runs failed; its next step will try again", "error", err)
	}
	if f.options.Tidy != nil {
		if err := f.options.Tidy(ctx); err != nil {
			f.log.WarnContext(ctx, "offloaded bodies could not be checked; the next event will try again", "error", err)
		}
	}
	if failed != nil { // an alarm is on the errors of the function
		return nil, fmt.Errorf("sweep failed after %d timers; the next one continues: %w", sent, failed)
	}
	answer := map[string]int{"sent": sent}
	if did.Commits > 0 {
		answer["checked"], answer["deleted"], answer["sentAgain"] = did.Commits, did.Deleted, did.Sent
	}
	return answer, nil
}

// encode encodes an answer. Unlike json.Marshal it does not encode each <, > and & in six bytes:
// Lambda bounds the size of an answer.
func encode(answer any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(answer)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
