package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/live"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// event is a message as an EventSource dispatches it: whole, and with data.
type event struct{ id, name, data string }

// parsed returns the whole messages of a text, and the last reconnection time; "" if it sets none.
func parsed(text string) (all []event, retry string) {
	var e event
	for text != "" {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			break // the reader drops what is cut
		}
		text = rest
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && e.data != "":
			all = append(all, e)
			e = event{}
		case line == "":
			e = event{}
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			e.data += value
		case name == "retry":
			retry = value
		case name != "":
			panic("a line of no known kind: " + line)
		}
	}
	return all, retry
}

// reader takes an answer. After so many bytes its connection breaks.
type reader struct {
	header  http.Header
	status  int
	text    bytes.Buffer
	left    int
	flushed int // bytes
	leave   context.CancelFunc
}

var errGone = errors.New("the reader has gone")

func (r *reader) Header() http.Header { return r.header }

func (r *reader) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *reader) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	n := min(len(p), r.left)
	r.text.Write(p[:n])
	if r.left -= n; r.left == 0 {
		r.leave()
		return n, errGone
	}
	return n, nil
}

// Flush implements http.Flusher.
func (r *reader) Flush() { r.flushed = r.text.Len() }

// connect asks for events, and returns when the stream has ended, the reader has taken so many
// bytes, or so much time has passed.
func connect(t *testing.T, h http.Handler, target, last string, most int, stays time.Duration) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stays)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	got := &reader{header: http.Header{}, left: most, leave: cancel}
	h.ServeHTTP(got, r)
	if got.left > 0 && got.flushed != got.text.Len() && got.status == http.StatusOK {
		t.Errorf("%d bytes of %d were flushed", got.flushed, got.text.Len())
	}
	return got
}

const (
	workflows = "/v1/workflows"
	whole     = 1 << 30
)

// bubble calls fn in a bubble, with a process and its API.
func bubble(t *testing.T, fn func(t *testing.T, d *testbed.Deployment, p *testbed.Process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		fn(t, d, d.Start(executor.Options{}, testbed.Workload("build-1")...))
	})
}

func post(t *testing.T, p *testbed.Process, target, body string) {
	t.Helper()
	if a := p.Do(http.MethodPost, workflows+target, body); a.Status >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", target, body, a.Status, a.Body)
	}
}

// A history has each event once and in order, wherever the connection breaks: within a message, or
// between two. At its end the reader is told so, and may not connect again.
func TestHistoryAcrossCuts(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		h := live.Handler(p.Process.API, live.Options{})
		for i, most := range []int{1, 7, 150, 600, 601, 602, 700, 1500, 4000, whole} {
			id := fmt.Sprint("w", i)
			post(t, p, "", `{"workflowId":"`+id+`","type":"counter"}`)
			go func() {
				for range 5 {
					time.Sleep(20 * time.Second)
					post(t, p, "/"+id+"/signals/poke", "")
				}
				post(t, p, "/"+id+"/terminate", "")
			}()
			next, last, ended := int64(1), "", false
			for cuts := 0; !ended; cuts++ {
				got := connect(t, h, workflows+"/"+id+"/history", last, most+100*cuts, time.Hour)
				events, _ := parsed(got.text.String())
				for _, e := range events {
					if e.name == "end" {
						ended = true
						continue
					}
					var page schema.HistoryResponse
					if err := json.Unmarshal([]byte(e.data), &page); err != nil || e.name != "history" {
						t.Fatalf("the message %+v: %v", e, err)
					}
					for _, event := range page.Events {
						if event.ID != next {
							t.Fatalf("cuts after %d bytes: event %d, want %d", most, event.ID, next)
						}
						next++
					}
					last = e.id
				}
			}
			if want := int64(4 + 5*4 + 1 + 1); next != want {
				t.Errorf("cuts after %d bytes: the history ends before event %d, want %d", most, next, want)
			}
			if again := connect(t, h, workflows+"/"+id+"/history", last, whole, time.Hour); again.status != http.StatusNoContent || again.text.Len() != 0 {
				t.Errorf("a reader that has all connects again: %d %s", again.status, again.text.String())
			}
		}
	})
}

// A reader hears something each 15 s, and the stream asks no more often than a long poll.
func TestStreamIsNeverSilentForLong(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		post(t, p, "", `{"workflowId":"a","type":"counter"}`)
		got := connect(t, live.Handler(p.Process.API, live.Options{}), workflows+"/a/history?from=2", "", whole, 61*time.Second)
		head, _, _ := strings.Cut(got.text.String(), ":\n\n")
		if events, _ := parsed(head); len(events) != 1 || strings.Count(got.text.String(), ":\n\n") != 4 || !strings.Contains(events[0].id, ":4") {
			t.Errorf("in a minute the reader gets %q, want one message and four comments", got.text.String())
		}
		if got.header.Get("Content-Type") != "text/event-stream" || got.header.Get("Cache-Control") != "no-store" || got.header.Get(httpapi.CostHeader) == "" {
			t.Errorf("the headers are %v", got.header)
		}
	})
}

// A stream with an end tells its reader to connect again at once, and that one misses nothing.
func TestStreamWithAnEnd(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		post(t, p, "", `{"workflowId":"a","type":"counter"}`)
		h := live.Handler(p.Process.API, live.Options{For: 20 * time.Second})
		began := time.Now()
		first := connect(t, h, workflows+"/a/history", "", whole, time.Hour)
		events, retry := parsed(first.text.String())
		if took := time.Since(began); took != 20*time.Second || len(events) != 1 || retry != "0" {
			t.Fatalf("%d messages in %v, and the reader connects again after %q", len(events), took, retry)
		}
		post(t, p, "/a/signals/poke", "")
		second := connect(t, h, workflows+"/a/history", events[0].id, whole, time.Hour)
		after, _ := parsed(second.text.String())
		var page schema.HistoryResponse
		if len(after) != 1 || json.Unmarshal([]byte(after[0].data), &page) != nil || len(page.Events) != 4 || page.Events[0].ID != 5 {
			t.Errorf("the reader that connects again gets %+v", after)
		}
	})
}

// The list sends a page when it differs, and to a reader that connects again only if it differs
// from what that one has.
func TestListStream(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		h := live.Handler(p.Process.API, live.Options{})
		go func() {
			for i := range 3 {
				time.Sleep(time.Minute)
				post(t, p, "", fmt.Sprintf(`{"workflowId":"w%d","type":"counter"}`, i))
			}
		}()
		target := workflows + "?filter=WorkflowType+%3D+%27counter%27"
		got := connect(t, h, target, "", whole, 150*time.Second)
		events, _ := parsed(got.text.String())
		if len(events) != 3 {
			t.Fatalf("%d messages, want 3: %s", len(events), got.text.String())
		}
		for i, e := range events {
			var page schema.ListResponse
			if err := json.Unmarshal([]byte(e.data), &page); err != nil || len(page.Workflows) != i || page.Version != e.id || e.name != "list" {
				t.Errorf("message %d is %+v, %v", i, e, err)
			}
		}
		again := connect(t, h, target, events[2].id, whole, 40*time.Second)
		if after, _ := parsed(again.text.String()); len(after) != 1 {
			t.Errorf("a reader that connects again gets %+v, want the third run alone", after)
		}
		after, _ := parsed(again.text.String())
		if rest := connect(t, h, target+"&version="+after[0].id, "", whole, time.Minute); strings.Contains(rest.text.String(), "data:") {
			t.Errorf("a reader that has the page, and gives its version, gets %s", rest.text.String())
		}
	})
}

// What is refused before the stream begins is refused as the API refuses it.
func TestRefusedStreams(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		h := live.Handler(p.Process.API, live.Options{Streams: 1})
		post(t, p, "", `{"workflowId":"a","type":"counter"}`)
		for target, want := range map[string]int{
			"/b/history": 404, "/a/history?from=0": 400, "/a/history?pageToken=x": 400, "/a/history?runId=x": 400, "?filter=(": 400, "?colour=red": 400,
		} {
			got := connect(t, h, workflows+target, "", whole, time.Hour)
			if got.status != want || got.header.Get("Content-Type") != "application/problem+json" || !json.Valid(got.text.Bytes()) {
				t.Errorf("%s: %d %v %s, want the problem %d", target, got.status, got.header, got.text.String(), want)
			}
		}
		for _, last := range []string{"x", ":", "1-0123456789abcdef", "1-0123456789abcdef:", "1-0123456789abcdef:x", ":4", "1-0123456789abcdef:-1", "1-0123456789abcdef:9223372036854775807", "1-0123456789abcdef:4:4", "1-0123456789abcdef:4:end:end"} {
			if got := connect(t, h, workflows+"/a/history", last, whole, time.Hour); got.status != http.StatusBadRequest {
				t.Errorf("Last-Event-ID %q: %d %s", last, got.status, got.text.String())
			}
		}
		if got := connect(t, h, workflows+"/a/history", "1-0123456789abcdef:4", whole, time.Hour); got.status != http.StatusNotFound {
			t.Errorf("a run that there is not: %d %s", got.status, got.text.String())
		}
		if got := connect(t, h, workflows+"/a/history?runId=2-0123456789abcdef", "1-0123456789abcdef:4", whole, time.Hour); got.status != http.StatusBadRequest {
			t.Errorf("a message of another run: %d %s", got.status, got.text.String())
		}
		// An answer that cannot be flushed, and a request for something else, are the API's own.
		for accept, want := range map[string]int{"text/event-stream": http.StatusNotAcceptable, "application/json": http.StatusOK} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, workflows, nil)
			r.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			h.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
			if w.Code != want {
				t.Errorf("%s: %d %s, want %d", accept, w.Code, w.Body, want)
			}
		}
	})
}

// The number of streams is limited. A further one is refused with what to do, and is accepted once
// another has ended.
func TestManyStreams(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		h := live.Handler(p.Process.API, live.Options{Streams: 2})
		for range 2 {
			go connect(t, h, workflows, "", whole, time.Minute)
		}
		synctest.Wait()
		if got := connect(t, h, workflows, "", whole, time.Hour); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.text.String(), "wait=20s") {
			t.Errorf("a third stream: %d %v %s", got.status, got.header, got.text.String())
		}
		time.Sleep(2 * time.Minute)
		if got := connect(t, h, workflows, "", whole, time.Second); got.status != http.StatusOK {
			t.Errorf("a stream after two have ended: %d %s", got.status, got.text.String())
		}
	})
}

// A stream goes on when the API was busy for a while. If its run is deleted, it ends with the
// reason.
func TestProblemsWithinAStream(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		post(t, p, "", `{"workflowId":"a","type":"counter"}`)
		asked := 0
		h := live.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch asked++; {
			case asked == 2 || asked == 3:
				httpapi.WriteProblem(w, refusal.Busy.New("not now"))
			case asked == 5:
				httpapi.WriteProblem(w, refusal.NotFound.New("it is gone"))
			default:
				p.Process.API.ServeHTTP(w, r)
			}
		}), live.Options{})
		go func() {
			time.Sleep(10 * time.Second)
			post(t, p, "/a/signals/poke", "")
		}()
		got := connect(t, h, workflows+"/a/history", "", whole, time.Hour)
		events, _ := parsed(got.text.String())
		if len(events) != 3 || events[1].name != "history" || events[2].name != "problem" || events[2].id != "" || !strings.Contains(events[2].data, "it is gone") {
			t.Errorf("the reader gets %+v, want two pages and a problem", events)
		}
		if asked != 5 || time.Since(time.Date(2000, 1, 1, 0, 0, 10, 0, time.UTC)) > time.Second {
			t.Errorf("the stream asked %d times until %v, want 5 times", asked, time.Now())
		}
	})
}
