// Command replay measures cold replays: of what the store has (the engine decodes it and runs the code), and of a history
// exported as JSON with weftest.Replay, as a test does. The second one's run is made on a running server.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/proof/peers/measure"
	"github.com/seed-41655fb1/weft/proof/peers/shop"
	"github.com/seed-41655fb1/weft/weftest"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:28010", "the server")
	n := flag.Int("activities", 1000, "activities of a run")
	testing.Init()
	flag.Parse()
	r := measure.NewReport("weft")
	must(stored(r, *n))
	must(exported(r, *url, *n))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func registry() *engine.Registry {
	r := &engine.Registry{}
	for _, registration := range shop.Registrations() {
		must(bridge.Register(r, registration))
	}
	return r
}

// stored replays the stored form of a run that is played by hand, one result for each task.
func stored(r *measure.Report, n int) error {
	run := engine.NewRun("bench", 1)
	id := history.NewRunID(1, [8]byte{1})
	code := registry().Workflow(shop.Steps.Name())
	in := engine.NewInstance(code, "bench", id)
	defer in.Close()
	var bodies [][]byte
	number := 0
	play := func(brought ...history.Event) error {
		number++
		w := &engine.Writer{Now: history.At(time.Now()), Commit: history.CommitID{byte(number), byte(number >> 8)}, RunID: id, Build: "bench"}
		t := run.Step(in, w, engine.Task{Brought: brought})
		if t.Failure != nil {
			return t.Failure.Err()
		}
		body, err := history.Encode(t.Commit)
		if err != nil {
			return err
		}
		bodies = append(bodies, body)
		return run.Append(t.Commit, len(body))
	}
	if err := play(history.Of(&history.WorkflowExecutionStarted{WorkflowType: shop.Steps.Name(), Input: history.Payload(fmt.Sprint(n))})); err != nil {
		return err
	}
	for done := 1; !run.State.Status.Closed(); done++ {
		var results []history.Event
		for id := range run.State.Activities {
			results = append(results, history.Of(&history.ActivityTaskCompleted{ScheduledEventID: id, Result: history.Payload(fmt.Sprint(done)), Attempt: 1}))
		}
		if err := play(results...); err != nil {
			return err
		}
	}
	decode := func() ([]*history.Commit, error) {
		commits := make([]*history.Commit, len(bodies))
		for i, body := range bodies {
			c, err := history.Decode(uint32(i), body)
			if err != nil {
				return nil, err
			}
			commits[i] = c
		}
		return commits, nil
	}
	replay := func(commits []*history.Commit) error {
		in := engine.NewInstance(code, "bench", id)
		defer in.Close()
		for _, c := range commits {
			if err := in.Replay(c); err != nil {
				return err
			}
		}
		return nil
	}
	events := int(run.State.NextEventID - 1)
	if err := r.Replay("replay_stored", n, events, func() error {
		commits, err := decode()
		if err != nil {
			return err
		}
		return replay(commits)
	}); err != nil {
		return err
	}
	commits, err := decode()
	if err != nil {
		return err
	}
	return r.Replay("replay_decoded", n, events, func() error { return replay(commits) })
}

// exported replays a history as JSON.
func exported(r *measure.Report, url string, n int) error {
	ctx := context.Background()
	c := client.New(url)
	id := fmt.Sprint("replay-", time.Now().UnixNano())
	run, err := shop.Steps.Start(ctx, c, id, n)
	if err != nil {
		return err
	}
	if _, err := run.Result(ctx); err != nil {
		return err
	}
	h, err := c.History(ctx, id, "")
	if err != nil {
		return err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	var failed error
	testing.Benchmark(func(b *testing.B) { // weftest.Replay wants a test; what is measured is measured inside
		if failed == nil && b.N == 1 {
			failed = r.Replay("replay_exported", n, len(h.Events), func() error {
				weftest.Replay(b, shop.Registrations(), weftest.JSON(text))
				if b.Failed() {
					return fmt.Errorf("weftest.Replay failed")
				}
				return nil
			})
		}
	})
	return failed
}
