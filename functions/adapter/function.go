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

// Role is what a function is there for.
type Role = function.Role

// The roles. Each takes other events; see the package comment.
const (
	API      = function.API
	Workflow = function.Workflow
	Activity = function.Activity
	Timer    = function.Timer
	Dead     = function.Dead
)

// FromEnvironment is the role in WEFT_ROLE, for one binary that serves all of them.
func FromEnvironment() Role { return Role(os.Getenv(settings.Variable("Role"))) }

// Reserve is the end of an invocation's time, in which nothing goes on but the commit of what an attempt brought, and the
// answer. An invocation that has less than twice as much keeps half of what it has.
const Reserve time.Duration = function.Reserve

// ShortenFrom is by how much the visibility of the activity queue has to exceed what an attempt needs for its message to
// get less: a request that is billed buys that an attempt whose process died is made again this much sooner, or more.
const ShortenFrom time.Duration = function.ShortenFrom

// Telemetry opens what exports spans and metrics: weftotel.Open is one.
type Telemetry = observe.Open

// Function is a Lambda function in one role, without the runtime around it: lambda.Handler. [Open] makes one. It serves one invocation at
// a time or many.
type Function struct{ inner *function.Function }

// Invoke answers an event. It returns an error if the event does not belong to the role, or if a
// sweep failed. It answers what can be answered, and lists a message to redeliver in the answer.
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	return f.inner.Invoke(ctx, event)
}

// Flush hands on what the function has reported since the last time: spans and metrics. Call it before the process is frozen.
func (f *Function) Flush() { f.inner.Flush() }

// Hung reports whether workflow code of this process has not come back. Such a process is to exit once it has answered.
func (f *Function) Hung() bool { return f.inner.Hung() }

// exitIfHung ends a process whose workflow code hangs: it holds a goroutine, and perhaps a core, for ever. What was
// answered is in the log of its run; the next process begins with an empty cache.
func exitIfHung(f *Function, log *slog.Logger, exit func(int)) {
	if f.Hung() {
		log.Error("the process exits: workflow code does not return")
		exit(1)
	}
}
