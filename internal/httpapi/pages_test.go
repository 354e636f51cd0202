package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// A page of a history fits into an answer of Lambda, which takes 6 MB, however large the events
// are, also if their JSON is larger than what is stored. The pages have every event once.
func TestHistoryPagesAreBoundedByBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("large payloads are slow with the race detector, and make test runs this")
	}
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		texts := []string{
			strings.Repeat(`\"`, 100<<10), // 200 KiB of JSON, and twice that in a JSON string
			strings.Repeat("<", 200<<10),  // which encoding/json writes with six bytes each
		}
		const signals = 40
		for i := range signals {
			body := fmt.Sprintf(`{"requestId":"r%d","input":"%s"}`, i, texts[i/(signals/2)])
			if a := p.Do(http.MethodPost, workflows+"/a/signals/poke", body); a.Status != http.StatusAccepted {
				t.Fatalf("signal %d: %d %s", i, a.Status, a.Body)
			}
		}
		var ids []int64
		token, pages := "", 0
		for more := true; more; pages++ {
			a := p.Do(http.MethodGet, workflows+"/a/history?pageToken="+token, "")
			if token == "" {
				a = p.Do(http.MethodGet, workflows+"/a/history", "")
			}
			lambda, err := json.Marshal(map[string]string{"body": string(a.Body)})
			if err != nil {
				t.Fatal(err)
			}
			if a.Status != http.StatusOK || len(lambda) > 6_000_000 {
				t.Fatalf("page %d: status %d, %d bytes in an answer of Lambda", pages, a.Status, len(lambda))
			}
			var page schema.HistoryResponse
			a.Into(t, &page)
			for _, e := range page.Events {
				ids = append(ids, e.ID)
			}
			token, more = page.NextPageToken, page.NextPageToken != ""
		}
		for i, id := range ids {
			if id != int64(i)+1 {
				t.Fatalf("event %d is in place %d", id, i+1)
			}
		}
		if want := 4 + 4*signals; len(ids) != want || pages < 8 {
			t.Errorf("%d pages have %d events, want %d on at least 8 pages", pages, len(ids), want)
		}
	})
}
