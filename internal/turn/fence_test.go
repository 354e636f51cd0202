package turn_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// deafLog is a log that carries out no put and answers none.
type deafLog struct{ store.Log }

func (deafLog) Append(context.Context, ...store.Item) error { return store.ErrUnknown }

// The message of a start whose put never lands makes its run void, also where the workflow has an earlier run.
func TestFenceAfterAnEarlierRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := turntest.New(t)
		var said turntest.Warnings
		p := d.Start(turn.Options{Logger: said.Logger()}, counters()...)
		closeRun(t, p, "w")
		log := d.Ports.Log
		d.Ports.Log = deafLog{log}
		deaf := d.Idle(turn.Options{}, counters()...)
		d.Ports.Log = log
		if _, err := turntest.Counter.Start(t.Context(), deaf.Client, "w", 1, workflow.StartOptions{StartDelay: time.Second}); err == nil {
			t.Fatal("a start succeeded whose put was never made")
		}
		time.Sleep(5 * time.Minute)
		if text := said.Take(); strings.Contains(text, "panicked") || !strings.Contains(text, "fenced") {
			t.Errorf("the processes said:\n%s", text)
		}
		if _, err := turntest.Counter.Start(t.Context(), p.Client, "w", 2, workflow.StartOptions{}); err != nil {
			t.Errorf("a start after the void run: %v", err)
		}
		p.Stop()
	})
}
