package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// logged returns the line that a function logs, with its key=value pairs.
func logged(texts bool, tell func(l *observe.Failures)) string {
	var out bytes.Buffer
	tell(&observe.Failures{Texts: texts, Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))})
	return out.String()
}

// What code has put into a failure is in the log only if that is wanted. Texts of Weft's own and of
// the Go runtime are always there.
func TestTextsOfFailures(t *testing.T) {
	t.Parallel()
	const secret = "a secret of ada"
	of := func(kind failure.Kind, event int64) *failure.Failure {
		return &failure.Failure{Kind: kind, Message: secret, EventID: event}
	}
	wrapped := failure.FromError(fmt.Errorf("for %s: %w", secret, failure.New("Declined", secret)))
	timedOut := &failure.Failure{Kind: failure.KindTimeout, Timeout: failure.Heartbeat, Message: secret, Cause: failure.FromError(context.DeadlineExceeded)}
	forged := &failure.Failure{Kind: failure.KindTimeout, Timeout: secret, Message: secret}
	for name, c := range map[string]struct {
		f        *failure.Failure
		task     bool   // its text is always in the line of a task
		attempt  bool   // and in that of an attempt
		contains string // what all lines have
	}{
		"a panic":                     {f: panicked(), contains: " at=order/pay.go:7 "},
		"a panic of the runtime":      {f: indexed(), task: true, attempt: true, contains: `error="panic: runtime error: index out of range [0] with length 0" at=order/pay.go:7 `},
		"an error":                    {f: of(failure.KindApplication, 0), contains: "kind=application "},
		"an error that wraps":         {f: wrapped, contains: "kind=application failureType=Declined "},
		"a time-out":                  {f: timedOut, contains: "kind=timeout timeout=heartbeat "},
		"a time-out of nothing known": {f: forged, contains: "kind=timeout "},
		"a misuse":                    {f: of(failure.KindMisuse, 0), contains: "kind=misuse "},
		"commands that differ":        {f: of(failure.KindNonDeterminism, 7), task: true, contains: "kind=nonDeterminism "},
		"a verdict that differs":      {f: of(failure.KindNonDeterminism, 0), contains: "kind=nonDeterminism "},
		"a deadlock":                  {f: of(failure.KindDeadlock, 0), task: true, contains: "kind=deadlock "},
		"an unknown type":             {f: of(failure.KindUnregistered, 0), task: true, contains: "kind=unregistered "},
	} {
		for _, texts := range []bool{false, true} {
			for line, always := range map[string]bool{
				logged(texts, func(l *observe.Failures) {
					l.Task(t.Context(), &observe.Task{Run: order}, c.f, observe.Next{}, false)
				}): c.task,
				logged(texts, func(l *observe.Failures) {
					l.Attempt(t.Context(), &observe.Attempt{Run: order, Number: 1}, c.f, observe.Next{})
				}): c.attempt,
				logged(texts, func(l *observe.Failures) { l.Panic(t.Context(), "a validator", &order, c.f) }): c.f.OfRuntime,
			} {
				if has := strings.Contains(line, " error="); has != (texts || always) || !strings.Contains(line, c.contains) {
					t.Errorf("%s, texts %v: %swant an error: %v, and %q", name, texts, line, texts || always, c.contains)
				}
				if !texts && !always && strings.Contains(line, secret) {
					t.Errorf("%s: the secret is in %s", name, line)
				}
			}
		}
	}
}

// A stack has the frames of the code that panicked, and nothing of what Go prints besides.
func TestStackOfAFailure(t *testing.T) {
	t.Parallel()
	const want = ` stack="strings.Repeat strings/strings.go:624\norder.pay /home/ada/shop/order/pay.go:7\norder.Run /home/ada/shop/order/order.go:41"` + "\n"
	for _, again := range []bool{false, true} {
		line := logged(false, func(l *observe.Failures) {
			l.Task(t.Context(), &observe.Task{Run: order, Attempt: 2}, panicked(), observe.Next{}, again)
		})
		if strings.HasSuffix(line, want) == again || strings.Contains(line, "stack=") == again || strings.Contains(line, "0x") {
			t.Errorf("again %v: %s", again, line)
		}
	}
}

// A line says what follows, which update is to blame, and where to look.
func TestLinesOfFailures(t *testing.T) {
	t.Parallel()
	f := failure.FromError(failure.New("Declined", "no"))
	task := &observe.Task{Run: order, Attempt: 2, Blamed: "add-1", Impure: "the validator changes state"}
	for want, tell := range map[string]func(l *observe.Failures){
		`level=WARN msg="workflow task failed" workflowId=order-7 workflowType=order attempt=2 nextIn=4s kind=application failureType=Declined updateId=add-1 reason="the validator changes state" see="weft describe order-7" runId=1-0102030405060708`: func(l *observe.Failures) {
			l.Task(t.Context(), task, f, observe.Next{In: 3999999999}, false)
		},
		`level=WARN msg="activity attempt failed" workflowId=order-7 workflowType=order activityType=charge attempt=3 last=true kind=application failureType=Declined eventId=5 see="weft describe order-7" runId=1-0102030405060708`: func(l *observe.Failures) {
			l.Attempt(t.Context(), &observe.Attempt{Run: order, ActivityType: "charge", EventID: 5, Number: 3}, f, observe.Next{Last: true})
		},
		`level=WARN msg="activity attempt failed" workflowId=order-7 workflowType=order activityType=rate attempt=1 nextIn=250ms kind=application failureType=Declined local=true see="weft describe order-7" runId=1-0102030405060708`: func(l *observe.Failures) {
			l.Attempt(t.Context(), &observe.Attempt{Run: order, ActivityType: "rate", Number: 1}, f, observe.Next{In: 250 * time.Millisecond})
		},
		`level=WARN msg="activity timed out" workflowId=order-7 workflowType=order activityType=charge last=true kind=application failureType=Declined eventId=5 see="weft describe order-7" runId=1-0102030405060708`: func(l *observe.Failures) {
			l.Attempt(t.Context(), &observe.Attempt{Run: order, ActivityType: "charge", EventID: 5}, f, observe.Next{Last: true})
		},
	} {
		if got := strings.TrimSpace(logged(false, tell)); got != want {
			t.Errorf("logged\n%s\nwant\n%s", got, want)
		}
	}
}

// Texts in a line are bounded.
func TestLongFailures(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 4000)
	f := failure.FromError(&failure.Error{Type: long, Message: long})
	line := logged(true, func(l *observe.Failures) {
		l.Attempt(t.Context(), &observe.Attempt{Run: order, Number: 1}, f, observe.Next{})
	})
	if len(line) > 1500 || !strings.Contains(line, "é...") || strings.Contains(line, "\ufffd") {
		t.Errorf("a line of %d bytes: %s", len(line), line)
	}
	deep := panicked()
	deep.Stack += strings.Repeat("example.com/shop/order.Run()\n\t/home/ada/shop/order/order.go:41 +0x1\n", 1000)
	if line := logged(false, func(l *observe.Failures) { l.Panic(t.Context(), "a validator", &order, deep) }); strings.Count(line, "order.go:41") > 20 {
		t.Errorf("a line of %d bytes", len(line))
	}
}

// A line about a failure has its kind, its type and its place, and its text only if that holds no
// payload.
func TestBrief(t *testing.T) {
	t.Parallel()
	ofRuntime := panicked()
	ofRuntime.OfRuntime, ofRuntime.Message = true, "runtime error: index out of range [3] with length 3"
	for want, f := range map[string]*failure.Failure{
		"panic at order/pay.go:7": panicked(),
		"panic at order/pay.go:7: runtime error: index out of range [3] with length 3": ofRuntime,
		"application Declined":                               failure.FromError(&failure.Error{Type: "Declined", Message: "a secret"}),
		"nonDeterminism: the code asks for another activity": {Kind: failure.KindNonDeterminism, EventID: 7, Message: "the code asks for another activity"},
		"nonDeterminism":                                     {Kind: failure.KindNonDeterminism, Message: "a secret"},
	} {
		if got := observe.Brief(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSee(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"order-7": "weft describe order-7", "a b": "weft describe 'a b'", "it's": `weft describe 'it'\''s'`, "$(rm)": "weft describe '$(rm)'", "é": "weft describe 'é'",
		"-x": "weft describe -- -x", "~": "weft describe '~'",
	} {
		if got := observe.See("", id); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
	if got := observe.See("--url http://127.0.0.1:9000", "-x"); got != "weft describe --url http://127.0.0.1:9000 -- -x" {
		t.Error(got)
	}
}

// The form of the log is that of the variable, and JSON without one, because a buffer is no
// terminal. JSON has Lambda's names.
func TestFormats(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		"": `"level":"WARN","message":"m","g":{"msg":"v"}}`, "json": `{"timestamp":"`, "text": "level=WARN msg=m g.msg=v", "console": " WARN  m ", "loud": "",
	} {
		var out bytes.Buffer
		h, err := observe.Formatted(form, &out, slog.LevelWarn, func(string) string { return "" })
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "console, json or text") {
				t.Errorf("%q: %v", form, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(h)
		log.Info("no")
		log.WithGroup("g").Warn("m", "msg", "v")
		if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, "no") || strings.Contains(got, "\x1b") {
			t.Errorf("%q: %s, want %s", form, got, want)
		}
	}
	if _, err := observe.Level("loud"); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("an unknown level: %v", err)
	}
}
