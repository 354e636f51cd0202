package observe_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/slogtest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/observe"
)

var rewrite = flag.Bool("rewrite", false, "write the lines of the console into testdata/console.txt")

// stack is a stack text of code that panicked, as debug.Stack returns one.
const stack = "goroutine 7 [running]:\nruntime/debug.Stack()\n\truntime/debug/stack.go:26 +0x5e\n" +
	"github.com/seed-41655fb1/weft/engine/coro.(*Coroutine).main.func1()\n\tgithub.com/seed-41655fb1/weft/engine/coro/coroutine.go:86 +0x1\n" +
	"panic({0x1234567, 0x89abcdef})\n\truntime/panic.go:783 +0x132\n" +
	"github.com/seed-41655fb1/weft/engine/coro.(*Scheduler).MustRun(0xc0001)\n\tgithub.com/seed-41655fb1/weft/engine/coro/scheduler.go:280 +0x1\n" +
	"strings.Repeat({0x5, 0x6})\n\tstrings/strings.go:624 +0x1\n" +
	"example.com/shop/order.pay(0xdeadbeef)\n\t/home/ada/shop/order/pay.go:7 +0x1\n" +
	"example.com/shop/order.Run({0x5, 0x6})\n\t/home/ada/shop/order/order.go:41 +0x1\n" +
	"github.com/seed-41655fb1/weft/engine/coro.(*Coroutine).call(0xc00002)\n\tgithub.com/seed-41655fb1/weft/engine/coro/coroutine.go:97 +0x1\n"

var order = observe.Run{WorkflowID: "order-7", RunID: "1-0102030405060708", Type: "order"}

// panicked is a panic with a text of the code's own, and indexed one of the Go runtime.
func panicked() *failure.Failure { return failure.Panic("a secret of ada", []byte(stack)) }

func indexed() (f *failure.Failure) {
	defer func() { f = failure.Panic(recover(), []byte(stack)) }()
	var none []int
	return failure.FromError(fmt.Errorf("%d", none[len(none)]))
}

// fixed is a handler whose records all have the same time.
type fixed struct{ slog.Handler }

// Handle implements slog.Handler.
func (h fixed) Handle(ctx context.Context, r slog.Record) error {
	r.Time = time.Date(2026, 11, 27, 10, 20, 30, 4e6, time.Local)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h fixed) WithAttrs(attrs []slog.Attr) slog.Handler { return fixed{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h fixed) WithGroup(name string) slog.Handler { return fixed{h.Handler.WithGroup(name)} }

// play logs what a local server logs.
func play(t *testing.T, log *slog.Logger) {
	t.Helper()
	ctx := t.Context()
	told := &observe.Failures{Log: log, Texts: true}
	task := &observe.Task{Run: order, Attempt: 1}
	told.Task(ctx, task, panicked(), observe.Next{In: time.Second}, false)
	task.Attempt = 4
	told.Task(ctx, task, panicked(), observe.Next{In: 8 * time.Second}, true)
	attempt := &observe.Attempt{Run: order, ActivityType: "charge", EventID: 5, Number: 3}
	declined := failure.FromError(fmt.Errorf("charge 250 cents: %w", failure.New("Declined", "the card was declined")))
	told.Attempt(ctx, attempt, declined, observe.Next{In: 1999950 * time.Microsecond})
	told.Attempt(ctx, attempt, indexed(), observe.Next{Last: true})
	told.Panic(ctx, `the validator of update "add"`, &order, indexed())
	log.Debug("not written")
	log.With("workflowId", "order-7", "runId", "1-0102030405060708").Info("waits for payment", "cents", 250, "by", "Ada Lovelace")
	log.Error("receive failed", "queue", "timers", "error", errors.New("no space left on device"))
	log.Warn("a message from outside\x1b[2Jwith control\r characters", "k", "\x1b[31mred", "\x07key", "v")
	log.Warn("two\nlines", "note", "one\ntwo\x1b[0m\n", "error", "a long text of an error that has to continue on further lines\nand another line")
	log.WithGroup("g").Info("grouped", slog.Group("h", "a", 1), slog.Group("", "b", time.Second), slog.Any("none", nil), slog.Attr{})
}

// The lines for people: without a width, in 100 and in 40 columns, with colours and without.
func TestConsole(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, of := range []struct {
		name   string
		colour bool
		width  int
	}{{"any width", false, 0}, {"100 columns", false, 100}, {"40 columns", false, 40}, {"colours", true, 100}} {
		var out bytes.Buffer
		play(t, slog.New(fixed{observe.Console{Colour: of.colour, Width: func() int { return of.width }}.Handler(&out)}))
		fmt.Fprintf(&all, "---- %s ----\n%s", of.name, strings.ReplaceAll(out.String(), "\x1b", "^"))
		for line := range strings.Lines(out.String()) {
			if strings.TrimRight(line, " \n")+"\n" != line {
				t.Errorf("%s: %q ends with spaces", of.name, line)
			}
		}
		if !of.colour && strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: the lines control the terminal", of.name)
		}
	}
	path := filepath.Join("testdata", "console.txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if all.String() != string(want) {
		t.Errorf("the console shows\n%s\nwant (-rewrite writes it)\n%s", all.String(), want)
	}
}

// The console handles attributes and groups as slog demands.
func TestConsoleIsAHandler(t *testing.T) {
	t.Parallel()
	clock := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} `)
	var out bytes.Buffer
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		out.Reset()
		return observe.Console{}.Handler(&out)
	}, func(t *testing.T) map[string]any {
		line := strings.TrimSuffix(out.String(), "\n")
		all := map[string]any{}
		if at := clock.FindString(line); at != "" {
			all[slog.TimeKey], line = at, line[len(at):]
		}
		words := strings.Fields(line)
		all[slog.LevelKey], all[slog.MessageKey] = words[0], words[1]
		for _, word := range words[2:] {
			key, value, _ := strings.Cut(word, "=")
			in := all
			for name, rest, more := strings.Cut(key, "."); more; name, rest, more = strings.Cut(key, ".") {
				if in[name] == nil {
					in[name] = map[string]any{}
				}
				in, key = in[name].(map[string]any), rest
			}
			in[key] = value
		}
		return all
	})
}

// FuzzConsole logs arbitrary texts: no text writes control characters, and only a line's own breaks
// end lines.
func FuzzConsole(f *testing.F) {
	f.Add("a message", "key", "value\x1b]0;title\x07", 20)
	f.Add("\u2028\u202e", "error", "\xff\nx", 0)
	f.Add("", "stack", "\r\n\t", 61)
	f.Fuzz(func(t *testing.T, message, key, value string, width int) {
		var out bytes.Buffer
		slog.New(observe.Console{Width: func() int { return width }}.Handler(&out)).Warn(message, key, value, "error", errors.New(value))
		if text := out.String(); !strings.HasSuffix(text, "\n") || strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%q", text)
		}
	})
}
