package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/proof/freeport"
)

// processScenarios end the process or stop it.
var processScenarios = []scenario{
	{name: "kill9", what: "kill -9 under load, 1,000 times in the full form", weight: 3, least: 4 * time.Second, run: killing(syscall.SIGKILL, 1000)},
	{name: "sigterm", what: "SIGTERM under load; each must be a clean end", weight: 1, least: 3 * time.Second, run: killing(syscall.SIGTERM, 200)},
	{name: "stop", what: "SIGSTOP under load, up to two seconds, and SIGCONT", weight: 0.7, least: 5 * time.Second, run: stopping, aside: true},
	{name: "two-servers", what: "a second server on a directory that is taken", weight: 0.3, least: 6 * time.Second, run: twoServers, aside: true},
}

// callers is the number of callers of a scenario's load.
const callers = 8

// random returns the random choices of a testbed.
func (s *testbed) random() *rand.Rand {
	var name uint64
	for _, b := range []byte(s.name) {
		name = name*31 + uint64(b)
	}
	return rand.New(rand.NewPCG(s.seed, name))
}

// killing ends the server with a signal again and again, under load.
func killing(sig syscall.Signal, full int) func(*testbed) error {
	return func(s *testbed) error {
		r := s.random()
		l, err := s.launchLoaded()
		if err != nil {
			return err
		}
		defer l.end()
		n := 0
		for ; s.more(n, 5, full); n++ {
			pause(s.ctx, time.Duration(20+r.IntN(480))*time.Millisecond)
			p := s.server
			if !p.alive() {
				return fmt.Errorf("the server ended by itself after %d signals: %v: %s", n, p.cmd.ProcessState, p.log)
			}
			ended := p.kill(sig)
			if sig == syscall.SIGTERM && (!ended || p.cmd.ProcessState.ExitCode() != 0) {
				return fmt.Errorf("SIGTERM %d ended the server with %v: %s", n, p.cmd.ProcessState, p.log)
			}
			if _, err := s.launch(launch{}); err != nil {
				return fmt.Errorf("after signal %d: %w", n, err)
			}
		}
		l.end()
		s.say("%d times %v", n, sig)
		return s.verify(l)
	}
}

// launchLoaded starts the server, and then the scenario's load.
func (s *testbed) launchLoaded() (*load, error) {
	if _, err := s.launch(launch{}); err != nil {
		return nil, err
	}
	return s.startLoad("book", callers), nil
}

// verify runs the four checks after a scenario on a running server, and records how much was
// acknowledged.
func (s *testbed) verify(l *load) error {
	if l != nil && l.calls.Load() == 0 {
		return errors.New("the load did nothing")
	}
	done, refused := s.ledger.acknowledged()
	if l != nil {
		s.say("%d acknowledged, %d refused, %d unknown", done, refused, l.failed.Load())
		if done == 0 {
			return fmt.Errorf("nothing was acknowledged; the last error of a caller: %s", l.last())
		}
	}
	if err := s.settle(s.client(), 90*time.Second); err != nil {
		return err
	}
	if err := s.ledger.check(s.ctx, s.client()); err != nil {
		return err
	}
	fastest, err := answers(s.ctx, s.addr)
	s.say("answers in %v", fastest.Round(time.Millisecond))
	return err
}

// stopping stops the server for a while, as if a laptop slept or a machine had no memory left.
func stopping(s *testbed) error {
	r := s.random()
	l, err := s.launchLoaded()
	if err != nil {
		return err
	}
	defer l.end()
	n := 0
	for ; s.more(n, 3, 200); n++ {
		pause(s.ctx, time.Duration(50+r.IntN(500))*time.Millisecond)
		s.server.signal(syscall.SIGSTOP)
		pause(s.ctx, time.Duration(100+r.IntN(1900))*time.Millisecond)
		s.server.signal(syscall.SIGCONT)
	}
	l.end()
	s.say("%d stops", n)
	if !s.server.alive() {
		return fmt.Errorf("the server ended: %s", s.server.log)
	}
	return s.verify(l)
}

// twoServers starts a second server on the directory. The second server must report that the
// directory is in use, and end.
func twoServers(s *testbed) error {
	l, err := s.launchLoaded()
	if err != nil {
		return err
	}
	defer l.end()
	n := 0
	for ; s.more(n, 2, 20); n++ {
		addr, err := freeport.Addr()
		if err != nil {
			return err
		}
		second, err := s.launch(launch{addr: addr})
		if err == nil {
			second.kill(syscall.SIGKILL)
			return errors.New("a second server runs on the same directory")
		}
		if err := clearEnd(second); err != nil {
			return err
		}
	}
	l.end()
	s.say("%d second servers", n)
	return s.verify(l)
}

// clearEnd demands that a process ended with status 1 and a sentence, without a panic or a fault.
func clearEnd(p *server) error {
	text := p.log.String()
	for _, bad := range []string{"panic:", "fatal error:", "SIGSEGV", "SIGBUS", "goroutine 1 "} {
		if strings.Contains(text, bad) {
			return fmt.Errorf("the server crashed: %s", text)
		}
	}
	if p.cmd.ProcessState == nil || p.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text, "weft:") {
		return fmt.Errorf("the server ended with %v, and should end with status 1 and a reason: %s", p.cmd.ProcessState, text)
	}
	return nil
}
