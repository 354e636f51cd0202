package lambdahost

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// initTimeout is how long a process may take before it asks for its first event. Lambda gives it 10
// s. A test machine that compiles at the same time needs more.
const initTimeout = time.Minute

// Environment is a process that serves a function's events, one at a time.
type Environment struct {
	function *function
	server   *http.Server
	process  *exec.Cmd
	// work passes an invocation to the process that waits for one.
	work chan *invocation
	// gone is closed when the process has ended.
	gone chan struct{}
	// used is set after the process has served an event. Only the goroutine that holds the
	// environment accesses it.
	used bool

	mu       sync.Mutex
	current  *invocation // the invocation that the process works on
	initFail *FunctionError
}

// start starts a process. Its runtime API has an address of its own, as on Lambda.
func start(f *function) (*Environment, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("lambdahost: %w", err)
	}
	e := &Environment{function: f, work: make(chan *invocation), gone: make(chan struct{})}
	e.server = &http.Server{Handler: e.runtimeAPI(), ReadHeaderTimeout: time.Minute}
	e.process = exec.Command(f.Bootstrap)
	e.process.Dir = filepath.Dir(f.Bootstrap)
	e.process.Env = variables(f.Function, l.Addr().String())
	e.process.Stdout, e.process.Stderr = f.Log, f.Log
	if err := e.process.Start(); err != nil {
		_ = l.Close()
		return nil, &FunctionError{"Runtime.InvalidEntrypoint", err.Error()}
	}
	go func() { _ = e.server.Serve(l) }() // ends with the server; the process waits for it to start
	go func() {
		_ = e.process.Wait() // the function's log says how the process ended
		close(e.gone)
		_ = e.server.Close()
	}()
	return e, nil
}

// variables returns all environment variables of a process.
func variables(f Function, address string) []string {
	folder := filepath.Dir(f.Bootstrap)
	all := map[string]string{
		"AWS_LAMBDA_RUNTIME_API": address, "_HANDLER": "bootstrap",
		"AWS_REGION": Region, "AWS_DEFAULT_REGION": Region, "AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023",
		"AWS_LAMBDA_FUNCTION_NAME": f.Name, "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.Memory), "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/" + f.Name, "AWS_LAMBDA_LOG_STREAM_NAME": "local",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "test",
		"LAMBDA_TASK_ROOT": folder, "LAMBDA_RUNTIME_DIR": folder, "LANG": "en_US.UTF-8", "TZ": ":UTC", "PATH": "/usr/bin:/bin",
	}
	for name, value := range f.Environment {
		all[name] = value
	}
	var list []string
	for name, value := range all {
		list = append(list, name+"="+value)
	}
	return list
}

// wait waits for the outcome of an invocation that was given to the process. A process that exits,
// is killed or takes too long gives no answer.
func (e *Environment) wait(inv *invocation) outcome {
	defer e.set(nil)
	timeout := time.NewTimer(e.function.Timeout)
	defer timeout.Stop()
	select {
	case o := <-inv.outcome:
		return o
	case <-timeout.C:
		e.end()
	case <-e.gone:
		select { // the process may have answered before it exited
		case o := <-inv.outcome:
			return o
		default:
			return outcome{err: &FunctionError{"Runtime.ExitError", "the process ended without an answer: " + e.process.ProcessState.String()}}
		}
	}
	return outcome{err: &FunctionError{"Sandbox.Timedout", "Task timed out after " + e.function.Timeout.String()}}
}

// hand gives an invocation to the process when it asks for one. It returns an error with the reason
// if the process does not ask.
func (e *Environment) hand(inv *invocation) error {
	patience := time.NewTimer(initTimeout)
	defer patience.Stop()
	select {
	case e.work <- inv:
		return nil
	case <-e.gone:
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.initFail != nil {
			return e.initFail
		}
		return &FunctionError{"Runtime.ExitError", "the process ended before it asked for an event: " + e.process.ProcessState.String()}
	case <-patience.C:
		e.end()
		return &FunctionError{"Sandbox.Timedout", "the process did not ask for an event within " + initTimeout.String()}
	}
}

func (e *Environment) set(inv *invocation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current = inv
}

func (e *Environment) busy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current != nil
}

func (e *Environment) alive() bool {
	select {
	case <-e.gone:
		return false
	default:
		return true
	}
}

// end kills the process and waits until it has exited.
func (e *Environment) end() {
	_ = e.process.Process.Kill() // this fails only if the process has ended
	<-e.gone
}

// Function returns the name of the environment's function.
func (e *Environment) Function() string { return e.function.Name }

// Kill kills the process with SIGKILL if it works on an event. It reports whether it did.
func (e *Environment) Kill() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current != nil && e.process.Process.Kill() == nil
}

// Pause stops the process for a while if it works on an event, and reports whether it did. The
// process continues in the middle of its work and does not know how late it is. Its time-out still
// kills it.
func (e *Environment) Pause(d time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil || e.signal(syscall.SIGSTOP) != nil {
		return false
	}
	time.AfterFunc(d, func() { _ = e.signal(syscall.SIGCONT) }) // the process may have gone
	return true
}

// signal sends a signal to the process. It identifies the process by its handle, so it never
// reaches another process with the same number.
func (e *Environment) signal(s os.Signal) error { return e.process.Process.Signal(s) }
