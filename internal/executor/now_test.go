package executor_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// printing is a workflow of one activity, and the attempts that began.
type printing struct {
	mu      sync.Mutex
	numbers []int
	fails   int // how many attempts fail
}

var printingType = workflow.NewWorkflow[int, string]("printing")

// printingEvent is the event that schedules the activity.
const printingEvent = 5

func (p *printing) registrations(o activity.Options) []workflow.Registration {
	act := activity.New("print", func(ctx context.Context, _ int) (string, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.numbers = append(p.numbers, activity.InfoOf(ctx).Attempt); len(p.numbers) <= p.fails {
			return "", errors.New("no paper")
		}
		return "printed", nil
	}, o)
	return []workflow.Registration{act, workflow.Bind(printingType, func(ctx workflow.Context, _ int) (string, error) {
		result, err := act.Run(ctx, 1)
		if err != nil {
			return "", err
		}
		return result, workflow.Sleep(ctx, time.Minute)
	})}
}

func (p *printing) attempts() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.numbers)
}

// The next attempt begins at once. The message of the attempt that was to come makes no other if
// attempts are counted, or if the activity has ended, and one if not. All chains of messages end.
func TestRetryActivityNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most, fails int
		now         []int // the attempts at once
		all         []int
	}{
		"the attempt succeeds":            {0, 1, []int{1, 2}, []int{1, 2}},
		"the attempt fails":               {0, 2, []int{1, 2}, []int{1, 2, 2}},
		"... and all others do":           {0, 4, []int{1, 2}, []int{1, 2, 2, 3, 4}},
		"counted, the attempt succeeds":   {5, 1, []int{1, 2}, []int{1, 2}},
		"counted, the attempt fails":      {5, 3, []int{1, 2}, []int{1, 2, 3, 4}},
		"counted, it is the last attempt": {2, 9, []int{1, 2}, []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, w := testbed.New(t), &printing{fails: c.fails}
				p := d.Start(executor.Options{}, w.registrations(activity.Options{Retry: activity.Retry{InitialInterval: time.Hour, MaxAttempts: c.most}})...)
				if _, err := printingType.Start(t.Context(), p.Client, "w", 0); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := p.Client.RetryActivity(t.Context(), "w", "", printingEvent); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := w.attempts(); !slices.Equal(got, c.now) {
					t.Errorf("%v, want %v", got, c.now)
				}
				time.Sleep(72 * time.Hour)
				if got := w.attempts(); !slices.Equal(got, c.all) {
					t.Errorf("in the end %v, want %v", got, c.all)
				}
				if at, more := d.Queue.Next(); more {
					t.Errorf("a message is left, due at %v", at)
				}
			})
		})
	}
}

// The second of two requests finds nothing to do, until the attempt has failed. So does one before
// the first failure.
func TestRetryActivityNowTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newTries(t)
		d.do = func(context.Context) (string, error) { return "", errors.New("no paper") }
		p := d.process(activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
		if _, err := triesType.Start(t.Context(), p.Client, "w", 0); err != nil {
			t.Fatal(err)
		}
		retry := func() error { return p.Client.RetryActivity(t.Context(), "w", "", printingEvent) }
		if err := retry(); !errors.Is(err, client.ErrNothingToDo) || !strings.Contains(err.Error(), "no attempt has failed") {
			t.Error(err)
		}
		d.DrainFor(t.Context(), time.Minute, func(string) *testbed.Process { return p })
		if err := retry(); err != nil {
			t.Error(err)
		}
		if err := retry(); !errors.Is(err, client.ErrNothingToDo) || !strings.Contains(err.Error(), "has been due since") {
			t.Error(err)
		}
	})
}

// A request whose record may be lost has an unknown outcome. Sent again, it finds the record or
// writes it.
func TestRetryWhoseRecordIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, w := testbed.New(t), &printing{fails: 1}
		p := d.Start(executor.Options{}, w.registrations(activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})...)
		if _, err := printingType.Start(t.Context(), p.Client, "w", 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.Ports.Attempts = unanswered{d.Store}
		deaf := d.Idle(executor.Options{})
		if a := deaf.Do(http.MethodPost, "/v1/workflows/w/activities/5/retry", ""); a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "outcome-unknown") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		synctest.Wait()
		if err := p.Client.RetryActivity(t.Context(), "w", "", printingEvent); !errors.Is(err, client.ErrActivityEnded) {
			t.Error(err) // the message of the first request was sent
		}
		time.Sleep(2 * time.Hour)
		if got := w.attempts(); !slices.Equal(got, []int{1, 2}) {
			t.Error(got)
		}
	})
}

// What an operator says ends an activity while its attempt runs. The attempt's result is dropped.
func TestByHandBeatsAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, end := newTries(t), make(chan struct{})
		d.do = func(context.Context) (string, error) { <-end; return "late", nil }
		p := d.process(activity.Options{})
		run, err := triesType.Start(t.Context(), p.Client, "w", 0)
		if err != nil {
			t.Fatal(err)
		}
		drained := make(chan struct{})
		go func() {
			d.Drain(t.Context(), func(string) *testbed.Process { return p })
			close(drained)
		}()
		synctest.Wait()
		mayRun, err := p.Client.CompleteByHand(t.Context(), "w", run.RunID, printingEvent, history.Payload(`"by hand"`), "it takes too long")
		if !mayRun || err != nil {
			t.Error(mayRun, err)
		}
		close(end)
		<-drained
		if got, err := run.Result(t.Context()); got != "by hand" || err != nil {
			t.Error(got, err)
		}
	})
}
