package turn_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/workflow"
)

// bulky is a workflow whose payloads are as large as its callers say.
func bulky() []workflow.Registration {
	text := func(n int) string { return strings.Repeat("x", n) }
	measure := activity.New("measure", func(_ context.Context, s string) (int, error) { return len(s), nil })
	at := workflow.NewUpdate[int, string]("at")       // returns that much at once
	later := workflow.NewUpdate[int, string]("later") // ... after an activity
	feed := workflow.NewUpdate[int, int]("feed")      // hands that much to an activity
	end := workflow.NewSignal[int]("end")
	again := workflow.NewSignal[int]("again")
	large := workflow.Declare[string, string]("bulky")
	run := func(ctx workflow.Context, _ string) (string, error) {
		at.Handle(ctx, func(_ workflow.Context, n int) (string, error) { return text(n), nil })
		later.Handle(ctx, func(ctx workflow.Context, n int) (string, error) {
			_, err := measure.Run(ctx, "")
			return text(n), err
		})
		feed.Handle(ctx, func(ctx workflow.Context, n int) (int, error) { return measure.Run(ctx, text(n)) })
		size, next := 0, 0
		if err := workflow.Select(ctx, workflow.OnSignal(end, func(n int) { size = n }), workflow.OnSignal(again, func(n int) { next = n })); err != nil {
			return "", err
		}
		if next > 0 {
			return large.ContinueAsNew(ctx, text(next))
		}
		return text(size), nil
	}
	return []workflow.Registration{workflow.Bind(large, run), measure}
}

// Case 99: what is too large fails alone, with an error that names the limit. The run goes on, and is never stuck.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := turntest.One(t, bulky()...)
		do := func(target, body, want string) {
			t.Helper()
			method := http.MethodPost
			if body == "" {
				method = http.MethodGet
			}
			if a := p.Do(method, "/v1/workflows"+target, body); !strings.Contains(string(a.Body), want) {
				t.Errorf("%s: %d %.300s", target, a.Status, a.Body)
			}
		}
		const refused = "the limit is 262144"
		for _, id := range []string{"a", "b"} {
			do("", `{"workflowId":"`+id+`","type":"bulky"}`, `"runId"`)
		}
		for _, n := range []string{"262143", "400000", "3000000"} { // the quotes of JSON make 262145 of the first
			do("/a/updates/at", `{"input":`+n+`}`, refused)
			do("/a/updates/later", `{"input":`+n+`}`, refused)
			do("/a/updates/feed", `{"input":`+n+`}`, refused)
		}
		do("/a/updates/at", `{"input":262142}`, `"stage":"completed","result"`)
		do("/a/updates/feed", `{"input":262142}`, `"result":262142`)
		do("/a/signals/end", `{"input":300000}`, "{}")
		do("/a/result", "", refused)
		do("/b/signals/again", `{"input":300000}`, "{}")
		do("/b/result", "", refused)
		if engine.MaxPayload != 262144 {
			t.Error("the test has another limit")
		}
	})
}
