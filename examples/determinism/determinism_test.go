package determinism_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/determinism"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// Every few hours another process takes the raffle over, and runs the code again from its
// beginning.
func TestDeterminism(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	synctest.Test(t, func(t *testing.T) {
		ctx, d := t.Context(), testbed.New(t)
		p := d.Start(executor.Options{}, determinism.Registrations()...)
		run, err := determinism.Workflow.Start(ctx, p.Client, "raffle-1", determinism.Raffle{Tickets: 10})
		if err != nil {
			t.Fatal(err)
		}
		var sold []determinism.Ticket
		for range 4 {
			time.Sleep(2 * time.Hour)
			p.Stop()
			p = d.Start(executor.Options{}, determinism.Registrations()...)
			now, err := determinism.Sold.Ask(ctx, p.Client, "raffle-1", workflow.None{})
			if err != nil || len(now) <= len(sold) || !slices.Equal(now[:len(sold)], sold) {
				t.Fatalf("sold %v, %v; and %v before", now, err, sold)
			}
			sold = now
		}
		draw, err := determinism.Workflow.Get(p.Client, "raffle-1").Result(ctx)
		if err != nil || draw.Number < len(sold) && draw.Ticket != sold[draw.Number] {
			t.Errorf("drawn %+v, %v; sold %v", draw, err, sold)
		}
		p.Stop()
		for _, line := range []string{"sold", "drawn"} {
			want := map[string]int{"sold": 10, "drawn": 1}[line]
			if n := strings.Count(log.String(), "msg="+line+" workflowId=raffle-1 runId="+run.RunID); n != want {
				t.Errorf("%q was logged %d times, want %d", line, n, want)
			}
		}
		d.Replay(determinism.Registrations()...)
	})
}
