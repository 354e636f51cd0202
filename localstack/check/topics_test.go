//go:build deploycheck

package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/localstack/check/reports"
)

// TestTopics reads what a workflow's code and its activity publish, through API Gateway, while the
// run is open and when it has ended. A reader that waits costs one read for each answer with news,
// and one for each pause. Server-sent events are refused: API Gateway does not stream.
func TestTopics(t *testing.T) {
	const batches = 3
	ctx, c := shop(t)
	if _, err := reports.Workflow.Start(ctx, c, "report", batches); err != nil {
		t.Fatal(err)
	}
	want := []string{"begun", "0a", "0b", "1a", "1b", "2a", "2b", "closed"}
	read := make(chan []string)
	go func() { read <- readAll(ctx, t, c) }()

	page := pollUntil(ctx, t, c, int64(len(want)-1))
	if page.Next != int64(len(want)-1) || page.Closed || len(page.Items) > 0 {
		t.Errorf("a wait without news has %+v", page)
	}
	if err := reports.Close.Send(ctx, c, "report", "closed"); err != nil {
		t.Fatal(err)
	}
	if got := <-read; !slices.Equal(got, want) {
		t.Errorf("a reader from the start has %q, want %q", got, want)
	}
	if last := pollToEnd(ctx, t, c, page); len(last) != 1 || last[0].Offset != page.Next {
		t.Errorf("from %d on there is %+v; want the last line", page.Next, last)
	}
	hasNoEvents(ctx, t)
}

// readAll reads the topic from its start to its end, with the iterator. It fails if the offsets
// are not dense, or if an item does not name its activity.
func readAll(ctx context.Context, t *testing.T, c *client.Client) (lines []string) {
	t.Helper()
	ctx, cost := client.Metered(ctx)
	begun := time.Now()
	for item, err := range reports.Lines.Read(ctx, c, "report", 0) {
		if err != nil {
			t.Error(err)
			return lines
		}
		if item.Offset != int64(len(lines)) {
			t.Errorf("the item %q has the offset %d, after %d items", item.Value, item.Offset, len(lines))
		}
		if byActivity := item.Value != "begun" && item.Value != "closed"; byActivity != (item.Activity != nil) {
			t.Errorf("the item %q is of the activity %+v", item.Value, item.Activity)
		}
		lines = append(lines, item.Value)
	}
	costAtMost(t, cost.Sum().Reads, len(lines), begun)
	return lines
}

// pollUntil reads the topic by long polls, each from the Next of the one before, until it has this
// many items. It returns the answer of a poll that brought nothing after that.
func pollUntil(ctx context.Context, t *testing.T, c *client.Client, items int64) *client.TopicItems {
	t.Helper()
	page := &client.TopicItems{}
	for page.Next < items {
		next, err := c.WaitTopic(ctx, "report", string(page.RunID), "lines", page.Next)
		if err != nil {
			t.Fatal(err)
		}
		if len(next.Items) == 0 || next.Items[0].Offset != page.Next {
			t.Fatalf("from %d on there is %+v", page.Next, next)
		}
		page = next
	}
	return wait(ctx, t, page)
}

// pollToEnd reads the topic by long polls, from the Next of a page to its end. The end may follow
// in an answer of its own: a process that knows the last item has to read to know that nothing
// goes on.
func pollToEnd(ctx context.Context, t *testing.T, c *client.Client, page *client.TopicItems) (items []client.TopicItem) {
	t.Helper()
	for !page.Closed {
		next, err := c.WaitTopic(ctx, "report", string(page.RunID), "lines", page.Next)
		if err != nil {
			t.Fatal(err)
		}
		items, page = append(items, next.Items...), next
	}
	return items
}

// wait asks once more, waits in vain, and checks what that costs.
func wait(ctx context.Context, t *testing.T, page *client.TopicItems) *client.TopicItems {
	t.Helper()
	begun := time.Now()
	answer := get(ctx, t, fmt.Sprintf("/v1/workflows/report/topics/lines?runId=%s&from=%d&wait=4s", page.RunID, page.Next), "application/json")
	defer func() { _ = answer.Body.Close() }()
	var idle client.TopicItems
	if err := json.NewDecoder(answer.Body).Decode(&idle); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("a wait without news: %s, %v", answer.Status, err)
	}
	var reads int64
	if _, reading, found := strings.Cut(answer.Header.Get("Weft-Cost"), "reads="); found {
		_, _ = fmt.Sscan(strings.TrimRight(strings.Fields(reading)[0], ",;"), &reads)
	}
	if reads == 0 {
		t.Errorf("a wait costs %q: want reads", answer.Header.Get("Weft-Cost"))
	}
	costAtMost(t, reads, 0, begun)
	return &idle
}

// costAtMost fails if a reader has cost more than a read for each item and for each of the shortest
// pauses since it began, besides the first one of each process that answered.
func costAtMost(t *testing.T, reads int64, items int, begun time.Time) {
	t.Helper()
	const processes, pause = 2, 250 * time.Millisecond // the other reader keeps one process busy
	if most := processes + int64(items) + int64(time.Since(begun)/pause); reads > most {
		t.Errorf("%d reads in %v, with %d items: want %d at most", reads, time.Since(begun), items, most)
	}
}

// hasNoEvents fails unless a request for server-sent events is refused, as docs/live.md says.
func hasNoEvents(ctx context.Context, t *testing.T) {
	t.Helper()
	answer := get(ctx, t, "/v1/workflows/report/topics/lines", "text/event-stream")
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusNotAcceptable || !strings.Contains(string(text), "wait=20s") {
		t.Errorf("server-sent events: %s %s, %v; want 406 that says how to wait", answer.Status, text, err)
	}
}

// get sends a request that the client has no method for.
func get(ctx context.Context, t *testing.T, path, accept string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, variable(t, "SHOP_URL")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	answer, err := signing(ctx, t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
