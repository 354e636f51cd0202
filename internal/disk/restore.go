package disk

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// restoring exists while a backup is restored into a directory, which then does not open. See
// Restore.
const restoring = "weft.db.restoring"

// ErrNotEmpty is wrapped by what Restore returns for a directory that has something in it.
var ErrNotEmpty = errors.New("the directory is not empty")

// ErrDamagedBackup is wrapped by what Restore returns for a backup of a directory that was damaged, unless that is accepted.
var ErrDamagedBackup = errors.New("the data directory was damaged when the backup was made")

// Restore makes a data directory of a backup. It verifies the whole backup before it touches the directory, which must be empty or not be
// there. A backup of a damaged directory is restored only if acceptDamage says so. The data is on the disk when Restore returns nil. A crash
// before that leaves a directory with a mark, which does not open: remove it and restore again.
func Restore(from io.ReadSeeker, dir string, acceptDamage bool, options ...Options) (Summary, error) {
	o := withDefaults(options)
	summary, err := ReadBackup(from)
	if err != nil {
		return summary, err
	}
	if !summary.Sound() && !acceptDamage {
		return summary, fmt.Errorf("%w: %d values and %d ranges of keys", ErrDamagedBackup, summary.Damaged, len(summary.Ranges))
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return summary, err
	}
	if names, err := o.fs.List(dir); err == nil && len(names) > 0 {
		return summary, fmt.Errorf("%w: %s has %s: choose a new one", ErrNotEmpty, dir, names[0])
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return summary, err
	}
	if err := makeDir(o.fs, dir, outerMode); err != nil {
		return summary, err
	}
	lock, err := lockDir(o.fs, dir)
	if err != nil {
		return summary, err
	}
	w := newWatcher(o)
	return summary, errors.Join(restoreLocked(from, dir, w, o), w.unlock(lock))
}

func restoreLocked(from io.Reader, dir string, w *watcher, o Options) error {
	mark, err := create(o.fs, o.fs.PathJoin(dir, restoring))
	if err != nil {
		return err
	}
	if err := errors.Join(mark.Sync(), mark.Close(), syncDir(o.fs, dir)); err != nil {
		return err
	}
	// A crash from here on leaves the mark, which openDir refuses.
	tables, err := openTables(o.fs.PathJoin(dir, "tables"), true, w, o)
	if err != nil {
		return err
	}
	err = fillTables(from, tables, w, o)
	if err = errors.Join(err, w.close(tables), makeDir(o.fs, o.fs.PathJoin(dir, "log"), innerMode)); err != nil {
		return err
	}
	if err := writeFormat(o.fs, dir); err != nil {
		return err
	}
	return errors.Join(o.fs.Remove(o.fs.PathJoin(dir, restoring)), syncDir(o.fs, dir))
}

// fillTables puts the values of a backup into new tables, which are on the disk when it returns nil.
func fillTables(from io.Reader, tables *pebble.DB, w *watcher, o Options) error {
	batch := tables.NewBatch()
	writeOut := func() error { // what is not written out is in memory, which has its limits: see copyAll
		err := batch.Commit(pebble.NoSync)
		if err == nil {
			err = w.flush(tables)
		}
		batch.Reset()
		return err
	}
	_, err := readBackup(from, func(key, stored []byte) error {
		if err := batch.Set(key, stored, nil); err != nil || int64(batch.Len()) < o.memTable() {
			return err
		}
		return writeOut()
	})
	if err == nil {
		err = writeOut()
	}
	return errors.Join(err, batch.Close())
}

// refuseHalfRestored refuses a directory whose restore did not end.
func refuseHalfRestored(fs vfs.FS, dir string) error {
	half, err := exists(fs, fs.PathJoin(dir, restoring))
	if err == nil && half {
		err = fmt.Errorf("a restore into it did not end: remove %s, and restore the backup again", dir)
	}
	return err
}
