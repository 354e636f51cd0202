package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// clockScenarios move the clock of the server. The system's clock does not move: the harness sets
// the clock of the test program's server.
var clockScenarios = []scenario{
	{name: "asleep", what: "the process stands still for a week, as on a laptop that sleeps", weight: 0.1, least: 62 * time.Second, run: asleep, aside: true},
	{name: "clock-back", what: "the clock goes back by an hour, under load and between two starts", weight: 0.1, least: 64 * time.Second, run: clockBack, aside: true},
}

// launchShifted starts a server whose clock can be moved, with runs that sleep for two days.
func (s *testbed) launchShifted(sleepers int) (*server, error) {
	p, err := s.launch(launch{shifted: true})
	if err != nil {
		return nil, err
	}
	for i := range sleepers {
		if _, err := sleeps.Start(s.ctx, s.client(), fmt.Sprintf("sleeps-%d", i), 48*time.Hour); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// asleep stops the process, moves its clock a week ahead, and resumes it. Timers that became due
// meanwhile fire once. A schedule catches up as its settings say. Runs whose time has passed end,
// and the others continue.
func asleep(s *testbed) error {
	const sleepers, week = 20, 7 * 24 * time.Hour
	p, err := s.launchShifted(sleepers)
	if err != nil {
		return err
	}
	daily, err := sleeps.Schedule(s.ctx, s.client(), "daily", 0, workflow.ScheduleOptions{
		Every: []client.Every{{Interval: 24 * time.Hour}}, Overlap: client.OverlapBufferAll, CatchUpWindow: 50 * time.Hour,
	})
	if err != nil {
		return err
	}
	if _, err := sleeps.Start(s.ctx, s.client(), "times-out", 30*24*time.Hour, workflow.StartOptions{RunTimeout: 24 * time.Hour}); err != nil {
		return err
	}
	l := s.startLoad("book", callers)
	defer l.end()
	pause(s.ctx, time.Second)
	s.ledger.expired = true // a week is the retention of closed runs
	p.signal(syscall.SIGSTOP)
	jumped := make(chan error, 1)
	go func() { jumped <- p.jump(week) }()
	pause(s.ctx, time.Second)
	p.signal(syscall.SIGCONT)
	if err := <-jumped; err != nil {
		return err
	}
	pause(s.ctx, time.Second)
	l.end()
	for i := range sleepers {
		if err := s.woken(fmt.Sprintf("sleeps-%d", i)); err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(s.ctx, 90*time.Second)
	defer cancel()
	var late *workflow.TimeoutError
	if _, err := sleeps.Get(s.client(), "times-out").Result(limited); !errors.As(err, &late) {
		return fmt.Errorf("a run whose timeout was a day ended with %v", err)
	}
	d := &client.ScheduleDescription{}
	if !s.within(90*time.Second, func() bool {
		d, err = daily.Describe(s.ctx)
		return err == nil && len(d.Recent) >= 2
	}) {
		return fmt.Errorf("the schedule caught up with %d runs: %w", len(d.Recent), err)
	}
	if len(d.Recent) > 3 {
		return fmt.Errorf("the schedule caught up with %d runs, and its window allows two or three", len(d.Recent))
	}
	s.say("a week ahead: %d timers, a run timeout and a schedule (%d runs)", sleepers, len(d.Recent))
	return s.verify(l)
}

// woken demands that a sleeping run ends within 90 s, because long timers are swept once a minute.
func (s *testbed) woken(id string) error {
	limited, cancel := context.WithTimeout(s.ctx, 90*time.Second)
	defer cancel()
	if _, err := sleeps.Get(s.client(), id).Result(limited); err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	h, err := s.client().History(limited, id, "")
	if err != nil {
		return err
	}
	_, err = checkHistory(id, h, acceptances{}, nil)
	return err
}

// clockBack sets the clock back by an hour under load, and once more between two starts. Work
// continues at once. The times of a run's events never go backwards, which checkHistory checks.
func clockBack(s *testbed) error {
	p, err := s.launch(launch{shifted: true, shift: 2 * time.Hour})
	if err != nil {
		return err
	}
	l := s.startLoad("book", callers)
	defer l.end()
	pause(s.ctx, time.Second)
	if err := p.jump(-time.Hour); err != nil {
		return err
	}
	took, err := s.shortTimer("while it runs")
	if err != nil {
		return err
	}
	pause(s.ctx, time.Second)
	p.kill(syscall.SIGKILL)
	if _, err = s.launch(launch{shifted: true}); err != nil {
		return err
	}
	again, err := s.shortTimer("between two starts")
	if err != nil {
		return err
	}
	pause(s.ctx, time.Second)
	l.end()
	// At a jump, everything that waits for a timer or a message may become up to an hour late by
	// the true time. Let that hour pass.
	if err := s.server.jump(2 * time.Hour); err != nil {
		return err
	}
	s.say("an hour back while it runs: a timer of 1 s took %v; and between two starts: %v", took.Round(time.Millisecond), again.Round(time.Millisecond))
	return s.verify(l)
}

// shortTimer runs a workflow with a timer of a second and an activity, and returns how long that
// took. It returns an error after 20 s.
func (s *testbed) shortTimer(when string) (time.Duration, error) {
	limited, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	began := time.Now()
	_, err := sleeps.Run(limited, s.client(), "short-"+fmt.Sprint(began.UnixNano()), time.Second)
	if err != nil {
		return 0, fmt.Errorf("the clock went back by an hour %s, and a timer of a second has not fired: %w", when, err)
	}
	return time.Since(began), nil
}
