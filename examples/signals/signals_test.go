package signals_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/signals"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

func TestSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, signals.Registrations()...)
		run, err := signals.Workflow.Start(ctx, p.Client, "voyage-1", workflow.None{})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		report := func(what string) {
			t.Helper()
			if err := signals.Sighted.Send(ctx, p.Client, "voyage-1", signals.Sight{What: what}); err != nil {
				t.Fatal(err)
			}
			want = append(want, what)
		}
		for i := range 20 { // nobody reads meanwhile
			report(fmt.Sprint("gull ", i))
		}
		illegible := func() error {
			return p.Client.Signal(ctx, "voyage-1", signals.Sighted.Name(), []byte(`"a message in a bottle"`), client.SignalOptions{})
		}
		if err := illegible(); !errors.Is(err, client.ErrInvalid) { // also before the code has received a report
			t.Errorf("a report that is no Sight: %v, want a refusal", err)
		}
		report("island")
		time.Sleep(9 * time.Hour)
		for i := range 20 {
			report(fmt.Sprint("whale ", i))
		}
		if err := illegible(); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("a report that does not decode: %v, want a refusal", err)
		}
		report("harbor")
		log, err := run.Result(ctx)
		if err != nil || !slices.Equal(log.Seen, want) {
			t.Errorf("%+v, %v; want %q", log, err, want)
		}
		if err := signals.Sighted.Send(ctx, p.Client, "voyage-1", signals.Sight{}); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a signal to a closed workflow: %v, want that it was not found", err)
		}
	})
}

func TestACanceledVoyageEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, signals.Registrations()...)
		run, err := signals.Workflow.Start(ctx, p.Client, "voyage-1", workflow.None{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Hour)
		if err := run.Cancel(ctx, "fog"); err != nil {
			t.Fatal(err)
		}
		var canceled *workflow.CanceledError
		if _, err := run.Result(ctx); !errors.As(err, &canceled) || canceled.Reason != "fog" {
			t.Errorf("%v, want a cancellation for fog", err)
		}
	})
}
