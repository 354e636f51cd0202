package isolate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// flight is the work of a workflow in a process.
type flight struct {
	n   int
	run string // empty if nothing named it
}

// process is a child process that runs.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	client *http.Client
	// alone says that it is a solo child.
	alone bool
	// ended is closed when the process has ended, and after that why is set.
	ended chan struct{}
	why   error

	mu sync.Mutex
	// spared says that the parent ended it for a reason unrelated to the work in flight.
	spared bool
	// inFlight are the workflows whose code may run.
	inFlight map[string]flight
	blamed   sync.Once
	// work counts the work in flight, and one more while the slot offers the process.
	work sync.WaitGroup
}

// start starts a child, and returns when the child serves.
func (p *Pool) start(ctx context.Context, name string, alone bool) (*process, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	own := filepath.Join(p.dir, name)
	given, err := json.Marshal(order{
		Own: own, Parent: p.socket, Memory: p.o.Memory, TaskQueues: p.o.TaskQueues, Alone: alone, CommandFlags: p.o.CommandFlags,
		Inspects: p.o.Ports.Inspector != nil, Redrives: p.o.Ports.Redriver != nil, Browses: p.o.Ports.Browser != nil,
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(executable, os.Args[1:]...)
	cmd.Env = append(os.Environ(), childMark+"="+string(given))
	cmd.Env = append(cmd.Env, p.o.environment()...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attributes()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c := &process{cmd: cmd, stdin: stdin, client: dial(own), alone: alone, ended: make(chan struct{}), inFlight: map[string]flight{}}
	if err := c.run(); err != nil {
		return nil, err
	}
	if err := c.serves(ctx, own); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// environment returns the environment variables with the limits of a child's runtime.
func (o *Options) environment() (env []string) {
	if o.Memory > 0 {
		const part = 4 // the garbage collector works harder from three quarters of the hard limit on
		env = append(env, "GOMEMLIMIT="+strconv.FormatUint(o.Memory/part*(part-1), 10))
	}
	if o.CPUs > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(o.CPUs))
	}
	return env
}

// run starts the process, and waits for its end in a goroutine. The kernel ends a child when the
// thread ends that started it, so the goroutine keeps the thread.
func (c *process) run() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.why = c.cmd.Wait()
		close(c.ended)
	}()
	return <-started
}

// serves waits until the child serves its socket.
func (c *process) serves(ctx context.Context, socket string) error {
	const every = 10 * time.Millisecond
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-c.ended:
			return fmt.Errorf("the child process ended before it served: %v", c.why)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// kill ends the process at once.
func (c *process) kill() {
	_ = c.cmd.Process.Kill() // it has ended
	<-c.ended
}

// spare is kill for a reason unrelated to the work in flight: nobody is suspected.
func (c *process) spare() {
	c.mu.Lock()
	c.spared = true
	c.mu.Unlock()
	c.kill()
}

// stop lets the process finish its work and end, and kills it if it does not.
func (c *process) stop() {
	_ = c.stdin.Close() // it has ended
	select {
	case <-c.ended:
	case <-time.After(stopAfter + time.Second):
		c.spare()
	}
}

// drain waits for the work in flight for a limited time, and then kills the process.
func (c *process) drain(most time.Duration) {
	done := make(chan struct{})
	go func() {
		c.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-c.ended:
	case <-time.After(most):
	}
	c.spare()
}

// lingerFor is how long code counts as running after its caller has left.
const lingerFor = time.Minute

// enter records that code of a workflow may run in the process, until leave is called.
func (c *process) enter(workflow, run string) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.inFlight[workflow]
	c.inFlight[workflow] = flight{f.n + 1, cmp.Or(run, f.run)}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if f := c.inFlight[workflow]; f.n > 1 {
			c.inFlight[workflow] = flight{f.n - 1, f.run}
		} else {
			delete(c.inFlight, workflow)
		}
	}
}

// linger calls leave when unanswered code can no longer run.
func (c *process) linger(leave func()) {
	select {
	case <-c.ended: // what was in flight stays to be blamed
	case <-time.After(lingerFor):
		leave()
	}
}

// runOf returns the run of a workflow in flight, or an empty string.
func (c *process) runOf(workflow string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight[workflow].run
}

// blame calls suspect with the work in flight when the process ended, once, if the process ended by
// itself.
func (c *process) blame(suspect func(flying map[string]flight)) {
	c.blamed.Do(func() {
		c.mu.Lock()
		spared, flying := c.spared, maps.Clone(c.inFlight)
		c.mu.Unlock()
		if !spared {
			suspect(flying)
		}
	})
}

// over waits for the end of a process that did not answer, and reports whether it ended.
func (c *process) over(ctx context.Context) bool {
	const dying = 10 * time.Second
	select {
	case <-c.ended:
		return true
	case <-ctx.Done():
		return false
	case <-time.After(dying):
		return false
	}
}
