package requests_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/requests"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/store"
)

// An answer that Lambda takes has 6 MB, and an answer there is a JSON string. So a page of runs
// with large memos is short, and has a token. The pages have each run once, in each order.
func TestLargeList(t *testing.T) {
	t.Parallel()
	large, err := history.EncodeBody(history.Memo{}.With("text", history.Payload(`"`+strings.Repeat("<", 4000)+`"`)))
	if err != nil {
		t.Fatal(err)
	}
	var all rows
	for i := range 300 {
		all = append(all, store.Summary{
			Workflow: fmt.Sprintf("w%03d", i), Run: 1, RunID: "1-00000000000000aa", Status: "running", Started: time.Unix(int64(2000-i), 0), Memo: string(large),
		})
	}
	world := &clock{now: noon}
	lists := requests.Lists{Process: &session.Process{
		Ports: session.Ports{Lister: all}, World: world, Attempts: attempts.NewRecords(looked{runs: map[string]int{}}, world),
	}}
	for _, text := range []string{"", "ORDER BY CloseTime", "NOT Retrying"} {
		ids := map[string]bool{}
		for token, n := "", 0; n == 0 || token != ""; n++ {
			page, err := lists.List(t.Context(), queryOf(t, text, token, 1000))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := json.Marshal(page)
			if err != nil {
				t.Fatal(err)
			}
			if quoted, err := json.Marshal(string(answer)); err != nil || len(quoted) > 5<<20 {
				t.Fatalf("%q: an answer has %d bytes, %v", text, len(quoted), err)
			}
			for _, w := range page.Workflows {
				ids[w.WorkflowID] = true
			}
			if token = page.NextPageToken; n > 100 {
				t.Fatalf("%q: %d runs in %d pages", text, len(ids), n)
			}
		}
		if len(ids) != len(all) {
			t.Errorf("%q: the pages have %d runs", text, len(ids))
		}
	}
}

// queryOf returns the query for a page of a list.
func queryOf(t *testing.T, text, token string, limit int) *command.List {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&command.Parser{Lists: true}).List(f, command.ListPage{Query: text, Token: token, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
