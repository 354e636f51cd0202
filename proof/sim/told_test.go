package sim

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/shortform"
)

// spoken is a sink that prints every event.
type spoken struct{ text bytes.Buffer }

// Observe implements observe.Sink.
func (s *spoken) Observe(_ context.Context, e observe.Event) { fmt.Fprintf(&s.text, "%T %+v\n", e, e) }

// No log line or event has a payload of users, whatever fails: no input, no result, and no text of
// an error.
func TestNoPayloadIsTold(t *testing.T) {
	t.Parallel()
	var all spoken
	logger := slog.New(slog.NewJSONHandler(&all.text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	hub := observe.New(observe.Log(logger), &all)
	for seed := range uint64(shortform.Or(60, 10)) {
		if s := simulate(seed, false, hub, logger); len(s.wrong) > 0 {
			t.Fatal(s.report())
		}
	}
	text := all.text.String()
	for _, told := range []string{"*observe.Task", "*observe.LostRace", "Stuck:true", "workflow task failed", "activity attempt failed", "a message will be redelivered"} {
		if !strings.Contains(text, told) {
			t.Errorf("no line or event has %s", told)
		}
	}
	for _, payload := range []string{"too much", "the bug of build 1", "flaky", "step 0", "fan 0", "slow 1", "hello", "a whim"} {
		if i := strings.Index(text, payload); i >= 0 {
			t.Errorf("a line or event has %q: ...%s", payload, text[max(0, i-300):i+len(payload)])
		}
	}
}
