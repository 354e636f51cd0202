package adapter

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// playRollout returns a rollout of a function of a fake Lambda, whose clock is now. It runs in
// build-1 and logs into said.
func playRollout(t *testing.T, now *time.Time, builds ...string) (l *lambdaAPI, r *rollout, said *bytes.Buffer) {
	t.Helper()
	l, v := playLambda(t, builds...)
	said = &bytes.Buffer{}
	v.now = func() time.Time { return *now }
	return l, &rollout{
		here: "build-1", versions: v, log: slog.New(slog.NewTextHandler(said, nil)), now: v.now, jitter: func() time.Duration { return 0 },
	}, said
}

// points answers with an alias that points to a version, and to another one with a weight.
func points(to string, weights string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"FunctionVersion":%q,"RoutingConfig":{"AdditionalVersionWeights":{%s}}}`, to, weights)
	}
}

// The alias decides which build owns a run. If that cannot be found out, it is this one.
func TestOwnerByAlias(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		alias     http.HandlerFunc
		last      string
		want      string
		lineAbout string
	}{
		"one version":                {points("1", ""), "build-2", "build-1", ""},
		"no routing":                 {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"FunctionVersion":"1"}`)) }, "build-2", "build-1", ""},
		"nothing is young's":         {points("2", `"1":0`), "build-2", "build-2", ""},
		"all is young's":             {points("2", `"3":1`), "build-2", "build-3", ""},
		"young has continued it":     {points("2", `"3":0`), "build-3", "build-3", ""},
		"another build's run is old": {points("2", `"3":0`), "build-7", "build-2", ""},
		"both have the same build":   {points("1", `"4":1`), "build-2", "build-1", ""},
		"unknown version":            {points("2", `"8":1`), "build-2", "build-1", "version 8 of weft-api"},
		"unknown old version":        {points("8", `"2":1`), "build-2", "build-1", "version 8 of weft-api"},
		"throttled":                  {fail(429, "TooManyRequestsException"), "build-2", "build-1", "TooManyRequestsException"},
		"denied":                     {fail(403, "AccessDeniedException"), "build-2", "build-1", "AccessDeniedException"},
		"no alias":                   {fail(404, "ResourceNotFoundException"), "build-2", "build-1", "ResourceNotFoundException"},
	} {
		now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
		l, r, said := playRollout(t, &now, "build-1", "build-2", "build-3", "build-1")
		l.alias = c.alias
		if got := r.Owner(t.Context(), "order-1", c.last); got != c.want {
			t.Errorf("%s: the run belongs to %s, want %s", what, got, c.want)
		}
		if line := said.String(); !strings.Contains(line, c.lineAbout) || (line == "") != (c.lineAbout == "") {
			t.Errorf("%s: the log has %q", what, line)
		}
	}
}

// The alias is read once a minute, also if that fails, and the versions only if one is unknown.
func TestAliasIsKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	l, r, said := playRollout(t, &now, "build-1", "build-2")
	reads, alias := 0, points("1", `"2":1`)
	l.alias = func(w http.ResponseWriter, q *http.Request) {
		reads++
		alias(w, q)
	}
	check := func(what, want string, wantReads int) {
		t.Helper()
		if got := r.Owner(t.Context(), "order-1", "build-0"); got != want || reads != wantReads {
			t.Errorf("%s: the run belongs to %s, want %s; the alias was read %d times, want %d", what, got, want, reads, wantReads)
		}
	}
	check("at first", "build-2", 1)
	pages := l.lists
	alias = points("1", "")
	now = now.Add(splitFor - 1)
	check("just before a minute", "build-2", 1)
	now = now.Add(1)
	check("after a minute", "build-1", 2)
	alias = points("1", `"2":1`)
	now = now.Add(splitFor)
	check("after two minutes", "build-2", 3)
	if l.lists != pages {
		t.Errorf("the versions were listed again: %d pages", l.lists-pages)
	}
	alias = fail(500, "ServiceException")
	now = now.Add(splitFor)
	check("if it fails", "build-1", 4)
	now = now.Add(splitFor - 1)
	check("if it has failed", "build-1", 4)
	if lines := strings.Count(said.String(), "\n"); lines != 1 {
		t.Errorf("%d lines about one failure", lines)
	}
	for range 1000 {
		if d := newRollout(aws.Config{}, "weft-api", "build-1", nil).jitter(); d < -splitJitter || d >= splitJitter {
			t.Fatalf("a jitter of %v", d)
		}
	}
}

// Of many callers one reads the alias. The first ones wait for it, and later ones do not.
func TestAliasIsReadOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	l, r, _ := playRollout(t, &now, "build-1", "build-2")
	var reads atomic.Int32
	begun, answer := make(chan struct{}, 2), make(chan struct{})
	l.alias = func(w http.ResponseWriter, q *http.Request) {
		reads.Add(1)
		begun <- struct{}{}
		<-answer
		points("1", `"2":1`)(w, q)
	}
	var all sync.WaitGroup
	ask := func() {
		all.Go(func() {
			if got := r.Owner(t.Context(), "order-1", "build-0"); got != "build-2" {
				t.Errorf("the run belongs to %s", got)
			}
		})
	}
	for range 10 {
		ask()
	}
	<-begun
	close(answer)
	all.Wait()
	answer = make(chan struct{})
	now = now.Add(splitFor)
	ask() // reads
	<-begun
	if got := r.Owner(t.Context(), "order-1", "build-0"); got != "build-2" { // does not wait
		t.Errorf("while the alias is read, the run belongs to %s", got)
	}
	close(answer)
	all.Wait()
	if n := reads.Load(); n != 2 {
		t.Errorf("the alias was read %d times", n)
	}
}
