package history_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

var moment = history.At(time.Date(2026, 11, 21, 17, 45, 0, 123456000, time.UTC))

// typical returns the commit of a typical step: one result, one new activity, small payloads.
func typical() *history.Commit {
	id := history.CommitID{0xfe, 0xed, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
	return &history.Commit{
		ID: id, RunID: history.NewRunID(1, [8]byte{1, 2, 3}), Slot: 3, FirstEventID: 15, Time: moment,
		Task:        &history.Task{Attempt: 1, Build: "a1b2c3d4e5f6", HistoryBytes: 812},
		InputEvents: []history.Event{history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 14, Attempt: 1, Result: history.Payload(`{"total":42}`)})},
		Commands: []history.Event{history.Of(&history.ActivityTaskScheduled{
			ActivityType: "charge", Input: history.Payload(`{"amount":42,"card":"tok_123"}`), StartToClose: history.Duration(10 * time.Second),
			Retry: history.RetryPolicy{InitialInterval: history.Duration(time.Second), BackoffCoefficient: 2, MaximumInterval: history.Duration(100 * time.Second)},
		})},
		CausationIDs: []history.CausationID{history.NewCausationID(id, 14)},
	}
}

// everything returns a commit with an event of each type and every field set.
func everything() *history.Commit {
	f := failure.FromError(&failure.ActivityError{ActivityType: "charge", EventID: 5, Cause: failure.New("declined", "no").Final()})
	p := history.Payload(`{"a":1}`)
	c := typical()
	c.Status, c.Pending, c.Expires = history.Failed, history.PendingRetry, moment.Add(time.Hour)
	c.Task = &history.Task{Kind: history.Transient, Attempt: 3, Failure: f, Build: "b", HistoryBytes: 1, SuggestContinueAsNew: true}
	retry := history.RetryPolicy{InitialInterval: 1, BackoffCoefficient: 1.5, MaximumInterval: 2, MaximumAttempts: 3, NonRetryableTypes: []string{"declined"}}
	c.InputEvents = events(
		&history.WorkflowExecutionStarted{WorkflowType: "cart", Input: p, RequestID: "r", RunTimeout: 5},
		&history.WorkflowExecutionSignaled{SignalName: "note", Input: p, RequestID: "r"},
		&history.WorkflowExecutionCancelRequested{Reason: "why"},
		&history.ActivityTaskCompleted{ScheduledEventID: 1, Result: p, Attempt: 2},
		&history.ActivityTaskFailed{ScheduledEventID: 1, Failure: f, Attempt: 2},
		&history.ActivityTaskTimedOut{ScheduledEventID: 1, Failure: f, Attempt: 2},
		&history.ActivityTaskCanceled{ScheduledEventID: 1, Failure: f, Attempt: 2},
		&history.TimerFired{StartedEventID: 1},
		&history.WorkflowExecutionTerminated{Reason: "why"},
		&history.WorkflowExecutionTimedOut{RunTimeout: 5},
	)
	c.Commands = events(
		&history.ActivityTaskScheduled{ActivityType: "a", Input: p, StartToClose: 1, ScheduleToClose: 2, Retry: retry, Inline: true},
		&history.ActivityTaskCancelRequested{ScheduledEventID: 1},
		&history.TimerStarted{FireAt: moment},
		&history.TimerCanceled{StartedEventID: 1},
		&history.WorkflowExecutionUpdateAccepted{UpdateID: "u", UpdateName: "n", Input: p, SequencingEventID: 9},
		&history.WorkflowExecutionUpdateCompleted{UpdateID: "u", AcceptedEventID: 8, Result: p, Failure: f},
		&history.WorkflowExecutionCompleted{Result: p},
		&history.WorkflowExecutionFailed{Failure: f},
		&history.WorkflowExecutionCanceled{Failure: f},
	)
	return c
}

func events(all ...history.Attributes) (events []history.Event) {
	for _, a := range all {
		events = append(events, history.Of(a))
	}
	return events
}

// A commit of a typical step stays far below 1 KB, which is one write unit of DynamoDB.
func TestTypicalCommitIsSmall(t *testing.T) {
	t.Parallel()
	data := encode(t, typical())
	t.Logf("a typical commit takes %d bytes", len(data))
	if len(data) > 256 {
		t.Errorf("a typical commit takes %d bytes, want at most 256", len(data))
	}
}

func encode(t testing.TB, c *history.Commit) []byte {
	t.Helper()
	data, err := history.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []*history.Commit{typical(), everything(), {RunID: "1-x", FirstEventID: 1, Status: history.Void}} {
		got, err := history.Decode(c.Slot, encode(t, c))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("decoded differs (-want +got):\n%s", diff)
		}
	}
}

// Commits of version 1 stay readable for ever. These bytes are never rewritten.
func TestDecodeVersion1(t *testing.T) {
	t.Parallel()
	const file = "testdata/commit-v1.hex"
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		_ = os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, []byte(hex.EncodeToString(encode(t, everything()))+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("%s was missing and has been written: commit it", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := history.Decode(3, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everything(), got); diff != "" {
		t.Errorf("decoded differs (-want +got):\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := encode(t, typical())
	newer := append([]byte{2}, good[1:]...)
	unknownEvent := bytes.Replace(good, []byte{0x82, 0x18, byte(history.TypeActivityTaskCompleted)}, []byte{0x82, 0x18, 0xfa}, 1)
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":               {nil, history.ErrCorrupt},
		"a newer version":       {newer, history.ErrNewer},
		"an unknown event type": {unknownEvent, history.ErrNewer},
		"half of it":            {good[:len(good)/2], history.ErrCorrupt},
		"no CBOR":               {[]byte("\x01hello"), history.ErrCorrupt},
	} {
		if _, err := history.Decode(0, test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// A folded task keeps its three ids, and every event its number and time.
func TestEventsAreNumbered(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range typical().Events() {
		if e.Time != moment {
			t.Errorf("event %d has time %v", e.ID, e.Time)
		}
		got = append(got, e.Type().String())
	}
	want := []string{"ActivityTaskCompleted", "WorkflowTaskScheduled", "WorkflowTaskStarted", "WorkflowTaskCompleted", "ActivityTaskScheduled"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if c := typical(); c.TaskScheduledID() != 16 || c.FirstCommandID() != 19 || c.NextEventID() != 20 {
		t.Errorf("ids %d, %d, %d; want 16, 19, 20", c.TaskScheduledID(), c.FirstCommandID(), c.NextEventID())
	}
}

func TestPayloadJSON(t *testing.T) {
	t.Parallel()
	for _, p := range []history.Payload{nil, history.Payload(`{"a":[1,2]}`), history.Payload(`"x"`), {0xff, 0x00}, history.Payload(`{"base64":"AAE="}`)} {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var got history.Payload
		if err := json.Unmarshal(data, &got); err != nil || !bytes.Equal(got, p) {
			t.Errorf("%q became %s and then %q (%v)", p, data, got, err)
		}
	}
}

func TestRunID(t *testing.T) {
	t.Parallel()
	id := history.NewRunID(4_000_000_000, [8]byte{0xab})
	if id.Number() != 4_000_000_000 {
		t.Errorf("the number of %s is %d", id, id.Number())
	}
	for _, bad := range []history.RunID{"", "1", "1-", "-0123456789abcdef", "x-0123456789abcdef", "99999999999-0123456789abcdef", "1-0123"} {
		if bad.Number() != 0 {
			t.Errorf("%q has number %d, want 0", bad, bad.Number())
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, typical()))
	f.Add(encode(f, everything()))
	f.Add([]byte{1})
	f.Add([]byte{history.Encoded})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := history.Decode(0, data)
		if err != nil {
			if !errors.Is(err, history.ErrCorrupt) && !errors.Is(err, history.ErrNewer) && !errors.Is(err, history.ErrEncoded) {
				t.Fatalf("an error of an unknown kind: %v", err)
			}
			return
		}
		again, err := history.Decode(0, encode(t, c))
		if err != nil {
			t.Fatalf("the decoded commit does not survive a round trip: %v", err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("the decoded commit changes in a round trip: %s", diff)
		}
		_ = c.Events()
	})
}

func BenchmarkDecode(b *testing.B) {
	data := encode(b, typical())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := history.Decode(3, data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	c := typical()
	b.ReportAllocs()
	for b.Loop() {
		encode(b, c)
	}
}
