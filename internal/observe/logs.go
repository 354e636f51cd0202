package observe

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/internal/tracelog"
)

// Level reads a level of the log: debug, info, warn or error; empty is info.
func Level(text string) (slog.Level, error) {
	switch strings.ToLower(text) {
	case "", "info":
		return slog.LevelInfo, nil
	case "debug":
		return slog.LevelDebug, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("there is no level %q: give debug, info, warn or error", text)
}

// Handler adds to each line what the context has for it: the ids of its trace and span, and what
// more returns, if it is not nil.
func Handler(inner slog.Handler, more func(ctx context.Context) []slog.Attr) slog.Handler {
	return &handler{inner, more}
}

type handler struct {
	slog.Handler
	more func(ctx context.Context) []slog.Attr
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if h.more != nil {
		r.AddAttrs(h.more(ctx)...)
	}
	if traceID, spanID := tracelog.Of(ctx); traceID != "" {
		r.AddAttrs(slog.String("trace_id", traceID), slog.String("span_id", spanID))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.more}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.more}
}

// Log returns a sink that writes a line for each event, at level debug, or nil if the logger does
// not write that level.
func Log(log *slog.Logger) Sink {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	return logged{log}
}

type logged struct{ log *slog.Logger }

// Observe implements Sink.
func (l logged) Observe(ctx context.Context, e Event) {
	what, attrs := e.describe()
	if what == "" {
		return
	}
	if t, ok := e.(*Task); ok {
		ctx = InTask(ctx, &t.Run, t.Commit)
	}
	l.log.LogAttrs(ctx, slog.LevelDebug, what, attrs...)
}

// Panic returns what may be logged of the value of a panic. Its text may hold data of users, unless
// the Go runtime created it, or the value itself says what may be logged.
func Panic(value any) string {
	switch v := value.(type) {
	case runtime.Error:
		return v.Error()
	case slog.LogValuer:
		return v.LogValue().String()
	}
	return fmt.Sprintf("a value of type %T", value)
}

func (r *Run) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("workflowId", r.WorkflowID), slog.String("runId", string(r.RunID)), slog.String("workflowType", r.Type)}, more...)
}

// present returns the attributes that have a value.
func present(attrs []slog.Attr) []slog.Attr {
	kept := attrs[:0]
	for _, a := range attrs {
		if a.Value.Kind() != slog.KindString || a.Value.String() != "" {
			kept = append(kept, a)
		}
	}
	return kept
}

func took(began, ended time.Time) slog.Attr {
	return slog.Float64("ms", millis(ended.Sub(began)))
}

func (t *Task) describe() (string, []slog.Attr) {
	return "workflow task", present(t.attrs(
		slog.String("kind", t.Kind.String()), slog.String("trigger", t.Trigger), slog.Int("attempt", t.Attempt), slog.Int64("events", t.Events),
		slog.String("outcome", string(t.Outcome)), slog.String("failure", t.Failure), took(t.Began, t.Ended)))
}

func (u *Update) describe() (string, []slog.Attr) {
	return "update", u.attrs(slog.String("updateId", u.UpdateID), slog.String("name", u.Name), slog.String("outcome", string(u.Outcome)), took(u.Began, u.Ended))
}

func (a *Attempt) describe() (string, []slog.Attr) {
	return "activity attempt", present(a.attrs(
		slog.String("activityType", a.ActivityType), slog.Int64("eventId", a.EventID), slog.Int("attempt", a.Number),
		slog.String("outcome", string(a.Outcome)), slog.String("failure", a.Failure), took(a.Began, a.Ended)))
}

func (t *Timer) describe() (string, []slog.Attr) {
	return "timer fired", t.attrs(slog.Int64("eventId", t.EventID), took(t.Began, t.Ended))
}

func (c *Closed) describe() (string, []slog.Attr) {
	return "run closed", c.attrs(slog.String("status", c.Status.String()), slog.Int64("events", c.Events), took(c.Began, c.Ended))
}

func (r *Reset) describe() (string, []slog.Attr) {
	return "run reset", r.attrs(slog.String("from", string(r.From)))
}

func (r *Request) describe() (string, []slog.Attr) {
	attrs := []slog.Attr{slog.String("method", r.Method), slog.String("route", r.Route), slog.Int("status", r.Status), slog.String("cost", r.Cost.String()), took(r.Began, r.Ended)}
	if r.Cause != "" {
		attrs = append(attrs, slog.String("cause", string(r.Cause)))
	}
	if run := r.Run(); run != nil {
		attrs = append(run.attrs(), attrs...)
	}
	return "request", attrs
}

func (l *LostRace) describe() (string, []slog.Attr) {
	return "lost a race", []slog.Attr{slog.String("workflowId", l.WorkflowID)}
}

// Other lines of the log report these events.
func (*Spent) describe() (string, []slog.Attr)       { return "", nil }
func (*Hung) describe() (string, []slog.Attr)        { return "", nil }
func (*DeadLetter) describe() (string, []slog.Attr)  { return "", nil }
func (*LettersLeft) describe() (string, []slog.Attr) { return "", nil }
func (*Returned) describe() (string, []slog.Attr)    { return "", nil }
func (*LateTimers) describe() (string, []slog.Attr)  { return "", nil }
func (*ProbeFailed) describe() (string, []slog.Attr) { return "", nil }
func (*LateCheck) describe() (string, []slog.Attr)   { return "", nil }
func (*Held) describe() (string, []slog.Attr)        { return "", nil }
func (*Unhandled) describe() (string, []slog.Attr)   { return "", nil }
