package processes_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// The server streams what happens in its children: a history to its end, and the list.
func TestStreamsOfChildren(t *testing.T) {
	s := serve(t, 2)
	open := func(target string) *bufio.Scanner {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", target, answer.Status)
		}
		return bufio.NewScanner(answer.Body)
	}
	next := func(lines *bufio.Scanner, want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	list := open("/v1/workflows")
	next(list, `"workflows":[]`)
	for s.postQuietly("w", 21) {
	}
	next(list, `"workflowId":"w"`)
	history := open("/v1/workflows/w/history")
	next(history, `"result":42`)
	next(history, "event: end")
}
