package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
)

// looked is a list that counts looks, each of which takes some time.
type looked struct {
	store.Lister
	n     atomic.Int64
	takes time.Duration
	// fails makes each look fail.
	fails atomic.Bool
}

// ListRuns implements store.Lister.
func (l *looked) ListRuns(ctx context.Context, f store.Filter, place string, limit int) ([]store.Summary, string, error) {
	l.n.Add(1)
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	if l.fails.Load() {
		return nil, "", store.ErrThrottled
	}
	return l.Lister.ListRuns(ctx, f, place, limit)
}

// listed returns a page of the list, and how long the answer took.
func listed(t *testing.T, p *testbed.Process, query string) (page schema.ListResponse, took time.Duration) {
	t.Helper()
	began := time.Now()
	a := p.Do(http.MethodGet, "/v1/workflows?"+query, "")
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a.Into(t, &page)
	return page, time.Since(began)
}

// listBubble calls fn in a bubble, with a process that makes commits and whose list counts looks,
// and another process.
func listBubble(t *testing.T, fn func(t *testing.T, l *looked, p, other *testbed.Process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		l := &looked{Lister: d.Ports.Lister}
		other := d.Idle(executor.Options{}, testbed.Workload("build-1")...)
		d.Ports.Lister = l
		fn(t, l, d.Idle(executor.Options{}, testbed.Workload("build-1")...), other)
	})
}

func begin(t *testing.T, p *testbed.Process, id string) {
	t.Helper()
	if a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"`+id+`","type":"counter"}`); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// A caller who waits for another page of the list gets it within a moment of a commit that changes
// a row, and only then.
func TestWaitForTheList(t *testing.T) {
	listBubble(t, func(t *testing.T, l *looked, p, _ *testbed.Process) {
		begin(t, p, "a")
		before, _ := listed(t, p, "type=counter")
		go func() {
			time.Sleep(5 * time.Second)
			p.Do(http.MethodPost, "/v1/workflows/a/signals/poke", "") // it has no row
			time.Sleep(5 * time.Second)
			begin(t, p, "b")
		}()
		began := l.n.Load()
		after, took := listed(t, p, "type=counter&wait=20s&version="+before.Version)
		if took != 10*time.Second || len(after.Workflows) != 2 || after.Version == before.Version {
			t.Errorf("%d runs after %v, want 2 after 10 s", len(after.Workflows), took)
		}
		if n := l.n.Load() - began; n > 7 {
			t.Errorf("the list was looked at %d times in 10 s, want 7 at most", n)
		}
		// Another version is answered at once, and so is a wait that has none.
		for _, query := range []string{"wait=20s&version=" + before.Version, "wait=20s&version=x", "wait=20s", "version=" + after.Version} {
			if same, took := listed(t, p, "type=counter&"+query); took != 0 || same.Version != after.Version {
				t.Errorf("%s: version %s after %v, want %s at once", query, same.Version, took, after.Version)
			}
		}
		if n := p.Service.Service.Process.Watchers.Len(); n != 0 {
			t.Errorf("%d are watched, want none", n)
		}
	})
}

// Without news a wait looks 12 times in 20 s. Commits of another process are seen by looking.
func TestWaitForTheListLooks(t *testing.T) {
	listBubble(t, func(t *testing.T, l *looked, p, other *testbed.Process) {
		before, _ := listed(t, p, "")
		began := l.n.Load()
		same, took := listed(t, p, "wait=1h&version="+before.Version)
		if n := l.n.Load() - began; n > 12 || took != 20*time.Second || same.Version != before.Version {
			t.Errorf("%d looks in %v, want 12 at most in 20 s", n, took)
		}
		go func() {
			time.Sleep(6 * time.Second)
			begin(t, other, "a")
		}()
		if after, took := listed(t, p, "wait=20s&version="+before.Version); len(after.Workflows) != 1 || took > 8*time.Second {
			t.Errorf("%d runs after %v, want 1 after 8 s at most", len(after.Workflows), took)
		}
	})
}

// A list that is slow to read is not read all the time, however many rows change. A wait ends even
// if a look does not.
func TestWaitForASlowList(t *testing.T) {
	listBubble(t, func(t *testing.T, l *looked, p, _ *testbed.Process) {
		before, _ := listed(t, p, "status=completed")
		go func() {
			for i := range 40 {
				begin(t, p, fmt.Sprint("w", i))
				time.Sleep(500 * time.Millisecond)
			}
		}()
		l.takes = 2 * time.Second
		began := l.n.Load()
		_, took := listed(t, p, "status=completed&wait=20s&version="+before.Version)
		if n := l.n.Load() - began; n > 4 || took > 21*time.Second {
			t.Errorf("%d looks of 2 s in %v, want 4 at most in 21 s", n, took)
		}
		l.takes = time.Hour
		if a := p.Do(http.MethodGet, "/v1/workflows?wait=1s&version="+before.Version, ""); a.Status != http.StatusServiceUnavailable {
			t.Errorf("a list that does not answer: %d %s", a.Status, a.Body)
		}
	})
}

// The list fails while a caller waits for it.
func TestWaitForAListThatFails(t *testing.T) {
	listBubble(t, func(t *testing.T, l *looked, p, _ *testbed.Process) {
		before, _ := listed(t, p, "")
		go func() {
			time.Sleep(4 * time.Second)
			l.fails.Store(true)
		}()
		began := time.Now()
		a := p.Do(http.MethodGet, "/v1/workflows?wait=20s&version="+before.Version, "")
		if took := time.Since(began); a.Status != http.StatusServiceUnavailable || took > 6*time.Second {
			t.Errorf("%d %s after %v", a.Status, a.Body, took)
		}
	})
}

// A caller who waits for the history of a long log gets the same pages as one who does not wait.
func TestWaitForALongLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLongTestbed(t)
		for from, more := int64(1), true; more; {
			var now, waited schema.HistoryResponse
			target := fmt.Sprintf("/v1/workflows/a/history?from=%d", from)
			s.p.Do(http.MethodGet, target, "").Into(t, &now)
			s.p.Do(http.MethodGet, target+"&wait=20s", "").Into(t, &waited)
			want, wantErr := json.Marshal(now)
			got, err := json.Marshal(waited)
			if wantErr != nil || err != nil || string(got) != string(want) || now.Next <= from {
				t.Fatalf("from event %d: %v, %v\n got %.300s\nwant %.300s", from, wantErr, err, got, want)
			}
			from, more = now.Next, now.NextPageToken != ""
		}
	})
}
