package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// An amount has two digits that say something, however small it is.
func TestDollarsText(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{
		0: "$0.00", 12.345: "$12.35", 0.5: "$0.50", 0.05: "$0.050", 0.0123: "$0.012", 0.00000075333: "$0.00000075", 0.0000098333: "$0.0000098", 1e-30: "$0.000000000000",
	} {
		if got := dollarsText(n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}

// weft cost adds up the pages, and says what is left out. Its flags select the runs.
func TestCostPages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case r.URL.Path != "/v1/costs" || q.Get("groupBy") != "WorkflowType" ||
			q.Get("filter") != "(Region = 'eu' OR Stuck) AND WorkflowType = 'o''der' AND StartTime >= '2026-11-01T00:00:00Z' AND StartTime < '2026-11-02T01:00:00Z'":
			t.Errorf("the request is %s", r.URL)
		case q.Get("pageToken") == "":
			_, _ = fmt.Fprint(w, `{"runs":2,"open":1,"cost":{"writes":8,"messages":6,"reads":{"least":0,"most":8},"dollars":0.000016},`+
				`"groups":[{"value":"cart","runs":1,"open":0,"cost":{"writes":2,"dollars":0.000004}},{"value":"order","runs":1,"open":1,"cost":{"writes":6,"dollars":0.000012}}],"nextPageToken":"p2"}`)
		default:
			_, _ = fmt.Fprint(w, `{"runs":3,"open":0,"unknown":4,"cost":{"writes":20,"messages":1,"reads":{"least":0,"most":9},"dollars":0.00002},`+
				`"groups":[{"value":"cart","runs":3,"open":0,"cost":{"writes":20,"messages":1,"reads":{"least":0,"most":9},"dollars":0.00002}}],"others":{"runs":0,"open":2,"cost":{"dollars":0}}}`)
		}
	}))
	defer server.Close()
	args := []string{"cost", "--filter=Region = 'eu' OR Stuck", "--type=o'der", "--since=2026-11-01T00:00:00Z", "--until=2026-11-02T02:00:00+01:00", "--url=" + server.URL}
	out, err := commandWith(t, "", append(args, "-o", "table")...)
	want := strings.Join([]string{
		"WORKFLOW TYPE  RUNS  WRITES  MESSAGES   READS    DOLLARS       A RUN",
		"cart              4      22         1  0 to 9  $0.000024  $0.0000060",
		"order             1       6         0  0 to 0  $0.000012   $0.000012",
		"(others)          0       0         0  0 to 0      $0.00",
		"about $0.000036 for 5 runs that have closed; 1 open run left out; 4 runs left out that an earlier version of Weft has closed", "",
	}, "\n")
	if err != nil || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	var total client.Costs
	out, err = commandWith(t, "", append(args, "-o", "jsonl")...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &total)
	}
	if err != nil || total.Runs != 5 || total.Cost.Writes != 28 || total.Cost.Reads.Most != 17 || total.Unknown != 4 || total.Others == nil || total.Others.Open != 2 || len(total.Groups) != 2 {
		t.Errorf("%v: %+v", err, total)
	}
}

// What cannot be priced is refused before a request is sent.
func TestCostRefusals(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"cart-42 --type=cart": "not both",
		"--run=1-0":           "the workflow of --run",
		"--since=yesterday":   `--since: "yesterday" is neither a time`,
		"--until=-1h":         `--until: "-1h" is neither a time`,
	} {
		_, err := commandWith(t, "", append(append([]string{"cost"}, strings.Fields(args)...), "--url=http://127.0.0.1:1")...)
		if err == nil || !strings.Contains(err.Error(), want) || cli.CodeOf(err) != cli.Usage {
			t.Errorf("%s: %v (%v), want %q", args, err, cli.CodeOf(err), want)
		}
	}
}

func TestCostText(t *testing.T) {
	t.Parallel()
	c := &client.Cost{Writes: 4, Messages: 1, Reads: client.CostRange{Most: 4}, Dollars: 0.0000075}
	if got, want := costText(c), "about $0.0000075: 4 writes, 1 message, 0 to 4 reads"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := costText(nil); got != "" {
		t.Errorf("an older server has the cost %q", got)
	}
}
