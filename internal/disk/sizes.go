package disk

import (
	"context"
	"errors"
	"os"
)

// Sizes are how many bytes the files of a data directory have.
type Sizes struct{ Log, Tables int64 }

// Compact makes a data directory that no other process has as small as possible. Everything moves
// from the log into the tables, and deleted or replaced values are dropped from the tables. A crash
// leaves the directory as large as it was, or smaller, with all of its data. The disk needs space
// for a second copy of the tables meanwhile.
func Compact(ctx context.Context, dir string, options ...Options) (before, after Sizes, err error) {
	o := withDefaults(options)
	if err := checkDirectory(o.fs, dir); err != nil {
		return before, after, err
	}
	if before, err = sizes(dir, o); err != nil {
		return before, after, err
	}
	d, err := Open(dir, o)
	if err != nil {
		return before, after, err
	}
	if err := errors.Join(d.compact(ctx), d.Close()); err != nil {
		return before, after, err
	}
	after, err = sizes(dir, o)
	return before, after, err
}

// compact merges all tables into files without what was deleted or replaced. Open has written out
// what was in the log.
func (d *DB) compact(ctx context.Context) error {
	return d.watch.unlessDead(func() error { return damage(d.tables.Compact(ctx, []byte{0}, []byte{0xff, 0xff}, true)) })
}

func sizes(dir string, o Options) (s Sizes, err error) {
	for part, size := range map[string]*int64{"log": &s.Log, "tables": &s.Tables} {
		path := o.fs.PathJoin(dir, part)
		names, err := o.fs.List(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return s, err
		}
		for _, name := range names {
			info, err := o.fs.Stat(o.fs.PathJoin(path, name))
			if errors.Is(err, os.ErrNotExist) { // a server just removed it
				continue
			}
			if err != nil {
				return s, err
			}
			*size += info.Size()
		}
	}
	return s, nil
}
