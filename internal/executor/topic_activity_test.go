package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	streaming = workflow.NewWorkflow[int, string]("streaming")
	tokensOf  = workflow.NewTopic[string]("tokens")
	bump      = workflow.NewUpdate[int, int]("bump")
)

// streams are the registrations of a workflow whose activity publishes.
func streams(code func(ctx context.Context, in int) (string, error), o ...activity.Options) []workflow.Registration {
	act := activity.New("stream", code, o...)
	return []workflow.Registration{act, workflow.Bind(streaming, func(ctx workflow.Context, in int) (string, error) {
		n := 0
		bump.Handle(ctx, func(_ workflow.Context, by int) (int, error) { n += by; return n, nil })
		return act.Run(ctx, in)
	}, workflow.Names(tokensOf, bump))}
}

// itemsRead returns the items of the stream as "offset value attempt", and how many executions
// there are.
func itemsRead(t *testing.T, c *client.Client, id string) (items []string, executions int) {
	t.Helper()
	last := ""
	for item, err := range tokensOf.Read(t.Context(), c, id, 0, client.ReadOptions{NoWait: true}) {
		if err != nil {
			t.Fatal(err)
		}
		attempt := 0
		if a := item.Activity; a != nil {
			attempt = a.Attempt
			if a.Execution != last {
				last = a.Execution
				executions++
			}
		}
		items = append(items, fmt.Sprint(item.Offset, item.Value, attempt))
	}
	return items, executions
}

func logOf(d *testbed.Deployment, id string) (text string) {
	for _, c := range d.Runs(id)[0].Log {
		for _, e := range slices.Concat(c.InputEvents, c.Commands) {
			text += strings.TrimPrefix(e.Type().String(), "Workflow") + " "
		}
		text += "| "
	}
	return text
}

// Items that an activity collects are a batch after a second. The last batch is in the commit of
// the result, so it is no write of its own. A reader gets each item with its attempt.
func TestActivityPublishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
			tokens := activity.Publisher(ctx, tokensOf)
			for _, token := range []string{"a", "b", "c"} {
				if err := tokens.Add(token); err != nil {
					return "", err
				}
			}
			time.Sleep(1500 * time.Millisecond)
			return "done", errors.Join(tokens.Add("d"), tokens.Add("e"))
		})...)
		run, err := streaming.Start(t.Context(), p.Client, "s", 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1200 * time.Millisecond)
		if items, _ := itemsRead(t, p.Client, "s"); !slices.Equal(items, []string{"0a1", "1b1", "2c1"}) {
			t.Errorf("after a second: %v", items)
		}
		if result, err := run.Result(t.Context()); err != nil || result != "done" {
			t.Fatal(result, err)
		}
		items, executions := itemsRead(t, p.Client, "s")
		if !slices.Equal(items, []string{"0a1", "1b1", "2c1", "3d1", "4e1"}) || executions != 1 {
			t.Errorf("%v of %d executions", items, executions)
		}
		if got, want := logOf(d, "s"), "ExecutionStarted ActivityTaskScheduled | ActivityItemsPublished | ActivityItemsPublished ActivityTaskCompleted ExecutionCompleted | "; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// A retry starts over: its items follow those of the failed attempt, and have its number. Items
// that were collected and not yet published when the attempt failed are dropped.
func TestRetriesPublishAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
			if err := activity.Publish(ctx, tokensOf, "a", "b"); err != nil {
				return "", err
			}
			if activity.InfoOf(ctx).Attempt == 1 {
				return "", errors.Join(activity.Publisher(ctx, tokensOf).Add("lost"), errors.New("it fails"))
			}
			return "done", activity.Publish(ctx, tokensOf, "c")
		})...)
		run, err := streaming.Start(t.Context(), p.Client, "s", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		items, executions := itemsRead(t, p.Client, "s")
		if !slices.Equal(items, []string{"0a1", "1b1", "2a2", "3b2", "4c2"}) || executions != 2 {
			t.Errorf("%v of %d executions", items, executions)
		}
	})
}

// A message is delivered twice, so an attempt runs twice at once. The second execution takes
// over with its first batch. The first one gets ErrCanceled, its context ends, and nothing
// follows from it. One whose activity has ended gets ErrActivityEnded.
func TestExecutionsDoNotInterleave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		started := make(chan int, 2)
		goOn := []chan bool{make(chan bool), make(chan bool)}
		refused := make(chan error, 4)
		executions := 0
		p := d.Idle(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
			n := executions
			executions++
			if err := activity.Publish(ctx, tokensOf, fmt.Sprint("first of ", n)); err != nil {
				return "", err
			}
			started <- n
			<-goOn[n]
			err := activity.Publish(ctx, tokensOf, fmt.Sprint("second of ", n))
			refused <- err
			refused <- context.Cause(ctx)
			return fmt.Sprint("result of ", n), err
		}, activity.Options{StartToClose: time.Hour})...)
		if _, err := streaming.Start(t.Context(), p.Client, "s", 0); err != nil {
			t.Fatal(err)
		}
		first := messages(t, d, queue.Activities)[0]
		for _, m := range []engine.Message{*first, *first} {
			go func() {
				_ = p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: &m, Received: 1})
			}()
			<-started
		}
		close(goOn[0])
		if err, cause := <-refused, <-refused; !errors.Is(err, activity.ErrCanceled) || !errors.Is(cause, activity.ErrCanceled) {
			t.Errorf("%v, and the context ends with %v", err, cause)
		}
		synctest.Wait()
		close(goOn[1])
		if err, cause := <-refused, <-refused; err != nil || cause != nil {
			t.Error(err, cause)
		}
		synctest.Wait()
		var result string
		if err := d.Runs("s")[0].State.Status; err != history.Completed {
			t.Errorf("the run is %v", err)
		}
		p.Do(http.MethodGet, "/v1/workflows/s/result", "").Into(t, &struct{ Result *string }{&result})
		items, n := itemsRead(t, p.Client, "s")
		if result != "result of 1" || !slices.Equal(items, []string{"0first of 01", "1first of 11", "2second of 11"}) || n != 2 {
			t.Errorf("%q, %v of %d executions", result, items, n)
		}
	})
}

// A topic that the binding omits is refused, and so is an item that is too large, and a local
// activity. The attempt fails with what to do, and nothing is published.
func TestRefusedBatches(t *testing.T) {
	t.Parallel()
	other := workflow.NewTopic[string]("other")
	for want, publish := range map[string]func(ctx context.Context) error{
		`does not name topic "other", it names tokens: add its declaration to workflow.Names`: func(ctx context.Context) error { return activity.Publish(ctx, other, "x") },
		`does not name topic "other"`: func(ctx context.Context) error { return activity.Publisher(ctx, other).Add("x") },
		"has 262145 bytes: the limit is 262144": func(ctx context.Context) error {
			return activity.Publish(ctx, tokensOf, "ok", strings.Repeat("x", 256<<10-1))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := testbed.New(t).Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) { return "", publish(ctx) })...)
			run, err := streaming.Start(t.Context(), p.Client, "s", 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if items, _ := itemsRead(t, p.Client, "s"); len(items) > 0 {
				t.Errorf("%v", items)
			}
		})
	}
}

// Each batch races with the updates of the run that other processes commit. This counts the lost
// races, for docs/cost.md: a warm process does not read before it writes, so it loses a race if
// anybody else has committed since its last write. A batch makes one update lose at most.
func TestLostRacesOfBatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pause, updates time.Duration // between batches, and between updates
	}{
		{time.Second, 100 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond},
		{time.Second, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			const lasts = 20 * time.Second
			d := testbed.New(t)
			batches := 0
			registrations := streams(func(ctx context.Context, _ int) (string, error) {
				for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(c.pause) {
					if err := activity.Publish(ctx, tokensOf, "x"); err != nil {
						return "", err
					}
					batches++
				}
				return "done", nil
			}, activity.Options{StartToClose: time.Hour})
			p, other := d.Start(executor.Options{}, registrations...), d.Idle(executor.Options{}, registrations...)
			run, err := streaming.Start(t.Context(), p.Client, "s", 0)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.updates / 2)
			updates, lost := 0, int64(0)
			for end := time.Now().Add(lasts - time.Second); time.Now().Before(end); time.Sleep(c.updates) {
				a := other.Do(http.MethodPost, "/v1/workflows/s/updates/bump", `{"input":1}`)
				if a.Status != http.StatusOK {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				updates++
				lost += a.Cost.Lost
			}
			if _, err := run.Result(t.Context()); err != nil {
				t.Fatal(err)
			}
			items, _ := itemsRead(t, p.Client, "s")
			t.Logf("a batch each %v, an update each %v: %d batches, %d updates, of which %d lost a race", c.pause, c.updates, batches, updates, lost)
			if len(items) != batches || lost > int64(batches) {
				t.Errorf("%d items of %d batches; %d updates lost %d races", len(items), batches, updates, lost)
			}
		})
	}
}
