package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// outside is the activity of pulse, declared for those who complete it from outside.
var outside = activity.New("beat", func(context.Context, activity.None) (string, error) { return "", activity.ErrPending })

// tokens are the tokens that the attempts took, in order.
type tokens struct {
	mu    sync.Mutex
	taken []string
}

// take is the code of an activity that continues outside.
func (all *tokens) take(ctx context.Context) (string, error) {
	token, err := activity.Token(ctx)
	if err != nil {
		return "", err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.taken = append(all.taken, token)
	return "not this", activity.ErrPending
}

// at returns the token of attempt i.
func (all *tokens) at(i int) string {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.taken[i]
}

// count returns how many attempts there have been.
func (all *tokens) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.taken)
}

// pendingPulse starts a workflow whose activity continues outside.
func pendingPulse(t *testing.T, o activity.Options) (*testbed.Deployment, *testbed.Process, *tokens) {
	t.Helper()
	all := &tokens{}
	d, registrations := pulse(t, o, all.take)
	p := d.Start(executor.Options{}, registrations...)
	startPulse(t, p)
	synctest.Wait()
	return d, p, all
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// changed returns a token with one character changed in its middle.
func changed(token string) string {
	middle, other := len(token)/2, "x"
	if token[middle:middle+1] == other {
		other = "y"
	}
	return token[:middle] + other + token[middle+1:]
}

// The holder of the token completes the activity once. The same completion again succeeds, and any
// other is refused.
func TestCompletedOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		d, p, taken := pendingPulse(t, activity.Options{Pending: 7 * 24 * time.Hour})
		time.Sleep(3 * 24 * time.Hour)
		token := taken.at(0)
		var now schema.Description
		p.Do(http.MethodGet, "/v1/workflows/a", "").Into(t, &now)
		if until := now.PendingActivities[0].PendingUntil; until == nil || until.Sub(now.StartedAt).Round(time.Second) != 7*24*time.Hour {
			t.Errorf("pending until %v, want in a week after %v", until, now.StartedAt)
		}
		wantError(t, "a token that was changed", outside.Complete(ctx, p.Client, changed(token), "forged"), client.ErrInvalid)
		wantError(t, "no token", outside.Complete(ctx, p.Client, "", "forged"), client.ErrInvalid)
		wantError(t, "half a token", outside.Complete(ctx, p.Client, token[:len(token)/2], "forged"), client.ErrInvalid)
		if a := p.Do(http.MethodPost, "/v1/activities/complete", fmt.Sprintf(`{"token":%q,"result":7}`, token)); a.Status != http.StatusBadRequest || a.Cost.Writes > 0 {
			t.Errorf("a result of another type: %d %s, for %v", a.Status, a.Body, a.Cost)
		}
		if err := outside.Complete(ctx, p.Client, token, "by hand"); err != nil {
			t.Fatal(err)
		}
		if got := outcomeOf(t, p); got != "by hand <nil>" {
			t.Error(got)
		}
		if a := p.Do(http.MethodPost, "/v1/activities/complete", fmt.Sprintf(`{"token":%q,"result":"by hand"}`, token)); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"repeated":true`) || a.Cost.Writes > 0 {
			t.Errorf("the same again: %d %s, for %v", a.Status, a.Body, a.Cost)
		}
		wantError(t, "another result", outside.Complete(ctx, p.Client, token, "by another hand"), client.ErrActivityEnded)
		wantError(t, "a failure", outside.Fail(ctx, p.Client, token, errors.New("no")), client.ErrActivityEnded)
		wantError(t, "a heartbeat", activity.RecordHeartbeat(ctx, p.Client, token, 1), client.ErrActivityEnded)
		if n := typed(d, history.TypeActivityTaskCompleted); n != 1 || taken.count() != 1 {
			t.Errorf("%d results are recorded, of %d attempts", n, taken.count())
		}
		time.Sleep(10 * 24 * time.Hour) // the message that checks on the attempt arrives, and finds it completed
	})
}

// An attempt that is never completed times out, and another one follows. The earlier token is
// invalid then.
func TestPendingTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p, taken := pendingPulse(t, activity.Options{Pending: 5 * time.Hour, Retry: activity.Retry{MaxAttempts: 2, InitialInterval: time.Hour}})
		time.Sleep(7 * time.Hour)
		if taken.count() != 2 {
			t.Fatalf("%d attempts", taken.count())
		}
		wantError(t, "the token of an attempt that has ended", outside.Complete(t.Context(), p.Client, taken.at(0), "late"), client.ErrActivityEnded)
		got := outcomeOf(t, p)
		if !strings.Contains(got, "was not completed in time") || typed(d, history.TypeActivityTaskTimedOut) != 1 || taken.count() != 2 {
			t.Errorf("%s after %d attempts", got, taken.count())
		}
		wantError(t, "a token of an activity that has ended", outside.Complete(t.Context(), p.Client, taken.at(1), "late"), client.ErrActivityEnded)
	})
}

// All attempts together have a time limit, too.
func TestPendingScheduleToClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p, _ := pendingPulse(t, activity.Options{Pending: 5 * time.Hour, ScheduleToClose: time.Hour})
		began := time.Now()
		if got := outcomeOf(t, p); !strings.Contains(got, "its time was over") || time.Since(began).Round(time.Minute) != time.Hour {
			t.Errorf("%s after %v", got, time.Since(began))
		}
		time.Sleep(6 * time.Hour)
	})
}

// Heartbeats from outside keep an attempt alive, and the next attempt has their details.
func TestHeartbeatsFromOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		all := &tokens{}
		d, registrations := pulse(t, activity.Options{Pending: 24 * time.Hour, Heartbeat: time.Minute}, func(ctx context.Context) (string, error) {
			from, ok := activity.HeartbeatDetails[int](ctx)
			all.mu.Lock()
			seen = append(seen, fmt.Sprint(from, ok))
			all.mu.Unlock()
			return all.take(ctx)
		})
		had := func() string {
			all.mu.Lock()
			defer all.mu.Unlock()
			return fmt.Sprint(seen)
		}
		p := d.Start(executor.Options{}, registrations...)
		startPulse(t, p)
		synctest.Wait()
		for i := range 10 {
			time.Sleep(50 * time.Second)
			if err := activity.RecordHeartbeat(t.Context(), p.Client, all.at(0), i); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := had(); got != "[0 false]" {
			t.Fatalf("the attempts had %v, although the first was alive", got)
		}
		if err := activity.RecordHeartbeat(t.Context(), p.Client, all.at(0), strings.Repeat("x", 20<<10)); !errors.Is(err, client.ErrTooLarge) {
			t.Errorf("large details: %v", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := had(); got != "[0 false 9 true]" {
			t.Fatalf("after the silence the attempts had %v", got)
		}
		if err := outside.Complete(t.Context(), p.Client, all.at(1), "done"); err != nil {
			t.Fatal(err)
		}
		if got := outcomeOf(t, p); got != "done <nil>" {
			t.Error(got)
		}
		time.Sleep(2 * 24 * time.Hour)
	})
}

// A failure from outside fails the attempt, and the retry policy decides what follows.
func TestFailedOutside(t *testing.T) {
	t.Parallel()
	errDeclined := activity.NewError("declined", "the card was declined")
	errSlow := activity.NewError("slow", "it takes too long")
	synctest.Test(t, func(t *testing.T) {
		d, p, taken := pendingPulse(t, activity.Options{Pending: time.Hour, Retry: activity.Retry{NonRetryable: []*activity.Error{errDeclined}}})
		ctx, first := t.Context(), taken.at(0)
		large := fmt.Errorf("%s: %w", strings.Repeat("not now ", 4000), errSlow.With(strings.Repeat("x", failure.MaxDetails)))
		for range 2 { // the second request reports that the failure is recorded
			if err := outside.Fail(ctx, p.Client, first, large); err != nil {
				t.Fatal(err)
			}
		}
		wantError(t, "another failure", outside.Fail(ctx, p.Client, first, errors.New("never")), client.ErrActivityEnded)
		wantError(t, "a result after all", outside.Complete(ctx, p.Client, first, "x"), client.ErrActivityEnded)
		time.Sleep(2 * time.Second)
		if taken.count() != 2 {
			t.Fatalf("%d attempts", taken.count())
		}
		tooLarge := fmt.Sprintf(`{"token":%q,"details":"%s"}`, taken.at(1), strings.Repeat("x", failure.MaxDetails))
		if a := p.Do(http.MethodPost, "/v1/activities/fail", tooLarge); a.Status != http.StatusRequestEntityTooLarge || a.Cost.Writes > 0 {
			t.Errorf("details that are too large: %d %s, for %v", a.Status, a.Body, a.Cost)
		}
		for range 2 {
			if err := outside.Fail(ctx, p.Client, taken.at(1), fmt.Errorf("at the bank: %w", errDeclined.With(map[string]int{"code": 51}))); err != nil {
				t.Fatal(err)
			}
		}
		_, err := beating.Get(p.Client, "a").Result(ctx)
		if !errors.Is(err, errDeclined) || !strings.HasSuffix(err.Error(), "at the bank: the card was declined") {
			t.Errorf("%v, want the error declined", err)
		}
		if why, ok := workflow.DetailsOf[map[string]int](err, errDeclined); !ok || why["code"] != 51 {
			t.Errorf("the details are %v, %v", why, ok)
		}
		if n := typed(d, history.TypeActivityTaskFailed); n != 1 {
			t.Errorf("%d failures are recorded", n)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A heartbeat reports to the worker outside that the workflow no longer waits for the attempt. The
// worker then ends the attempt.
func TestCanceledOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p, taken := pendingPulse(t, activity.Options{Pending: time.Hour})
		ctx, token := t.Context(), taken.at(0)
		p.Do(http.MethodPost, "/v1/workflows/a/signals/stop", "")
		synctest.Wait()
		wantError(t, "a heartbeat", activity.RecordHeartbeat(ctx, p.Client, token, 1), workflow.ErrCanceled)
		if err := outside.Fail(ctx, p.Client, token, errors.New("stopped")); err != nil {
			t.Fatal(err)
		}
		if n := typed(d, history.TypeActivityTaskCanceled); n != 1 {
			t.Errorf("the cancellation is recorded %d times", n)
		}
		if got := outcomeOf(t, p); got != "canceled <nil>" {
			t.Error(got)
		}
	})
}

// An attempt that ends as pending without having taken its token fails, because nobody could
// complete it.
func TestPendingWithoutAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, all := pulse(t, activity.Options{}, func(context.Context) (string, error) { return "", activity.ErrPending })
		p := d.Start(executor.Options{}, all...)
		startPulse(t, p)
		if got := outcomeOf(t, p); !strings.Contains(got, "call activity.Token before") {
			t.Error(got)
		}
	})
}

// A process dies after it has recorded that the attempt continues outside. The redelivered message
// does not repeat the attempt. It sends the message that checks on the attempt. A duplicate
// delivery sends no second one.
func TestPendingOfAProcessThatDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := &tokens{}
		d, registrations := pulse(t, activity.Options{Pending: time.Minute, Retry: activity.Retry{MaxAttempts: 1}}, all.take)
		p := d.Idle(executor.Options{}, registrations...)
		startPulse(t, p)
		sent := messages(t, d, queue.Activities)
		handleOnce(t, p, sent[0], 1)
		lost := messages(t, d, queue.Timers) // the process died before it sent them
		handleOnce(t, p, sent[0], 2)
		if len(lost) != 1 || all.count() != 1 {
			t.Fatalf("%d messages check on %d attempts", len(lost), all.count())
		}
		d.Start(executor.Options{}, registrations...)
		time.Sleep(2 * time.Minute)
		if got := outcomeOf(t, p); !strings.Contains(got, "was not completed in time") || all.count() != 1 {
			t.Errorf("%s after %d attempts", got, all.count())
		}
	})
}

// An attempt that continues outside costs a write and a message more than another. Ending it costs
// a write.
func TestPendingCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p, taken := pendingPulse(t, activity.Options{Pending: time.Minute})
		// The start and its message; the record of the attempt and the message that checks on it;
		// the key, which is created once.
		if c := p.Meter.Cost(); c.Writes != 3 || c.Messages != 2 {
			t.Errorf("until it is pending: %v", c)
		}
		for _, test := range []struct {
			path, body string
			want       meter.Cost
		}{
			{"heartbeat", `,"details":1`, meter.Cost{Writes: 1, Reads: 2}},
			{"complete", `,"result":"x"`, meter.Cost{Writes: 1, Reads: 1}},
		} {
			a := p.Do(http.MethodPost, "/v1/activities/"+test.path, fmt.Sprintf(`{"token":%q%s}`, taken.at(0), test.body))
			if a.Status != http.StatusOK || a.Cost != test.want {
				t.Errorf("%s: %d %s for %v, want %v", test.path, a.Status, a.Body, a.Cost, test.want)
			}
		}
		time.Sleep(time.Hour)
	})
}

// The details of a heartbeat that is answered are those of the next attempt, even if the heartbeat
// comes before the attempt's function has returned: it is sent again until it can be recorded.
func TestHeartbeatBeforeTheFunctionReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, seen := &tokens{}, make(chan string, 2)
		d, registrations := pulse(t, activity.Options{Pending: time.Hour}, func(ctx context.Context) (string, error) {
			details, _ := activity.HeartbeatDetails[string](ctx)
			seen <- details
			defer time.Sleep(2 * time.Second)
			return all.take(ctx)
		})
		p := d.Start(executor.Options{}, registrations...)
		startPulse(t, p)
		synctest.Wait()
		<-seen
		if a := p.Do(http.MethodPost, "/v1/activities/heartbeat", fmt.Sprintf(`{"token":%q}`, all.at(0))); a.Status != http.StatusOK || a.Cost.Writes > 0 {
			t.Errorf("without details: %d %s, for %v", a.Status, a.Body, a.Cost)
		}
		if a := p.Do(http.MethodPost, "/v1/activities/heartbeat", fmt.Sprintf(`{"token":%q,"details":"half"}`, all.at(0))); a.Status != http.StatusServiceUnavailable || a.Cost.Writes > 0 {
			t.Errorf("with details: %d %s, for %v", a.Status, a.Body, a.Cost)
		}
		if err := activity.RecordHeartbeat(t.Context(), p.Client, all.at(0), "half"); err != nil {
			t.Fatal(err)
		}
		if err := outside.Fail(t.Context(), p.Client, all.at(0), errors.New("again")); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != "half" {
			t.Errorf("the next attempt has the details %q, want those of the heartbeat", got)
		}
		time.Sleep(3 * time.Second)
		if err := outside.Complete(t.Context(), p.Client, all.at(1), "done"); err != nil {
			t.Fatal(err)
		}
		if got := outcomeOf(t, p); got != "done <nil>" {
			t.Error(got)
		}
		time.Sleep(2 * time.Hour)
	})
}

// recordOf returns the record of the only activity of the workflow a.
func recordOf(t *testing.T, d *testbed.Deployment) store.Attempt {
	t.Helper()
	records, err := d.Store.ReadAttempts(t.Context(), "a", 1)
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	return records[0]
}

// useUpNumbers leaves the first attempt one number for a record.
func useUpNumbers(t *testing.T, d *testbed.Deployment) {
	t.Helper()
	late := recordOf(t, d)
	late.Number = 1<<20 - 2
	if err := d.Store.RecordAttempt(t.Context(), late); err != nil {
		t.Fatal(err)
	}
}

// The numbers of an attempt's heartbeat records end before those of the next attempt begin. One
// more heartbeat is refused, and the attempt continues.
func TestAMillionHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p, taken := pendingPulse(t, activity.Options{Pending: time.Hour})
		beat := func() error { return activity.RecordHeartbeat(t.Context(), p.Client, taken.at(0), "alive") }
		if err := beat(); err != nil {
			t.Fatal(err)
		}
		useUpNumbers(t, d)
		if err := beat(); err != nil {
			t.Errorf("the last heartbeat that can be recorded: %v", err)
		}
		wantError(t, "one heartbeat more", beat(), client.ErrTooLarge)
		if err := outside.Complete(t.Context(), p.Client, taken.at(0), "done"); err != nil {
			t.Fatal(err)
		}
		if got := outcomeOf(t, p); got != "done <nil>" {
			t.Error(got)
		}
		time.Sleep(2 * time.Hour)
	})
}

// unanswered is a store of attempts that does not answer.
type unanswered struct{ store.Attempts }

// RecordAttempt implements store.Attempts.
func (unanswered) RecordAttempt(context.Context, store.Attempt) error { return store.ErrUnknown }

// A caller whose heartbeat or failure may not have been recorded gets an error, and sends it again.
func TestBeatWhoseRecordIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p, taken := pendingPulse(t, activity.Options{Pending: time.Hour})
		d.Ports.Attempts = unanswered{d.Store}
		deaf := d.Idle(executor.Options{})
		for _, path := range []string{"heartbeat", "fail"} {
			a := deaf.Do(http.MethodPost, "/v1/activities/"+path, fmt.Sprintf(`{"token":%q}`, taken.at(0)))
			if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "outcome-unknown") {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
		p.Do(http.MethodPost, "/v1/workflows/a/terminate", "")
		time.Sleep(2 * time.Hour)
	})
}

// A completion whose answer is lost can be sent again, and succeeds.
func TestCompletedWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := &tokens{}
		d, registrations := pulse(t, activity.Options{Pending: time.Hour}, all.take)
		hooks := d.Hook()
		p := d.Start(executor.Options{}, registrations...)
		startPulse(t, p)
		synctest.Wait()
		hooks.Next(testbed.OnPut, testbed.Faults["lose-answer"]())
		if err := outside.Complete(t.Context(), p.Client, all.at(0), "found"); err != nil {
			t.Fatal(err)
		}
		hooks.Always(testbed.OnPut, testbed.Faults["throttle"]())
		if err := outside.Complete(t.Context(), p.Client, all.at(0), "found"); err != nil {
			t.Error(err)
		}
		hooks.Always(testbed.OnPut, nil)
		if got := outcomeOf(t, p); got != "found <nil>" || typed(d, history.TypeActivityTaskCompleted) != 1 {
			t.Error(got)
		}
		time.Sleep(2 * time.Hour)
	})
}
