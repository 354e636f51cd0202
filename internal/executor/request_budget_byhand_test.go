package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/workflow"
)

// fix is an update of fickle. Processes of a build whose code has failed refuse it until the run
// is retried with success. Those of another build try it.
var fix = workflow.NewUpdate[workflow.None, string]("fix")

// notice is a signal that the code of fickle does not receive.
var notice = workflow.NewSignal[workflow.None]("any")

// fickle returns a workflow whose code panics while the bench is broken. Its activity always fails.
func (b *bench) fickle() []workflow.Registration {
	jam := activity.New("jam", func(context.Context, int) (string, error) { return "", errors.New("no paper") },
		activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
	return []workflow.Registration{jam, workflow.Bind(workflow.NewWorkflow[string, string]("fickle"), func(ctx workflow.Context, how string) (string, error) {
		fix.Handle(ctx, func(workflow.Context, workflow.None) (string, error) { return "done", nil })
		if b.broken.Load() {
			panic("not today")
		}
		if how == "waits" {
			return "", workflow.Sleep(ctx, time.Minute)
		}
		return jam.Run(ctx, 1)
	}, workflow.Names(fix, notice))}
}

// deploy stops the process. The next one is of a build.
func (b *bench) deploy(build string) {
	b.build = build
	if b.last != nil {
		b.last.Stop()
		b.last = nil
	}
}

// byHand measures what operators do.
func (b *bench) byHand(reads int64) {
	runs := 0
	start := func(how string) (id, run string) {
		runs++
		id = fmt.Sprintf("fickle-%d", runs)
		var answer struct{ RunID string }
		b.do(http.MethodPost, "", fmt.Sprintf(`{"workflowId":%q,"type":"fickle","input":%q}`, id, how)).Into(b.t, &answer)
		return id, answer.RunID
	}
	b.broken.Store(true)
	stuck, _ := start("waits")
	b.measure("describe, of a stuck run", meter.Cost{Reads: 2}, func() { b.do(http.MethodGet, "/"+stuck, "") })
	b.measure("retry of a stuck run, whose code fails again", meter.Cost{Reads: 1}, func() {
		if a := b.process().DoWith(b.total.Counting(b.t.Context()), http.MethodPost, "/v1/workflows/"+stuck+"/retry", ""); a.Status != http.StatusConflict {
			b.t.Errorf("%d %s", a.Status, a.Body)
		}
	})
	b.broken.Store(false)
	b.measure("retry of a stuck run, its timer included", meter.Cost{Writes: 1, Reads: 1, Messages: 1}, func() { b.do(http.MethodPost, "/"+stuck+"/retry", "") })
	b.do(http.MethodPost, "/"+stuck+"/terminate", "")

	// If attempts have failed meanwhile, their record says how many. The commit of the retry has
	// the number, so that the cost of the run does not fall.
	for _, r := range []struct{ name, target, body string }{
		{"a run gets stuck, is retried by hand", "/retry", ""},
		{"a run gets stuck, an update finds its code fixed", "/updates/fix", `{}`},
	} {
		b.broken.Store(true)
		id, _ := start("waits")
		b.measure(r.name+": a minute before that", meter.Cost{Writes: 5, Reads: 7 * reads, Messages: 5}, func() { b.next(time.Minute) })
		b.broken.Store(false)
		b.deploy("build-fixed")
		b.measure(r.name, meter.Cost{Writes: 1, Reads: 2, Messages: 1}, func() { b.do(http.MethodPost, "/"+id+r.target, r.body) })
		b.deploy("")
		b.do(http.MethodPost, "/"+id+"/terminate", "")
	}

	// The process reads the log, and then the record of the activity. The record says that the
	// attempt is due.
	id, run := start("fails")
	b.next(time.Minute)
	b.measure("retry of an activity now", meter.Cost{Writes: 1, Reads: 2, Messages: 1}, func() { b.do(http.MethodPost, "/"+id+"/activities/5/retry", "") })
	b.next(time.Minute)
	b.measure("pause", meter.Cost{Writes: 1, Reads: reads}, func() { b.do(http.MethodPost, "/"+id+"/pause", "") })
	b.measure("signal, of a paused run", meter.Cost{Writes: 1, Reads: reads}, func() { b.do(http.MethodPost, "/"+id+"/signals/any", "") })
	// It reads the records of the activity, which no pause has held.
	b.measure("resume, of a run with an activity", meter.Cost{Writes: 1, Reads: 1 + reads}, func() { b.do(http.MethodPost, "/"+id+"/resume", "") })
	b.measure("complete an activity by hand", meter.Cost{Writes: 1, Reads: 1 + reads}, func() {
		b.do(http.MethodPost, "/"+id+"/activities/5/complete?runId="+run, `{"result":"by hand"}`)
	})
	b.measure("the same again", meter.Cost{Reads: 1}, func() {
		b.do(http.MethodPost, "/"+id+"/activities/5/complete?runId="+run, `{"result":"by hand"}`)
	})
	b.drain()
}
