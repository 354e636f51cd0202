package disk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// recover takes what the log has and the tables do not, writes the tables out, and begins a new log. A crash in between leaves the old
// log, which is read again.
func (d *DB) recover(o Options, dir string) error {
	fs := o.fs
	if err := makeDir(fs, dir); err != nil {
		return err
	}
	records, files, count, err := readLog(fs, dir)
	if err != nil {
		return err
	}
	if d.last, err = d.appliedNumber(); err != nil {
		return err
	}
	if err := d.replay(records); err != nil {
		return err
	}
	if err := d.tables.Flush(); err != nil {
		return err
	}
	for _, name := range files {
		if err := fs.Remove(name); err != nil {
			return err
		}
	}
	d.flushed, d.said = d.last, d.last
	d.log, err = openWAL(fs, dir, count, o.part)
	return err
}

// appliedNumber is the number of the last record that is in the tables.
func (d *DB) appliedNumber() (uint64, error) {
	value, closer, err := d.tables.Get(applied)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = closer.Close() }() // it was only read
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: the number of the last record", ErrCorrupt)
	}
	return binary.BigEndian.Uint64(value), nil
}

// replay puts the records after the last one that the tables have into them. It ends with the first one that is not whole and that no
// other says to have been flushed: it was on its way when the process or the machine ended.
func (d *DB) replay(records []*record) error {
	flushed := uint64(0)
	for _, r := range records {
		flushed = max(flushed, r.flushed)
	}
	for _, r := range records {
		if r.number <= d.last {
			continue
		}
		if missing := r.number - d.last - 1; missing > 0 {
			if r.number-1 > flushed {
				return nil
			}
			d.report(fmt.Errorf("%w: %d records of the log cannot be read, and what they wrote is not known", ErrCorrupt, missing))
		}
		if !r.whole() && r.number > flushed {
			return nil
		}
		if err := d.apply(r); err != nil {
			return err
		}
		d.last = r.number
	}
	return nil
}

// apply puts a record into the tables. In place of a value that is damaged goes one that says so.
func (d *DB) apply(r *record) error {
	if r.list == nil {
		d.report(fmt.Errorf("%w: a record of the log cannot be read, and what it wrote is not known", ErrCorrupt))
	}
	batch := d.tables.NewBatch()
	defer func() { _ = batch.Close() }() // it is in memory
	var err error
	for _, c := range r.list {
		switch {
		case c.damaged:
			d.report(damaged(c.key, "it was damaged in the log"))
			err = errors.Join(err, batch.Set(c.key, seal(nil, lost, c.key, nil), nil))
		case c.value == nil:
			err = errors.Join(err, batch.Delete(c.key, nil))
		default:
			err = errors.Join(err, batch.Set(c.key, c.value, nil))
		}
	}
	err = errors.Join(err, batch.Set(applied, binary.BigEndian.AppendUint64(nil, r.number), nil))
	if err != nil {
		return err
	}
	return batch.Commit(pebble.NoSync)
}
