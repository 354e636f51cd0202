package acts

import (
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// The problem of a run whose code fails has the kind of the failure, whatever a panic says, and not
// what it says. A refusal whose detail is the failure's text says it once.
func TestNotReady(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"not today", "code", "fails", ""} {
		f := &failure.Failure{Kind: failure.KindPanic, Message: text}
		if got := notReady(refusal.NotReady.New("the workflow's code fails").With(f)); !strings.Contains(got, "panic; the workflow's code fails") || strings.Contains(got, "not today") {
			t.Errorf("%q: %s", text, got)
		}
	}
	f := &failure.Failure{Kind: failure.KindUnregistered, Message: "there is no such type"}
	if got := notReady(refusal.NotReady.New("%s", f.Message).With(f)); strings.Count(got, f.Message) != 1 {
		t.Error(got)
	}
}
