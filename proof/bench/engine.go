package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/weftest"
)

// switches measures a coroutine that is resumed and yields, next to a bare iter.Pull.
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

// coldReplay returns the time of a cold replay from the stored bytes, and the part of it that reads
// them.
func coldReplay(r *measured.Recording) (all, reading time.Duration, err error) {
	all, err = rounds(9, func() (time.Duration, error) {
		return timed(func() error {
			commits, err := r.Decode()
			if err != nil {
				return err
			}
			return r.Replay(commits)
		})
	})
	if err != nil {
		return 0, 0, err
	}
	reading, err = rounds(9, func() (time.Duration, error) {
		return timed(func() error {
			_, err := r.Decode()
			return err
		})
	})
	return all, reading, err
}

// replays measures the cold replay of sequential activities.
func replays() error {
	for _, n := range []int{1_000, 10_000} {
		r, err := measured.Record(measured.Steps.Name(), n, 1)
		if err != nil {
			return err
		}
		all, reading, err := coldReplay(r)
		if err != nil {
			return err
		}
		report(figure{
			fmt.Sprintf("cold replay of %d activities from stored bytes, an activity (%d events)", n, r.Events), micros(all / time.Duration(n)),
			"of which decoding " + micros(reading/time.Duration(n)), "4 µs, linear",
		})
	}
	return nil
}

// exportedReplay measures weftest.Replay of a history exported as JSON.
func exportedReplay() error {
	var text []byte
	events := 0
	err := withServer(func(s *served) error {
		ctx := context.Background()
		if _, err := measured.Steps.Run(ctx, s.Client, "exported", 1_000); err != nil {
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
	testing.Benchmark(func(b *testing.B) { // weftest.Replay needs a test
		if b.N > 1 {
			return
		}
		took, err = rounds(9, func() (time.Duration, error) {
			return timed(func() error {
				weftest.Replay(b, measured.Registrations(), weftest.JSON(text))
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
	r, err := measured.Record(measured.Parallel.Name(), 1_000, 10)
	if err != nil {
		return err
	}
	all, reading, err := coldReplay(r)
	if err != nil {
		return err
	}
	report(figure{"cold replay of a fan-out of 1,000", millis(all), "of which decoding " + millis(reading), "3 ms"})
	return nil
}
