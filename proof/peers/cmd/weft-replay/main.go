// Command weft-replay measures cold replays of two kinds:
//
//   - of the stored log: the engine decodes it and runs the code
//   - of a history exported as JSON, with weftest.Replay, as a test does; the command starts that
//     run on a running server
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
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/proof/peers/measure"
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

// stored replays the stored form of a run that it builds itself, with one result in each task.
func stored(r *measure.Report, n int) error {
	rec, err := measured.Record(measured.Steps.Name(), n, 1)
	if err != nil {
		return err
	}
	if err := r.Replay("replay_stored", n, int(rec.Events), func() error {
		commits, err := rec.Decode()
		if err != nil {
			return err
		}
		return rec.Replay(commits)
	}); err != nil {
		return err
	}
	commits, err := rec.Decode()
	if err != nil {
		return err
	}
	return r.Replay("replay_decoded", n, int(rec.Events), func() error { return rec.Replay(commits) })
}

// exported replays a history as JSON.
func exported(r *measure.Report, url string, n int) error {
	ctx := context.Background()
	c := client.New(url)
	id := fmt.Sprint("replay-", time.Now().UnixNano())
	run, err := measured.Steps.Start(ctx, c, id, n)
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
	testing.Benchmark(func(b *testing.B) { // weftest.Replay needs a test
		if failed == nil && b.N == 1 {
			failed = r.Replay("replay_exported", n, len(h.Events), func() error {
				weftest.Replay(b, measured.Registrations(), weftest.JSON(text))
				if b.Failed() {
					return fmt.Errorf("weftest.Replay failed")
				}
				return nil
			})
		}
	})
	return failed
}
