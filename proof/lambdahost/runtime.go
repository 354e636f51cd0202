package lambdahost

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// invocation is an event that an environment handles.
type invocation struct {
	id      string
	event   []byte
	outcome chan outcome // buffers one outcome
	// begun buffers the answer that the process begins to make, for a caller who reads it then; nil
	// if the caller wants the whole.
	begun chan begun
}

// outcome is the outcome of an invocation.
type outcome struct {
	answer []byte
	err    error
}

func newInvocation(event []byte) *invocation {
	return &invocation{id: uuid.NewString(), event: event, outcome: make(chan outcome, 1)}
}

// settle sets the outcome, if none is set.
func (inv *invocation) settle(o outcome) {
	select {
	case inv.outcome <- o:
	default:
	}
}

// runtimeAPI returns the API with which the process talks.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
func (e *Environment) runtimeAPI() http.Handler {
	const root = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"invocation/next", e.next)
	mux.Handle("POST "+root+"invocation/{id}/response", e.streams(e.answered(func(body []byte) outcome {
		if len(body) > MaxPayload {
			return outcome{err: &FunctionError{"Function.ResponseSizeTooLarge", fmt.Sprintf("the answer has %d bytes; Lambda takes %d", len(body), MaxPayload)}}
		}
		return outcome{answer: body}
	})))
	mux.HandleFunc("POST "+root+"invocation/{id}/error", e.answered(func(body []byte) outcome { return outcome{err: functionError(body)} }))
	mux.HandleFunc("POST "+root+"init/error", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the process has gone
		}
		e.mu.Lock()
		e.initFail = functionError(body)
		e.mu.Unlock()
		accepted(w)
	})
	return mux
}

// next answers when there is an event. The process may be stopped between two events. The goroutine
// that has stopped it also continues it, so that it is never stopped while it has an event.
func (e *Environment) next(w http.ResponseWriter, r *http.Request) {
	if e.function.Freeze {
		_ = e.signal(syscall.SIGSTOP) // the process may have gone
	}
	var inv *invocation
	select {
	case inv = <-e.work:
	case <-r.Context().Done():
		return
	}
	e.set(inv)
	if e.function.Freeze {
		_ = e.signal(syscall.SIGCONT)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(e.function.Timeout).UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", ARN("lambda", "function:"+e.function.Name))
	h.Set("Lambda-Runtime-Trace-Id", traceID())
	_, _ = w.Write(inv.event) // other code notices if the process has gone
}

// answered handles the end of the invocation on which the process works.
func (e *Environment) answered(read func(body []byte) outcome) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the process was killed while it wrote, so this is not an answer
		}
		e.mu.Lock()
		inv := e.current
		e.mu.Unlock()
		if inv == nil || inv.id != r.PathValue("id") {
			http.Error(w, `{"errorType":"InvalidRequestID"}`, http.StatusBadRequest)
			return
		}
		e.set(nil)
		inv.settle(read(body))
		accepted(w)
	}
}

func accepted(w http.ResponseWriter) {
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func functionError(body []byte) *FunctionError {
	var e struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Type == "" {
		return &FunctionError{"Unhandled", string(body)}
	}
	return &FunctionError{e.Type, e.Message}
}

// ARN returns the ARN of a resource of this host's account.
func ARN(service, resource string) string {
	return "arn:aws:" + service + ":" + Region + ":" + Account + ":" + resource
}

func traceID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // crypto/rand.Read never fails
	return fmt.Sprintf("Root=1-%08x-%x;Parent=%x;Sampled=0", time.Now().Unix(), id[:12], id[12:])
}
