package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// switches measures a coroutine that is resumed and yields back, beside a bare iter.Pull.
func switches() error {
	bare := testing.Benchmark(func(b *testing.B) {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			for yield(struct{}{}) { //nolint:revive // the switch is all there is
			}
		})
		defer stop()
		for b.Loop() {
			next()
		}
	})
	ours := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		var c *coro.Coroutine
		c = coro.New("bench", func() {
			for {
				c.Yield()
			}
		})
		defer c.Close()
		for b.Loop() {
			c.Execute()
		}
	})
	report(figure{
		"coroutine switch", fmt.Sprintf("%d ns, %d allocs", ours.NsPerOp(), ours.AllocsPerOp()),
		fmt.Sprintf("iter.Pull %d ns", bare.NsPerOp()), "150 ns, 0 allocs",
	})
	return nil
}

// step is the activity of the benchmarks.
var step = activity.New("step", func(context.Context, int) (int, error) { return 1, nil })

// The workflows of the benchmarks.
var (
	sequence = workflow.Declare[int, int]("sequence")
	parallel = workflow.Declare[int, int]("parallel")
	counter  = workflow.Declare[int, int]("counter")
	add      = workflow.NewUpdate[int, int]("add")
)

func runSequence(ctx workflow.Context, n int) (sum int, err error) {
	for range n {
		r, err := step.Run(ctx, sum)
		if err != nil {
			return 0, err
		}
		sum += r
	}
	return sum, nil
}

func runParallel(ctx workflow.Context, n int) (sum int, err error) {
	futures := make([]workflow.Future[int], n)
	for i := range futures {
		futures[i] = step.Start(ctx, i)
	}
	for _, f := range futures {
		r, err := f.Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += r
	}
	return sum, nil
}

func runCounter(ctx workflow.Context, most int) (int, error) {
	sum := 0
	add.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
		sum += n
		return sum, nil
	}, workflow.Validate(func(n int) error {
		if n > most {
			return fmt.Errorf("%d is more than %d", n, most)
		}
		return nil
	}))
	return sum, workflow.Await(ctx, func() bool { return sum < 0 })
}

func registrations() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(sequence, runSequence), workflow.Bind(parallel, runParallel), workflow.Bind(counter, runCounter), step,
	}
}

func registry() *engine.Registry {
	r := &engine.Registry{}
	for _, registration := range registrations() {
		if err := bridge.Register(r, registration); err != nil {
			panic(err)
		}
	}
	return r
}

// recorded is the log of a run, as it is stored.
type recorded struct {
	typ    string
	bodies [][]byte
	events int64
}

// record plays a run of n activities by hand, results in commits of so many, and keeps its log.
func record(typ string, n, together int) (*recorded, error) {
	run := engine.NewRun("bench", 1)
	in := engine.NewInstance(registry().Workflow(typ), "bench", history.NewRunID(1, [8]byte{1}))
	defer in.Close()
	rec := &recorded{typ: typ}
	number := byte(0)
	play := func(brought ...history.Event) error {
		number++
		w := &engine.Writer{Now: history.At(time.Now()), Commit: history.CommitID{number}, RunID: history.NewRunID(1, [8]byte{1}), Build: "bench"}
		t := run.Step(in, w, engine.Task{Brought: brought})
		if t.Failure != nil {
			return t.Failure.Err()
		}
		body, err := history.Encode(t.Commit)
		if err != nil {
			return err
		}
		rec.bodies = append(rec.bodies, body)
		return run.Append(t.Commit, len(body))
	}
	if err := play(history.Of(&history.WorkflowExecutionStarted{WorkflowType: typ, Input: history.Payload(fmt.Sprint(n))})); err != nil {
		return nil, err
	}
	for !run.State.Status.Closed() {
		var results []history.Event
		for id := range run.State.Activities {
			if len(results) < together {
				results = append(results, history.Of(&history.ActivityTaskCompleted{ScheduledEventID: id, Result: history.Payload("1"), Attempt: 1}))
			}
		}
		if err := play(results...); err != nil {
			return nil, err
		}
	}
	rec.events = run.State.NextEventID - 1
	return rec, nil
}

// decode reads the log; replay rebuilds the run's code from what was read.
func (r *recorded) decode() ([]*history.Commit, error) {
	commits := make([]*history.Commit, len(r.bodies))
	var decoder history.Decoder
	for i, body := range r.bodies {
		c, err := decoder.Decode(uint32(i), body)
		if err != nil {
			return nil, err
		}
		commits[i] = c
	}
	return commits, nil
}

func (r *recorded) replay(commits []*history.Commit) error {
	in := engine.NewInstance(registry().Workflow(r.typ), "bench", history.NewRunID(1, [8]byte{1}))
	defer in.Close()
	for _, c := range commits {
		if err := in.Replay(c); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the time of a cold replay from the stored bytes, and the part of it that is reading them.
func (r *recorded) measure() (all, reading time.Duration, err error) {
	all, err = rounds(9, func() (time.Duration, error) {
		return timed(func() error {
			commits, err := r.decode()
			if err != nil {
				return err
			}
			return r.replay(commits)
		})
	})
	if err != nil {
		return 0, 0, err
	}
	reading, err = rounds(9, func() (time.Duration, error) {
		return timed(func() error {
			_, err := r.decode()
			return err
		})
	})
	return all, reading, err
}

// replays measures the cold replay of sequential activities.
func replays() error {
	for _, n := range []int{1_000, 10_000} {
		r, err := record(sequence.Name(), n, 1)
		if err != nil {
			return err
		}
		all, reading, err := r.measure()
		if err != nil {
			return err
		}
		report(figure{
			fmt.Sprintf("cold replay of %d activities from stored bytes, an activity (%d events)", n, r.events), micros(all / time.Duration(n)),
			"of which decoding " + micros(reading/time.Duration(n)), "4 µs, linear",
		})
	}
	return nil
}

// exportedReplay measures weftest.Replay of a history that was exported as JSON.
func exportedReplay() error {
	var text []byte
	events := 0
	err := withServer(func(s *served) error {
		ctx := context.Background()
		if _, err := sequence.Run(ctx, s.Client, "exported", 1_000); err != nil {
			return err
		}
		h, err := s.History(ctx, "exported", "")
		if err != nil {
			return err
		}
		events = len(h.Events)
		text, err = json.Marshal(h)
		return err
	})
	if err != nil {
		return err
	}
	var took time.Duration
	testing.Benchmark(func(b *testing.B) { // weftest.Replay wants a test
		if b.N > 1 {
			return
		}
		took, err = rounds(9, func() (time.Duration, error) {
			return timed(func() error {
				weftest.Replay(b, registrations(), weftest.JSON(text))
				if b.Failed() {
					return errors.New("weftest.Replay failed")
				}
				return nil
			})
		})
	})
	if err != nil {
		return err
	}
	report(figure{fmt.Sprintf("weftest.Replay of exported JSON, an event (%d events)", events), micros(took / time.Duration(events)), "", "4 µs"})
	return nil
}

// fanOut measures the cold replay of a fan-out.
func fanOut() error {
	r, err := record(parallel.Name(), 1_000, 10)
	if err != nil {
		return err
	}
	all, reading, err := r.measure()
	if err != nil {
		return err
	}
	report(figure{"cold replay of a fan-out of 1,000", millis(all), "of which decoding " + millis(reading), "3 ms"})
	return nil
}
