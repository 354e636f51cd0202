package live

import (
	"strconv"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/httpapi"
)

// Any Last-Event-ID is refused, or names the event after which a reader continues.
func FuzzLastEventID(f *testing.F) {
	for _, text := range []string{
		"1-0123456789abcdef:4", "1-0123456789abcdef:0:end", "1-0123456789abcdef:9223372036854775806", "1-0123456789abcdef:9223372036854775807",
		":4", "a:-1", "a:b:1", "a:1:end:end", "", ":", ":end",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		topic := &stream{route: &httpapi.Route{ID: topicRoute}}
		s := &stream{route: &httpapi.Route{ID: historyRoute}}
		run, from, ended, ok := s.parse(text)
		if _, offset, _, same := topic.parse(text); same != ok || ok && offset != from-1 {
			t.Errorf("%q is offset %d, and event %d", text, offset, from)
		}
		if !ok {
			return
		}
		if run == "" || strings.Contains(run, ":") || from < 1 || ended != strings.HasSuffix(text, httpapi.ResumeEnd) {
			t.Errorf("%q is event %d of run %q, ended %t", text, from, run, ended)
		}
		again := run + ":" + strconv.FormatInt(from-1, 10)
		if ended {
			again += httpapi.ResumeEnd
		}
		if runAgain, fromAgain, endedAgain, ok := s.parse(again); !ok || runAgain != run || fromAgain != from || endedAgain != ended {
			t.Errorf("%q reads as %q, which is another event", text, again)
		}
	})
}
