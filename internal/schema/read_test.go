package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// slowly is ReadHistory with encoding/json alone.
func slowly(text []byte) (page *schema.HistoryResponse, rest []byte, err error) {
	page = &schema.HistoryResponse{}
	d := json.NewDecoder(bytes.NewReader(text))
	err = d.Decode(page)
	return page, text[d.InputOffset():], err
}

// page is a page with events of many kinds.
func page() *schema.HistoryResponse {
	at := time.Date(2026, 11, 23, 1, 2, 3, 4000, time.UTC)
	cause := failure.FromError(&failure.ActivityError{ActivityType: "charge", EventID: 5, Cause: failure.New("declined", "no \"card\"\n").Final()})
	all := []history.Attributes{
		&history.WorkflowExecutionStarted{
			WorkflowType: "cart", Input: history.Payload(`{"a":[1,2.5,"\u00e9<"],"b":null}`), RunTimeout: 5e9, Retention: 1,
			Header: history.Header{{Name: "x", Value: history.Payload("1")}}, Retry: &history.RetryPolicy{BackoffCoefficient: 1.5},
			SearchAttributes: history.SearchAttributes{{Name: "Region", Value: history.NewAttributeValue("eu")}}, ExecutionDeadline: history.At(at),
		},
		&history.WorkflowTaskScheduled{Kind: history.Transient, Attempt: 2},
		&history.WorkflowTaskStarted{ScheduledEventID: 2, HistoryLength: 3, HistoryBytes: 4, SuggestContinueAsNew: true},
		&history.WorkflowTaskFailed{ScheduledEventID: 2, StartedEventID: 3, Build: "b", Failure: cause, BaseRunID: "1-0"},
		&history.WorkflowTaskCompleted{ScheduledEventID: 2, StartedEventID: 3, Build: "b", Rules: 5},
		&history.ActivityTaskScheduled{ActivityType: "chärge \"it\"", Input: history.Payload("null"), StartToClose: 1, Retry: history.RetryPolicy{MaximumAttempts: 3, NonRetryableTypes: []string{"a"}}},
		&history.ActivityTaskCompleted{ScheduledEventID: 6, Result: history.Payload{0xff, 0}, Attempt: 1},
		&history.ActivityTaskCompleted{ScheduledEventID: 6, Result: history.Payload(`{"weft.base64":"/w=="}`)},
		&history.StartChildWorkflowExecutionInitiated{WorkflowType: "c", WorkflowID: "i", Policy: history.AbandonChild},
		&history.UpsertWorkflowSearchAttributes{SearchAttributes: history.SearchAttributes{{Name: "Due", Value: history.NewAttributeValue(at)}}, Removed: []string{"a"}},
		&history.MarkerRecorded{MarkerName: "m", RetryAt: history.At(at), Failure: cause},
		&history.TimerStarted{FireAt: history.At(at)},
	}
	h := &schema.HistoryResponse{WorkflowID: "cart-1 <\"é\">", RunID: "1-0123456789abcdef", NextPageToken: "t", Next: 13, Closed: true, NewRunID: "2-0123456789abcdef"}
	for i, a := range all {
		h.Events = append(h.Events, schema.HistoryEvent{ID: int64(i + 1), Type: a.Type(), Time: at.Add(time.Duration(i)), Batch: i / 3, Attributes: a})
	}
	return h
}

func texts(t testing.TB) (all [][]byte) {
	t.Helper()
	compact, err := json.Marshal(page())
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	return [][]byte{compact, indented.Bytes(), append(slices.Clone(compact), indented.Bytes()...)}
}

// What Weft exports is read in one pass, and as encoding/json reads it.
func TestReadHistory(t *testing.T) {
	t.Parallel()
	for _, text := range texts(t) {
		if !schema.ReadInOnePass(text) {
			t.Errorf("left to encoding/json: %s", text)
		}
		readAlike(t, text)
		read, _, err := schema.ReadHistory(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range page().Events {
			want, ok := e.Attributes.(*history.ActivityTaskCompleted)
			if got, _ := read.Events[i].Attributes.(*history.ActivityTaskCompleted); ok && !bytes.Equal(got.Result, want.Result) {
				t.Errorf("the result %q is read back as %q: %s", want.Result, got.Result, text)
			}
		}
	}
	if _, _, err := schema.ReadHistory([]byte(" \n")); !errors.Is(err, io.EOF) {
		t.Errorf("a text without a page: %v, want io.EOF", err)
	}
}

// readAlike fails the test if ReadHistory and encoding/json read a text differently.
func readAlike(t *testing.T, text []byte) {
	t.Helper()
	want, wantRest, wantErr := slowly(text)
	got, rest, err := schema.ReadHistory(text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v, encoding/json says: %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: read differs (-encoding/json +ReadHistory):\n%s", text, diff)
	}
	if !bytes.Equal(bytes.TrimSpace(rest), bytes.TrimSpace(wantRest)) {
		t.Fatalf("%q: %q is left, want %q", text, rest, wantRest)
	}
}

func TestReadOddities(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `null`, `{"events":null}`, `{"events":[]}`, `{"events":[null]}`, `{"events":[{}]}`, `{"workflowId":null}`, `{"workflowId":"a","workflowId":"b"}`, `{"more":1}`, `{"workflowId":"a"} x`, `x`,
		`{"events":[{"type":"TimerFired","batch":0,"attributes":{}}]}`, `{"events":[{"attributes":{},"type":"TimerFired","batch":0}]}`, `{"events":[{"type":"TimerFired","attributes":{}}]}`,
		`{"events":[{"type":"Other","batch":0,"attributes":{}}]}`, `{"events":[{"type":"TimerFired","batch":0}]}`, `{"events":[{"type":"TimerFired","batch":0,"attributes":null}]}`,
		`{"events":[{"type":"TimerFired","batch":0,"attributes":{},"time":"2026"}]}`, `{"events":[{"type":"TimerStarted","batch":0,"attributes":{"fireAt":"2026-01-02T03:04:05.123456789Z"}}]}`,
		`{"events":[{"type":"TimerStarted","batch":0,"attributes":{"fireAt":"soon"}}]}`, `{"events":[{"type":"TimerStarted","batch":0,"attributes":{"fireAt":1}}]}`,
		`{"events":[{"type":"WorkflowTaskCompleted","batch":0,"attributes":{"rules":256}}]}`, `{"events":[{"type":"WorkflowTaskCompleted","batch":0,"attributes":{"rules":-1}}]}`,
	} {
		readAlike(t, []byte(text))
	}
}

func FuzzReadHistory(f *testing.F) {
	for _, text := range texts(f) {
		f.Add(text)
	}
	f.Fuzz(readAlike)
}
