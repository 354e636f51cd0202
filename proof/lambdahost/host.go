package lambdahost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// MaxPayload is the largest event and the largest answer of a synchronous invocation, in bytes.
const MaxPayload = 6 << 20

// Function describes a deployed function.
type Function struct {
	// Name is the name for Invoke.
	Name string
	// Bootstrap is the path of the function's program.
	Bootstrap string
	// Environment are the function's variables, in addition to those that Lambda sets.
	Environment map[string]string
	// Timeout is how long an event may take; 0 means Lambda's default, 3 s. The host kills a
	// process that takes longer.
	Timeout time.Duration
	// Memory is the memory in megabytes that the function finds in its variables; 0 means Lambda's
	// default, 128.
	Memory int
	// Concurrency is the largest number of environments; 0 means 1.
	Concurrency int
	// Freeze stops the process between two events, as Lambda does, so that its background work does
	// not run.
	Freeze bool
	// Log gets what the function writes to stdout and stderr, from several processes at once; nil
	// drops it.
	Log io.Writer
}

// FunctionError is the error of Invoke if a function does not answer an event.
type FunctionError struct {
	// Type is Lambda's name of the error: Runtime.ExitError, Sandbox.Timedout,
	// Function.ResponseSizeTooLarge, or the type of the error that the function returned.
	Type    string
	Message string
}

// Error returns the type and the message.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Region and Account are the region and the account that functions see.
const (
	Region  = "us-east-1"
	Account = "000000000000"
)

// Host runs functions. It is safe for concurrent use.
type Host struct {
	functions map[string]*function
	running   sync.WaitGroup // running invocations
	mu        sync.Mutex
	closed    bool // no further invocation begins
}

// function is a function and its environments.
type function struct {
	Function
	slots chan struct{} // one for each busy environment
	mu    sync.Mutex
	idle  []*Environment
	all   []*Environment
	stats Stats
}

// Stats counts what a function has done so far.
type Stats struct {
	// Invocations are the invocations that have ended. Failed are those without an answer, by the
	// type of the error.
	Invocations int
	Failed      map[string]int
	// Started is the number of processes that were started.
	Started int
	// Busy is the total duration of all invocations.
	Busy time.Duration
}

// New returns a host of functions. The host starts no process before the first event.
func New(functions ...Function) *Host {
	h := &Host{functions: map[string]*function{}}
	for _, f := range functions {
		f.Timeout = cmp.Or(f.Timeout, 3*time.Second)
		f.Memory = cmp.Or(f.Memory, 128)
		f.Concurrency = cmp.Or(f.Concurrency, 1)
		if f.Log == nil {
			f.Log = io.Discard
		}
		h.functions[f.Name] = &function{Function: f, slots: make(chan struct{}, f.Concurrency)}
	}
	return h
}

var errClosed = errors.New("lambdahost: the host is closed")

// RealTime marks the functions as running in real time, so that gateways wait for them no longer
// than on AWS.
func (h *Host) RealTime() {}

// Invoke lets a function handle an event, and returns its answer or a *FunctionError. If ctx ends
// first, the function continues, as on Lambda.
func (h *Host) Invoke(ctx context.Context, name string, event []byte) ([]byte, error) {
	f := h.functions[name]
	if f == nil {
		return nil, fmt.Errorf("lambdahost: unknown function %q", name)
	}
	if len(event) > MaxPayload {
		return nil, fmt.Errorf("lambdahost: an event of %d bytes; Lambda takes %d", len(event), MaxPayload)
	}
	if !h.begin() {
		return nil, errClosed
	}
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		h.running.Done()
		return nil, ctx.Err()
	}
	inv := newInvocation(event)
	result := make(chan outcome, 1)
	go func() {
		defer h.running.Done()
		defer func() { <-f.slots }()
		result <- f.handle(inv)
	}()
	select {
	case o := <-result:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin counts an invocation, unless the host is closed.
func (h *Host) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Add(1)
	}
	return !h.closed
}

// handle gives an invocation to a free environment, or to a new one. If a process answers an event
// and then exits, for example because of a panic, no other event fails.
func (f *function) handle(inv *invocation) outcome {
	for {
		e, err := f.take()
		if err != nil {
			return outcome{err: err}
		}
		used := e.used
		e.used = true
		err = e.hand(inv)
		if err == nil {
			begun := time.Now()
			o := e.wait(inv)
			f.count(o.err, time.Since(begun))
			f.giveBack(e)
			return o
		}
		f.giveBack(e)
		if !used {
			return outcome{err: err}
		}
	}
}

func (f *function) take() (*Environment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.idle) > 0 {
		e := f.idle[len(f.idle)-1]
		f.idle = f.idle[:len(f.idle)-1]
		if e.alive() {
			return e, nil
		}
		f.forget(e)
	}
	e, err := start(f)
	if err == nil {
		f.all = append(f.all, e)
		f.stats.Started++
	}
	return e, err
}

func (f *function) count(err error, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Invocations++
	f.stats.Busy += took
	var failed *FunctionError
	if errors.As(err, &failed) {
		if f.stats.Failed == nil {
			f.stats.Failed = map[string]int{}
		}
		f.stats.Failed[failed.Type]++
	}
}

// Stats returns the counts of each function so far.
func (h *Host) Stats() map[string]Stats {
	all := map[string]Stats{}
	for name, f := range h.functions {
		f.mu.Lock()
		s := f.stats
		s.Failed = maps.Clone(s.Failed)
		f.mu.Unlock()
		all[name] = s
	}
	return all
}

func (f *function) giveBack(e *Environment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.alive() {
		f.idle = append(f.idle, e)
	} else {
		f.forget(e)
	}
}

func (f *function) forget(e *Environment) {
	f.all = slices.DeleteFunc(f.all, func(other *Environment) bool { return other == e })
}

// Busy returns the environments that now work on an event, in no particular order.
func (h *Host) Busy() (busy []*Environment) {
	for _, f := range h.functions {
		f.mu.Lock()
		for _, e := range f.all {
			if e.busy() {
				busy = append(busy, e)
			}
		}
		f.mu.Unlock()
	}
	return busy
}

// Retire ends the idle environments, as Lambda does from time to time. New processes answer the
// next events.
func (h *Host) Retire() {
	for _, f := range h.functions {
		f.mu.Lock()
		idle := f.idle
		f.idle = nil
		for _, e := range idle {
			f.forget(e)
		}
		f.mu.Unlock()
		for _, e := range idle {
			e.end()
		}
	}
}

// Close waits until the current events are handled or time out, and ends all processes. It returns
// when they have exited.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
	h.Retire()
}
