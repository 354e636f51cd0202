package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// clientScenarios are misbehaving clients, and many of them.
var clientScenarios = []scenario{
	{name: "slow-clients", what: "readers that do not read and writers that do not end", weight: 0.1, least: 14 * time.Second, run: slowClients, aside: true},
	{name: "connections", what: "10,000 idle connections", weight: 0.1, least: 3 * time.Second, run: connections},
	{name: "waiters", what: "5,000 callers wait for a result", weight: 0.1, least: 3 * time.Second, run: waiters},
	{name: "open-runs", what: "100,000 open runs, and a restart", weight: 0.1, least: 7 * time.Second, run: openRuns},
}

// connect opens connections to the server.
func (s *testbed) connect(n int) (all []net.Conn, err error) {
	for range n {
		c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(s.ctx, "tcp", s.addr)
		if err != nil {
			return all, fmt.Errorf("connection %d: %w", len(all), err)
		}
		all = append(all, c)
	}
	return all, nil
}

// mostMemory is how much memory the server may use while clients are slow.
const mostMemory = 1 << 30

// slowClients starts readers that request large histories and do not read them, and writers that
// send only the beginning of a request.
func slowClients(s *testbed) error {
	p, err := s.launch(launch{})
	if err != nil {
		return err
	}
	text := strings.Repeat("x", 1<<20)
	for i := range s.size(20, 60) {
		token := fmt.Sprint("large-", i)
		if _, err := write.Call(s.ctx, s.client(), "large", entry{Token: token, Fill: text}, workflow.CallOptions{Start: book.WithStart(pages{PerRun: 1000})}); err != nil {
			return err
		}
		s.ledger.with("large", func(a *account) { a.started, a.asked[token], a.entries[token] = true, true, true })
	}
	l := s.startLoad("book", 4)
	defer l.end()
	readers := s.size(24, 200)
	all, err := s.connect(2 * readers)
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	if err != nil {
		return err
	}
	for i, c := range all {
		request := "GET /v1/workflows/large/history?limit=1000 HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n"
		if i%2 == 0 {
			request = "POST /v1/workflows HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"workflowId\":"
		}
		if _, err := c.Write([]byte(request)); err != nil {
			return err
		}
	}
	var most int64
	for range s.size(5, 30) {
		pause(s.ctx, time.Second)
		most = max(most, memoryOf(p.cmd.Process.Pid))
	}
	fastest, err := answers(s.ctx, s.addr)
	l.end()
	s.say("%d readers and %d writers: %d MiB, answers in %v meanwhile", readers, readers, most>>20, fastest.Round(time.Millisecond))
	if err != nil {
		return err
	}
	if most > mostMemory {
		return fmt.Errorf("the server uses %d MiB for %d slow readers, and may use %d", most>>20, readers, mostMemory>>20)
	}
	return s.verify(l)
}

// memoryOf returns the resident memory of a process.
func memoryOf(pid int) int64 {
	return field(pid, "VmRSS:") << 10
}

// field reads a number of a process's status. It returns 0 if there is none, as on systems without
// /proc.
func field(pid int, name string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// connections opens many idle connections under load.
func connections(s *testbed) error {
	p, err := s.launch(launch{})
	if err != nil {
		return err
	}
	l := s.startLoad("book", callers)
	defer l.end()
	n, err := s.manyFiles(s.size(2000, 10_000))
	if err != nil {
		return err
	}
	all, err := s.connect(n)
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	if err != nil {
		return err
	}
	pause(s.ctx, time.Second)
	fastest, err := answers(s.ctx, s.addr)
	s.say("%d connections: %d MiB, answers in %v meanwhile", len(all), memoryOf(p.cmd.Process.Pid)>>20, fastest.Round(time.Millisecond))
	l.end()
	if err != nil {
		return err
	}
	return s.verify(l)
}

// manyFiles returns how many of n descriptors this process and its server may have. It returns an
// error if they may not have all n, except in the short form.
func (s *testbed) manyFiles(n int) (int, error) {
	const others = 200
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	if room := int(min(limit.Cur, 1<<20)) - others; room < n {
		if !s.brief {
			return 0, fmt.Errorf("a process may have %d descriptors, and %d connections need %d: raise ulimit -n", limit.Cur, n, n+others)
		}
		return room, nil
	}
	return n, nil
}

// waiters lets many callers wait for the result of one run, which then ends. Each caller gets the
// result.
func waiters(s *testbed) error {
	if _, err := s.launch(launch{}); err != nil {
		return err
	}
	n, err := s.manyFiles(s.size(1000, 5000))
	if err != nil {
		return err
	}
	if _, err := waits.Start(s.ctx, s.client(), "awaited", workflow.None{}); err != nil {
		return err
	}
	l := s.startLoad("book", 4)
	defer l.end()
	limited, cancel := context.WithTimeout(s.ctx, 2*time.Minute)
	defer cancel()
	ended, waiting := make(chan error, n), atomic.Int64{}
	for range n {
		go func() {
			waiting.Add(1)
			_, err := waits.Get(s.client(), "awaited").Result(limited)
			ended <- err
		}()
	}
	pause(s.ctx, 2*time.Second)
	fastest, err := answers(s.ctx, s.addr)
	if err != nil {
		return err
	}
	if err := note.Send(limited, s.client(), "awaited", "go"); err != nil {
		return err
	}
	began := time.Now()
	for range n {
		if err := <-ended; err != nil {
			return fmt.Errorf("a caller who waited: %w", err)
		}
	}
	s.say("%d waiters, answers in %v meanwhile; all had the result after %v", n, fastest.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	l.end()
	return s.verify(l)
}

// openRuns opens many runs, kills the server, and ends some of them.
func openRuns(s *testbed) error {
	p, err := s.launch(launch{})
	if err != nil {
		return err
	}
	const workers = 64
	var opened atomic.Int64
	n := int64(s.size(5000, 100_000))
	failures := make(chan error, workers)
	for range workers {
		go func() {
			for i := opened.Add(1); i <= n; i = opened.Add(1) {
				if _, err := waits.Start(s.ctx, s.client(), fmt.Sprint("open-", i), workflow.None{}); err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	var all error
	for range workers {
		all = errors.Join(all, <-failures)
	}
	if all != nil {
		return all
	}
	memory := memoryOf(p.cmd.Process.Pid)
	p.kill(syscall.SIGKILL)
	began := time.Now()
	if _, err = s.launch(launch{}); err != nil {
		return err
	}
	restart := time.Since(began)
	r := s.random()
	limited, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	for range 100 {
		id := fmt.Sprint("open-", 1+r.Int64N(n))
		if err := note.Send(limited, s.client(), id, "go"); err != nil && !errors.Is(err, client.ErrNotFound) {
			return err
		}
		if _, err := waits.Get(s.client(), id).Result(limited); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	s.say("%d open runs in %d MiB; ready %v after a kill -9", n, memory>>20, restart.Round(time.Millisecond))
	l := s.startLoad("book", callers)
	pause(s.ctx, time.Second)
	l.end()
	return s.verify(l)
}
