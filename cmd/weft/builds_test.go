package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// weft builds does not count runs that are not pinned among those that are pinned to the build that
// answers.
func TestBuilds(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"here":"b2","versions":[{"build":"b1","version":"7"}],"openRuns":[{"runs":73},{"build":"b1","runs":4},{"build":"b2","runs":5}]}`)
	}))
	t.Cleanup(server.Close)
	for form, want := range map[string]string{
		"table": strings.Join([]string{
			"BUILD  VERSION  PINNED RUNS  NOT PINNED  WHAT", "b2                        5          73  answers, and runs what is not pinned", "b1     7                  4", "",
		}, "\n"),
		"jsonl": `{"build":"b2","openRuns":5,"notPinned":73,"here":true}` + "\n" + `{"build":"b1","version":"7","openRuns":4}` + "\n",
	} {
		if out, err := commandWith(t, "", "builds", "-o", form, "--url="+server.URL); err != nil || out != want {
			t.Errorf("%v\n%s\nwant\n%s", err, out, want)
		}
	}
}
