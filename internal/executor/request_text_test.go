package executor_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// garbled is a text that is not UTF-8. The test uses it in every place in which code can put a
// text. What was written has to stay readable.
const garbled = "gar\xffbled\x00\xc3"

var (
	garbler    = workflow.NewWorkflow[string, string]("garbler")
	garbledUpd = workflow.NewUpdate[string, string]("update")
	garbledAsk = workflow.NewQuery[workflow.None, string]("query")
	garbledAct = activity.New("activity", func(_ context.Context, how string) (string, error) {
		if how == "panic" {
			panic(garbled)
		}
		return garbled, workflow.NewError(garbled, garbled)
	}, activity.Options{Retry: activity.Retry{MaxAttempts: 2}})
)

func garble(ctx workflow.Context, how string) (string, error) {
	garbledAsk.Handle(ctx, func(workflow.None) (string, error) { return garbled, errors.New(garbled) })
	garbledUpd.Handle(ctx, func(ctx workflow.Context, how string) (string, error) {
		if how == "panic" {
			panic(garbled)
		}
		return garbled, errors.New(garbled)
	}, workflow.Validate(func(how string) error {
		if how == "refuse" {
			return workflow.NewError(garbled, garbled)
		}
		return nil
	}))
	switch how {
	case "panic", "fail":
		return garbledAct.Run(ctx, how)
	case "error":
		return "", errors.New(garbled)
	case "stuck":
		panic(garbled)
	}
	return garbled, workflow.Sleep(ctx, time.Minute)
}

func TestTextsThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		registrations := []workflow.Registration{workflow.Bind(garbler, garble, workflow.Names(garbledUpd, garbledAsk)), garbledAct}
		p := d.Start(executor.Options{Build: garbled}, registrations...)
		post := func(target, body string) { p.Do(http.MethodPost, "/v1/workflows"+target, body) }
		ways := []string{"panic", "fail", "error", "stuck", "sleep"}
		for _, how := range ways {
			post("", `{"workflowId":"`+how+`","type":"garbler","input":"`+how+`"}`)
		}
		for _, how := range []string{"refuse", "panic", "fail"} {
			post("/sleep/updates/update", `{"updateId":"`+how+`","input":"`+how+`"}`)
		}
		post("/sleep/queries/query", "")
		post("/sleep/signals/"+strings.ReplaceAll("gar%FFbled", "%00", ""), "")
		time.Sleep(time.Second / 2)
		readAll(t, p, ways)
		time.Sleep(time.Hour)
		readAll(t, p, ways)
		readAll(t, d.Idle(executor.Options{}, registrations...), ways)
	})
}

// readAll sends every kind of read request. It demands that each answer is JSON in UTF-8.
func readAll(t *testing.T, p *testbed.Process, ids []string) {
	t.Helper()
	for _, id := range ids {
		for _, what := range []string{"", "/result", "/history", "/updates/fail"} {
			a := p.Do(http.MethodGet, "/v1/workflows/"+id+what, "")
			if a.Status >= 400 && what != "/updates/fail" {
				t.Errorf("%s%s: %d %s", id, what, a.Status, a.Body)
			}
		}
	}
}
