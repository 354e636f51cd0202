package observe

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/where"
)

// The largest texts of a failure in a log line, in bytes. A larger one is cut.
const (
	maxType = 128
	maxText = 1 << 10
)

// Failures logs the failures of users' code, a line for each. A line has the kind, the type and the
// place of a failure. It has the text only if that holds no payload, or if Texts is set.
type Failures struct {
	Log *slog.Logger
	// Texts logs the texts of failures too. They are what code has put into its errors and panics,
	// and may hold payloads.
	Texts bool
	// CommandFlags are the flags of weft's commands that name this deployment, quoted for a shell;
	// empty if none are known.
	CommandFlags string
}

// Next is what follows from a failed attempt at a task or an activity. The zero value says nothing.
type Next struct {
	// In is the time until the next attempt; 0 is unknown.
	In time.Duration
	// Last says that there is no further attempt.
	Last bool
}

func (n Next) attrs() []slog.Attr {
	switch {
	case n.Last:
		return []slog.Attr{slog.Bool("last", true)}
	case n.In > 0:
		return []slog.Attr{slog.String("nextIn", rounded(n.In).String())}
	}
	return nil
}

// rounded returns a duration for people.
func rounded(d time.Duration) time.Duration {
	if d < time.Second {
		return max(d.Round(time.Millisecond), time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// Task logs a workflow task that failed. again says that it failed before in the same way: the
// stack is in an earlier line.
func (l *Failures) Task(ctx context.Context, t *Task, f *failure.Failure, next Next, again bool) {
	attrs := append(t.names(), slog.Int("attempt", t.Attempt))
	attrs = append(append(attrs, next.attrs()...), l.reason(f, isPublic(f))...)
	attrs = append(attrs, slog.String("updateId", t.Blamed), slog.String("reason", t.Impure))
	if f.EventID != 0 {
		attrs = append(attrs, slog.Int64("eventId", f.EventID))
	}
	l.warn(InTask(ctx, &t.Run, t.Commit), "workflow task failed", &t.Run, attrs, f, !again)
}

// Attempt logs an attempt at an activity that failed, or the end of an activity whose time was over
// (Number 0).
func (l *Failures) Attempt(ctx context.Context, a *Attempt, f *failure.Failure, next Next) {
	message, attrs := "activity timed out", append(a.names(), slog.String("activityType", a.ActivityType))
	if a.Number > 0 {
		message = "activity attempt failed"
		attrs = append(attrs, slog.Int("attempt", a.Number))
	}
	attrs = append(append(attrs, next.attrs()...), l.reason(f, f.OfRuntime)...)
	if a.EventID != 0 {
		attrs = append(attrs, slog.Int64("eventId", a.EventID))
	} else {
		attrs = append(attrs, slog.Bool("local", true))
	}
	l.warn(ctx, message, &a.Run, attrs, f, true)
}

// Panic logs a panic of code whose caller gets it as an error: a validator, or the handler of a
// query. what names the code.
func (l *Failures) Panic(ctx context.Context, what string, r *Run, f *failure.Failure) {
	l.warn(ctx, what+" panicked", r, append(r.names(), l.reason(f, f.OfRuntime)...), f, true)
}

func (l *Failures) warn(ctx context.Context, message string, r *Run, attrs []slog.Attr, f *failure.Failure, stack bool) {
	attrs = append(attrs, slog.String("see", See(l.CommandFlags, r.WorkflowID)), slog.String("runId", string(r.RunID)))
	if stack {
		attrs = append(attrs, slog.String("stack", stackOf(f)))
	}
	l.Log.LogAttrs(ctx, slog.LevelWarn, message, present(attrs)...)
}

// names returns the ids and names that a line about a run begins with.
func (r *Run) names() []slog.Attr {
	return []slog.Attr{slog.String("workflowId", r.WorkflowID), slog.String("workflowType", r.Type)}
}

// See returns the command that shows a workflow: see Command.
func See(flags, workflowID string) string { return Command(flags, "describe", workflowID) }

// Command returns a command of weft that works when it is pasted. flags are those that name the
// deployment; they are quoted for a shell already, and may be empty.
func Command(flags, name string, args ...string) string {
	words := []string{"weft " + name}
	if flags != "" {
		words = append(words, flags)
	}
	dashed := false
	for _, a := range args {
		if strings.HasPrefix(a, "-") && !dashed {
			dashed = true
			words = append(words, "--")
		}
		words = append(words, Quoted(a))
	}
	return strings.Join(words, " ")
}

// Quoted returns a text as a word of a shell.
func Quoted(text string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@%+=,"
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune(harmless, r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// reason returns why code failed, as far as that may be logged. public says that the text of the
// failure may be.
func (l *Failures) reason(f *failure.Failure, public bool) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", f.Kind.String()), slog.String("failureType", cutTo(typeIn(f), maxType)), slog.String("timeout", timeoutOf(f))}
	if l.Texts || public {
		attrs = append(attrs, slog.String("error", cutTo(f.Err().Error(), maxText)))
	}
	if at, ok := where.OfStack(f.Stack); ok {
		attrs = append(attrs, slog.String("at", at.Place()))
	}
	return attrs
}

// Brief returns in a line why a workflow task failed: the kind, the type and the place of the
// failure, as in "panic at order/order.go:41". It has the text only if that holds no payload.
func Brief(f *failure.Failure) string {
	text := f.Kind.String()
	if typ := cutTo(typeIn(f), maxType); typ != "" {
		text += " " + typ
	}
	if at, ok := where.OfStack(f.Stack); ok {
		text += " at " + at.Place()
	}
	if isPublic(f) && f.Message != "" {
		text += ": " + cutTo(f.Message, maxText)
	}
	return text
}

// isPublic reports whether the text of a workflow task's failure holds no payload: Weft or the Go
// runtime has made it of names, types, ids and numbers.
func isPublic(f *failure.Failure) bool {
	switch f.Kind {
	case failure.KindPanic:
		return f.OfRuntime
	case failure.KindNonDeterminism:
		return f.EventID != 0 // otherwise it quotes what a validator returned
	case failure.KindUnregistered, failure.KindDeadlock:
		return true
	case failure.KindApplication, failure.KindTimeout, failure.KindCanceled, failure.KindTerminated, failure.KindActivity, failure.KindMisuse,
		failure.KindRunClosed, failure.KindReset, failure.KindChild:
	}
	return false
}

// typeIn returns the type of the first error in a chain that has one.
func typeIn(f *failure.Failure) string {
	for ; f != nil; f = f.Cause {
		if f.Kind == failure.KindApplication && f.Type != "" && f.Type != pastDeadline {
			return f.Type
		}
	}
	return ""
}

// pastDeadline is the type of context.DeadlineExceeded, which says less than the kind does.
const pastDeadline = "context.deadlineExceededError"

// timeoutOf returns the limit of time that has passed. Code can make such errors too, so that other
// texts are left out.
func timeoutOf(f *failure.Failure) string {
	switch f.Timeout {
	case failure.StartToClose, failure.ScheduleToClose, failure.ScheduleToStart, failure.Heartbeat, failure.RunTimeout, failure.ExecutionTimeout:
		return f.Timeout
	}
	return ""
}

// stackOf returns the frames of a failure's stack, a line for each. It leaves out what Go prints
// besides, such as arguments.
func stackOf(f *failure.Failure) string {
	frames := where.OfPanic(f.Stack)
	lines := make([]string, len(frames))
	for i, frame := range frames {
		lines[i] = frame.String()
	}
	return strings.Join(lines, "\n")
}

// cutTo cuts a text to so many bytes, and marks that it did.
func cutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
