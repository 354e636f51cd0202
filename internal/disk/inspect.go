package disk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrReadOnly is wrapped by the errors of Write and Later for a directory that OpenToRead opened.
var ErrReadOnly = errors.New("disk: the data directory was opened to be read")

// ErrNoDirectory is wrapped by what OpenToRead and CheckDirectory return if there is no data
// directory.
var ErrNoDirectory = errors.New("there is no data directory of Weft")

// CheckDirectory returns nil if there is a data directory of this version of Weft. It changes
// nothing.
func CheckDirectory(dir string) error { return checkDirectory(vfs.Default, dir) }

func checkDirectory(fs vfs.FS, dir string) error {
	if err := refuseHalfRestored(fs, dir); err != nil {
		return err
	}
	said, err := readStart(fs, fs.PathJoin(dir, formatFile), len(format))
	switch {
	case errors.Is(err, os.ErrNotExist):
		if there, err := exists(fs, fs.PathJoin(dir, "tables")); err == nil && there {
			return fmt.Errorf("the file %s is missing in %s, and its log and tables are there: put the file back, or start a server on the directory, which makes the file anew", formatFile, dir)
		}
		return fmt.Errorf("%w in %s: name the directory that the server was given with --data", ErrNoDirectory, dir)
	case err != nil:
		return err
	case said != format:
		return fmt.Errorf("the file %s in %s is of another version of Weft, or is damaged: use that version, start a server on the directory to convert it, put the file back, or restore a backup", formatFile, dir)
	}
	return nil
}

// OpenToRead opens a data directory that no other process has, and changes nothing in it but the
// file LOCK. Reads see what a server would see that starts on it; that is, what the log has is read
// too. Nothing can be written. Damage that does not keep a server from starting goes to
// Options.Damage, or else to the log.
func OpenToRead(dir string, options ...Options) (*DB, error) {
	o := withDefaults(options)
	o.readOnly = true
	if o.Damage != nil {
		o.Log = slog.New(slog.DiscardHandler) // what Pebble says there comes as an error of a read, too
	}
	if err := checkDirectory(o.fs, dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(o.fs, dir)
	if err != nil {
		return nil, err
	}
	w := newWatcher(o)
	d, err := openView(dir, w, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the data directory %s: %w", dir, err), w.unlock(lock))
	}
	d.lock = lock
	return d, nil
}

func openView(dir string, w *watcher, o Options) (*DB, error) {
	tables, err := openTables(o.fs.PathJoin(dir, "tables"), false, w, o)
	if err != nil {
		return nil, err
	}
	d := &DB{fs: o.fs, dir: dir, unit: firstSegment / o.part, tables: tables, watch: w, view: newGroup(tables), gone: make(chan struct{}), report: reporter(w, o)}
	d.jobs.New = newJob
	readOnly := ErrReadOnly
	w.broken.Store(&readOnly)
	if err := d.readView(o.fs, o.fs.PathJoin(dir, "log")); err != nil {
		return nil, errors.Join(err, w.close(tables))
	}
	return d, nil
}

// readView adds to the view what the log has and the tables do not.
func (d *DB) readView(fs vfs.FS, dir string) error {
	records, _, _, err := d.readChecked(fs, dir)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.number <= d.last && !r.whole() {
			d.report(fmt.Errorf("%w: record %d of the log; nothing is lost, because the tables have what it wrote", ErrCorrupt, r.number))
		}
	}
	err = d.replay(records, func(r *record) error {
		for _, c := range d.soundChanges(r) {
			d.view.add(c)
		}
		return nil
	})
	d.view.whole() // now, because many may read at once
	return err
}

// closeView is Close of a directory that is only read.
func (d *DB) closeView() error {
	d.using.Lock()
	defer d.using.Unlock()
	d.view.dropScanned()
	return errors.Join(d.watch.close(d.tables), d.lock.Close())
}

// VerifyTables checks all blocks of all files of the tables of a directory, and reports the files
// that have a damaged one. It stops when ctx ends.
func (d *DB) VerifyTables(ctx context.Context) (files int, err error) {
	levels, err := d.tables.SSTables()
	if err != nil {
		return 0, damage(err)
	}
	checked := map[string]bool{}
	for _, level := range levels {
		for _, table := range level {
			if err := ctx.Err(); err != nil {
				return len(checked), err
			}
			name := table.BackingSSTNum.String() + tableSuffix
			if checked[name] {
				continue
			}
			checked[name] = true
			if err := verifyTable(ctx, tablesFS{FS: d.fs}, d.fs.PathJoin(d.dir, "tables", name)); err != nil {
				d.report(&FileError{"tables/" + name, whyDamaged(err)})
			}
		}
	}
	return len(checked), nil
}

// verifyTable reads all blocks of a file of the tables.
func verifyTable(ctx context.Context, fs vfs.FS, name string) error {
	file, err := fs.Open(name)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	var options pebble.Options
	options.EnsureDefaults()
	reader, err := sstable.NewReader(ctx, readable, options.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(reader.ValidateBlockChecksums(), reader.Close())
}

// Unflushed returns, for each file of the log of a directory that no process has, where the records
// begin of which no record says that they were flushed. A machine that stops without a flush may
// have lost them, in any order. It changes nothing.
func Unflushed(dir string) (begin map[string]int, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "log", "*"+walSuffix))
	if err != nil {
		return nil, err
	}
	type place struct {
		file   string
		at     int
		number uint64
	}
	var places []place
	begin = map[string]int{}
	flushed := uint64(0)
	for _, name := range names {
		_, nonce, _ := parseName(filepath.Base(name))
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		at := 0
		for {
			r, err := readRecord(data[at:], nonce)
			if err != nil || !r.whole() {
				break
			}
			places = append(places, place{name, at, r.number})
			flushed = max(flushed, r.flushed)
			at += r.size()
		}
		begin[name] = at
	}
	for _, p := range slices.Backward(places) {
		if p.number > flushed {
			begin[p.file] = p.at
		}
	}
	return begin, nil
}
