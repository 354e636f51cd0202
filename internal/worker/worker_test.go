package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/queue"
)

// fullUntil is a receiver whose disk is full until a moment. Nothing is in its queues.
type fullUntil struct {
	queue.Receiver
	end time.Time
}

func (f fullUntil) Receive(ctx context.Context, _ string, _ int) ([]queue.Delivery, error) {
	if time.Now().Before(f.end) {
		return nil, errors.New("no space left on device")
	}
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
	}
	return nil, nil
}

// If a queue cannot be received from for hours, the log has a line when that begins, one a minute,
// and one when it has ended.
func TestReceiveFailsForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		p := &Worker{
			Receiver: fullUntil{end: time.Now().Add(2*time.Hour + 30*time.Second)}, World: host.Machine{},
			Log: slog.New(slog.NewTextHandler(&text, nil)), Concurrency: 4,
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		p.loop(ctx, "workflow")
		failed, works := strings.Count(text.String(), "receive failed"), strings.Count(text.String(), "receive works again")
		if failed != 121 || works != 1 || strings.Count(text.String(), "\n") != failed+works {
			t.Errorf("%d lines say that it fails, want 121; %d that it works, want 1:\n%s", failed, works, text.String())
		}
		if want := `msg="receive failed" queue=workflow error="no space left on device" times=60`; strings.Count(text.String(), want) != 120 {
			t.Errorf("the reminders do not have how often it failed: want %s in\n%s", want, text.String())
		}
	})
}
