package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

const (
	formatFile = "weft.db"
	// oldFile is where the file of a directory that was converted is kept, or a name that begins so
	// if that is taken.
	oldFile = "weft.db.v1"
	// converting is there while a directory is converted: its tables are not whole. See unfinished.
	converting = "weft.db.converting"
	// format is what the file of a directory of this format says. Earlier versions, to which this
	// file is their database, refuse it.
	format = "weft data directory, format 2: the data is in log and tables\n"
)

// openDir opens the tables of a directory, which it makes or converts if it has to.
func openDir(dir string, w *watcher, o Options) (*pebble.DB, error) {
	name, tables := o.fs.PathJoin(dir, formatFile), o.fs.PathJoin(dir, "tables")
	if err := refuseHalfRestored(o.fs, dir); err != nil {
		return nil, err
	}
	if err := hideFiles(dir, o); err != nil {
		return nil, err
	}
	said, err := readStart(o.fs, name, len(format))
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && said == "": // an earlier version that was just about to make its file left none
		if half, err := unfinished(o.fs, dir); err != nil {
			return nil, err
		} else if half {
			return nil, fmt.Errorf("the file %s is gone, and its conversion had not ended: put it back, or remove %s and %s to begin anew", formatFile, converting, tables)
		}
		db, err := openTables(tables, true, w, o)
		if err != nil {
			return nil, err
		}
		if err := writeFormat(o.fs, dir); err != nil {
			return nil, errors.Join(err, w.close(db))
		}
		return db, nil
	case err != nil:
		return nil, err
	case said == format:
		if err := removeMark(o.fs, dir); err != nil {
			return nil, err
		}
	case strings.HasPrefix(said, "weft data directory"):
		return nil, fmt.Errorf("the file %s says that a newer version of Weft wrote it (%s): use that version, or, if it is damaged, put the file back or restore a backup", formatFile, strings.TrimSpace(said))
	default:
		err := convert(dir, w, o)
		if errors.Is(err, ErrFull) || isFull(err) {
			err = fmt.Errorf("%w: the file was left as it was: its disk needs room for a second copy of it", err)
		}
		if err != nil {
			return nil, fmt.Errorf("the file %s is of no version of Weft, or cannot be converted from an earlier one: put the file back, or restore a backup of the directory: %w", formatFile, err)
		}
	}
	return openTables(tables, false, w, o)
}

// hideFiles makes the files of this version and of earlier ones readable by their owner alone.
// Copying a file over another may have opened it to all.
func hideFiles(dir string, o Options) error {
	names, err := o.fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, formatFile) {
			continue
		}
		if err := hide(o.fs, o.fs.PathJoin(dir, name)); errors.Is(err, os.ErrPermission) {
			o.Log.Warn("a file of the data directory is another user's, and may be readable by all", "directory", dir, "file", name)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// hide makes a file readable by its owner alone.
func hide(fs vfs.FS, name string) error {
	if fs != vfs.Default { // of a test: it has no modes
		return nil
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(name, 0o600)
}

// create creates a file that is readable by its owner alone.
func create(fs vfs.FS, name string) (vfs.File, error) {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	if err := hide(fs, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readStart reads at most n bytes of a file.
func readStart(fs vfs.FS, name string, n int) (string, error) {
	f, err := fs.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return string(data), err
}

// writeFormat says in a directory that it is of this format. It replaces the file of an earlier
// one.
func writeFormat(fs vfs.FS, dir string) error {
	made := fs.PathJoin(dir, formatFile+".new")
	f, err := create(fs, made)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(format))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = fs.Rename(made, fs.PathJoin(dir, formatFile))
	}
	if err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// convert copies the bbolt database of an earlier version. A crash before its end leaves that as it
// was, and the next Open begins anew. A file that is damaged changes nothing in the directory.
func convert(dir string, w *watcher, o Options) error {
	old, tables := filepath.Join(dir, formatFile), o.fs.PathJoin(dir, "tables")
	bolt, err := bbolt.Open(old, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("another process has it: stop that")
	}
	if err != nil {
		return err
	}
	err = eachOld(bolt, func(Space, []byte, []byte) error { return nil })
	if err == nil {
		err = clearAway(dir, o)
	}
	if err == nil {
		err = copyAll(bolt, tables, w, o)
	}
	if err = errors.Join(err, bolt.Close()); err != nil {
		return err
	}
	kept, err := keep(dir, old, o)
	if err != nil {
		return err
	}
	if err := writeFormat(o.fs, dir); err != nil {
		return err
	}
	if err := removeMark(o.fs, dir); err != nil {
		return err
	}
	o.Log.Info("the data directory was converted to the format of this version; the old file is kept", "directory", dir, "kept", kept)
	return nil
}

// unfinished reports whether the tables of a directory are those of a conversion that has not
// ended. The mark alone does not say so: a crash, or an earlier version, can leave it behind. The
// log is created after the conversion ends, and before the first write.
func unfinished(fs vfs.FS, dir string) (bool, error) {
	marked, err := exists(fs, fs.PathJoin(dir, converting))
	if err != nil || !marked {
		return false, err
	}
	used, err := exists(fs, fs.PathJoin(dir, "log"))
	return !used, err
}

func exists(fs vfs.FS, name string) (bool, error) {
	_, err := fs.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// removeMark removes the mark of a conversion that has ended, if it is there. It is gone from the
// disk when it returns nil.
func removeMark(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, converting))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, syncDir(fs, dir))
}

// clearAway makes place for the tables of a conversion. What an earlier attempt left is removed,
// and what another database left is kept under another name.
func clearAway(dir string, o Options) error {
	mark := o.fs.PathJoin(dir, converting)
	half, err := unfinished(o.fs, dir)
	if err != nil {
		return err
	}
	for _, part := range []string{"tables", "log"} {
		path := o.fs.PathJoin(dir, part)
		if there, err := exists(o.fs, path); err != nil {
			return err
		} else if !there {
			continue
		}
		if half {
			if err := o.fs.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		aside, err := freeName(dir, part+".before", o)
		if err == nil {
			err = o.fs.Rename(path, aside)
		}
		if err == nil {
			err = syncDir(o.fs, dir) // the log goes after the tables, and the mark comes after both: see unfinished
		}
		if err != nil {
			return err
		}
		o.Log.Warn("the data directory has a file of an earlier version, and data of this one: the file is converted, and the data kept aside", "directory", dir, "aside", aside)
	}
	f, err := create(o.fs, mark)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), syncDir(o.fs, dir))
}

// freeName returns an unused name in a directory: this one, or one with this prefix.
func freeName(dir, name string, o Options) (string, error) {
	for i := 1; ; i++ {
		path := o.fs.PathJoin(dir, name)
		if i > 1 {
			path += fmt.Sprintf(".%d", i)
		}
		if there, err := exists(o.fs, path); err != nil || !there {
			return path, err
		}
	}
}

// keep keeps the file of an earlier version under another name: by a link, or by a copy if there
// are no links.
func keep(dir, old string, o Options) (string, error) {
	kept, err := freeName(dir, oldFile, o)
	if err != nil {
		return "", err
	}
	if o.fs.Link(old, kept) != nil {
		if err := copyFile(o.fs, old, kept); err != nil {
			return "", err
		}
	}
	return kept, syncDir(o.fs, dir)
}

// copyFile copies a file, which is on the disk when it returns nil.
func copyFile(fs vfs.FS, from, to string) error {
	in, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := create(fs, to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// eachOld calls fn with all keys and values of the file of an earlier version, in order within a
// space.
func eachOld(bolt *bbolt.DB, fn func(s Space, key, value []byte) error) error {
	file, err := os.Open(bolt.Path())
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return bolt.View(func(tx *bbolt.Tx) error {
		f := &boltFile{file: file, size: info.Size(), page: int64(bolt.Info().PageSize)}
		return f.each(uint64(tx.Cursor().Bucket().RootPage()), fn)
	})
}

// copyAll copies all buckets into new tables, which are on the disk when it returns nil. If it
// returns an error the tables are gone: on a full disk they would keep others from writing.
func copyAll(bolt *bbolt.DB, dir string, w *watcher, o Options) error {
	tables, err := openTables(dir, true, w, o)
	if err != nil {
		return err
	}
	batch := tables.NewBatch()
	writeOut := func() error { // what is not written out is in memory, which has its limits: so the copy stops with the disk
		err := batch.Commit(pebble.NoSync)
		if err == nil {
			err = w.flush(tables)
		}
		batch.Reset()
		return err
	}
	err = eachOld(bolt, func(s Space, key, value []byte) error {
		k := inSpace(s, key)
		if err := batch.Set(k, withCheck(nil, plain, k, value), nil); err != nil || int64(batch.Len()) < o.memTable() {
			return err
		}
		return writeOut()
	})
	if err == nil {
		err = writeOut()
	}
	if err = errors.Join(err, batch.Close(), w.unlessDead(tables.Close)); err != nil {
		return errors.Join(err, o.fs.RemoveAll(dir))
	}
	return nil
}
