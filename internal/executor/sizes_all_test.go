package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow of this test passes a text of the largest size to everything that accepts one, and
// receives it again.
type everything struct {
	Last bool
	Text string
}

var (
	every     = workflow.NewWorkflow[everything, string]("every")
	everyKid  = workflow.NewWorkflow[string, string]("every.kid")
	everyTell = workflow.NewSignal[string]("every.tell")
	everyEcho = workflow.NewUpdate[string, string]("every.echo")
	everyCopy = activity.New("every.copy", func(_ context.Context, s string) (string, error) { return s, nil })
)

// runEvery starts an activity and a child and runs a side effect when a signal arrives. It
// continues as new after an update was answered, with one unread signal. The next run returns that
// signal.
func runEvery(ctx workflow.Context, in everything) (string, error) {
	answered := 0
	everyEcho.Handle(ctx, func(_ workflow.Context, s string) (string, error) {
		answered++
		return s, nil
	})
	told, err := everyTell.Receive(ctx)
	if err != nil || in.Last {
		return told, err
	}
	found := workflow.SideEffect(ctx, func() string { return told }) // first, because it cannot be postponed to a task that has room for it
	copied, kid := everyCopy.Start(ctx, told), everyKid.StartChild(ctx, told)
	a, err1 := copied.Get(ctx)
	b, err2 := kid.Result().Get(ctx)
	err3 := workflow.Await(ctx, func() bool { return answered > 0 })
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	if a != told || b != told || found != told {
		return "", fmt.Errorf("%d bytes of an activity, %d of a child, %d of a side effect", len(a), len(b), len(found))
	}
	return every.ContinueAsNew(ctx, everything{true, in.Text})
}

// One run has a payload of the largest size in each place that accepts one, with a bucket and
// without. No task fails, and each history replays.
func TestLargestPayloadsEverywhere(t *testing.T) {
	t.Parallel()
	registrations := []workflow.Registration{
		workflow.Bind(every, runEvery, workflow.Names(everyEcho, everyTell)), everyCopy,
		workflow.Bind(everyKid, func(_ workflow.Context, s string) (string, error) { return s, nil }),
	}
	buckets := shortform.Or([]bool{false, true}, []bool{false}) // payloads of 5 MiB are slow with the race detector
	for _, bucket := range buckets {
		for _, cached := range shortform.Or([]int{0, -1}, []int{0}) {
			t.Run(fmt.Sprintf("bucket %v, cached %d", bucket, cached), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d, most := testbed.New(t), engine.MaxPayload
					if bucket {
						d.Offload()
						most = 5 << 20
					}
					p := d.Start(executor.Options{CacheEntries: cached}, registrations...)
					if !bucket { // with a bucket, three replays of payloads of 5 MiB would take half a minute
						defer d.Replay(registrations...)
					}
					defer p.Stop()
					text := strings.Repeat("x", most-len(`""`))
					run, err := every.Start(t.Context(), p.Client, "a", everything{Text: text[:most-len(`{"Last":false,"Text":""}`)]})
					if err == nil {
						err = everyTell.Send(t.Context(), p.Client, "a", text)
					}
					if err == nil {
						err = everyTell.Send(t.Context(), p.Client, "a", text)
					}
					if err != nil {
						t.Fatal(err)
					}
					if got, err := everyEcho.Call(t.Context(), p.Client, "a", text); err != nil || got != text {
						t.Errorf("the update returned %d bytes, %.200v", len(got), err)
					}
					if got, err := run.Result(t.Context()); err != nil || got != text {
						t.Errorf("the result has %d bytes, %.200v", len(got), err)
					}
					for run := range uint32(2) {
						for _, c := range d.Commits("a", run+1) {
							for _, e := range c.Events() {
								if f, ok := e.Attributes.(*history.WorkflowTaskFailed); ok {
									t.Errorf("a task of run %d failed: %.200v", run+1, f)
								}
							}
						}
					}
				})
			})
		}
	}
}
