package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// A sluggish workflow is slow: its query and its validator sleep for as long as their input says.
var (
	sluggish     = workflow.NewWorkflow[int, int]("sluggish")
	sluggishNap  = workflow.NewQuery[time.Duration, int]("nap")
	sluggishAdd  = workflow.NewUpdate[time.Duration, int]("add") // the validator of add sleeps
	sluggishWait = workflow.NewUpdate[time.Duration, int]("wait")
)

func runSluggish(ctx workflow.Context, _ int) (int, error) {
	n := 0
	//weftvet:ignore time it is slow on purpose
	sluggishNap.Handle(ctx, func(d time.Duration) (int, error) { time.Sleep(d); return n, nil })
	sluggishAdd.Handle(ctx, func(workflow.Context, time.Duration) (int, error) { n++; return n, nil },
		workflow.Validate(func(d time.Duration) error { time.Sleep(d); return nil })) //weftvet:ignore time it is slow on purpose
	sluggishWait.Handle(ctx, func(ctx workflow.Context, d time.Duration) (int, error) { return n, workflow.Sleep(ctx, d) })
	return n, workflow.Await(ctx, func() bool { return false })
}

// sluggishTestbed calls fn with a process in which the workflow "w" is open.
func sluggishTestbed(t *testing.T, fn func(t *testing.T, p *testbed.Process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{QueryFor: 10 * time.Second}, workflow.Bind(sluggish, runSluggish, workflow.Names(sluggishAdd, sluggishWait, sluggishNap))) // queries of this test take long
		if _, err := sluggish.Start(t.Context(), p.Client, "w", 0, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		fn(t, p)
		time.Sleep(2 * time.Hour) // code that still runs returns
	})
}

// sent sends an update, and returns the answer and the time that it took.
func sent(p *testbed.Process, name, id, input string, timeout ...time.Duration) (answer *schema.UpdateResponse, took time.Duration, err error) {
	r := schema.UpdateRequest{UpdateID: id, Input: []byte(input)}
	if len(timeout) > 0 {
		r.Timeout = (*schema.Duration)(&timeout[0])
	}
	began := time.Now()
	answer, err = p.Service.Update(context.Background(), "w", "", name, r)
	return answer, time.Since(began), err
}

// napping starts a query that holds the workflow for two seconds.
func napping(t *testing.T, p *testbed.Process) {
	t.Helper()
	go func() { _, _ = sluggishNap.Ask(context.Background(), p.Client, "w", 2*time.Second) }()
	synctest.Wait()
}

// adds returns how many updates the workflow has accepted.
func adds(t *testing.T, p *testbed.Process) int {
	t.Helper()
	n, err := sluggishNap.Ask(t.Context(), p.Client, "w", 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The timeout of an update limits how long it waits behind a busy run. An update that is refused
// for that reason is never carried out.
func TestTimeoutBehindABusyRun(t *testing.T) {
	for _, timeout := range []time.Duration{0, 200 * time.Millisecond} {
		t.Run(timeout.String(), func(t *testing.T) {
			sluggishTestbed(t, func(t *testing.T, p *testbed.Process) {
				napping(t, p)
				if _, took, err := sent(p, "add", "u", "0", timeout); !errors.Is(err, refusal.Busy) || took != timeout || !strings.Contains(err.Error(), "waited behind others") {
					t.Errorf("answered %v after %v", err, took)
				}
				time.Sleep(time.Minute)
				if n := adds(t, p); n != 0 {
					t.Errorf("the refused update was carried out: %d", n)
				}
			})
		})
	}
}

// With a timeout of 0, the answer to an update has the stage that the update reached in its own
// task.
func TestTimeoutOfZero(t *testing.T) {
	sluggishTestbed(t, func(t *testing.T, p *testbed.Process) {
		if a, took, err := sent(p, "add", "u1", "0", 0); err != nil || a.Stage != schema.StageCompleted || took != 0 {
			t.Errorf("an update that completes at once: %+v, %v, after %v", a, err, took)
		}
		if a, took, err := sent(p, "wait", "u2", "3600000000000", 0); err != nil || a.Stage != schema.StageAccepted || took != 0 {
			t.Errorf("an update that waits: %+v, %v, after %v", a, err, took)
		}
		if a, took, err := sent(p, "wait", "u3", "3600000000000"); err != nil || a.Stage != schema.StageAccepted || took != 20*time.Second {
			t.Errorf("an update without a timeout: %+v, %v, after %v", a, err, took)
		}
	})
}

// If the timeout ends while an update is carried out, the update is not reported as refused.
// Sending it again returns its outcome.
func TestTimeoutWhileCarriedOut(t *testing.T) {
	sluggishTestbed(t, func(t *testing.T, p *testbed.Process) {
		if _, took, err := sent(p, "add", "u", "700000000", 200*time.Millisecond); !errors.Is(err, refusal.OutcomeUnknown) || took != 200*time.Millisecond {
			t.Errorf("answered %v after %v", err, took)
		}
		if a, _, err := sent(p, "add", "u", "0"); err != nil || a.Stage != schema.StageCompleted || string(a.Result) != "1" {
			t.Errorf("the update, sent again: %+v, %v", a, err)
		}
		if n := adds(t, p); n != 1 {
			t.Errorf("the update was carried out %d times", n)
		}
	})
}

// A caller who waits for the longest time that a request may take gets an answer by then. That
// holds even if the request waits behind a busy run and the store does not report the outcome of
// its put.
func TestTimeoutAfterAWaitBehindABusyRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Start(executor.Options{QueryFor: 10 * time.Second}, workflow.Bind(sluggish, runSluggish, workflow.Names(sluggishAdd, sluggishWait, sluggishNap)))
		if _, err := sluggish.Start(t.Context(), p.Client, "w", 0, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		hooks.Always(testbed.OnPut, testbed.Faults["lose-request"]())
		napping(t, p)
		if _, took, err := sent(p, "add", "u", "0"); !errors.Is(err, refusal.OutcomeUnknown) || took > 20*time.Second {
			t.Errorf("answered %v after %v", err, took)
		}
		hooks.Always(testbed.OnPut, nil)
		time.Sleep(2 * time.Hour)
	})
}

// An update that another request carries out in its batch is not reported as refused either.
func TestTimeoutWhileTakenAlong(t *testing.T) {
	sluggishTestbed(t, func(t *testing.T, p *testbed.Process) {
		napping(t, p)
		done := make(chan error)
		go func() {
			_, _, err := sent(p, "add", "first", "900000000")
			done <- err
		}()
		synctest.Wait()
		if _, took, err := sent(p, "add", "second", "0", 2500*time.Millisecond); !errors.Is(err, refusal.OutcomeUnknown) || took != 2500*time.Millisecond {
			t.Errorf("answered %v after %v", err, took)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if a, _, err := sent(p, "add", "second", "0"); err != nil || string(a.Result) != "2" {
			t.Errorf("the update, sent again: %+v, %v", a, err)
		}
	})
}

// With a timeout of 0, a request for a result or for an update's outcome does not wait behind a
// busy run.
func TestPollsDuringABusyRun(t *testing.T) {
	sluggishTestbed(t, func(t *testing.T, p *testbed.Process) {
		if _, _, err := sent(p, "add", "u", "0"); err != nil {
			t.Fatal(err)
		}
		napping(t, p)
		began := time.Now()
		if a, err := p.Service.PollUpdate(t.Context(), "w", "", "u", 0); err != nil || a.Stage != schema.StageCompleted {
			t.Errorf("poll: %+v, %v", a, err)
		}
		if a, err := p.Service.Result(t.Context(), "w", "", 0); err != nil || a.Status.Closed() {
			t.Errorf("result: %+v, %v", a, err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the requests took %v", took)
		}
	})
}

// A validator that exceeds its budget fails its update, and the failure is visible. Other updates
// of the run are refused at once until the validator returns.
func TestValidatorThatTakesTooLong(t *testing.T) {
	sluggishTestbed(t, func(t *testing.T, p *testbed.Process) {
		_, took, err := sent(p, "add", "u", "60000000000")
		if !errors.Is(err, refusal.NotReady) || took != time.Second || p.Service.Hung() != 1 {
			t.Errorf("answered %v after %v, with %d hung", err, took, p.Service.Hung())
		}
		if a, took, err := sent(p, "add", "early", "0"); !errors.Is(err, refusal.NotReady) || took != 0 {
			t.Errorf("another update before the validator returns: %+v, %v, after %v; want 409 at once", a, err, took)
		}
		time.Sleep(time.Hour) // the validator returns, and the run continues
		if a, took, err := sent(p, "add", "other", "0"); err != nil || string(a.Result) != "1" || took != 0 {
			t.Errorf("another update: %+v, %v, after %v", a, err, took)
		}
		if n := adds(t, p); n != 1 {
			t.Errorf("%d updates were accepted", n)
		}
	})
}

// A description or a history needs no code, so the request does not wait behind a busy run.
func TestReadsDuringABusyRun(t *testing.T) {
	for name, read := range map[string]func(p *testbed.Process) error{
		"describe": func(p *testbed.Process) error {
			d, err := p.Service.Describe(context.Background(), "w", "")
			if err == nil && (d.Status != history.Running || d.HistoryLength == 0) {
				err = fmt.Errorf("described as %+v", d)
			}
			return err
		},
		"history": func(p *testbed.Process) error {
			events, _, more, err := p.Service.History(context.Background(), "w", "", 1)
			if err == nil && (len(events) < 2 || more) {
				err = fmt.Errorf("%d events, more: %v", len(events), more)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			sluggishTestbed(t, func(t *testing.T, p *testbed.Process) {
				napping(t, p)
				began := time.Now()
				if err := read(p); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 100*time.Millisecond {
					t.Errorf("took %v", took)
				}
				time.Sleep(time.Minute)
				if n := adds(t, p); n != 0 {
					t.Errorf("the run has changed: %d", n)
				}
			})
		})
	}
}

// startSluggish starts a process with a workflow "w", over a log that can be silenced.
func startSluggish(t *testing.T) (*testbed.Process, *silentLog) {
	t.Helper()
	d := testbed.New(t)
	log := &silentLog{d.Ports.Log, time.Now().Add(24 * time.Hour)}
	d.Ports.Log = log
	p := d.Start(executor.Options{QueryFor: 10 * time.Second}, workflow.Bind(sluggish, runSluggish, workflow.Names(sluggishAdd, sluggishWait, sluggishNap)))
	if _, err := sluggish.Start(t.Context(), p.Client, "w", 0, workflow.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	return p, log
}

// silentLog is a log that can stop answering reads at a moment.
type silentLog struct {
	store.Log
	from time.Time
}

func (l *silentLog) wait(ctx context.Context) error {
	if time.Now().Before(l.from) {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (l *silentLog) Backward(ctx context.Context, w string, before, until store.Key, limit int) (store.Page, error) {
	if err := l.wait(ctx); err != nil {
		return store.Page{}, err
	}
	return l.Log.Backward(ctx, w, before, until, limit)
}

func (l *silentLog) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	if err := l.wait(ctx); err != nil {
		return store.Page{}, err
	}
	return l.Log.Forward(ctx, from, limit)
}

// The timeout of a poll also limits its last read. The answer is that of an earlier read. If there
// was none, the request is refused.
func TestLastReadOfAPoll(t *testing.T) {
	for name, test := range map[string]struct {
		wait, silent, most time.Duration // silent is when the store stops answering
		busy               bool
	}{
		"silent in the middle": {10 * time.Second, 5 * time.Second, 10 * time.Second, false},
		"silent at the end":    {10 * time.Second, 9990 * time.Millisecond, 11 * time.Second, false},
		"silent at once":       {3 * time.Second, 0, 3 * time.Second, true},
		"no wait":              {0, 0, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, log := startSluggish(t)
				began := time.Now()
				log.from = began.Add(test.silent)
				a, err := p.Service.Result(context.Background(), "w", "", test.wait)
				if took := time.Since(began); took > test.most {
					t.Errorf("answered after %v", took)
				}
				if errors.Is(err, refusal.Busy) != test.busy || !test.busy && (err != nil || a.Status != history.Running) {
					t.Errorf("answered %+v, %v", a, err)
				}
				log.from = time.Now().Add(24 * time.Hour)
			})
		})
	}
}

// The time that a caller waits for the workflow's lock is deducted from the time for its read.
func TestWaitForTheLockCounts(t *testing.T) {
	for name, test := range map[string]struct {
		ask  func(s edge.Service) error
		want time.Duration
	}{
		"poll": {func(s edge.Service) error {
			_, err := s.Result(context.Background(), "w", "", 12*time.Second)
			return err
		}, 12 * time.Second},
		"poll that is nearly over": {func(s edge.Service) error {
			_, err := s.Result(context.Background(), "w", "", 9500*time.Millisecond)
			return err
		}, 10 * time.Second}, // one second is left for the read
		"query": {func(s edge.Service) error {
			_, err := s.Query(context.Background(), "w", "", "nap", []byte("0"))
			return err
		}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, log := startSluggish(t)
				go func() { _, _ = sluggishNap.Ask(context.Background(), p.Client, "w", 9*time.Second) }()
				synctest.Wait()
				began := time.Now()
				log.from = began
				if err, took := test.ask(p.Service), time.Since(began); !errors.Is(err, refusal.Busy) || took != test.want {
					t.Errorf("answered %v after %v; want busy after %v", err, took, test.want)
				}
				log.from = time.Now().Add(24 * time.Hour)
			})
		})
	}
}

// A panic after the caller has been answered is logged once, without the panic's value.
func TestPanicAfterTheCallersTime(t *testing.T) {
	t.Parallel()
	for name, nap := range map[string]time.Duration{"late": 2 * time.Second, "in time": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var warnings testbed.Warnings
				d := testbed.New(t)
				hooks := d.Hook()
				p := d.Start(executor.Options{Logger: warnings.Logger()}, workflow.Bind(sluggish, runSluggish, workflow.Names(sluggishAdd, sluggishWait, sluggishNap)))
				if _, err := sluggish.Start(t.Context(), p.Client, "w", 0, workflow.StartOptions{}); err != nil {
					t.Fatal(err)
				}
				hooks.Next(testbed.OnPut, func(func() error) error { time.Sleep(nap); panic("a secret") })
				late, panicked := nap > 0, any(nil)
				func() {
					defer func() { panicked = recover() }()
					if _, _, err := sent(p, "add", "u", "0", time.Second); !errors.Is(err, refusal.OutcomeUnknown) {
						t.Errorf("answered %v; want an unknown outcome", err)
					}
				}()
				if late == (panicked != nil) {
					t.Errorf("late %v: the panic %v reached the caller", late, panicked)
				}
				time.Sleep(time.Minute)
				text := warnings.Take()
				if n := strings.Count(text, "panicked after its caller"); late && n != 1 || !late && n != 0 || strings.Contains(text, "secret") {
					t.Errorf("late %v: logged %s", late, text)
				}
			})
		})
	}
}
