// Package function is a Lambda function of a deployment in one role: it answers the events that Lambda hands it. Package adapter makes one of
// the environment that it finds, and its package comment is the contract.
package function

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
)

// Options are the options of a function. The zero value works.
type Options struct {
	// BasePath is what stands before /v1/workflows in the paths of requests, besides a stage: the path of a custom
	// domain's mapping.
	BasePath string
	// Visibility is that of the activity queue, and Extend sets that of a message in flight; see ShortenFrom. Without
	// either none is ever shortened.
	Visibility time.Duration
	Extend     func(ctx context.Context, queue, receipt string, d time.Duration) error
	// QueueOf is which queue has an ARN, for the activity role: that of a task queue, or the default one; nil is always that. Of one
	// for which it is empty nothing is handled: the invocation fails, and the messages stay in their queue.
	QueueOf func(arn string) string
	// Open opens the bodies of messages in place, where what was sent is encrypted or compressed; nil where nothing is.
	Open func(ctx context.Context, deliveries []queue.Delivery)
	// Tidy is called with each schedule event, to delete what is kept apart and nobody refers to; nil where nothing is.
	Tidy func(ctx context.Context) error
	// Timeout is the function's time-out; 0 takes what an invocation has left when it begins. With it a process that is held
	// up before an activity gives the message back, instead of holding the activity because its StartToClose is too long.
	Timeout time.Duration
	// Forward hands events on that only another build of the function may handle; nil leaves them to whoever can be asked again:
	// requests are refused, and messages wait.
	Forward Forward
	// Flush hands on what the service has told of an invocation; nil where nothing is held back.
	Flush func()
	// Log takes what operators should know; nil is slog.Default. No payload is ever logged.
	Log *slog.Logger
}

// Function is a Lambda function in one role, without the runtime around it: lambda.Handler. It serves one invocation at
// a time or many.
type Function struct {
	options Options
	log     *slog.Logger
	service *executor.Service
	api     http.Handler
	serve   serve
}

// serve answers an event.
type serve func(f *Function, ctx context.Context, a allowance, event []byte) (answer any, err error)

// New returns the function of a role over a service. One service serves all invocations of a process, because it keeps
// the runs that it has loaded.
func New(role Role, service *executor.Service, o Options) (*Function, error) {
	if err := CheckRole(role); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	f := &Function{options: o, log: o.Log, service: service, api: httpapi.New(service, o.Log)}
	f.serve = map[Role]serve{
		API: (*Function).request, Workflow: (*Function).results, Activity: (*Function).attempts,
		Timer: (*Function).sweep, Dead: (*Function).deadLetters,
	}[role]
	return f, nil
}

// Invoke answers an event. An error is an event that is none of the role's, or a sweep that failed: what can be answered
// is answered, and a message that has to come again is listed in the answer.
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

// Flush hands on what the service has told since the last time: spans and metrics. Call it before the process is frozen.
func (f *Function) Flush() {
	if f.options.Flush != nil {
		f.options.Flush()
	}
}

// Hung reports whether workflow code of this process has not come back. Such a process is to exit once it has answered.
func (f *Function) Hung() bool { return f.service.Hung() > 0 }

// sweep sends the long timers that have become near, and makes a step of the slow check over all runs with what is left of
// the invocation's time, also if the sweep fails. What the event says does not matter: only its time does. The check may fail: no run
// waits for it (executor.Service.Maintain says what a step costs).
func (f *Function) sweep(ctx context.Context, _ allowance, _ []byte) (any, error) {
	sent, failed := f.service.Sweep(ctx)
	did, err := f.service.Maintain(ctx)
	if err != nil {
		f.log.WarnContext(ctx, "the check over all runs failed; its next step will try again", "error", err)
	}
	if f.options.Tidy != nil {
		if err := f.options.Tidy(ctx); err != nil {
			f.log.WarnContext(ctx, "what is kept apart could not be looked through; the next time will try again", "error", err)
		}
	}
	if failed != nil { // an alarm is on the errors of the function
		return nil, fmt.Errorf("sweep failed after %d timers; the next one goes on: %w", sent, failed)
	}
	answer := map[string]int{"sent": sent}
	if did.Commits > 0 {
		answer["checked"], answer["deleted"], answer["sentAgain"] = did.Commits, did.Deleted, did.Sent
	}
	return answer, nil
}

// encode encodes an answer. Unlike json.Marshal it does not make six bytes of each <, > and &: Lambda bounds what it
// takes.
func encode(answer any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(answer)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
