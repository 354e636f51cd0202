package diskstore

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

var (
	bits     = flag.Int("bits", 60, "how many bits TestFlippedBits flips, each in a directory of its own")
	bitsSeed = flag.Uint64("bits-seed", 0, "the seed of TestFlippedBits; 0 is a random one")
)

// world has the contents of a directory of TestFlippedBits.
type world struct {
	items    map[store.Key]store.Item
	attempts map[string]store.Attempt
	timers   map[string]store.Timer
	blobs    map[string][]byte
}

const worldRuns = 30

func runName(i int) string { return fmt.Sprintf("workflow-%02d", i) }

// fill writes the runs with numbers from <= n < to.
func (w *world) fill(t *testing.T, s *Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		name := runName(i)
		body := func(what string) []byte { return bytes.Repeat(fmt.Appendf(nil, "%s of %s, ", what, name), 1+i) }
		for slot := range uint32(4) {
			item := itemOf(name, slot, 3600*i)
			item.Commit, item.Body = [16]byte{byte(i), byte(slot), 9}, body(fmt.Sprint("item ", slot))
			if err := s.Append(t.Context(), item); err != nil {
				t.Fatal(err)
			}
			w.items[item.Key] = item
		}
		attempt := attemptOf(name)
		attempt.Body = body("attempt")
		timer := store.Timer{ID: name, Due: began.Add(time.Duration(i) * time.Second), Body: body("timer")}
		w.attempts[name], w.timers[name], w.blobs[name] = attempt, timer, body("blob")
		err := errors.Join(s.RecordAttempt(t.Context(), attempt), s.PutTimers(t.Context(), []store.Timer{timer}), s.db.Write(func(tx *disk.Tx) error {
			tx.Put(disk.Blobs, []byte(name), w.blobs[name])
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// check reads everything, and demands of each value that it is what was written, or is missing with
// a report or an error. It returns the runs that lack something.
func (w *world) check(t *testing.T, s *Store, reports *atomic.Int64) map[string]bool {
	t.Helper()
	ctx, hurt := t.Context(), map[string]bool{}
	lacks := func(name, what string, err error) {
		hurt[name] = true
		if err == nil && reports.Load() == 0 {
			t.Errorf("%s lacks %s, without a report or an error", name, what)
		}
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %s: %v, want ErrCorrupt", name, what, err)
		}
	}
	due, err := s.DueTimers(ctx, began.Add(time.Hour), 1000)
	if err != nil {
		t.Errorf("DueTimers: %v", err)
	}
	timers := map[string]bool{}
	for _, timer := range due {
		if timers[timer.ID] = true; !reflect.DeepEqual(timer, w.timers[timer.ID]) {
			t.Errorf("the timer %q is %+v", timer.ID, timer)
		}
	}
	rows, _, err := s.ListRuns(ctx, store.Filter{}, "", 1000)
	if err != nil {
		t.Errorf("ListRuns: %v", err)
	}
	listed := map[string]bool{}
	for _, row := range rows {
		if listed[row.Workflow] = true; !reflect.DeepEqual(row, *w.items[store.Key{Workflow: row.Workflow, Run: 1}].Summary) {
			t.Errorf("the row of %q is %+v", row.Workflow, row)
		}
	}
	for i := range worldRuns {
		name := runName(i)
		page, err := s.Forward(ctx, store.Key{Workflow: name, Run: 1}, 0)
		for _, item := range page.Items {
			if !reflect.DeepEqual(item, w.items[item.Key]) {
				t.Errorf("the item %v is %+v", item.Key, item)
			}
		}
		if len(page.Items) < 4 {
			lacks(name, "an item", err)
		}
		attempts, err := s.ReadAttempts(ctx, name, 1)
		if len(attempts) != 1 || err != nil {
			lacks(name, "its attempt", err)
		} else if !reflect.DeepEqual(attempts[0], w.attempts[name]) {
			t.Errorf("the attempt of %s is %+v", name, attempts[0])
		}
		var blob []byte
		err = damaged(s.db.Read(func(tx *disk.Tx) (err error) { blob, err = tx.Get(disk.Blobs, []byte(name)); return err }))
		if blob == nil {
			lacks(name, "its blob", err)
		} else if !bytes.Equal(blob, w.blobs[name]) {
			t.Errorf("the blob of %s is %q", name, blob)
		}
		for what, there := range map[string]bool{"its timer": timers[name], "its row": listed[name]} {
			if !there {
				lacks(name, what, nil)
			}
		}
	}
	if mark, err := s.ReadMark(ctx); err != nil || mark != nil && string(mark) != "mark" || mark == nil && reports.Load() == 0 {
		t.Errorf("the mark is %q, %v", mark, err)
	}
	if key, err := s.ReadKey(ctx); err != nil && !errors.Is(err, store.ErrCorrupt) || err == nil && string(key) != "first" && reports.Load() == 0 {
		t.Errorf("the key is %q, %v", key, err)
	}
	return hurt
}

// flip flips a bit of one of a directory's files, before the zeros at its end, and returns the
// file.
func flip(t *testing.T, dir string, random *rand.Rand) (file string, at int) {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil && info.Size() > 0 {
				names = append(names, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file = names[random.IntN(len(names))]
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	used := max(len(bytes.TrimRight(data, "\x00")), 1)
	bit := random.IntN(8 * used)
	data[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(dir, file)
	if err != nil {
		t.Fatal(err)
	}
	return name, bit / 8
}

// A flipped bit anywhere in a data directory, half of which is only in its log, never changes what
// is read without an error or a report, and never causes a panic. In the log it costs at most one
// run. A directory that cannot be opened says so.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	seed := *bitsSeed
	for seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat it with: go test ./internal/embedded/diskstore -run TestFlippedBits -bits=%d -bits-seed=%d", *bits, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w := &world{map[store.Key]store.Item{}, map[string]store.Attempt{}, map[string]store.Timer{}, map[string][]byte{}}
	dir, whole := t.TempDir(), t.TempDir()
	s := openQuiet(t, dir)
	w.fill(t, s, 0, worldRuns/2)
	s.marks(t)
	closeStore(t, s) // writes the tables
	s = openQuiet(t, dir)
	w.fill(t, s, worldRuns/2, worldRuns)
	// The record of this write says that all before it were flushed. If it is damaged itself,
	// nobody can know that it was acknowledged.
	if err := s.db.Write(func(tx *disk.Tx) error { tx.Put(disk.Blobs, []byte("last"), []byte("last")); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(whole, os.DirFS(dir)); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	closeStore(t, s)
	refused, hurt := 0, 0
	flips := *bits
	if testing.Short() {
		flips = min(flips, 10)
	}
	for n := range flips + 1 {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		file, at := "nothing", 0
		if n > 0 {
			file, at = flip(t, dir, random)
		}
		var reports atomic.Int64
		db, err := disk.Open(dir, disk.Options{Log: slog.New(slog.DiscardHandler), Damage: func(error) { reports.Add(1) }})
		if err != nil {
			if refused++; n == 0 || strings.HasSuffix(file, ".wal") {
				t.Errorf("byte %d of %s: the directory does not open: %v", at, file, err)
			}
			continue
		}
		s := New(db)
		lost := w.check(t, s, &reports)
		if len(lost) > 0 {
			hurt++
		}
		if (n == 0 || strings.HasSuffix(file, ".wal")) && len(lost) > min(n, 1) {
			t.Errorf("byte %d of %s: %d runs are damaged", at, file, len(lost))
		}
		if err := s.PutTimers(t.Context(), []store.Timer{{ID: "new", Due: began}}); err != nil {
			t.Errorf("byte %d of %s: nothing can be written: %v", at, file, err)
		}
		if err := db.Close(); err != nil && !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("byte %d of %s: Close: %v", at, file, err)
		}
		if t.Failed() {
			t.Fatalf("byte %d of %s", at, file)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("of %d flips %d kept the directory from opening, and %d cost a run", flips, refused, hurt)
}
