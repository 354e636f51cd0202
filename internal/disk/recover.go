package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// recover takes what the log has and the tables do not, writes the tables out, and begins a new log. A crash in between leaves the old
// log, which is read again.
func (d *DB) recover(o Options, dir string) error {
	if err := makeDir(o.fs, dir, innerMode); err != nil {
		return err
	}
	records, files, count, err := readLog(o.fs, dir)
	if err != nil {
		return err
	}
	had := writtenOutNumber(records)
	if d.last, err = d.appliedNumber(); errors.Is(err, ErrCorrupt) {
		// The records from there on are in the log, and taking them again changes nothing.
		d.report(err)
		d.last, err = had, nil
	}
	if err != nil {
		return err
	}
	if had > d.last {
		return fmt.Errorf("%w: the tables have %d records, and had %d: the list of their files is damaged, or some of them are of another moment: restore a backup of the whole directory",
			ErrCorrupt, d.last, had)
	}
	if err := d.replay(records); err != nil {
		return err
	}
	if err := d.tables.Delete(appliedBefore, pebble.NoSync); err != nil {
		return err
	}
	if err := d.watch.flush(d.tables); err != nil {
		return err
	}
	for _, name := range files {
		if err := o.fs.Remove(name); err != nil {
			return err
		}
	}
	d.flushed, d.said, d.inTables = d.last, d.last, d.last
	d.log, err = openWAL(o.fs, dir, count, o.part)
	return err
}

// appliedNumber is the number of the last record that is in the tables.
func (d *DB) appliedNumber() (uint64, error) {
	for _, key := range [][]byte{applied, appliedBefore} {
		value, closer, err := d.tables.Get(key)
		if errors.Is(err, pebble.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, damage(err)
		}
		number := bytes.Clone(value)
		if err := closer.Close(); err != nil || len(number) != 8 {
			return 0, errors.Join(fmt.Errorf("%w: the number of the last record", ErrCorrupt), err)
		}
		return binary.BigEndian.Uint64(number), nil
	}
	return 0, nil
}

// writtenOutNumber is the number up to which the tables had all records on the disk, as the log says.
func writtenOutNumber(records []*record) (had uint64) {
	key := inSpace(meta, writtenOut)
	for _, r := range records {
		for _, c := range r.list {
			if value, err := unseal(key, c.value); bytes.Equal(c.key, key) && err == nil && len(value) == 8 {
				had = max(had, binary.BigEndian.Uint64(value))
			}
		}
	}
	return had
}

// replay puts the records after the last one that the tables have into them. It ends with the first one that is not whole and that no
// other says to have been flushed: it was on its way when the process or the machine ended.
func (d *DB) replay(records []*record) error {
	flushed := uint64(0)
	for _, r := range records {
		flushed = max(flushed, r.flushed)
	}
	for _, r := range records {
		if r.number <= d.last || r.changes == 0 { // which only confirms, and has the number of another
			continue
		}
		if before := r.number - 1; before > d.last && before > flushed || !r.whole() && r.number > flushed {
			break
		}
		d.miss(r.number - 1)
		if err := d.apply(r); err != nil {
			return err
		}
		d.last = r.number
	}
	d.miss(flushed)
	return nil
}

// miss reports the records up to a number that should follow the last one, and are not there.
func (d *DB) miss(number uint64) {
	if number > d.last {
		d.report(fmt.Errorf("%w: %d records of the log cannot be read, and what they wrote is not known", ErrCorrupt, number-d.last))
		d.last = number
	}
}

// apply puts a record into the tables. In place of a value that is damaged goes one that says so.
func (d *DB) apply(r *record) error {
	if r.list == nil {
		d.report(fmt.Errorf("%w: a record of the log cannot be read, and what it wrote is not known", ErrCorrupt))
	}
	batch := d.tables.NewBatch()
	defer func() { _ = batch.Close() }() // it is in memory
	for _, c := range r.list {
		if c.damaged {
			d.report(damaged(c.key, "it was damaged in the log"))
			c.value = seal(nil, lost, c.key, nil)
		}
		set(batch, c)
	}
	setApplied(batch, r.number)
	return batch.Commit(pebble.NoSync)
}
