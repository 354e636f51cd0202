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
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/pump"
	"github.com/seed-41655fb1/weft/queue"
)

// childMark is the environment variable that makes a process a child. Its value is an order.
const childMark = "WEFT_ISOLATED_CHILD"

// order is what a parent tells a child when it starts it.
type order struct {
	// Own is the socket that the child serves, and Parent the one that it calls.
	Own, Parent string
	// Memory is the hard limit of the child's memory, in bytes.
	Memory uint64
	// TaskQueues are the task queues that the parent has.
	TaskQueues []string
	// Alone says that it is a solo child.
	Alone bool
}

// The limit holds before any of the program's own code runs, except for the initialization of packages that do not import this one.
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

// delivered is what a parent hands to a child: messages of a queue that are handled together.
type delivered struct {
	Queue string
	Part  []queue.Delivery
}

// status is what a child says of itself.
type status struct {
	// Hung is how often code has not come back in time.
	Hung int
	// Workflows are those with code that still has not.
	Workflows []string
	// Returned is the workflow whose code returned last, in a solo child.
	Returned string
}

// stopAfter is how long a child that is told to stop waits for what it is doing.
const stopAfter = 5 * time.Second

// ServeChild serves as a child until the parent closes the standard input, or ends. The parent decides when that is: the child pays no
// heed to signals that end the server.
func ServeChild(registry *engine.Registry, o executor.Options, log *slog.Logger) error {
	told, is, err := ordered()
	if !is || err != nil {
		return fmt.Errorf("this process is no child of a server: %w", err)
	}
	// What the program executes itself is no child.
	if err := os.Unsetenv(childMark); err != nil {
		return err
	}
	l, err := net.Listen("unix", told.Own)
	if err != nil {
		return err
	}
	o.Engine.TaskQueues = told.TaskQueues
	o.Logger = log
	code := &returns{running: map[int]string{}}
	if told.Alone { // nobody asks the others
		o.Recorder = code
	}
	world := host.NewMachine()
	defer world.Close()
	p := ports{dial(told.Parent)}
	service := executor.New(p.turnPorts(), registry, world, o)
	mux := http.NewServeMux()
	mux.Handle("/", shortly(httpapi.New(service, log)))
	serveWork(mux, service, code, p, log)
	return serveUntilEOF(l, mux)
}

// The paths of what a parent calls; the API has none of them.
const (
	pathDeliver = "/-/deliver"
	pathStatus  = "/-/status"
)

// errPanic says that a handler has a defect. The queue redelivers its messages.
var errPanic = errors.New("isolate: a handler panicked")

// serveWork serves what the parent asks for besides the API.
func serveWork(mux *http.ServeMux, service *executor.Service, code *returns, p ports, log *slog.Logger) {
	handle(mux, pathDeliver, func(ctx context.Context, q delivered) (done []string, err error) {
		defer func() {
			if value := recover(); value != nil {
				log.ErrorContext(ctx, "a handler panicked", "queue", q.Queue, "panic", observe.Panic(value), "stack", string(debug.Stack()))
				err = errPanic
			}
		}()
		handler := pump.Handler{Service: service, Log: log, Extend: p.Extend}
		return handler.For(q.Queue)(ctx, q.Part), nil
	})
	handle(mux, pathStatus, func(context.Context, none) (status, error) {
		return status{service.Hung(), service.HungWorkflows(), code.workflow()}, nil
	})
}

// serveUntilEOF serves until the standard input ends, and then waits for what is being done.
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
