package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/proof/apitest"
)

// conditions maps each problem type of the HTTP API to its error. A text that begins with a dash
// says why the type has no error.
var conditions = map[string]any{
	"invalid":            client.ErrInvalid,
	"unauthorized":       client.ErrUnauthorized,
	"forbidden":          client.ErrForbidden,
	"not-found":          client.ErrNotFound,
	"method-not-allowed": "- no client sends such a request",
	"not-acceptable":     "- only a request for server-sent events is answered so, and no client sends one",
	"already-open":       client.ErrAlreadyStarted,
	"already-used":       client.ErrAlreadyStarted,
	"closed-recently":    client.ErrClosedRecently,
	"not-ready":          client.ErrNotReady,
	"other-build":        client.ErrOtherBuild,
	"activity-ended":     client.ErrActivityEnded,
	"paused":             client.ErrPaused,
	"nothing-to-do":      client.ErrNothingToDo,
	"update-limit":       client.ErrUpdateLimit,
	"too-large":          client.ErrTooLarge,
	"query-failed":       client.ErrQueryFailed,
	"updates-in-flight":  client.ErrUpdatesInFlight,
	"busy":               client.ErrBusy,
	"outcome-unknown":    client.ErrOutcomeUnknown,
	"not-serving":        "- only /readyz answers it, which no client asks",
	"internal":           "- a defect of the server: no caller can branch on it",
}

// problemTypes returns the problem types of the document and of the code, without their common
// prefix.
func problemTypes(t *testing.T) (types []string) {
	t.Helper()
	described, err := apitest.Names("Problem/properties/type/enum")
	if err != nil || len(described) == 0 {
		t.Fatal(described, err)
	}
	for _, typ := range described {
		types = append(types, typ[len("urn:weft:problem:"):])
	}
	source, err := os.ReadFile("../internal/refusal/refusal.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(` Kind = "([^"]+)"`).FindAllSubmatch(source, -1) {
		types = append(types, string(found[1]))
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// errors.Is finds the error of a problem type and no other, both in the client and in a workflow
// whose activity returns the client's error. A new problem type needs an entry in conditions.
func TestProblemsAreConditions(t *testing.T) {
	t.Parallel()
	for _, typ := range problemTypes(t) {
		entry, ok := conditions[typ]
		if !ok {
			t.Errorf("the problem type %s has no condition: add one to engine/failure and internal/refusal, or write in conditions why it needs none", typ)
			continue
		}
		want, _ := entry.(error)
		synctest.Test(t, func(t *testing.T) {
			refused := client.ForHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
				_, _ = fmt.Fprintf(w, `{"type":"urn:weft:problem:%s","title":"No","status":409,"detail":"because"}`, typ)
			})).Cancel(t.Context(), "w", "", "")
			for where, err := range map[string]error{
				"to the caller":                refused,
				"in the same process":          refusal.Kind(typ).New("because"),
				"wrapped":                      fmt.Errorf("could not cancel: %w", refused),
				"in a workflow":                failure.FromError(&failure.ActivityError{ActivityType: "cancel", Cause: refused}).Err(),
				"of an activity that is ended": failure.Flat(refused).Err(),
			} {
				for other, condition := range conditions {
					if condition, ok := condition.(error); ok && errors.Is(err, condition) != (condition == want) {
						t.Errorf("%s %s: errors.Is(%v, that of %s) is %v", typ, where, err, other, condition != want)
					}
				}
			}
		})
	}
}

// A program cannot declare an error that could be taken for one of Weft's.
func TestOwnTypesAreRefused(t *testing.T) {
	t.Parallel()
	for typ, refused := range map[string]bool{
		"NotFound": true, "AlreadyStarted": true, "Invalid": true, "TooLarge": true, "weft.Busy": true, "weft.": true,
		"notFound": false, "order.NotFound": false, "weft": false, "": false,
	} {
		func() {
			defer func() {
				if panicked := recover() != nil; panicked != refused {
					t.Errorf("%q was refused: %v, want %v", typ, panicked, refused)
				}
			}()
			_ = failure.NewForProgram(typ, "")
		}()
	}
}
