package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Groups beyond the largest number of groups are counted together, also over many pages.
func TestCountGroupsAreBounded(t *testing.T) {
	t.Parallel()
	page := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := client.Counts{}
		for i := range 600 {
			answer.Groups = append(answer.Groups, schema.CountGroup{Value: fmt.Sprintf("%d-%d", page, i), Count: 1})
		}
		if answer.Count = len(answer.Groups); page < 2 {
			page++
			answer.NextPageToken = "more"
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	out, err := commandWith(t, "", "count", "--by=BuildId", "-o", "jsonl", "--url="+server.URL)
	var total client.Counts
	if err == nil {
		err = json.Unmarshal([]byte(out), &total)
	}
	if err != nil || total.Count != 1800 || len(total.Groups) != 1000 || total.Others != 800 {
		t.Errorf("%v: %d runs, %d groups, %d others", err, total.Count, len(total.Groups), total.Others)
	}
}

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
		"table": "WORKFLOW TYPE  RUNS\ncart              6\norder             3\n(none)            1\n(others)          2\n12 in all\n",
		"jsonl": `{"count":12,"groups":[{"value":"cart","count":6},{"value":"order","count":3},{"value":"","count":1}],"others":2}` + "\n",
	} {
		out, err := commandWith(t, "", "count", "Region = 'eu'", "--by=WorkflowType", "-o", form, "--url="+server.URL)
		if err != nil || out != want {
			t.Errorf("%v\n%s\nwant\n%s", err, out, want)
		}
	}
}
