package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/contract/docs"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
)

// childMark is the environment variable that turns a process into a child. Its value is an order.
const childMark = "WEFT_ISOLATED_CHILD"

// order is what a parent passes to a child when it starts it.
type order struct {
	// Own is the socket that the child serves, and Parent the one that it calls.
	Own, Parent string
	// Memory is the hard limit of the child's memory, in bytes.
	Memory uint64
	// TaskQueues are the task queues that the parent has.
	TaskQueues []string
	// CommandFlags name the server to weft's commands. The child does not know where it listens.
	CommandFlags string
	// Alone says that it is a solo child.
	Alone bool
	// Inspects, Redrives and Browses say what the queues can do.
	Inspects, Redrives, Browses bool
}

// lacks returns the ports without those that the parent does not have.
func (o order) lacks(p executor.Ports) executor.Ports {
	if !o.Inspects {
		p.Inspector = nil
	}
	if !o.Redrives {
		p.Redriver = nil
	}
	if !o.Browses {
		p.Browser = nil
	}
	return p
}

// The limit holds before any of the program's own code runs, except for the initialization of
// packages that do not import this one.
func init() {
	if o, is, err := ordered(); is && err == nil {
		_ = limitMemory(o.Memory) // the parent watches, too
	}
}

// IsChild reports whether this process is a child of a server that isolates.
func IsChild() bool { return os.Getenv(childMark) != "" }

func ordered() (o order, is bool, err error) {
	text := os.Getenv(childMark)
	if text == "" {
		return o, false, nil
	}
	return o, true, json.Unmarshal([]byte(text), &o)
}

// delivered is the messages that a parent gives to a child: messages of a queue that are handled
// together.
type delivered struct {
	Queue string
	Part  []queue.Delivery
}

// status is what a child reports about itself.
type status struct {
	// Hung is how often code has not returned in time.
	Hung int
	// Workflows are those whose code still has not returned.
	Workflows []string
	// Returned is the workflow whose code returned last, in a solo child.
	Returned string
}

// stopAfter is how long a child that must stop waits for its work in progress.
const stopAfter = 5 * time.Second

// ServeChild serves as a child until the parent closes the standard input, or ends. Only the parent
// decides that: the child ignores signals that end the server.
func ServeChild(registry *engine.Registry, o executor.Options, log *slog.Logger) error {
	given, is, err := ordered()
	if !is || err != nil {
		return fmt.Errorf("this process is no child of a server: %w", err)
	}
	// A program that this one executes is not a child.
	if err := os.Unsetenv(childMark); err != nil {
		return err
	}
	l, err := net.Listen("unix", given.Own)
	if err != nil {
		return err
	}
	o.Engine.TaskQueues = given.TaskQueues
	o.Logger, o.CommandFlags = log, given.CommandFlags
	code := &returns{running: map[int]string{}}
	if given.Alone { // nobody asks the others
		o.Recorder = code
	}
	world := host.NewMachine()
	defer world.Close()
	p := ports{dial(given.Parent)}
	process := assembly.NewProcess(assembly.Config{Ports: given.lacks(assembly.PortsOf(p, p, p)), Registry: registry, Host: world, Options: o, Comments: docs.Add, Notifies: true})
	mux := http.NewServeMux()
	mux.Handle("/", shortly(process.API))
	serveWork(mux, process, code, p, log)
	serveRows(mux, &process.Service.Process.Watchers)
	return serveUntilEOF(l, mux)
}

// The paths of the parent's calls. The API has none of them.
const (
	pathDeliver = "/-/deliver"
	pathStatus  = "/-/status"
)

// errPanic says that a handler has a defect. The queue redelivers its messages.
var errPanic = errors.New("isolate: a handler panicked")

// serveWork serves the parent's calls besides the API.
func serveWork(mux *http.ServeMux, process *assembly.Process, code *returns, p ports, log *slog.Logger) {
	handle(mux, pathDeliver, func(ctx context.Context, q delivered) (done []string, err error) {
		defer func() {
			if value := recover(); value != nil {
				log.ErrorContext(ctx, "a handler panicked", "queue", q.Queue, "panic", observe.Panic(value), "stack", string(debug.Stack()))
				err = errPanic
			}
		}()
		handler := process.Handler()
		handler.Extend = p.Extend
		return handler.For(q.Queue)(ctx, q.Part), nil
	})
	handle(mux, pathStatus, func(context.Context, none) (status, error) {
		return status{process.Service.Hung(), process.Service.HungWorkflows(), code.workflow()}, nil
	})
}

// serveUntilEOF serves until the standard input ends, and then waits for the work in progress.
func serveUntilEOF(l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h}
	httpapi.CloseSpare(server)
	drained := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		limited, cancel := context.WithTimeout(context.Background(), stopAfter)
		defer cancel()
		drained <- server.Shutdown(limited)
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-drained
}
