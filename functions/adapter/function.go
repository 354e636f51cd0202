package adapter

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// Role is the job of a function.
type Role = function.Role

// The roles. Each handles different events; see the package comment.
const (
	API      = function.API
	Workflow = function.Workflow
	Activity = function.Activity
	Timer    = function.Timer
	Dead     = function.Dead
)

// FromEnvironment returns the role in WEFT_ROLE, for a binary that serves all roles.
func FromEnvironment() Role { return Role(os.Getenv(settings.Variable("Role"))) }

// Reserve is the end of an invocation's time. It is reserved for committing what an attempt
// returned and for the answer. An invocation that has less than twice this time reserves half of
// what it has.
const Reserve time.Duration = function.Reserve

// ShortenFrom is how much longer the visibility of the activity queue has to be than an attempt
// needs for the function to shorten that of its message. The request is billed. For it, an attempt
// whose process died is repeated at least this much sooner.
const ShortenFrom time.Duration = function.ShortenFrom

// Telemetry opens an exporter of spans and metrics, such as weftotel.Open.
type Telemetry = observe.Open

// Function is a Lambda function in one role, without the runtime around it: a lambda.Handler.
// [Open] returns one. It serves one or several invocations at a time.
type Function struct{ inner *function.Function }

// Invoke answers an event. It returns an error if the event does not belong to the role, or if a
// sweep failed. If some messages of a batch failed, the answer lists them for redelivery.
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	return f.inner.Invoke(ctx, event)
}

// Flush exports the spans and metrics since the last Flush. Call it before the process is frozen.
func (f *Function) Flush() { f.inner.Flush() }

// Hung reports whether workflow code of this process is hung. Such a process should exit after its
// answer.
func (f *Function) Hung() bool { return f.inner.Hung() }

// exitIfHung ends a process whose workflow code hangs: that code holds a goroutine, and perhaps a
// core, forever. What was answered is in the log of its run. The next process begins with an empty
// cache.
func exitIfHung(f *Function, log *slog.Logger, exit func(int)) {
	if f.Hung() {
		log.Error("the process exits: workflow code does not return")
		exit(1)
	}
}
