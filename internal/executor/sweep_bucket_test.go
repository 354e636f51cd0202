package executor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// bucket is a bucket that fails, after some time.
type bucket struct {
	*blobmemory.Blobs
	putFails, getFails bool
	takes              time.Duration
}

func (b *bucket) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(b.takes):
	}
}

// Put implements blob.Blobs.
func (b *bucket) Put(ctx context.Context, key string, body []byte) error {
	if b.putFails {
		b.wait(ctx)
		return errors.New("put: denied")
	}
	return b.Blobs.Put(ctx, key, body)
}

// Get implements blob.Blobs.
func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if b.getFails {
		b.wait(ctx)
		return nil, fmt.Errorf("%w: no", blob.ErrDenied)
	}
	return b.Blobs.Get(ctx, key)
}

// spy counts what is sent, below the codec, which does not encode small messages.
type spy struct {
	queue.Sender
	sent map[string]int
}

// Send implements queue.Sender.
func (p *spy) Send(ctx context.Context, name string, messages ...queue.Message) error {
	err := p.Sender.Send(ctx, name, messages...)
	if err == nil {
		for _, sent := range messages {
			if m, err := outbox.Decode(sent.Body); err == nil {
				p.sent[m.WorkflowID]++
			}
		}
	}
	return err
}

// largeTimers keeps n timers with results of this size.
func largeTimers(t *testing.T, timers store.Timers, n, size int) {
	t.Helper()
	value := history.Payload(`"` + strings.Repeat("x", size) + `"`)
	done := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5, Result: value})
	for i := range n {
		m := &engine.Message{Kind: engine.TakeResult, WorkflowID: fmt.Sprint("large", i), RunID: history.NewRunID(1, [8]byte{1}), Commit: history.CommitID{1}, EventID: 5, Attempt: 1, Send: 1, Result: &done, Due: history.At(time.Now())}
		body, err := history.EncodeBody(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := timers.PutTimers(t.Context(), []store.Timer{{ID: m.WorkflowID, Due: time.Now(), Body: body}}); err != nil {
			t.Fatal(err)
		}
	}
}

// behindABucket returns a deployment with a bucket, and records what its processes send.
func behindABucket(t *testing.T) (*testbed.Deployment, *bucket, *spy, *testbed.Process, store.Timers) {
	t.Helper()
	d := testbed.New(t)
	b := &bucket{Blobs: blobmemory.New(nil)}
	codec := codec.New(codec.Options{Blobs: b, Log: slog.New(slog.DiscardHandler)})
	p := &spy{Sender: d.Queue, sent: map[string]int{}}
	d.Ports.Queue = p
	d.Ports = codec.Ports(d.Ports)
	return d, b, p, d.Idle(codec.Options(executor.Options{}), counters()...), d.Ports.Timers
}

// sweeps runs n sweeps, one a minute, each with the time of a Lambda invocation.
func sweeps(t *testing.T, p *testbed.Process, n int) (sent int, last error) {
	for range n {
		ctx, cancel := context.WithTimeout(t.Context(), 53*time.Second)
		began := time.Now()
		m, err := p.Service.Service.Deliveries.Sweep(ctx)
		cancel()
		sent, last = sent+m, err
		time.Sleep(max(0, time.Minute-time.Since(began)))
	}
	return sent, last
}

// goods returns how many of the good timers were sent, and how often the one that was sent most.
func goods(p *spy) (different, most int) {
	for id, n := range p.sent {
		if strings.HasPrefix(id, "good") {
			different, most = different+1, max(most, n)
		}
	}
	return different, most
}

// Timers for a missing queue delay no others, however many of them are due first.
func TestSweepPastAQueueThatIsGone(t *testing.T) {
	t.Parallel()
	for _, bad := range shortform.Or([]int{99, 100, 250}, []int{100}) {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				d.Ports.Queue = &picky{Sender: d.Queue, refuses: func(id string) bool { return strings.HasPrefix(id, "bad") }, err: queue.ErrInvalid}
				p := d.Idle(executor.Options{}, counters()...)
				keep(t, d.Store, "bad", bad)
				time.Sleep(time.Second)
				keep(t, d.Store, "good", 10)
				if sent, err := sweeps(t, p, 24*60); sent != 10 {
					t.Errorf("in a day %d of 10 good timers were sent: %v", sent, err)
				}
			})
		})
	}
}

// Large timers that can be read, but whose messages may not be stored in the bucket, delay no
// others, although they fill a page.
func TestSweepPastTimersThatMayNotBePut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, b, s, p, timers := behindABucket(t)
		largeTimers(t, timers, 2, 4<<20)
		time.Sleep(time.Second)
		keep(t, timers, "good", 10)
		b.putFails = true
		_, err := sweeps(t, p, 120)
		if n, _ := goods(s); n != 10 {
			t.Errorf("in two hours %d of 10 good timers were sent: %.300v", n, err)
		}
	})
}

// A sweep continues past a large timer that it cannot send.
func TestSweepContinuesPastALargeTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, b, s, p, timers := behindABucket(t)
		largeTimers(t, timers, 1, 1<<20)
		time.Sleep(time.Second)
		keep(t, timers, "good", 500)
		b.putFails = true
		_, err := sweeps(t, p, 1)
		if n, _ := goods(s); n != 500 {
			t.Errorf("in a sweep %d of 500 good timers were sent: %.300v", n, err)
		}
	})
}

// Large timers that may not be read are set aside in one sweep, which also sends the others.
func TestSweepPastTimersThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, b, s, p, timers := behindABucket(t)
				largeTimers(t, timers, n, 4<<20)
				time.Sleep(time.Second)
				keep(t, timers, "good", 10)
				b.getFails = true
				_, err := sweeps(t, p, 1)
				if n, _ := goods(s); n != 10 {
					t.Errorf("the first sweep sent %d of 10 good timers: %v (only ErrUnreadable: %v)", n, err, errors.Is(err, outbox.ErrUnreadable))
				}
				_, _ = sweeps(t, p, 24*60)
				if n, _ := goods(s); n != 10 {
					t.Errorf("in a day %d of 10 good timers were sent", n)
				}
			})
		})
	}
}

// A bucket that is slow to fail delays only the timers that need it.
func TestSweepWithASlowBucket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		large int
		takes time.Duration
	}{{1, 60 * time.Second}, {3, 15 * time.Second}, {30, 9 * time.Second}} {
		t.Run(fmt.Sprint(c.large, " ", c.takes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, b, s, p, timers := behindABucket(t)
				largeTimers(t, timers, c.large, 200<<10) // inline in the timer, and offloaded in the message
				time.Sleep(time.Second)
				keep(t, timers, "good", 95)
				b.putFails, b.takes = true, c.takes
				_, err := sweeps(t, p, 60)
				n, most := goods(s)
				left, _ := timers.DueTimers(t.Context(), time.Now(), 1000)
				good := 0
				for _, l := range left {
					if strings.HasPrefix(l.ID, "good") {
						good++
					}
				}
				if n != 95 || most > 2 || good > 0 {
					t.Errorf("in an hour %d of 95 good timers were sent, one of them %d times, %d are still due: %.300v", n, most, good, err)
				}
			})
		})
	}
}

// A page has as many timers as memory allows, however small they are stored.
func TestPageOfCompressedTimers(t *testing.T) {
	t.Parallel()
	d := testbed.New(t)
	timers := codec.New(codec.Options{Blobs: blobmemory.New(nil), Compress: true}).Timers(d.Store)
	body := bytes.Repeat([]byte("x"), 5<<20)
	for i := range 60 {
		if err := timers.PutTimers(t.Context(), []store.Timer{{ID: fmt.Sprint(i), Due: time.Unix(1, 0), Body: body}}); err != nil {
			t.Fatal(err)
		}
	}
	due, err := timers.DueTimers(t.Context(), time.Now(), 100)
	size := 0
	for _, d := range due {
		size += len(d.Body)
	}
	if size > 12<<20 {
		t.Errorf("a page of %d timers has %d MiB, %v", len(due), size>>20, err)
	}
}

// Sent timers are deleted, however long the refusals of others take. No timer is sent again each
// minute.
func TestSweepHasTimeToDelete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		large int
		takes time.Duration
	}{{4, 15 * time.Second}, {10, 6 * time.Second}} {
		t.Run(fmt.Sprint(c.large, " ", c.takes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, b, s, p, timers := behindABucket(t)
				keep(t, timers, "good", 50)
				time.Sleep(time.Second)
				largeTimers(t, timers, c.large, 200<<10)
				time.Sleep(time.Second)
				keep(t, timers, "late", 150)
				b.putFails, b.takes = true, c.takes
				_, err := sweeps(t, p, 60)
				n, most := goods(s)
				late := 0
				for id := range s.sent {
					if strings.HasPrefix(id, "late") {
						late++
					}
				}
				left, _ := timers.DueTimers(t.Context(), time.Now(), 1000)
				if late != 150 || most > 2 {
					t.Errorf("in an hour %d of 50 good timers were sent, one of them %d times, %d of 150 late ones were sent, %d timers are due: %.300v", n, most, late, len(left), err)
				}
			})
		})
	}
}

// Large timers are sent last. If dozens of them are due first, and a bucket takes 11 s to refuse
// each, the others still have time.
func TestLargeTimersGoLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, b, s, p, timers := behindABucket(t)
		largeTimers(t, timers, 60, 200<<10)
		time.Sleep(time.Second)
		keep(t, timers, "good", 10)
		b.putFails, b.takes = true, 11*time.Second
		for minute := range 120 {
			_, _ = sweeps(t, p, 1)
			if n, _ := goods(s); n == 10 {
				if minute > 5 {
					t.Errorf("good timers are sent in minute %d", minute)
				}
				return
			}
		}
		t.Error("the good timers were not sent in two hours")
	})
}
