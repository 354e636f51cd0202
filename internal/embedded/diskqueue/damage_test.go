package diskqueue

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/disk/disktest"
	"github.com/seed-41655fb1/weft/queue"
)

// life is the life of one process with the directory.
type life struct {
	*Queue
	t  *testing.T
	db *disk.DB
}

func begin(t *testing.T, dir string) *life {
	t.Helper()
	db, err := disk.Open(dir, disk.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]queue.Settings{"q": {MaxReceives: 20}, queue.DeadLetters("q"): {}}
	q, err := New(db, settings, Options{Violation: t.Errorf})
	if err != nil {
		t.Fatal(err)
	}
	return &life{q, t, db}
}

func (l *life) end() {
	l.t.Helper()
	if err := l.db.Close(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) write(op disk.Op) {
	l.t.Helper()
	if err := l.db.Write(op); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) send(bodies ...string) {
	l.t.Helper()
	for _, body := range bodies {
		if err := l.Send(l.t.Context(), "q", queue.Message{Body: []byte(body)}); err != nil {
			l.t.Fatal(err)
		}
	}
}

// receive demands that one Receive returns these messages, each with this count.
func (l *life) receive(want map[string]int) {
	l.t.Helper()
	got := map[string]int{}
	deliveries, err := l.Receive(l.t.Context(), "q", queue.MaxBatch)
	for _, d := range deliveries {
		got[string(d.Body)] = d.Received
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		l.t.Fatalf("received %v, %v; want %v", got, err, want)
	}
}

// A damaged count does not prevent the delivery of its batch. Counting continues from 0.
func TestDamagedCount(t *testing.T) {
	t.Parallel()
	for _, damaged := range []struct {
		what string
		make func(t *testing.T, dir string)
	}{
		{"its checksum is wrong", func(t *testing.T, dir string) { disktest.Damage(t, dir, disk.Received, key(2)) }},
		{"it is too short", func(t *testing.T, dir string) {
			l := begin(t, dir)
			l.write(func(tx *disk.Tx) error { tx.Put(disk.Received, key(2), []byte{1}); return nil })
			l.end()
		}},
	} {
		t.Run(damaged.what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := begin(t, dir)
			l.send("a", "b", "c")
			l.receive(map[string]int{"a": 1, "b": 1, "c": 1})
			l.end()
			damaged.make(t, dir)
			for i := range 2 {
				l = begin(t, dir)
				l.receive(map[string]int{"a": 2 + i, "b": 1 + i, "c": 2 + i})
				l.end()
			}
		})
	}
}

// A message whose stored value has become damaged is still sound in memory: it and the rest of its
// batch are delivered.
func TestDamagedMessageIsCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := begin(t, dir)
	l.send("a", "b")
	l.end()
	disktest.Damage(t, dir, disk.Messages, key(1))
	l = begin(t, dir)
	defer l.end()
	if err := (journal{l.db}).Received("q", map[uint64]int{1: 3, 2: 3, 9: 3}, true); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint64]int{1: 3, 2: 3, 9: 0} { // 9 has been deleted
		if err := l.db.Read(func(tx *disk.Tx) error {
			value, err := tx.Get(disk.Received, key(id))
			n := 0
			if value != nil && err == nil {
				n, err = decodeCount(value)
			}
			if n != want {
				t.Errorf("the count of message %d is %d, want %d", id, n, want)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

// Malformed keys and values, as a flipped bit in the file of an earlier version leaves them, affect
// no other message. No number is given to two messages.
func TestKeysAndValuesOfNoForm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := begin(t, dir)
	l.send("a", "b", "c")
	l.receive(map[string]int{"a": 1, "b": 1, "c": 1})
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	l.write(func(tx *disk.Tx) error {
		value, err := tx.Get(disk.Messages, key(3))
		for n := range value {
			tx.Put(disk.Messages, key(uint64(1000+n)), value[:n])
		}
		tx.Put(disk.Messages, key(999), []byte{0xf6}) // null
		for n := range 20 {
			for _, space := range []disk.Space{disk.Messages, disk.Received} {
				if n != idSize {
					tx.Put(space, noise(n), value)
					tx.Put(space, slices.Repeat([]byte{0xff}, n), noise(countSize)) // the last key of its space
				}
				tx.Put(space, key(uint64(2000+n)), noise(n))
			}
		}
		return err
	})
	l.end()
	for i := range 3 {
		l = begin(t, dir)
		want := map[string]int{"a": i + 2, "b": i + 2, "c": i + 2}
		for n := range i {
			want[fmt.Sprint("new ", n)] = i - n + 1
		}
		l.send(fmt.Sprint("new ", i))
		want[fmt.Sprint("new ", i)] = 1
		l.receive(want)
		l.write(func(*disk.Tx) error { return nil }) // waits for the messages
		if kept, _, err := load(l.db, 0); err != nil || kept["q"][3].ID != 2020 {
			t.Errorf("the next message has the number %d, %v, after 2019", kept["q"][3].ID, err)
		}
		l.end()
	}
}
