// Command weft measures a running Weft server (command weft-server) over HTTP, with Weft's Go
// client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/proof/peers/measure"
)

// mostAdded is greater than any single add.
const mostAdded = 1_000

type peer struct{ c *client.Client }

// Run sends one request, as the program for Restate does. Start and Result would be two, as for
// Temporal.
func (p peer) Run(ctx context.Context, id string, n int) (int, error) {
	return measured.Steps.Run(ctx, p.c, id, n)
}

func (p peer) Open(ctx context.Context, id string) error {
	_, err := measured.Counter.Start(ctx, p.c, id, mostAdded)
	return err
}

func (p peer) Add(ctx context.Context, id string, q int) (int, bool, error) {
	total, err := measured.Add.Call(ctx, p.c, id, q)
	if refused := (*client.Rejected)(nil); errors.As(err, &refused) {
		return 0, true, nil
	}
	return total, false, err
}

func main() {
	url := flag.String("url", "http://127.0.0.1:28010", "the server")
	flag.Parse()
	p := peer{client.New(*url)}
	measure.Main("weft", p, measure.Options{Extra: func(ctx context.Context, r *measure.Report) error { return p.long(ctx, r) }})
}

// long measures updates of one run after it has accepted different numbers of them.
func (p peer) long(ctx context.Context, r *measure.Report) error {
	id := "long-" + r.Tag
	if err := p.Open(ctx, id); err != nil {
		return err
	}
	done := 0
	for _, n := range []int{10, 1_000, r.N(10_000)} {
		if err := p.grow(ctx, id, n-done); err != nil {
			return err
		}
		for _, q := range []int{0, 1} {
			var took []time.Duration
			for range 100 {
				begin := time.Now()
				if _, no, err := p.Add(ctx, id, q); err != nil || no != (q == 0) {
					return fmt.Errorf("an add of %d: refused %v, %w", q, no, err)
				}
				took = append(took, time.Since(begin))
			}
			what := map[int]string{0: "refused", 1: "accepted"}[q]
			r.Put(fmt.Sprintf("%s_after_%d_accepted_p50_ms", what, n), float64(measure.Percentile(took, .5))/1e6)
		}
		done = max(done, n) + 100
	}
	return nil
}

// grow sends n adds that must be accepted.
func (p peer) grow(ctx context.Context, id string, n int) error {
	const callers = 16
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range n / callers {
				if _, _, errs[i] = p.Add(ctx, id, 1); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
