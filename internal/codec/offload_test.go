package codec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/queue/queuetest"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// offloading is fakes whose Codecs offload large bodies and use its clock.
type offloading struct {
	*fakes
	blobs *blobmemory.Blobs
	now   time.Time
}

func newOffloading(t *testing.T) *offloading {
	t.Helper()
	a := &offloading{fakes: newFakes(t), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a.blobs = blobmemory.New(func() time.Time { return a.now })
	return a
}

func (a *offloading) codec(keys codec.Keys) *codec.Codec {
	return codec.New(codec.Options{Keys: keys, Blobs: a.blobs, Clock: func() time.Time { return a.now }})
}

// keys are the keys of all blobs.
func (a *offloading) keys() (keys []string) {
	a.Helper()
	list, err := a.blobs.List(context.Background(), "", "", 1000)
	if err != nil {
		a.Fatal(err)
	}
	for _, l := range list {
		keys = append(keys, l.Key)
	}
	return keys
}

// large is an item whose body is too large for a store.
func large(slot uint32, size int) store.Item {
	i := item(slot)
	i.Body = bytes.Repeat([]byte{byte(slot + 1), 'x'}, size/2)
	return i
}

// The wrapped stores and queues pass the conformance suites, even with bodies larger than those
// below them take.
func TestOffloadConformance(t *testing.T) {
	t.Parallel()
	t.Run("store", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, storetest.Harness{
			New: func(t *testing.T) func() storetest.Store {
				s := memory.New(memory.Options{Violation: t.Errorf})
				t.Cleanup(s.Check)
				whole := codec.New(codec.Options{Keys: keysOf(t, "k1"), Blobs: blobmemory.New(nil)})
				return func() storetest.Store { return &keptWhole{wrap(whole, s), wrap(codec.New(codec.Options{}), s)} }
			},
			MaxBody: 380 << 10, PageBytes: 6 << 20, Reopens: true, Lists: false,
		})
	})
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		queuetest.Run(t, queuetest.Harness{
			New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
				clock := queuetest.NewClock()
				q := queuememory.New(settings, queuememory.Options{Clock: clock.Now, Violation: t.Errorf})
				clock.OnMove(q.Tick)
				t.Cleanup(q.Check)
				s := codec.New(codec.Options{Keys: keysOf(t, "k1"), Blobs: blobmemory.New(nil)})
				return func() queuetest.Queue { return encodedQueue{&sentWhole{s.Sender(q), q}, s.Receiver(q)} }, clock
			},
			MaxBody: 600 << 10, Reopens: true,
		})
	})
}

// keptWhole refuses what the store below would refuse, because the suite expects a limit.
type keptWhole struct {
	storetest.Store
	below storetest.Store
}

// Append implements store.Log.
func (k *keptWhole) Append(ctx context.Context, items ...store.Item) error {
	for _, i := range items {
		if len(i.Body) > 700<<10 {
			return k.below.Append(ctx, items...)
		}
	}
	return k.Store.Append(ctx, items...)
}

// PutTimers implements store.Timers.
func (k *keptWhole) PutTimers(ctx context.Context, timers []store.Timer) error {
	for _, timer := range timers {
		if len(timer.Body) > 700<<10 {
			return k.below.PutTimers(ctx, timers)
		}
	}
	return k.Store.PutTimers(ctx, timers)
}

// sentWhole is keptWhole for a queue.
type sentWhole struct {
	queue.Sender
	below queue.Sender
}

// Send implements queue.Sender.
func (k *sentWhole) Send(ctx context.Context, name string, messages ...queue.Message) error {
	for _, m := range messages {
		if len(m.Body) > 1<<20 {
			return k.below.Send(ctx, name, messages...)
		}
	}
	return k.Sender.Send(ctx, name, messages...)
}

// A commit and a message that are too large are put into a blob once, and fetched when they are
// read. Small ones never are.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]codec.Keys{"plain": nil, "encrypted": keysOf(t, "k1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newOffloading(t)
			s := a.codec(keys)
			ctx, m := meter.With(t.Context())
			l := s.Log(a.store)
			want := []store.Item{item(0), large(1, 5<<20), large(2, 400<<10), item(3)}
			for _, i := range want {
				if err := l.Append(ctx, i); err != nil {
					t.Fatal(err)
				}
			}
			if got := m.Cost(); got.BlobPuts != 2 || got.BlobGets != 0 {
				t.Errorf("writing cost %v", got)
			}
			page, err := l.Backward(ctx, "w", store.Key{}, store.Key{}, 0)
			if err != nil || len(page.Items) != len(want) {
				t.Fatalf("%d items, %v", len(page.Items), err)
			}
			for i, got := range page.Items {
				if w := want[len(want)-1-i]; !bytes.Equal(got.Body, w.Body) {
					t.Errorf("slot %d has %d bytes, want %d", got.Slot, len(got.Body), len(w.Body))
				}
			}
			items, _, err := s.Scanner(a.store).Scan(ctx, "", 100)
			if err != nil || len(items) != len(want) {
				t.Errorf("scanned %d items, %v", len(items), err)
			}
			if got := m.Cost(); got.BlobPuts != 2 || got.BlobGets != 2 {
				t.Errorf("writing, reading and scanning cost %v", got)
			}
			message := queue.Message{Body: bytes.Repeat([]byte("m"), 3<<20)}
			if err := s.Sender(a.queue).Send(ctx, queue.Timers, message); err != nil {
				t.Fatal(err)
			}
			received, err := s.Receiver(a.queue).Receive(ctx, queue.Timers, 1)
			if err != nil || !bytes.Equal(received[0].Body, message.Body) {
				t.Errorf("received %d bytes, %v", len(received[0].Body), err)
			}
			for _, key := range a.keys() {
				if body, err := a.blobs.Get(ctx, key); err != nil || (keys != nil) == bytes.Contains(body, []byte("mmmmmmmm")) && strings.Contains(key, "message") {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
}

// Commits that share a transaction are offloaded if they are too large for it together, and one put
// stores all.
func TestLargeTransactions(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	l := a.codec(nil).Log(a.store)
	var items []store.Item
	for slot := range uint32(20) {
		items = append(items, large(slot, 200<<10))
	}
	if err := l.Append(ctx, items...); err != nil {
		t.Fatal(err)
	}
	if n := len(a.keys()); n != len(items) {
		t.Errorf("%d are offloaded", n)
	}
	size := 0
	below, err := a.store.Forward(ctx, item(0).Key, 0)
	for _, i := range below.Items {
		size += len(i.Body)
	}
	if err != nil || len(below.Items) != len(items) || size > 10_000 {
		t.Errorf("the store has %d bytes in %d items, %v", size, len(below.Items), err)
	}
	page, err := l.Forward(ctx, item(0).Key, 0)
	for i, got := range page.Items {
		if !bytes.Equal(got.Body, items[i].Body) {
			t.Errorf("slot %d has %d bytes", i, len(got.Body))
		}
	}
	if err != nil || len(page.Items) != len(items) {
		t.Errorf("%d items, %v", len(page.Items), err)
	}
}

// If a blob is gone, or was changed, its commit stays encoded. The same holds in a deployment that
// offloads nothing.
func TestBlobsThatAreNotWhatTheyWere(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	s := a.codec(nil)
	if err := s.Log(a.store).Append(ctx, large(0, 1<<20)); err != nil {
		t.Fatal(err)
	}
	below, err := a.store.Forward(ctx, item(0).Key, 1)
	if err != nil {
		t.Fatal(err)
	}
	reference, place := below.Items[0].Body, "commit/w/1/0/01000000000000000000000000000000"
	if _, err := s.Open(ctx, place, reference); err != nil {
		t.Fatal(err)
	}
	refuses(t, codec.New(codec.Options{}), place, reference, codec.ErrGone)
	key := a.keys()[0]
	if err := a.blobs.Put(ctx, key, []byte("other")); err != nil {
		t.Fatal(err)
	}
	refuses(t, s, place, reference, codec.ErrTampered)
	if err := a.blobs.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	refuses(t, s, place, reference, codec.ErrGone)
	if page, err := s.Log(a.store).Forward(ctx, item(0).Key, 1); err != nil || !bytes.Equal(page.Items[0].Body, reference) {
		t.Errorf("read as %v, %v", page, err)
	}
}

// A blob that may not be read leaves its commit encoded, like a missing one: S3 does not
// distinguish the two.
func TestBlobsThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	if err := a.codec(nil).Log(a.store).Append(ctx, large(0, 1<<20)); err != nil {
		t.Fatal(err)
	}
	denied := codec.New(codec.Options{Blobs: denying{a.blobs}})
	page, err := denied.Log(a.store).Forward(ctx, item(0).Key, 1)
	if err != nil || len(page.Items) != 1 || page.Items[0].Body[0] != history.Encoded {
		t.Errorf("%d items, %v", len(page.Items), err)
	}
	refuses(t, denied, "commit/w/1/0/01000000000000000000000000000000", page.Items[0].Body, codec.ErrGone)
}

// A damaged blob leaves its own commit encoded, for good. The commits around it are read.
func TestDamagedBlob(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	if err := a.codec(nil).Log(a.store).Append(ctx, large(0, 1<<20)); err != nil {
		t.Fatal(err)
	}
	damaged := codec.New(codec.Options{Blobs: damagedBlobs{a.blobs}})
	page, err := damaged.Log(a.store).Forward(ctx, item(0).Key, 1)
	if err != nil || len(page.Items) != 1 || page.Items[0].Body[0] != history.Encoded {
		t.Fatalf("%d items, %v", len(page.Items), err)
	}
	refuses(t, damaged, "commit/w/1/0/01000000000000000000000000000000", page.Items[0].Body, codec.ErrTampered)
}

// damagedBlobs are blobs that are damaged.
type damagedBlobs struct{ *blobmemory.Blobs }

// Get implements blob.Blobs.
func (damagedBlobs) Get(context.Context, string) ([]byte, error) { return nil, blob.ErrCorrupt }

// denying are blobs that may not be read, and not be put.
type denying struct{ *blobmemory.Blobs }

var errDenied = errors.New("the role has no right")

func (denying) Put(context.Context, string, []byte) error { return errDenied }
func (denying) Get(context.Context, string) ([]byte, error) {
	return nil, fmt.Errorf("%w: %w", blob.ErrDenied, errDenied)
}

// A result that waits for its build is larger than the store takes, so it is offloaded. While it
// cannot be read, its timer stays encoded, can be moved to another time, and holds up no other
// timer.
func TestLargeTimers(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	s := a.codec(keysOf(t, "k1"))
	of := func(blobs blob.Blobs) store.Timers {
		return codec.New(codec.Options{Keys: keysOf(t, "k1"), Blobs: blobs}).Timers(a.store)
	}
	body := bytes.Repeat([]byte("x"), 1<<20)
	put := []store.Timer{{ID: "large", Due: a.now, Body: body}, {ID: "small", Due: a.now.Add(time.Second), Body: []byte("y")}}
	if err := s.Timers(a.store).PutTimers(ctx, put); err != nil {
		t.Fatal(err)
	}
	due := func(timers store.Timers, want ...string) []store.Timer {
		t.Helper()
		all, err := timers.DueTimers(ctx, a.now.Add(time.Hour), 10)
		if err != nil || len(all) != len(want) {
			t.Fatalf("%d are due, %v; want %d", len(all), err, len(want))
		}
		for i, timer := range all {
			if got := string(timer.Body); want[i] != "" && got != want[i] || want[i] == "" && got[0] != history.Encoded {
				t.Errorf("%s has %d bytes that begin with %.5q", timer.ID, len(got), got)
			}
		}
		return all
	}
	due(s.Timers(a.store), string(body), "y")
	for _, blobs := range []blob.Blobs{denying{a.blobs}, failing{a.blobs}} {
		all := due(of(blobs), "", "y")
		aside := all[0]
		aside.Due = a.now.Add(10 * time.Minute)
		if err := of(blobs).PutTimers(ctx, []store.Timer{aside}); err != nil {
			t.Fatal(err)
		}
		if err := of(blobs).DeleteTimers(ctx, all[:1]); err != nil {
			t.Fatal(err)
		}
		due(s.Timers(a.store), "y", string(body))
		if err := a.store.DeleteTimers(ctx, []store.Timer{aside}); err != nil {
			t.Fatal(err)
		}
		if err := s.Timers(a.store).PutTimers(ctx, put[:1]); err != nil {
			t.Fatal(err)
		}
		if err := of(blobs).PutTimers(ctx, put[:1]); !errors.Is(err, store.ErrThrottled) { // a new one
			t.Errorf("a large timer without a place: %v", err)
		}
	}
	if err := s.Timers(a.store).PutTimers(ctx, []store.Timer{{ID: "far", Due: a.now.Add(31 * 24 * time.Hour), Body: body}}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a large timer that its blob would not outlast: %v", err)
	}
	left := due(s.Timers(a.store), string(body), "y")
	if err := s.Timers(a.store).DeleteTimers(ctx, left); err != nil {
		t.Fatal(err)
	}
	a.now = a.now.Add(60*24*time.Hour + time.Second)
	if n, err := s.Tidy(ctx, a.store); err != nil || n != 1 {
		t.Errorf("%d deleted, %v", n, err)
	}
}

// A page of large timers is as long as memory allows, and the next page has the rest.
func TestManyLargeTimers(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	timers := a.codec(nil).Timers(a.store)
	const n = 20
	for i := range n {
		body := bytes.Repeat([]byte{'a' + byte(i)}, 1<<20)
		if err := timers.PutTimers(ctx, []store.Timer{{ID: fmt.Sprint(i), Due: a.now.Add(time.Duration(i) * time.Second), Body: body}}); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	for {
		due, err := timers.DueTimers(ctx, a.now.Add(time.Hour), 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			break
		}
		if len(due) > 6 {
			t.Fatalf("%d MiB at once", len(due))
		}
		for _, timer := range due {
			if timer.ID != fmt.Sprint(got) || timer.Body[0] != 'a'+byte(got) || len(timer.Body) != 1<<20 {
				t.Errorf("timer %d is %s, of %d bytes", got, timer.ID, len(timer.Body))
			}
			got++
		}
		if err := timers.DeleteTimers(ctx, due); err != nil {
			t.Fatal(err)
		}
	}
	if got != n {
		t.Errorf("%d of %d timers", got, n)
	}
}

// A body that cannot be offloaded is refused as the message's own fault. Small ones are sent.
func TestSendWithoutABucket(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	sender := codec.New(codec.Options{Blobs: denying{a.blobs}}).Sender(a.queue)
	if err := sender.Send(ctx, queue.Timers, queue.Message{Body: make([]byte, 200<<10)}); !errors.Is(err, queue.ErrRefused) || !errors.Is(err, errDenied) {
		t.Errorf("a large message: %v", err)
	}
	if err := sender.Send(ctx, queue.Timers, queue.Message{Body: make([]byte, 100<<10)}); err != nil {
		t.Errorf("a small message: %v", err)
	}
}

// failing are blobs that do not answer.
type failing struct{ *blobmemory.Blobs }

var errNoAnswer = errors.New("no answer")

func (failing) Put(context.Context, string, []byte) error   { return errNoAnswer }
func (failing) Get(context.Context, string) ([]byte, error) { return nil, errNoAnswer }

// While the blobs do not answer, nothing is written or read, and the errors are temporary.
func TestBlobsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	deaf := codec.New(codec.Options{Blobs: failing{a.blobs}})
	if err := deaf.Log(a.store).Append(ctx, large(0, 1<<20)); !errors.Is(err, store.ErrThrottled) || !errors.Is(err, errNoAnswer) {
		t.Errorf("Append: %v", err)
	}
	if err := a.codec(nil).Log(a.store).Append(ctx, large(0, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := deaf.Log(a.store).Forward(ctx, item(0).Key, 1); !errors.Is(err, store.ErrThrottled) {
		t.Errorf("Forward: %v", err)
	}
}

// Tidy deletes blobs without a reference when they are old enough, and no others.
func TestTidy(t *testing.T) {
	t.Parallel()
	ctx, a := t.Context(), newOffloading(t)
	s := a.codec(keysOf(t, "k1"))
	l := s.Log(a.store)
	put := func(i store.Item) {
		t.Helper()
		if err := l.Append(ctx, i); err != nil {
			t.Fatal(err)
		}
	}
	tidy := func(want int) {
		t.Helper()
		if n, err := s.Tidy(ctx, a.store); err != nil || n != want {
			t.Errorf("%d were deleted, %v; want %d", n, err, want)
		}
	}
	tidy(0)
	put(large(0, 1<<20))
	lost := large(0, 1<<20)
	lost.Commit[9] = 7
	var conflict *store.Conflict
	if err := l.Append(ctx, lost); !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	put(large(1, 1<<20))
	never := failingLog{a.store}
	if err := s.Log(never).Append(ctx, large(2, 1<<20)); err == nil {
		t.Fatal("put")
	}
	if err := s.Sender(a.queue).Send(ctx, queue.Timers, queue.Message{Body: make([]byte, 1<<20)}); err != nil {
		t.Fatal(err)
	}
	if err := a.blobs.Put(ctx, "default/notes", []byte("somebody's")); err != nil {
		t.Fatal(err)
	}
	if err := a.blobs.Put(ctx, "other/00000000/message/00", []byte("another namespace's")); err != nil {
		t.Fatal(err)
	}
	if n := len(a.keys()); n != 7 {
		t.Fatalf("there are %d blobs", n)
	}
	a.now = a.now.Add(14 * 24 * time.Hour)
	tidy(0)
	a.now = a.now.Add(time.Second)
	tidy(2) // the commit that lost its slot, and the one that was never put
	tidy(0)
	page, err := l.Forward(ctx, item(0).Key, 0)
	if err != nil || len(page.Items) != 2 || !bytes.Equal(page.Items[1].Body, large(1, 1<<20).Body) {
		t.Errorf("%d items, %v", len(page.Items), err)
	}
	for slot := range uint32(2) {
		if err := a.store.Delete(ctx, []store.Item{large(slot, 0)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	tidy(2) // the run's commits have gone
	a.now = a.now.Add(16 * 24 * time.Hour)
	tidy(1) // the message
	if n := len(a.keys()); n != 2 {
		t.Errorf("there are %q", a.keys())
	}
}

// failingLog is the log of a process that dies before the put.
type failingLog struct{ store.Log }

func (failingLog) Append(context.Context, ...store.Item) error { return errNoAnswer }
