package executor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// topicBubble calls fn in a bubble with a workflow that publishes, and two processes.
func topicBubble(t *testing.T, o executor.Options, fn func(t *testing.T, p, other *testbed.Process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p, other := d.Idle(o, testbed.Workload("build-1")...), d.Idle(o, testbed.Workload("build-1")...)
		if a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"p","type":"publisher","input":0}`); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		fn(t, p, other)
	})
}

func publish(t *testing.T, p *testbed.Process, text string) {
	t.Helper()
	if a := p.Do(http.MethodPost, "/v1/workflows/p/signals/say", fmt.Sprintf(`{"input":%q}`, text)); a.Status != http.StatusAccepted {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func topicItems(t *testing.T, p *testbed.Process, query string) (page schema.TopicResponse, took time.Duration) {
	t.Helper()
	began := time.Now()
	a := p.Do(http.MethodGet, "/v1/workflows/p/topics/steps?"+query, "")
	if a.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", query, a.Status, a.Body)
	}
	a.Into(t, &page)
	return page, time.Since(began)
}

// A commit of the same process wakes a reader at once. One of another process is seen within a
// second. A reader that goes on does not read within a second of its last read.
func TestTopicReaderIsWoken(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
		first, took := topicItems(t, p, "wait=20s&from=0&limit=10")
		if took != 20*time.Second || len(first.Items) != 0 {
			t.Errorf("%v in %v", first, took)
		}
		for i, writer := range []*testbed.Process{p, other} {
			go func() {
				time.Sleep(3500 * time.Millisecond)
				publish(t, writer, "x")
			}()
			page, took := topicItems(t, p, fmt.Sprintf("wait=20s&runId=%s&from=%d", first.RunID, i))
			want := []time.Duration{3500 * time.Millisecond, 4 * time.Second}[i]
			if took != want || len(page.Items) != 1 || page.Items[0].Offset != int64(i) {
				t.Errorf("%+v in %v, want it in %v", page, took, want)
			}
		}
		// What this process knows needs no read, and what it does not know is read a second later.
		if page, took := topicItems(t, p, fmt.Sprintf("wait=20s&runId=%s&from=1", first.RunID)); took != 0 || len(page.Items) != 1 {
			t.Errorf("%+v in %v", page, took)
		}
		publish(t, other, "y")
		if page, took := topicItems(t, p, fmt.Sprintf("wait=20s&runId=%s&from=2", first.RunID)); took != time.Second || len(page.Items) != 1 {
			t.Errorf("%+v in %v", page, took)
		}
		publish(t, other, "z")
		if page, took := topicItems(t, p, "wait=20s&from=3"); took != 0 || len(page.Items) != 1 {
			t.Errorf("%+v in %v", page, took)
		}
		if page, took := topicItems(t, p, fmt.Sprintf("wait=300ms&runId=%s&from=4", first.RunID)); took != 300*time.Millisecond || len(page.Items) != 0 {
			t.Errorf("%+v in %v", page, took)
		}
	})
}

// A log that is longer than memory keeps has the same items, in the same pages, also for a reader
// that waits.
func TestTopicOfALongLog(t *testing.T) {
	topicBubble(t, executor.Options{LogBytes: 20 << 10}, func(t *testing.T, p, other *testbed.Process) {
		const items = 200
		for i := range items {
			publish(t, p, fmt.Sprint(i, strings.Repeat(" ", 500)))
		}
		for _, process := range []*testbed.Process{p, other} {
			for _, query := range []string{"", "&wait=20s"} {
				next, pages := int64(0), 0
				for more := true; more; pages++ {
					page, _ := topicItems(t, process, fmt.Sprintf("from=%d&limit=30%s", next, query))
					for _, item := range page.Items {
						if want := fmt.Sprintf("\"%d ", next); item.Offset != next || !strings.HasPrefix(string(item.Value), want) {
							t.Fatalf("item %d is %d %.20s", next, item.Offset, item.Value)
						}
						next++
					}
					more = page.More
				}
				if next != items || pages != 7 {
					t.Errorf("%d items in %d pages", next, pages)
				}
			}
		}
	})
}
