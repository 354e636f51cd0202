package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// poisonScenarios have bad code among good runs. Code that ends the process ends the server as well, and a supervisor starts it again.
var poisonScenarios = []scenario{
	{"poison-exit", "workflow and activity code that calls os.Exit", 1, poisoning("exit", "activity exit")},
	{"poison-overflow", "code that overflows the stack", 1, poisoning("overflow", "activity overflow")},
	{"poison-memory", "code that takes all memory (2 GiB of addresses)", 1, poisoning("memory", "activity memory")},
	{"poison-loop", "code that never ends", 1, poisoning("loop", "activity loop")},
	{"poison-panic", "code that panics", 0.5, poisoning("panic", "activity panic")},
}

// mostDeaths is how often a poison run may take the process down before the server has parked it.
const mostDeaths = 20

// deathsToPark is how many deaths are enough for a run to be parked: the log of the next process names it.
const deathsToPark = 6

// poisoning starts poison runs among good ones, and starts the server again whenever it has ended. The server must come to rest, and the
// good runs must go on.
func poisoning(kinds ...string) func(*scene) error {
	return func(s *scene) error {
		o := launch{}
		if kinds[0] == "memory" {
			o.limits = []string{"-v 4194304"}
		}
		if _, err := s.launch(o); err != nil {
			return err
		}
		l := s.startLoad("book", 4)
		defer l.end()
		pause(s.ctx, 500*time.Millisecond)
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		for i, kind := range kinds {
			go func() {
				limited, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				_, _ = poison.Start(limited, s.client(), fmt.Sprintf("poison-%d", i), kind, workflow.StartOptions{RequestID: kind})
			}()
		}
		deaths, quiet := 0, time.Now()
		for began := time.Now(); time.Since(quiet) < 8*time.Second; {
			if time.Since(began) > 2*time.Minute || deaths > mostDeaths {
				return fmt.Errorf("the server has ended %d times in %v, and has not parked what ends it: %s", deaths, time.Since(began).Round(time.Second), s.server.log)
			}
			if s.server.alive() {
				pause(s.ctx, 50*time.Millisecond)
				continue
			}
			deaths, quiet = deaths+1, time.Now()
			if _, err := s.launch(o); err != nil {
				if !s.server.alive() {
					continue // it has died again before it was ready
				}
				return err
			}
		}
		s.say("the process ended %d times", deaths)
		l.end()
		later, err := s.verifySupervised(l, o)
		if err != nil {
			return err
		}
		deaths += later
		s.server.kill(syscall.SIGKILL)
		if deaths < deathsToPark {
			return nil
		}
		if _, err := s.launch(o); err != nil {
			return err
		}
		if !s.within(5*time.Second, func() bool { return strings.Contains(s.server.log.String(), "poison-") }) {
			return fmt.Errorf("the process ended %d times, and the log of the next one does not name the run that did it: %q", deaths, s.server.log)
		}
		return nil
	}
}

// verifySupervised is verify under a supervisor that starts the server again when it ends. It verifies again if that happened meanwhile.
func (s *scene) verifySupervised(l *load, o launch) (deaths int, err error) {
	for {
		before, notes := deaths, s.notes
		verified := make(chan error, 1)
		go func() { verified <- s.verify(l) }()
		for waiting := true; waiting; {
			select {
			case err = <-verified:
				waiting = false
			case <-time.After(50 * time.Millisecond):
				if s.server.alive() {
					continue
				}
				if deaths++; deaths > mostDeaths {
					return deaths, fmt.Errorf("the server has ended %d times while it was checked: %s", deaths, s.server.log)
				}
				_, _ = s.launch(o) // one that dies before it is ready is started again
			}
		}
		if err == nil || deaths == before {
			if deaths > 0 {
				s.say("and %d times later", deaths)
			}
			return deaths, err
		}
		s.notes = notes
	}
}
