package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// A directory does what a map does, group by group, whatever its operations read and change, and
// whether or not they refuse.
func TestGroupsAreAsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, err := Open("data", Options{fs: vfs.NewMem(), Log: slog.New(slog.DiscardHandler), part: 64})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }() // the contents were checked before
		model := map[string]string{}
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			var group []*job
			for range rapid.IntRange(1, 6).Draw(t, "operations") {
				group = append(group, &job{op: drawOp(t, model), answer: make(chan error, 1)})
			}
			d.order.Lock()
			d.lead(group)
			for _, j := range group {
				if err := <-j.answer; err != nil && !errors.Is(err, errThere) {
					t.Fatal(err)
				}
			}
			if err := d.Read(func(tx *Tx) error { return same(tx, model, "", "") }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// drawOp draws an operation. The operation makes the same changes in the model, unless it refuses.
func drawOp(t *rapid.T, model map[string]string) Op {
	key := rapid.SampledFrom([]string{"a", "b", "ba", "bb", "c", "d"})
	refuses := rapid.Bool().Draw(t, "refuses")
	var steps []func(tx *Tx, now map[string]string) error
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		k, v, to := key.Draw(t, "key"), rapid.StringN(0, 3, 3).Draw(t, "value"), key.Draw(t, "to")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			steps = append(steps, func(tx *Tx, now map[string]string) error { tx.Put(Rows, []byte(k), []byte(v)); now[k] = v; return nil })
		case 1:
			steps = append(steps, func(tx *Tx, now map[string]string) error { tx.Delete(Rows, []byte(k)); delete(now, k); return nil })
		case 2:
			steps = append(steps, func(tx *Tx, now map[string]string) error {
				got, err := tx.Get(Rows, []byte(k))
				if want, there := now[k]; err != nil || there != (got != nil) || string(got) != want {
					return fmt.Errorf("%q has %q, %w; want %q, %v", k, got, err, want, there)
				}
				return nil
			})
		default:
			steps = append(steps, func(tx *Tx, now map[string]string) error { return same(tx, now, k, to) })
		}
	}
	return func(tx *Tx) error {
		now := maps.Clone(model)
		for _, step := range steps {
			if err := step(tx, now); err != nil {
				return err
			}
		}
		if refuses {
			return errThere
		}
		clear(model)
		maps.Copy(model, now)
		return nil
	}
}

// same compares a range of a space with that of a map, in both directions. An empty to means the
// end.
func same(tx *Tx, model map[string]string, from, to string) error {
	var want, up, down []string
	for _, k := range slices.Sorted(maps.Keys(model)) {
		if k >= from && (to == "" || k < to) {
			want = append(want, k+"="+model[k])
		}
	}
	var end []byte
	if to != "" {
		end = []byte(to)
	}
	if to != "" && to <= from {
		return nil
	}
	err := errors.Join(
		tx.Ascend(Rows, []byte(from), end, func(k, v []byte) bool { up = append(up, fmt.Sprintf("%s=%s", k, v)); return true }),
		tx.Descend(Rows, []byte(from), end, func(k, v []byte) bool { down = append(down, fmt.Sprintf("%s=%s", k, v)); return true }),
	)
	slices.Reverse(down)
	if err != nil || !slices.Equal(up, want) || !slices.Equal(down, want) {
		return fmt.Errorf("from %q to %q: %q and back %q, %w; want %q", from, to, up, down, err, want)
	}
	return nil
}

// life is a directory that loses its power at one of its writes: during Open, recovery, ordinary
// writes, or Close.
type life struct {
	t    *testing.T
	seed uint64
	mu   sync.Mutex
	// laters counts the operations queued with Later. The first demanded of them have to be there.
	// acknowledged has the writes that have to be there, each with the number of laters before it.
	laters, demanded uint64
	acknowledged     map[uint64]uint64
}

// The power fails at any write to a file, also during Open and Close, and while several callers
// write. Afterwards:
//   - All acknowledged writes are there.
//   - Of the operations queued with Later, the first ones are there.
//   - If a write is there, so are all operations that were queued before it.
func TestPowerLossAnywhere(t *testing.T) {
	t.Parallel()
	seeds := uint64(shortform.Or(30, 6))
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 77))
		l := &life{t: t, seed: seed, acknowledged: map[uint64]uint64{}}
		fs := vfs.NewCrashableMem()
		for range 4 {
			fs = l.play(fs, rng)
			if t.Failed() || fs == nil {
				break
			}
		}
	}
}

// play opens the directory, checks it, writes, and closes it. It returns the files as the power
// failure left them. It returns nil if the directory cannot be opened because Pebble has lost the
// name of a file. That does not happen on a file system that keeps the order of names.
func (l *life) play(fs *vfs.MemFS, rng *rand.Rand) *vfs.MemFS {
	var left *vfs.MemFS
	var keptLaters uint64
	var kept map[uint64]uint64
	at := rng.Int64N([]int64{30, 600}[rng.IntN(2)])
	unsynced, crash := rng.IntN(101), rand.New(rand.NewPCG(l.seed, rng.Uint64()))
	var writes atomic.Int64
	on := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) == at {
			l.mu.Lock()
			defer l.mu.Unlock()
			left = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: crash})
			keptLaters, kept = l.demanded, maps.Clone(l.acknowledged)
		}
		return nil
	}))
	d, err := Open("data", Options{fs: on, Log: slog.New(slog.DiscardHandler), part: 64})
	if err != nil && strings.Contains(err.Error(), "could not open manifest file") {
		return nil
	}
	if err != nil {
		l.t.Errorf("seed %d: %v", l.seed, err)
		return nil
	}
	l.check(d)
	var all sync.WaitGroup
	for range 1 + rng.IntN(4) {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 0))
		all.Go(func() {
			for range 5 + mine.IntN(30) {
				l.write(d, mine)
			}
		})
	}
	all.Wait()
	if err := d.Close(); err != nil {
		l.t.Errorf("seed %d: %v", l.seed, err)
	}
	l.demanded = l.laters
	if left != nil {
		fs, l.demanded, l.acknowledged = left, keptLaters, kept
	}
	return fs
}

// write runs an operation. Each operation has a number of its own.
func (l *life) write(d *DB, rng *rand.Rand) {
	large := make([]byte, rng.IntN(2)*3000)
	if rng.IntN(2) == 0 {
		l.mu.Lock()
		defer l.mu.Unlock() // so that the numbers are in the order of the line
		n := l.laters
		l.laters++
		if err := d.Later(func(tx *Tx) error { tx.Put(Blobs, k8(n), large); tx.Put(Log, k8(n), nil); return nil }); err != nil {
			l.t.Error(err)
		}
		return
	}
	l.mu.Lock()
	before, n := l.laters, rng.Uint64()
	l.mu.Unlock()
	if err := d.Write(func(tx *Tx) error { tx.Put(Blobs, k8(n), large); tx.Put(Rows, k8(n), k8(before)); return nil }); err != nil {
		l.t.Error(err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acknowledged[n] = before
	l.demanded = max(l.demanded, before)
}

// check compares the directory with what has to be there. From then on, everything that is there
// has to stay.
func (l *life) check(d *DB) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there, writes := uint64(0), map[uint64]uint64{}
	err := d.Read(func(tx *Tx) error {
		return errors.Join(
			tx.Ascend(Log, nil, nil, func(k, _ []byte) bool {
				if n := number(k); n != there {
					l.t.Errorf("seed %d: operation %d is missing, although %d is there", l.seed, there, n)
				}
				there++
				return true
			}),
			tx.Ascend(Rows, nil, nil, func(k, v []byte) bool { writes[number(k)] = number(v); return true }),
		)
	})
	if err != nil {
		l.t.Errorf("seed %d: %v", l.seed, err)
	}
	for n := range l.acknowledged {
		if _, ok := writes[n]; !ok {
			l.t.Errorf("seed %d: write %d was acknowledged, and is missing", l.seed, n)
		}
	}
	for n, before := range writes {
		if before > there {
			l.t.Errorf("seed %d: write %d is there, but only %[4]d of the %[3]d operations before it", l.seed, n, before, there)
		}
	}
	if there < l.demanded {
		l.t.Errorf("seed %d: %d operations are there, want at least %d", l.seed, there, l.demanded)
	}
	l.laters, l.demanded, l.acknowledged = there, there, writes
}
