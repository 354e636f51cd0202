package activity

import (
	"context"
	"log/slog"

	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/tracelog"
)

// Info is what an activity can read about its attempt.
type Info = attempt.Info

// InfoOf returns what an activity can read about its attempt. In a unit test, which calls the
// activity's function with a context of its own, it is the zero value.
func InfoOf(ctx context.Context) Info { return attempt.From(ctx) }

// Logger returns a logger that names the run, the activity and the attempt, and the trace and span
// if there are any. It writes to the handler of slog.Default.
func Logger(ctx context.Context) *slog.Logger {
	h := slog.Default().Handler()
	if info := InfoOf(ctx); info != (Info{}) {
		h = h.WithAttrs([]slog.Attr{
			slog.String("workflowId", info.WorkflowID), slog.String("runId", info.RunID), slog.String("activityType", info.ActivityType),
			slog.Int64("eventId", info.EventID), slog.Int("attempt", info.Attempt),
		})
	}
	return slog.New(tracelog.Within(ctx, h))
}
