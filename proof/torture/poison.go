package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// poisonScenarios run bad code among good runs. If bad code ends the process, the server has ended,
// too, and a supervisor starts it again.
var poisonScenarios = []scenario{
	{name: "poison-exit", what: "workflow and activity code that calls os.Exit", weight: 0.1, least: 8 * time.Second, run: poisoning("exit", "activity exit"), aside: true},
	{name: "poison-overflow", what: "code that overflows the stack", weight: 0.1, least: 29 * time.Second, run: poisoning("overflow", "activity overflow"), aside: true},
	{name: "poison-map", what: "code that writes to a map in two goroutines", weight: 0.1, least: 8 * time.Second, run: poisoning("map", "activity map"), aside: true},
	{name: "poison-memory", what: "code that takes all memory (3 GiB of addresses)", weight: 0.1, least: 28 * time.Second, run: poisoning("memory", "activity memory"), aside: true},
	{name: "poison-loop", what: "code that never ends", weight: 0.1, least: 6 * time.Second, run: poisoning("loop", "activity loop"), aside: true},
	{name: "poison-panic", what: "code that panics", weight: 0.1, least: 6 * time.Second, run: poisoning("panic", "activity panic"), aside: true},
}

// toPark is how many deaths park the runs that were active at each of them (docs/operations.md).
const toPark = 3

// mostDeaths is how often the poison runs of a scenario may end the process. Each of the two may do
// so until it is parked. There may be more deaths because both were running, so that neither could
// be blamed, or because good code had no memory.
const mostDeaths = 8 * toPark

// poisoning starts poison runs among good ones. Whenever the server ends, poisoning starts it
// again, as a supervisor does. The callers of poison runs retry. The server must park the runs that
// end it, its log must name them, and the good runs continue.
func poisoning(kinds ...string) func(*testbed) error {
	ends := kinds[0] != "loop" && kinds[0] != "panic"
	return func(s *testbed) error {
		o := launch{}
		if kinds[0] == "memory" {
			o.limits = []string{"-v 3145728"}
		}
		if _, err := s.launch(o); err != nil {
			return err
		}
		l := s.startLoad("book", 4)
		defer l.end()
		pause(s.ctx, 300*time.Millisecond)
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		var callers sync.WaitGroup
		defer callers.Wait()
		defer cancel() // before the wait
		for i, kind := range kinds {
			callers.Go(func() { s.insist(ctx, poisonID(i), kind) })
		}
		deaths, err := s.supervise(o, len(kinds), ends)
		if err != nil {
			return err
		}
		s.say("the process ended %d times", deaths)
		cancel()
		callers.Wait()
		l.end()
		if err := s.isThere(poisonID(len(kinds) - 1)); err != nil { // the run of the activity
			return err
		}
		if ends && deaths < toPark {
			return fmt.Errorf("the process ended %d times, and its runs should be parked after %d", deaths, toPark)
		}
		later, err := s.verifySupervised(l, o)
		if err != nil || !ends {
			return err
		}
		if later > 0 {
			return fmt.Errorf("the process ended %d more times after everything was parked: %s", later, s.server.log)
		}
		s.server.kill(syscall.SIGTERM)
		if _, err := s.launch(o); err != nil {
			return err
		}
		return s.parked(len(kinds))
	}
}

// poisonID is the workflow id of a poison run.
func poisonID(i int) string { return fmt.Sprintf("poison-%d", i) }

// isThere demands that a run was started.
func (s *testbed) isThere(id string) error {
	limited, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	_, err := s.client().Describe(limited, id, "")
	return err
}

// parked demands that the first line of the log names this many poison runs.
func (s *testbed) parked(runs int) (err error) {
	if !s.within(5*time.Second, func() bool { err = s.unnamed(runs); return err == nil }) {
		return err
	}
	s.say("parked and named in the first line of the log: %d runs", runs)
	return nil
}

// unnamed returns what is wrong with the first line of the log. The line must say that this many
// poison runs are parked, and no other run.
func (s *testbed) unnamed(runs int) error {
	line, _, _ := strings.Cut(s.server.log.all(), "\n")
	if !strings.Contains(line, "parked") {
		return fmt.Errorf("the first line of the log does not say what is parked: %q", line)
	}
	for i := range runs {
		if !strings.Contains(line, poisonID(i)) {
			return fmt.Errorf("the first line of the log does not name %s: %q", poisonID(i), line)
		}
	}
	if strings.Contains(line, "book") {
		return fmt.Errorf("a good run is parked: %q", line)
	}
	return nil
}

// insist starts a poison run again and again, like a caller without an answer, until ctx ends.
func (s *testbed) insist(ctx context.Context, id, kind string) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, _ = poison.Start(limited, s.client(), id, kind, workflow.StartOptions{RequestID: id})
		cancel()
		pause(ctx, 200*time.Millisecond)
	}
}

// supervise starts the server again whenever it has ended, until the server has been quiet for a
// while. It returns how often the server has ended. If the poison ends processes, all poison runs
// must also have been parked.
func (s *testbed) supervise(o launch, runs int, ends bool) (deaths int, err error) {
	const quietFor, longest = 3 * time.Second, 3 * time.Minute
	for began, quiet := time.Now(), time.Now(); time.Since(quiet) < quietFor || ends && s.unnamed(runs) != nil; {
		if time.Since(began) > longest || deaths > mostDeaths || s.ctx.Err() != nil {
			return deaths, fmt.Errorf("the server ended %d times in %v, and not all poison runs are parked: %w: %s", deaths, time.Since(began).Round(time.Second), s.unnamed(runs), s.server.log)
		}
		if s.server.alive() {
			pause(s.ctx, 50*time.Millisecond)
			continue
		}
		deaths, quiet = deaths+1, time.Now()
		if _, err := s.launch(o); err != nil && s.server.alive() {
			return deaths, err // otherwise it died before it was ready
		}
	}
	return deaths, nil
}

// verifySupervised does the same as verify under a supervisor, which starts the server again when
// it ends. It repeats verify if the server has ended meanwhile.
func (s *testbed) verifySupervised(l *load, o launch) (deaths int, err error) {
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
					return deaths, fmt.Errorf("the server ended %d times while it was checked: %s", deaths, s.server.log)
				}
				_, _ = s.launch(o) // a server that dies before it is ready is started again
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
