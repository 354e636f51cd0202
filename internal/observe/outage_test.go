package observe

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// An outage has a line when it begins, one a minute while it lasts, and one when it has ended.
// Failures without a line are counted.
func TestOutage(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	var o Outage
	now := time.Unix(1000, 0)
	fails := func(n int, each time.Duration) {
		for range n {
			o.Fails(log, slog.LevelWarn, now, "refused", errors.New("full"), "queue", "q")
			now = now.Add(each)
		}
	}
	works := func() { o.Works(log, "works", "queue", "q") }
	want := func(lines ...string) {
		t.Helper()
		if got := text.String(); got != strings.Join(append(lines, ""), "\n") {
			t.Errorf("the log is\n%swant\n%s", got, strings.Join(lines, "\n"))
		}
		text.Reset()
	}
	begins, ends := `level=WARN msg=refused queue=q error=full`, `level=INFO msg=works queue=q`
	works()
	want()
	fails(1, 0)
	works()
	works()
	want(begins, ends)
	fails(100, 0) // it ends and begins again within the minute
	works()
	want()
	now = now.Add(time.Minute)
	fails(150, time.Second)
	want(begins+" times=101", begins+" times=60", begins+" times=60")
	works()
	want(ends + " times=29")
	now = now.Add(time.Minute)
	fails(1, 0)
	want(begins)
}

// Each cause of an outage has its own lines, and all that had one end together.
func TestOutages(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	var all Outages
	now := time.Unix(1000, 0)
	for range 3 {
		for _, cause := range []string{"store", "queue"} {
			all.Of(cause).Fails(log, slog.LevelWarn, now, "refused", nil, "cause", cause)
		}
	}
	all.Of("contention")
	all.Work(log, "works")
	all.Work(log, "works")
	want := "level=WARN msg=refused cause=store\nlevel=WARN msg=refused cause=queue\n" +
		"level=INFO msg=works cause=store times=2\nlevel=INFO msg=works cause=queue times=2\n"
	if text.String() != want {
		t.Errorf("the log is\n%swant\n%s", text.String(), want)
	}
}
