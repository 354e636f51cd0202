package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
)

// Copies of a message that wait for a build become one, and other sendings of it stay: one of these may be the only one that sends
// what follows.
func TestParkedCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, parkCopies)
}

func parkCopies(t *testing.T) {
	d := turntest.New(t)
	p := d.Start(turn.Options{})
	m := &engine.Message{Kind: engine.RetryTask, WorkflowID: "w", RunID: history.NewRunID(1, [8]byte{1}), Attempt: 2}
	for _, send := range []uint64{1, 2, 1, 2, 2} {
		m.Send = send
		if err := p.Service.Park(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	due, err := d.Store.DueTimers(t.Context(), time.Now().Add(time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[uint64]int{}
	for _, timer := range due {
		m, err := turn.DecodeMessage(timer.Body)
		if err != nil {
			t.Fatal(err)
		}
		kept[m.Send]++
	}
	if len(kept) != 2 || kept[1] != 1 || kept[2] != 1 {
		t.Errorf("of two sendings there are %v", kept)
	}
}
