package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/proof/freeport"
)

// server is a process of the test program.
type server struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // the lines of its standard output after the first
	exited chan struct{}
	log    *tail
	whole  *os.File // receives the log of all processes of a testbed
}

// tail keeps the beginning and the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	first []byte
	last  []byte
}

// mostFirst and mostLast are how much of the beginning and of the end are kept, in bytes.
const mostFirst, mostLast = 4 << 20, 4000

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.first) < mostFirst {
		t.first = append(t.first, p...)
	}
	t.last = append(t.last, p...)
	if len(t.last) > mostLast {
		t.last = append([]byte(nil), t.last[len(t.last)-mostLast:]...)
	}
	return len(p), nil
}

// all returns everything that was kept.
func (t *tail) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.first) < mostFirst {
		return string(t.first)
	}
	return string(t.first) + string(t.last)
}

// String returns the end of the text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}

// errNoStart is the error of a process that ended, or printed nothing, before it was ready.
var errNoStart = errors.New("the server did not start")

// startWithin is how long a server may take to be ready. It limits no measurement, so a busy
// machine gets a long time.
const startWithin = 60 * time.Second

// launch starts the test program at the address and directory of a scenario, and waits until it is
// ready. limits are arguments of ulimit. shifted asks for a server whose clock can be moved.
func (s *testbed) launch(o launch) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir := s.dir
	if o.dir != "" {
		dir = o.dir
	}
	addr := s.addr
	if o.addr != "" {
		addr = o.addr
	}
	args := []string{self, "serve", "--addr", addr, "--data", dir}
	switch {
	case o.shifted:
		args = []string{self, "serve-shifted", addr, dir, o.shift.String()}
	case o.counted:
		args[1] = "serve-counted"
	}
	if len(o.limits) > 0 {
		args = append([]string{"/bin/bash", "-c", "ulimit " + strings.Join(o.limits, " && ulimit ") + ` && exec "$@"`, "bash"}, args...)
	}
	whole, err := os.OpenFile(filepath.Join(s.root, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p := &server{cmd: exec.Command(args[0], args[1:]...), lines: make(chan string, 16), exited: make(chan struct{}), log: &tail{}, whole: whole}
	p.cmd.Stderr, p.cmd.Env = io.MultiWriter(p.log, whole), append(append(os.Environ(), "WEFT_LOG_LEVEL=info", "WEFT_LOG_FORMAT=text"), o.env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan bool, 1)
	go p.read(out, ready)
	select {
	case ok := <-ready:
		if !ok {
			<-p.exited
			return p, fmt.Errorf("%w: %v: %s", errNoStart, p.cmd.ProcessState, p.log)
		}
	case <-time.After(startWithin):
		p.kill(syscall.SIGKILL)
		return p, fmt.Errorf("%w within %v: %s", errNoStart, startWithin, p.log)
	}
	if o.dir == "" && o.addr == "" {
		s.server = p
	}
	return p, nil
}

// launch says how a server is started. The zero value is the plain server of the scenario.
type launch struct {
	limits    []string
	shifted   bool
	shift     time.Duration
	counted   bool     // it answers server.count
	env       []string // for the process's environment
	addr, dir string
}

// read reads the standard output until the process ends, and waits for it.
func (p *server) read(out io.Reader, ready chan<- bool) {
	lines := bufio.NewScanner(out)
	ready <- lines.Scan()
	for lines.Scan() {
		select {
		case p.lines <- lines.Text():
		default:
		}
	}
	_ = p.cmd.Wait()
	_ = p.whole.Close()
	close(p.exited)
}

// signal sends a signal to the process.
func (p *server) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// kill sends the process a signal and returns when it has ended. It kills a process that does not
// end within a minute.
func (p *server) kill(sig syscall.Signal) (ended bool) {
	p.signal(sig)
	select {
	case <-p.exited:
		return true
	case <-time.After(time.Minute):
		p.signal(syscall.SIGKILL)
		<-p.exited
		return false
	}
}

// alive reports whether the process still runs.
func (p *server) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// jump moves the clock of a shifted server.
func (p *server) jump(d time.Duration) error {
	if _, err := fmt.Fprintln(p.stdin, d); err != nil {
		return err
	}
	select {
	case <-p.lines:
		return nil
	case <-p.exited:
		return errNoStart
	}
}

// testbed is one scenario while it runs.
type testbed struct {
	scenario
	seed       uint64
	budget     time.Duration // how long it may take; 0 means the full form
	brief      bool          // the time is limited
	root       string        // a temporary directory
	dir        string        // the data directory
	addr       string
	server     *server
	ledger     *ledger
	notes      []string
	began      time.Time
	loads      int // how many loads have begun
	spread     int // the number of books of each caller of a load; 0 means one
	fill       int // the size of a load's entries in bytes, without their tokens
	visibility time.Time
	once       sync.Once
	shared     *client.Client
	ctx        context.Context
}

// newTestbed creates the directory and the address of a scenario.
func newTestbed(ctx context.Context, c scenario, seed uint64, budget time.Duration) (*testbed, error) {
	root, err := os.MkdirTemp("", "weft-torture-")
	if err != nil {
		return nil, err
	}
	addr, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	return &testbed{
		scenario: c, seed: seed, budget: budget, brief: budget > 0, root: root, dir: filepath.Join(root, "data"), addr: addr, ledger: newLedger(), ctx: ctx, began: time.Now(),
	}, nil
}

// client returns a client of the scenario's server.
func (s *testbed) client() *client.Client {
	s.once.Do(func() { s.shared = clientOf(s.addr) })
	return s.shared
}

func clientOf(addr string) *client.Client {
	return client.New("http://"+addr, client.Options{HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}})
}

// say adds a line to the summary.
func (s *testbed) say(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// more reports whether a scenario repeats something that it has done done times: up to full times,
// and at least least times. If the time is limited, it continues only while some is left.
func (s *testbed) more(done, least, full int) bool {
	if s.ctx.Err() != nil || done >= full {
		return false
	}
	if s.budget == 0 {
		s.progress("%d of %d", done, full)
	}
	return s.budget == 0 || done < least || time.Since(s.began) < s.budget
}

// progressEvery is how often the full form prints its progress.
const progressEvery = 30 * time.Second

// progress prints the progress of a scenario, unless it has printed it a short time ago.
func (s *testbed) progress(format string, args ...any) {
	if now := time.Now(); now.Sub(s.visibility) >= progressEvery && now.Sub(s.began) >= progressEvery {
		s.visibility = now
		fmt.Printf("    %s after %v: %s\n", s.name, now.Sub(s.began).Round(time.Second), fmt.Sprintf(format, args...))
	}
}

// size returns how many of something a scenario creates: full, or short if the time is limited.
func (s *testbed) size(short, full int) int {
	if s.brief {
		return short
	}
	return full
}

// close ends the server and removes the directory.
func (s *testbed) close(keep bool) {
	if s.server != nil && s.server.alive() {
		s.server.signal(syscall.SIGCONT)
		s.server.kill(syscall.SIGKILL)
	}
	if !keep {
		_ = os.RemoveAll(s.root)
	}
}
