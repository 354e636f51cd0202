package disk

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// firstSegment and largestSegment are the sizes of the first segment of a log, and of later
	// ones, which double. Their blocks are written when they are made: a flush that changes no
	// length of a file is faster.
	firstSegment, largestSegment = 1 << 20, 16 << 20
	walSuffix                    = ".wal"
	// unfilledSuffix is behind the name of a segment whose blocks are not all written: no record is
	// in it.
	unfilledSuffix = ".new"
)

// segment is a file of the log.
type segment struct {
	name  string
	file  vfs.File
	size  int64
	nonce uint64      // what its records have
	last  uint64      // the number of its last record
	end   int64       // of what was written to it, once it is full
	info  os.FileInfo // which file it is; nil if the file system cannot tell
}

// wal is the log that is written to. Only the holder of order uses it.
type wal struct {
	fs      vfs.FS
	dir     string
	largest int64 // size of a segment
	unit    int64 // the size of each segment is a multiple of it
	current *segment
	end     int64 // of what was written to the current segment
	count   uint64
	// prepared gives the next segment; nil while nobody prepares one.
	prepared chan prepared
	// full are the segments before the current one, whose records may not be in the tables yet.
	// needed is the first segment that the tables on the disk need, or one before that.
	full   []*segment
	needed *segment
	// contain is deferred by its goroutines: see watcher.contain.
	contain func()
	// spare are files that are free.
	spare []*segment
}

type prepared struct {
	segment *segment
	err     error
}

// openWAL begins a new log. The numbers of its segments come after count. Its segments are smaller
// by a factor than those of users.
func openWAL(fs vfs.FS, dir string, count uint64, part int64) (*wal, error) {
	w := &wal{fs: fs, dir: dir, count: count, largest: largestSegment / firstSegment * (firstSegment / part), unit: firstSegment / part}
	s, err := w.make(w.unit, nil)
	w.current = s
	return w, err
}

// segmentName is the name of a file: its place in the order, and its nonce.
func segmentName(count, nonce uint64) string {
	return fmt.Sprintf("%016x-%016x%s", count, nonce, walSuffix)
}

// parseName reads what segmentName makes.
func parseName(name string) (count, nonce uint64, ok bool) {
	first, second, found := strings.Cut(strings.TrimSuffix(name, walSuffix), "-")
	count, err := strconv.ParseUint(first, 16, 64)
	nonce, err2 := strconv.ParseUint(second, 16, 64)
	return count, nonce, found && strings.HasSuffix(name, walSuffix) && err == nil && err2 == nil
}

// make makes a segment of at least a size: of the file of another one, if that is large enough. It
// is on the disk when make returns. A crash in it leaves a segment without records, or a file with
// unfilledSuffix, which the next Open removes.
func (w *wal) make(size int64, of *segment) (*segment, error) {
	w.count++
	var random [8]byte
	_, _ = rand.Read(random[:]) // which never fails
	s := &segment{nonce: binary.BigEndian.Uint64(random[:]), size: (size + w.unit - 1) / w.unit * w.unit}
	s.name = w.fs.PathJoin(w.dir, segmentName(w.count, s.nonce))
	before := s.name + unfilledSuffix
	err := error(nil)
	if of != nil {
		s.size, before = of.size, of.name
	} else {
		err = w.fill(before, s.size)
	}
	if err == nil {
		err = w.fs.Rename(before, s.name)
	}
	if err == nil {
		s.file, err = w.fs.OpenReadWrite(s.name, vfs.WriteCategoryUnspecified)
	}
	if err == nil && w.fs == vfs.Default {
		s.info, err = os.Stat(s.name)
	}
	if err == nil {
		err = syncDir(w.fs, w.dir)
	}
	if err != nil {
		if s.file != nil {
			_ = s.file.Close() // it goes
		}
		_ = w.fs.Remove(before) // or the next Open does
		_ = w.fs.Remove(s.name)
	}
	return s, err
}

// fill makes a file and writes its blocks.
func (w *wal) fill(name string, size int64) error {
	f, err := w.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = writeZeros(f, size)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}

// zeros is what writeZeros writes.
var zeros [256 << 10]byte

func writeZeros(f vfs.File, size int64) error {
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}

// Modes of directories: a data directory is made like any other, and what is in it is for its owner
// alone.
const (
	outerMode = 0o755
	innerMode = 0o700
)

// makeDir makes a directory, and has it on the disk.
func makeDir(fs vfs.FS, dir string, mode os.FileMode) error {
	if err := fs.MkdirAll(dir, mode); err != nil {
		return err
	}
	if mode == innerMode && fs == vfs.Default {
		if err := os.Chmod(dir, mode); err != nil { // one that an earlier version made
			return err
		}
	}
	parent := fs.PathDir(dir)
	if parent == "" {
		parent = "."
	}
	err := syncDir(fs, parent)
	if errors.Is(err, os.ErrPermission) {
		return nil // it may be somebody else's, and the directory is older than this process then
	}
	return err
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if err2 := d.Close(); err == nil {
		err = err2
	}
	return err
}

// nextNote is at least what DB.sayNext writes to the end of a segment.
const nextNote = 256

// baseName is the name of the file of a segment, without its directory.
func (w *wal) baseName(s *segment) string { return w.fs.PathBase(s.name) }

// ensureRoom makes sure that so many bytes have a place in the current segment, and the name of the
// next segment behind them.
func (w *wal) ensureRoom(n int) error {
	n += nextNote
	if w.end+int64(n) <= w.current.size {
		return nil
	}
	if w.prepared != nil {
		p := <-w.prepared
		w.prepared = nil
		if p.err == nil && p.segment.size >= int64(n) {
			w.begin(p.segment)
			return nil
		}
		if p.err == nil {
			w.spare = append(w.spare, p.segment)
		}
	}
	return w.next(max(w.nextSize(), int64(n)))
}

// next begins a new segment of a size.
func (w *wal) next(size int64) error {
	s, err := w.make(size, nil)
	if err == nil {
		w.begin(s)
	}
	return err
}

// begin has a segment be the current one.
func (w *wal) begin(s *segment) {
	w.current.end = w.end
	w.full = append(w.full, w.current)
	w.current, w.end = s, 0
}

func (w *wal) nextSize() int64 { return min(2*w.current.size, w.largest) }

// prepare begins to make the next segment, once half of the current one is written.
func (w *wal) prepare() {
	if w.prepared != nil || w.end < w.current.size/2 {
		return
	}
	size := w.nextSize()
	var of *segment
	if i := slices.IndexFunc(w.spare, func(s *segment) bool { return s.size >= size }); i >= 0 {
		of = w.spare[i]
		w.spare = slices.Delete(w.spare, i, i+1)
		_ = of.file.Close() // nothing of it is waited for
	}
	made := make(chan prepared, 1)
	w.prepared = made
	next := &wal{fs: w.fs, dir: w.dir, count: w.count, unit: w.unit}
	w.count++
	go func() {
		p := prepared{err: errPanicked}
		defer func() { made <- p }() // who waits makes the segment himself if there is none
		defer w.contain()
		p.segment, p.err = next.make(size, of)
	}()
}

// write writes records, and flushes them if flush says so. It makes no room.
func (w *wal) write(data []byte, last uint64, flush bool) error {
	if _, err := w.current.file.WriteAt(data, w.end); err != nil {
		return err
	}
	w.end += int64(len(data))
	w.current.last = max(w.current.last, last)
	if !flush {
		return nil
	}
	return w.current.file.SyncData()
}

// release gives the segments back whose records are all in the tables, up to the one that is
// needed.
func (w *wal) release(inTables uint64) error {
	for len(w.full) > 0 && w.full[0].last <= inTables && w.full[0] != w.needed {
		s := w.full[0]
		w.full = w.full[1:]
		if len(w.spare) < 2 && s.size == w.largest {
			w.spare = append(w.spare, s)
		} else if err := w.discard(s); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the file of a segment.
func (w *wal) discard(s *segment) error {
	_ = s.file.Close() // it goes
	return w.fs.Remove(s.name)
}

// close closes all files. If all of their records are in the tables, it removes them but for the
// current one, which says so.
func (w *wal) close(remove bool) (err error) {
	if w.prepared != nil {
		if p := <-w.prepared; p.err == nil {
			w.spare = append(w.spare, p.segment)
		}
	}
	_ = w.current.file.Close() // what was acknowledged is flushed
	for _, s := range slices.Concat(w.full, w.spare) {
		if !remove {
			_ = s.file.Close()
		} else if err2 := w.discard(s); err == nil {
			err = err2
		}
	}
	return err
}

// readLog reads the records of all segments of a directory, in order, and returns the names of the
// files. It gives report the files that are cut short.
func readLog(fs vfs.FS, dir string, unit int64, report func(error)) (records []*record, files []string, count uint64, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, nil, 0, err
	}
	slices.Sort(names)
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		n, nonce, ok := parseName(name)
		if !ok {
			continue
		}
		data, err := readFile(fs, path)
		if err != nil {
			return nil, nil, 0, err
		}
		if size := int64(len(data)); size%unit != 0 || size == 0 {
			report(fmt.Errorf("%w: the file %s of the log is cut short at byte %d: what was acknowledged and stood after that is lost", ErrCorrupt, name, size))
		}
		count = max(count, n)
		files = append(files, path)
		more, err := readSegment(data, nonce)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("the file %s: %w", name, err)
		}
		records = append(records, more...)
	}
	slices.SortStableFunc(records, func(a, b *record) int { return cmp.Compare(a.number, b.number) })
	return records, files, count, nil
}

// removeUnfilled removes the files of segments whose blocks are not all written: see make.
func removeUnfilled(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	for _, name := range names {
		if err == nil && strings.HasSuffix(name, walSuffix+unfilledSuffix) {
			err = fs.Remove(fs.PathJoin(dir, name))
		}
	}
	return err
}

func readFile(fs vfs.FS, name string) (data []byte, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(f)
}
