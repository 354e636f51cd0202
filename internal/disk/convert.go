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
	// oldFile is where the file of a directory that was converted is kept.
	oldFile = "weft.db.v1"
	// format is what the file of a directory of this format says. Earlier versions, to which this file is their database, refuse it.
	format = "weft data directory, format 2: the data is in log and tables\n"
)

// openDir opens the tables of a directory, which it makes or converts if it has to.
func openDir(dir string, o Options) (*pebble.DB, error) {
	name, tables := o.fs.PathJoin(dir, formatFile), o.fs.PathJoin(dir, "tables")
	said, err := readStart(o.fs, name, len(format))
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := writeFormat(o.fs, dir); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case said == format:
	case strings.HasPrefix(said, "weft data directory"):
		return nil, fmt.Errorf("it was written by a newer version of Weft (%s): use that one", strings.TrimSpace(said))
	default:
		if err := convert(dir, o); err != nil {
			return nil, fmt.Errorf("the file %s of an earlier version cannot be converted: %w", formatFile, err)
		}
	}
	return openTables(tables, o)
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

// writeFormat says in a directory that it is of this format. It replaces the file of an earlier one.
func writeFormat(fs vfs.FS, dir string) error {
	made := fs.PathJoin(dir, formatFile+".new")
	f, err := fs.Create(made, vfs.WriteCategoryUnspecified)
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

// convert copies the bbolt database of an earlier version. A crash before its end leaves that as it was, and the next Open begins anew.
func convert(dir string, o Options) error {
	old := filepath.Join(dir, formatFile)
	bolt, err := bbolt.Open(old, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("another process has it: stop that")
	}
	if err != nil {
		return err
	}
	tables := o.fs.PathJoin(dir, "tables")
	err = o.fs.RemoveAll(tables)
	if err == nil {
		err = o.fs.RemoveAll(o.fs.PathJoin(dir, "log"))
	}
	if err == nil {
		err = copyAll(bolt, tables, o)
	}
	if err = errors.Join(err, bolt.Close()); err != nil {
		return err
	}
	if err := o.fs.Link(old, o.fs.PathJoin(dir, oldFile)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := writeFormat(o.fs, dir); err != nil {
		return err
	}
	o.Log.Info("the data directory was converted to the format of this version; the file of before is kept", "directory", dir, "kept", oldFile)
	return nil
}

// copyAll copies all buckets into new tables, which are on the disk when it returns nil.
func copyAll(bolt *bbolt.DB, dir string, o Options) error {
	tables, err := openTables(dir, o)
	if err != nil {
		return err
	}
	err = bolt.View(func(tx *bbolt.Tx) error {
		for space, name := range spaceNames {
			if bucket := tx.Bucket([]byte(name)); bucket != nil {
				if err := copyBucket(bucket, space, tables); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return errors.Join(err, tables.Flush(), tables.Close())
}

func copyBucket(bucket *bbolt.Bucket, space Space, tables *pebble.DB) error {
	batch := tables.NewBatch()
	err := bucket.ForEach(func(key, value []byte) error {
		k := inSpace(space, key)
		if err := batch.Set(k, seal(nil, plain, k, value), nil); err != nil || batch.Len() < groupBytes {
			return err
		}
		if err := batch.Commit(pebble.NoSync); err != nil {
			return err
		}
		batch.Reset()
		return nil
	})
	if err == nil {
		err = batch.Commit(pebble.NoSync)
	}
	return errors.Join(err, batch.Close())
}
