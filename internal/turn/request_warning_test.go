package turn_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/workflow"
)

// leaver closes its run in different ways, while update handlers run that heed nothing.
var (
	leaver   = workflow.Declare[workflow.None, int]("leaver")
	stay     = workflow.NewUpdate[workflow.None, int]("stay")
	linger   = workflow.NewUpdate[workflow.None, int]("linger")
	leaveNow = workflow.NewUpdate[string, int]("leave")
)

func leave(ctx workflow.Context, _ workflow.None) (int, error) {
	how := ""
	forever := func(ctx workflow.Context, _ workflow.None) (int, error) {
		return 0, workflow.Await(workflow.Disconnected(ctx), func() bool { return false })
	}
	stay.Handle(ctx, forever)
	linger.Handle(ctx, forever, workflow.Abandon[workflow.None]())
	leaveNow.Handle(ctx, func(_ workflow.Context, as string) (int, error) { how = as; return 0, nil })
	if err := workflow.Await(ctx, func() bool { return how != "" }); err != nil {
		return 0, err
	}
	if how == "fail" {
		return 0, workflow.NewError("failed", "failed")
	}
	return 0, nil
}

// Case 78: handlers that run when the run closes are reported once, with name and id, when the commit has landed. Those
// that were set with Abandon are not, nor any where the run failed.
func TestUnfinishedHandlersAreReported(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, update, end, body string
		want                    int
	}{
		{"success", "stay", "/updates/leave", `{"input":"done"}`, 1},
		{"cancel", "stay", "/cancel", ``, 1},
		{"failure", "stay", "/updates/leave", `{"input":"fail"}`, 0},
		{"abandon", "linger", "/updates/leave", `{"input":"done"}`, 0},
		{"terminate", "stay", "/terminate", ``, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var text bytes.Buffer
				d := turntest.New(t)
				hooks := d.Hook()
				o := turn.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))}
				p := d.Idle(o, workflow.Bind(leaver, leave))
				p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"leaver"}`)
				p.Do(http.MethodPost, "/v1/workflows/a/updates/"+test.update, `{"updateId":"u1","waitFor":"accepted"}`)
				other := d.Idle(turn.Options{}, workflow.Bind(leaver, leave))
				hooks.Next(turntest.OnPut, func(put func() error) error { // this attempt loses, and is none
					other.Do(http.MethodPost, "/v1/workflows/a/signals/x", "")
					return put()
				})
				p.Do(http.MethodPost, "/v1/workflows/a"+test.end, test.body)
				p.Do(http.MethodPost, "/v1/workflows/a/queries/none", "") // replays
				if got := strings.Count(text.String(), test.update+" (u1)"); got != test.want {
					t.Errorf("%d warnings, want %d:\n%s", got, test.want, text.String())
				}
				if status := d.Runs("a")[0].State.Status; !status.Closed() {
					t.Errorf("the run is %s", status)
				}
			})
		})
	}
}
