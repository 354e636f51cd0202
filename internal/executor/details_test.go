package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// These tests are about what the next attempt gets, and about records that are older than the
// attempt that they are read for.

// recounting returns the code of an activity that reports each attempt and its details, and goes on
// outside. fails are the attempts, by their order, that fail after a heartbeat.
func recounting(all *tokens, seen chan<- string, fails ...int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		details, _ := activity.HeartbeatDetails[string](ctx)
		seen <- fmt.Sprint(activity.InfoOf(ctx).Attempt, " ", details)
		_, err := all.take(ctx)
		for _, n := range fails {
			if all.count() == n {
				return "", errors.Join(activity.Heartbeat(ctx, fmt.Sprint("of ", n)), errors.New("failed"))
			}
		}
		return "", err
	}
}

// endPulse ends a run of which a test has seen enough, and lets its messages arrive.
func endPulse(p *testbed.Process) {
	p.Do(http.MethodPost, "/v1/workflows/a/terminate", "")
	time.Sleep(48 * time.Hour)
}

// A process records that the attempt has failed, and dies before it sends the next one. The
// redelivered message sends it, with the details of the heartbeat.
func TestRedeliverySendsTheDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, seen := &tokens{}, make(chan string, 10)
		d, registrations := pulse(t, activity.Options{Pending: time.Hour}, recounting(all, seen, 1))
		p := d.Idle(executor.Options{}, registrations...)
		startPulse(t, p)
		first := messages(t, d, queue.Activities)[0]
		handleOnce(t, p, first, 1)
		time.Sleep(5 * time.Second)
		if lost := messages(t, d, queue.Activities); len(lost) != 1 {
			t.Fatalf("%d messages", len(lost))
		}
		handleOnce(t, p, first, 2)
		time.Sleep(5 * time.Second)
		handleOnce(t, p, messages(t, d, queue.Activities)[0], 1)
		<-seen
		if got := <-seen; got != "2 of 1" {
			t.Errorf("the next attempt is %q", got)
		}
		endPulse(p)
	})
}

// An attempt is made twice at once. The first records its failure, and its process dies before it
// sends the next attempt. The second fails, too, and sends it with the details in the record.
func TestSecondChainSendsTheDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, seen, fail := &tokens{}, make(chan string, 10), make(chan bool)
		ask := recounting(all, seen, 2)
		d, registrations := pulse(t, activity.Options{StartToClose: time.Minute, Pending: time.Hour}, func(ctx context.Context) (string, error) {
			if all.count() == 0 {
				_, _ = ask(ctx)
				<-fail
				return "", errors.New("failed")
			}
			return ask(ctx)
		})
		p := d.Idle(executor.Options{}, registrations...)
		startPulse(t, p)
		first := messages(t, d, queue.Activities)[0]
		again := *first
		slow := make(chan bool)
		go func() {
			defer close(slow)
			_ = p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: first, Received: 1})
		}()
		synctest.Wait()
		handleOnce(t, p, &again, 1)
		time.Sleep(5 * time.Second)
		if lost := messages(t, d, queue.Activities); len(lost) != 1 {
			t.Fatalf("%d messages", len(lost))
		}
		close(fail)
		<-slow
		time.Sleep(5 * time.Second)
		handleOnce(t, p, messages(t, d, queue.Activities)[0], 1)
		<-seen
		<-seen
		if got := <-seen; got != "2 of 2" {
			t.Errorf("the next attempt is %q", got)
		}
		endPulse(p)
	})
}

// The message of an attempt is lost. The slow check sends it again, with the details in the record.
func TestResentWithTheDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, seen := &tokens{}, make(chan string, 10)
		d, registrations := pulse(t, activity.Options{Pending: time.Hour, Retry: activity.Retry{InitialInterval: time.Minute}}, recounting(all, seen))
		d.Ports.Scanner = d.Store
		p := d.Start(executor.Options{}, registrations...)
		startPulse(t, p)
		<-seen
		synctest.Wait()
		if err := activity.RecordHeartbeat(t.Context(), p.Client, all.at(0), "half"); err != nil {
			t.Fatal(err)
		}
		if err := outside.Fail(t.Context(), p.Client, all.at(0), errors.New("again")); err != nil {
			t.Fatal(err)
		}
		purge(d)
		if got := <-seen; got != "2 half" {
			t.Errorf("the next attempt is %q", got)
		}
		endPulse(p)
	})
}

// A request fails an attempt outside, sends the next, and does not get to record that. The
// record says that attempt 1 is outside, while the function of attempt 2 runs.
func TestRecordOfTheAttemptBefore(t *testing.T) {
	t.Parallel()
	for _, look := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			all, seen, more := &tokens{}, make(chan string, 10), make(chan bool)
			ask := recounting(all, seen)
			d, registrations := pulse(t, activity.Options{StartToClose: 10 * time.Minute, Pending: time.Hour}, func(ctx context.Context) (string, error) {
				result, err := ask(ctx)
				if all.count() == 2 {
					<-more
				}
				return result, err
			})
			p := d.Idle(executor.Options{}, registrations...)
			ports := d.Ports
			d.Ports.Attempts = unanswered{d.Store}
			deaf := d.Idle(executor.Options{}, registrations...)
			d.Ports = ports
			startPulse(t, p)
			handleOnce(t, p, messages(t, d, queue.Activities)[0], 1)
			<-seen
			if err := activity.RecordHeartbeat(t.Context(), p.Client, all.at(0), "of 1"); err != nil {
				t.Fatal(err)
			}
			go deaf.Do(http.MethodPost, "/v1/activities/fail", fmt.Sprintf(`{"token":%q}`, all.at(0)))
			time.Sleep(time.Minute)
			second := messages(t, d, queue.Activities)[0]
			if look > 0 { // it is a copy, which was delivered too early and claimed the attempt
				second.Look, second.Copy, second.Due = look, 5, history.At(time.Now().Add(10*time.Second))
				handleOnce(t, p, second, 1)
				time.Sleep(time.Minute)
				second = messages(t, d, queue.Activities)[0]
			}
			go func() {
				_ = p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: second, Received: 1 + look})
			}()
			if got := <-seen; got != "2 of 1" {
				t.Errorf("look %d: the next attempt is %q", look, got)
			}
			synctest.Wait()
			if a := p.Do(http.MethodPost, "/v1/activities/heartbeat", fmt.Sprintf(`{"token":%q,"details":"of 2"}`, all.at(1))); a.Status != http.StatusServiceUnavailable || a.Cost.Writes > 0 {
				t.Errorf("look %d: while the function runs: %d %s, for %v", look, a.Status, a.Body, a.Cost)
			}
			close(more)
			synctest.Wait()
			if err := activity.RecordHeartbeat(t.Context(), p.Client, all.at(1), "of 2"); err != nil {
				t.Error(err)
			}
			d.Start(executor.Options{}, registrations...)
			if got := <-seen; got != "3 of 2" { // attempt 2 has timed out
				t.Errorf("look %d: the next attempt is %q", look, got)
			}
			endPulse(p)
		})
	}
}

// A table is restored to before a function returned ErrPending, and the messages that were in the
// queues are gone. Heartbeats with details are refused until the slow check has made the attempt
// again. Its token stays valid all the time.
func TestHeartbeatAfterARestore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, seen := &tokens{}, make(chan string, 10)
		d, registrations := pulse(t, activity.Options{Pending: time.Hour}, recounting(all, seen))
		d.Ports.Scanner = d.Store
		p := d.Start(executor.Options{}, registrations...)
		startPulse(t, p)
		synctest.Wait()
		if err := d.Store.Delete(t.Context(), nil, []store.Attempt{recordOf(t, d)}); err != nil {
			t.Fatal(err)
		}
		purge(d)
		<-seen
		limited, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		wantError(t, "a heartbeat", activity.RecordHeartbeat(limited, p.Client, all.at(0), "half"), context.DeadlineExceeded)
		if got := <-seen; got != "1 " {
			t.Errorf("the slow check has led to attempt %q", got)
		}
		synctest.Wait()
		if err := activity.RecordHeartbeat(t.Context(), p.Client, all.at(0), "half"); err != nil {
			t.Error(err)
		}
		if err := outside.Fail(t.Context(), p.Client, all.at(0), errors.New("again")); err != nil {
			t.Error(err)
		}
		if got := <-seen; got != "2 half" {
			t.Errorf("the next attempt is %q", got)
		}
		wantError(t, "the token of an attempt that has ended", outside.Complete(t.Context(), p.Client, all.at(0), "late"), client.ErrActivityEnded)
		endPulse(p)
	})
}

// An attempt outside has sent all the heartbeats that it may. The messages that watch it use up no
// number either, and the attempt goes on until its time is over.
func TestWatchAfterTheLastNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p, taken := pendingPulse(t, activity.Options{Pending: time.Hour, Heartbeat: time.Minute})
		time.Sleep(30 * time.Second)
		useUpNumbers(t, d)
		if err := activity.RecordHeartbeat(t.Context(), p.Client, taken.at(0), "alive"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(45 * time.Second) // the watching message has arrived, and a copy of it
		if err := outside.Complete(t.Context(), p.Client, taken.at(0), "done"); err != nil {
			t.Errorf("45 s after the last heartbeat: %v", err)
		}
		endPulse(p)
	})
}

// The slow check, or a lost answer, has led to a second message of an attempt. It arrives when the
// attempt continues outside, and is dropped. The copy of it that comes 15 minutes later does not
// make the attempt again.
func TestDroppedDuplicateMakesNoAttempt(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			all, seen := &tokens{}, make(chan string, 10)
			o := activity.Options{StartToClose: time.Minute, Pending: 5 * time.Hour, Retry: activity.Retry{MaxAttempts: most}}
			d, registrations := pulse(t, o, recounting(all, seen))
			p := d.Idle(executor.Options{}, registrations...)
			startPulse(t, p)
			first := messages(t, d, queue.Activities)[0]
			handleOnce(t, p, first, 1)
			second := *first
			second.Send++
			handleOnce(t, p, &second, 2)
			d.Start(executor.Options{}, registrations...)
			time.Sleep(4 * time.Hour)
			if n := all.count(); n != 1 {
				t.Errorf("at most %d attempts: %d were made", most, n)
			}
			endPulse(p)
		})
	}
}
