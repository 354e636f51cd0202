package codec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskqueue"
	"github.com/seed-41655fb1/weft/internal/embedded/diskstore"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/queue/queuetest"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// encodedStore is a store whose ports are wrapped.
type encodedStore struct {
	store.Log
	store.Attempts
	store.Timers
	store.Scanner
	store.Keys
	store.Lister
	store.Rates
}

func wrap(s *codec.Codec, inner interface {
	storetest.Store
	store.Lister
},
) storetest.Store {
	return &encodedStore{s.Log(inner), s.Attempts(inner), s.Timers(inner), s.Scanner(inner), s.Keys(inner), s.Lister(inner), inner}
}

// room is the most that encoding adds to a body in these tests.
const room = 256

// The wrapped stores pass the conformance suite. The store in memory requires that only an
// identical put repeats a commit id: so the identical put has identical encoded bytes.
func TestStoreConformance(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		const maxBody = 380 << 10
		storetest.Run(t, storetest.Harness{
			New: func(t *testing.T) func() storetest.Store {
				s := memory.New(memory.Options{Violation: t.Errorf})
				t.Cleanup(s.Check)
				codec := codec.New(codec.Options{Keys: keysOf(t, "k1")})
				return func() storetest.Store { return wrap(codec, s) }
			},
			MaxBody: maxBody, PageBytes: 1 << 20, Reopens: true, Lists: true,
		})
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, storetest.Harness{
			New: func(t *testing.T) func() storetest.Store {
				open := reopening(t)
				return func() storetest.Store {
					return wrap(codec.New(codec.Options{Keys: keysOf(t, "k1")}), diskstore.New(open()))
				}
			},
			MaxBody: diskstore.MaxBody - room, PageBytes: 1 << 20, Reopens: true, Lists: true,
		})
	})
}

// reopening returns a function that closes the file of a directory and opens it again.
func reopening(t *testing.T) func() *disk.DB {
	dir := t.TempDir()
	var db *disk.DB
	end := func() {
		if db != nil {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return func() *disk.DB {
		end()
		var err error
		if db, err = disk.Open(dir); err != nil {
			t.Fatal(err)
		}
		return db
	}
}

type encodedQueue struct {
	queue.Sender
	queue.Receiver
}

// The wrapped queues pass the conformance suite.
func TestQueueConformance(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		queuetest.Run(t, queuetest.Harness{
			New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
				clock := queuetest.NewClock()
				q := queuememory.New(settings, queuememory.Options{Clock: clock.Now, Violation: t.Errorf})
				clock.OnMove(q.Tick)
				t.Cleanup(q.Check)
				s := codec.New(codec.Options{Keys: keysOf(t, "k1")})
				return func() queuetest.Queue { return encodedQueue{s.Sender(q), s.Receiver(q)} }, clock
			},
			MaxBody: 768<<10 - room, Reopens: true,
		})
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		queuetest.Run(t, queuetest.Harness{
			New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
				open, clock := reopening(t), queuetest.NewClock()
				return func() queuetest.Queue {
					q, err := diskqueue.New(open(), settings, diskqueue.Options{Clock: clock.Now, Violation: t.Errorf})
					if err != nil {
						t.Fatal(err)
					}
					clock.OnMove(q.Tick)
					s := codec.New(codec.Options{Keys: keysOf(t, "k1")})
					return encodedQueue{s.Sender(q), s.Receiver(q)}
				}, clock
			},
			MaxBody: diskqueue.MaxBody - room, Reopens: true,
		})
	})
}

// fakes are a store and a queue in memory under a Codec, and its log.
type fakes struct {
	*testing.T
	store *memory.Store
	queue *queuememory.Queue
	said  bytes.Buffer
}

func newFakes(t *testing.T) *fakes {
	t.Helper()
	sc := &fakes{T: t, store: memory.New(memory.Options{Violation: t.Errorf})}
	sc.queue = queuememory.New(queue.Standard(), queuememory.Options{})
	return sc
}

// with returns a Codec with these keys that logs into the fakes.
func (sc *fakes) with(keys codec.Keys) *codec.Codec {
	return codec.New(codec.Options{Keys: keys, Log: slog.New(slog.NewTextHandler(&sc.said, nil))})
}

func item(slot uint32) store.Item {
	return store.Item{Key: store.Key{Workflow: "w", Run: 1, Slot: slot}, Commit: [16]byte{byte(slot + 1)}, Body: fmt.Appendf(nil, "%s %d", secret, slot)}
}

func attempt(body []byte) store.Attempt {
	return store.Attempt{Workflow: "w", Run: 1, Event: 5, Number: 1, Body: body}
}

// A body with another key, or one that was moved, stays encoded beside those that open. The log
// says why, without the body.
func TestUnopenedBodiesStayEncoded(t *testing.T) {
	t.Parallel()
	ctx, sc := t.Context(), newFakes(t)
	first, second := sc.with(keysOf(t, "k1")), sc.with(keysOf(t, "k2"))
	due := time.Now()
	for _, err := range []error{
		sc.store.Append(ctx, item(0)), first.Log(sc.store).Append(ctx, item(1)), second.Log(sc.store).Append(ctx, item(2)),
		first.Attempts(sc.store).RecordAttempt(ctx, attempt(secret)),
		first.Timers(sc.store).PutTimers(ctx, []store.Timer{{ID: "t", Due: due, Body: secret}}),
		first.Sender(sc.queue).Send(ctx, queue.Timers, queue.Message{Body: secret}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := second.Log(sc.store).Backward(ctx, "w", store.Key{}, store.Key{}, 0)
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("%d items, %v", len(page.Items), err)
	}
	for i, slot := range []uint32{2, 1, 0} {
		if got := bytes.Equal(page.Items[i].Body, item(slot).Body); got != (slot != 1) {
			t.Errorf("slot %d: opened is %v", slot, got)
		}
	}
	attempts, err := second.Attempts(sc.store).ReadAttempts(ctx, "w", 1)
	if err != nil || len(attempts) != 1 || bytes.Contains(attempts[0].Body, secret) {
		t.Errorf("attempts %v, %v", attempts, err)
	}
	timers, err := second.Timers(sc.store).DueTimers(ctx, due.Add(time.Second), 10)
	if err != nil || len(timers) != 1 || bytes.Contains(timers[0].Body, secret) {
		t.Errorf("timers %v, %v", timers, err)
	}
	messages, err := second.Receiver(sc.queue).Receive(ctx, queue.Timers, 1)
	if err != nil || len(messages) != 1 || bytes.Contains(messages[0].Body, secret) {
		t.Errorf("messages %v, %v", messages, err)
	}
	var conflict *store.Conflict
	other := item(1)
	other.Commit[0] = 99
	if err := second.Log(sc.store).Append(ctx, other); !errors.As(err, &conflict) || conflict.Existing.Commit != item(1).Commit {
		t.Errorf("an Append over an encoded item: %v", err)
	}
	said := sc.said.String()
	for _, want := range []string{"place=commit/w/1/1/", "place=attempt/w/1/5/1", "place=timer/t", "place=message", `key \"k1\" is not in the key file`} {
		if !bytes.Contains([]byte(said), []byte(want)) {
			t.Errorf("the log lacks %s:\n%s", want, said)
		}
	}
	if bytes.Contains([]byte(said), secret[1:]) {
		t.Errorf("the log has the body:\n%s", said)
	}
}

// An encoded body that was copied to another place, or changed, does not open.
func TestMovedBodiesDoNotOpen(t *testing.T) {
	t.Parallel()
	ctx, sc := t.Context(), newFakes(t)
	s := sc.with(keysOf(t, "k1"))
	if err := s.Log(sc.store).Append(ctx, item(0)); err != nil {
		t.Fatal(err)
	}
	page, err := sc.store.Forward(ctx, item(0).Key, 1)
	if err != nil {
		t.Fatal(err)
	}
	stolen := page.Items[0].Body
	for name, change := range map[string]func(*store.Item){
		"workflow": func(i *store.Item) { i.Workflow = "v" },
		"run":      func(i *store.Item) { i.Workflow, i.Run = "w2", 1; i.Commit[3]++ },
		"commit":   func(i *store.Item) { i.Workflow = "x"; i.Commit[5]++ },
	} {
		moved := item(0)
		change(&moved)
		moved.Commit[15], moved.Body = name[0], stolen
		if err := sc.store.Append(ctx, moved); err != nil {
			t.Fatal(err)
		}
		page, err := s.Log(sc.store).Forward(ctx, moved.Key, 1)
		if err != nil || len(page.Items) != 1 || !bytes.Equal(page.Items[0].Body, stolen) {
			t.Errorf("another %s: %v, %v", name, page.Items, err)
		}
	}
}

// While the keys do not answer, nothing is written or read, and the errors are temporary.
func TestKeysThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	ctx, sc := t.Context(), newFakes(t)
	if err := sc.with(keysOf(t, "k1")).Log(sc.store).Append(ctx, item(0)); err != nil {
		t.Fatal(err)
	}
	keys := &counted{Keys: keysOf(t, "k1"), fail: errors.New("no answer")}
	s := sc.with(keys)
	if err := s.Log(sc.store).Append(ctx, item(1)); !errors.Is(err, store.ErrThrottled) {
		t.Errorf("Append: %v", err)
	}
	if err := s.Sender(sc.queue).Send(ctx, queue.Timers, queue.Message{Body: secret}); err == nil {
		t.Error("sent")
	}
	if page, err := s.Log(sc.store).Forward(ctx, item(0).Key, 0); !errors.Is(err, store.ErrThrottled) || len(page.Items) > 0 {
		t.Errorf("Forward: %v, %v", page, err)
	}
	keys.fail = fmt.Errorf("%w: denied", codec.ErrKey)
	if err := s.Log(sc.store).Append(ctx, item(1)); err == nil || errors.Is(err, store.ErrThrottled) {
		t.Errorf("Append: %v", err)
	}
	keys.fail = nil
	if page, err := s.Log(sc.store).Forward(context.WithoutCancel(ctx), item(0).Key, 0); err != nil || len(page.Items) != 1 || !bytes.Equal(page.Items[0].Body, item(0).Body) {
		t.Errorf("Forward: %v, %v", page, err)
	}
}

// Each data key of a page is unwrapped once, whichever process wrote with it.
func TestDataKeysOfAPage(t *testing.T) {
	t.Parallel()
	ctx, sc := t.Context(), newFakes(t)
	const writers = 40
	for slot := range uint32(3 * writers) {
		s := sc.with(keysOf(t, "k1"))
		if slot%3 > 0 { // each writer has three slots
			continue
		}
		for part := range uint32(3) {
			if err := s.Log(sc.store).Append(ctx, item(slot+part)); err != nil {
				t.Fatal(err)
			}
		}
	}
	keys := &counted{Keys: keysOf(t, "k1")}
	page, err := sc.with(keys).Log(sc.store).Forward(ctx, item(0).Key, 0)
	if err != nil || len(page.Items) != 3*writers {
		t.Fatalf("%d items, %v", len(page.Items), err)
	}
	for slot, got := range page.Items {
		if !bytes.Equal(got.Body, item(uint32(slot)).Body) {
			t.Errorf("slot %d is %q", slot, got.Body)
		}
	}
	keys.asked(t, 0, writers)
}

// The limits of stores and queues have room for what encoding adds to a body. A data key that KMS
// has wrapped takes 184 bytes, with an id of 36.
func TestOverhead(t *testing.T) {
	t.Parallel()
	if got := len(encoded(t, codec.New(codec.Options{Keys: keysOf(t, "2026-11")}), "here", secret)) - len(secret); got != 100 {
		t.Errorf("with a key of a file %d bytes", got)
	}
}
