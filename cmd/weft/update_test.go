package main

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

// weft update fail fails an update whose handler waits. Its caller gets the reason.
func TestUpdateFail(t *testing.T) {
	t.Parallel()
	waits := workflow.NewWorkflow[workflow.None, string]("waits")
	nap := workflow.NewUpdate[workflow.None, workflow.None]("nap")
	api := serve(t, workflow.Bind(waits, func(ctx workflow.Context, _ workflow.None) (string, error) {
		nap.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
			return workflow.None{}, workflow.Sleep(ctx, 24*time.Hour)
		})
		return "", workflow.Sleep(ctx, 48*time.Hour)
	}))
	c := client.New(api)
	if _, err := waits.Start(t.Context(), c, "w", workflow.None{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Update(t.Context(), "w", "nap", nil, client.UpdateOptions{ID: "u1"}); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"update fail w u1 --reason=broken --url=": "",
		"update fail w u2 --url=":                 `has accepted no update "u2"`,
	} {
		_, err := command(t, line+api)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("weft %s: %v", line, err)
		}
	}
	if _, err := command(t, "update wait w u1 --url="+api); cli.CodeOf(err) != cli.Failed || !strings.Contains(err.Error(), "update u1 was failed by an operator: broken") {
		t.Errorf("weft update wait: %v", err)
	}
	if _, err := c.Handle("w", "", "u1").Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the update's outcome is %v", err)
	}
}
