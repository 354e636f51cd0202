package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// weft count adds up the pages, and their groups.
func TestCountPages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case r.URL.Path != "/v1/counts" || q.Get("filter") != "Region = 'eu'" || q.Get("groupBy") != "WorkflowType":
			t.Errorf("the request is %s", r.URL)
		case q.Get("pageToken") == "":
			_, _ = fmt.Fprint(w, `{"count":5,"groups":[{"value":"order","count":3},{"value":"cart","count":2}],"nextPageToken":"p2"}`)
		default:
			_, _ = fmt.Fprint(w, `{"count":7,"groups":[{"value":"cart","count":4},{"value":"","count":1}],"others":2}`)
		}
	}))
	defer server.Close()
	for form, want := range map[string]string{
		"table": "WORKFLOWTYPE  RUNS\ncart             6\norder            3\n(none)           1\n(others)         2\n12 in all\n",
		"jsonl": `{"count":12,"groups":[{"value":"cart","count":6},{"value":"order","count":3},{"value":"","count":1}],"others":2}` + "\n",
	} {
		out, err := commandWith(t, "", "count", "Region = 'eu'", "--by=WorkflowType", "-o", form, "--url="+server.URL)
		if err != nil || out != want {
			t.Errorf("%v\n%s\nwant\n%s", err, out, want)
		}
	}
}
