package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func item(run, slot uint32, id byte) store.Item {
	return store.Item{Key: store.Key{Workflow: "order", Run: run, Slot: slot}, Commit: [16]byte{id}, Body: []byte{id}}
}

func summary(run uint32, status string, closed time.Time) *store.Summary {
	return &store.Summary{Workflow: "order", Run: run, RunID: "1-0", Type: "Order", Status: status, Started: noon, Closed: closed}
}

// script is the life of a workflow, in calls that each write once.
func script() []func(ctx context.Context, s *dynamo.Store) error {
	opening, closing, next := item(1, 0, 1), item(1, 2, 3), item(2, 0, 4)
	opening.Summary, closing.Summary = summary(1, "running", time.Time{}), summary(1, "completed", noon)
	next.Summary = summary(2, "running", time.Time{})
	timers := []store.Timer{{ID: "a", Due: noon, Body: []byte("a")}, {ID: "b", Due: noon.Add(time.Hour), Body: []byte("b")}}
	appending := func(items ...store.Item) func(context.Context, *dynamo.Store) error {
		return func(ctx context.Context, s *dynamo.Store) error { return s.Append(ctx, items...) }
	}
	recording := func(n int) func(context.Context, *dynamo.Store) error {
		return func(ctx context.Context, s *dynamo.Store) error {
			return s.RecordAttempt(ctx, store.Attempt{Workflow: "order", Run: 1, Event: 5, Number: n, Body: []byte{byte(n)}})
		}
	}
	return []func(context.Context, *dynamo.Store) error{
		appending(opening), recording(1), recording(2), appending(item(1, 1, 2)),
		func(ctx context.Context, s *dynamo.Store) error { return s.PutTimers(ctx, timers) },
		appending(closing, next),
		func(ctx context.Context, s *dynamo.Store) error { return s.DeleteTimers(ctx, timers[:1]) },
	}
}

// everything returns what a store has, read through the ports.
func everything(t *testing.T, s *dynamo.Store) string {
	t.Helper()
	log, err := s.Backward(t.Context(), "order", store.Key{}, store.Key{}, 0)
	attempts, err2 := s.ReadAttempts(t.Context(), "order", 1)
	timers, err3 := s.DueTimers(t.Context(), noon.AddDate(1, 0, 0), 10)
	runs, _, err4 := s.Lister().ListRuns(t.Context(), store.Filter{}, "", 10)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v", log, attempts, timers, runs)
}

// Each write fails, applied or not, with a broken connection or an error of the server. The caller
// gets ErrUnknown and repeats the call, and the store is as if nothing had failed.
func TestEveryWriteFails(t *testing.T) {
	t.Parallel()
	want := func() string {
		f := newFake()
		s := f.open(t, "n")
		for i, call := range script() {
			if err := call(t.Context(), s); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		return everything(t, s)
	}()
	for at := range script() {
		for name, wrong := range map[string]fault{
			"lost":               {},
			"applied, lost":      {applied: true},
			"error":              {status: http.StatusInternalServerError, body: `{"__type":"InternalServerError"}`},
			"applied, and error": {applied: true, status: http.StatusServiceUnavailable, body: "<html>"},
			"applied, and cut":   {applied: true, status: http.StatusOK, body: `{"Attr`},
		} {
			t.Run(fmt.Sprintf("%d %s", at, name), func(t *testing.T) {
				t.Parallel()
				f := newFake()
				for i, call := range script() {
					if i == at {
						f.fault = func(string, *request) *fault { f.fault = nil; return &wrong }
						before := len(f.requests)
						if err := call(t.Context(), f.open(t, "n")); !errors.Is(err, store.ErrUnknown) {
							t.Fatalf("the call that failed returned %v, want ErrUnknown", err)
						}
						if n := len(f.requests) - before; n != 1 {
							t.Fatalf("%d requests of the call that failed: the store repeated what it must not", n)
						}
					}
					err := call(t.Context(), f.open(t, "n"))
					if i == at && wrong.applied {
						wantOwn(t, err)
					} else if err != nil {
						t.Fatalf("call %d: %v", i, err)
					}
				}
				if d := cmp.Diff(want, everything(t, f.open(t, "n"))); d != "" {
					t.Errorf("without the fault, and with it:\n%s", d)
				}
			})
		}
	}
}

// wantOwn demands the result of a call that is repeated after it was applied.
func wantOwn(t *testing.T, err error) {
	t.Helper()
	var conflict *store.Conflict
	if errors.As(err, &conflict) {
		if e := conflict.Existing; len(e.Body) != 1 || e.Commit != [16]byte{e.Body[0]} || e.Workflow != "order" {
			t.Errorf("a Conflict with %+v, want the caller's own item", e)
		}
	} else if err != nil && !errors.Is(err, store.ErrStale) { // putting and deleting timers may be repeated
		t.Errorf("repeated after it was applied: %v", err)
	}
}

// If the SDK repeats the same request of a transaction whose first try was applied, that is no
// conflict: the request has the same token.
func TestTransactionsHaveATokenPerCall(t *testing.T) {
	t.Parallel()
	f := newFake()
	tokens := map[string]bool{}
	f.fault = func(_ string, in *request) *fault { tokens[in.ClientRequestToken] = true; return nil }
	for range 2 {
		_ = f.open(t, "n").Append(t.Context(), item(1, 0, 1), item(1, 1, 2))
	}
	if len(tokens) != 2 || tokens[""] {
		t.Errorf("the tokens of two calls: %v", tokens)
	}
}
