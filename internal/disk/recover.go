package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// logStart is the key under which the tables keep the first segment of the log that they need, and
// the number of the last record when that was written; see sayLogStart. It stands beside applied,
// for the same reason.
var logStart = []byte{0xff, 'A'}

// following is the key under which a segment that is full says which one comes after it.
var following = []byte("f")

// recover adds to the tables what only the log has, writes the tables out, and begins a new log. A
// crash in between leaves the old log, which is read again.
func (d *DB) recover(o Options, dir string) error {
	if err := makeDir(o.fs, dir, innerMode); err != nil {
		return err
	}
	if err := removeUnfilled(o.fs, dir); err != nil {
		return err
	}
	records, files, count, err := d.readChecked(o.fs, dir)
	if err != nil {
		return err
	}
	if err := d.replay(records, d.apply); err != nil {
		return err
	}
	if err := d.recordApplied(); err != nil {
		return err
	}
	if err := d.tables.Delete(appliedBefore, pebble.NoSync); err != nil {
		return err
	}
	if err := d.watch.flush(d.tables); err != nil {
		return err
	}
	d.flushed, d.said, d.inTables = d.last, d.last, d.last
	if d.log, err = openWAL(o.fs, dir, count, o.part); err != nil {
		return err
	}
	d.log.contain = d.watch.contain
	if err := d.changeLogs(files); err != nil {
		return errors.Join(err, d.log.close(false)) // the tables on the disk may need the new segment
	}
	return nil
}

// recordApplied sets the number of the last applied record in the tables to that of the last
// record, if it is lower or damaged. It is lower if the last records of the log could not be read.
// The new log begins after these, and takes them for applied: without the number, the next Open
// would miss them and refuse the directory.
func (d *DB) recordApplied() error {
	recorded, err := d.appliedNumber()
	if err != nil && !errors.Is(err, ErrCorrupt) || err == nil && recorded >= d.last {
		return err
	}
	batch := d.tables.NewBatch()
	defer func() { _ = batch.Close() }() // it is in memory
	setApplied(batch, d.last)
	return batch.Commit(pebble.NoSync)
}

// readChecked reads the log, and refuses it if it does not fit the tables. It sets the number of
// the last record that the tables have.
func (d *DB) readChecked(fs vfs.FS, dir string) (records []*record, files []string, count uint64, err error) {
	records, files, count, err = readLog(fs, dir, d.unit, d.report)
	if err != nil {
		return nil, nil, 0, err
	}
	had := writtenOutNumber(records)
	if d.last, err = d.appliedNumber(); errors.Is(err, ErrCorrupt) {
		// The records from there on are in the log, and taking them again changes nothing.
		d.report(err)
		d.last, err = had, nil
	}
	if err != nil {
		return nil, nil, 0, err
	}
	if had > d.last {
		return nil, nil, 0, fmt.Errorf("%w: the tables have %d records, and had %d: the list of their files (tables/MANIFEST-*) is damaged, or some of them are of another moment: restore a backup of the whole directory",
			ErrCorrupt, d.last, had)
	}
	return records, files, count, d.checkLog(fs, dir, files, records)
}

// changeLogs makes the tables need the new log, and then removes the files of the old one. A crash
// before the tables are written out leaves both logs. The tables then need the old one.
func (d *DB) changeLogs(old []string) error {
	if err := d.sayLogStart(); err != nil {
		return err
	}
	if err := d.watch.flush(d.tables); err != nil {
		return err
	}
	d.log.needed = d.log.current
	for _, name := range old {
		if err := d.log.fs.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// sayLogStart says in the tables that they need the log from the current segment on, once they are
// written out. Each later call names a later segment. So the segment that the tables on the disk
// name is in the log, whichever call that is from.
func (d *DB) sayLogStart() error {
	value := append(binary.BigEndian.AppendUint64(nil, d.flushed), d.log.baseName(d.log.current)...)
	return d.tables.Set(logStart, value, pebble.NoSync)
}

// sayNext has a segment that is full say which one follows it. That is on the disk before anything
// is written to the next one. If it fails all can be read nevertheless: only the loss of the next
// file could not be told.
func (d *DB) sayNext(s *segment) {
	key := inSpace(meta, following)
	r := &record{header: header{segment: s.nonce, flushed: d.flushed}} // its number is 0: it is not replayed
	r.list = []change{{key: key, value: withCheck(nil, plain, key, []byte(d.log.baseName(d.log.current)))}}
	_, err := s.file.WriteAt(r.append(nil), s.end)
	if err == nil {
		err = s.file.SyncData()
	}
	if err != nil {
		d.report(fmt.Errorf("the log: %w", err))
	}
}

// checkLog refuses a log of which files are missing: those that the tables need, and those that
// other files name. It reports a log that ends before the tables do. Tables of an earlier version
// do not say what they need.
func (d *DB) checkLog(fs vfs.FS, dir string, files []string, records []*record) error {
	value, closer, err := d.tables.Get(logStart)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err = damage(err); errors.Is(err, ErrCorrupt) {
		d.report(err)
		return nil
	}
	if err != nil {
		return err
	}
	value = bytes.Clone(value)
	if err := closer.Close(); err != nil || len(value) < 8 {
		return errors.Join(fmt.Errorf("%w: the beginning of the log", ErrCorrupt), err)
	}
	end, start := binary.BigEndian.Uint64(value), string(value[8:])
	there, names := map[string]bool{}, map[uint64]string{}
	for _, file := range files {
		name := fs.PathBase(file)
		_, nonce, _ := parseName(name)
		there[name], names[nonce] = true, name
	}
	needed := []string{start}
	key := inSpace(meta, following)
	for _, r := range records {
		end = max(end, r.number)
		if names[r.segment] < start { // names are in order
			continue
		}
		for _, c := range r.list {
			if next, err := withoutCheck(key, c.value); bytes.Equal(c.key, key) && err == nil {
				needed = append(needed, string(next))
			}
		}
	}
	for _, name := range needed {
		if !there[name] {
			return fmt.Errorf("%w: the file %s is missing, and the tables may not have its writes, or the list of their files (tables/MANIFEST-*) has lost its end and is of an earlier moment: put the file back, or restore a backup of the whole directory; an empty file in its place gives up all writes that the tables do not have",
				ErrCorrupt, fs.PathJoin(dir, name))
		}
	}
	if d.last > end {
		d.report(fmt.Errorf("%w: the log ends with record %d, and the tables have %d: its end is damaged, or it is of an earlier moment, and what was written after that is not known", ErrCorrupt, end, d.last))
	}
	return nil
}

// appliedNumber returns the number of the last record that is in the tables.
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

// writtenOutNumber returns the number up to which the tables had all records on the disk, according
// to the log.
func writtenOutNumber(records []*record) (had uint64) {
	key := inSpace(meta, writtenOut)
	for _, r := range records {
		for _, c := range r.list {
			if value, err := withoutCheck(key, c.value); bytes.Equal(c.key, key) && err == nil && len(value) == 8 {
				had = max(had, binary.BigEndian.Uint64(value))
			}
		}
	}
	return had
}

// replay calls apply with the records after the last one that the tables have. It ends with the
// first one that is not whole and that no other says to have been flushed: it was on its way when
// the process or the machine ended.
func (d *DB) replay(records []*record, apply func(*record) error) error {
	flushed := uint64(0)
	for _, r := range records {
		flushed = max(flushed, r.flushed)
	}
	for _, r := range records {
		if r.number <= d.last || r.changes == 0 { // which only confirms, and has the number of another, or is a note of sayNext
			continue
		}
		if before := r.number - 1; before > d.last && before > flushed || !r.whole() && r.number > flushed {
			break
		}
		d.miss(r.number - 1)
		if err := apply(r); err != nil {
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

// soundChanges returns the changes of a record. In place of a value that is damaged stands one that
// says so.
func (d *DB) soundChanges(r *record) []change {
	if r.list == nil {
		d.report(fmt.Errorf("%w: a record of the log cannot be read, and what it wrote is not known", ErrCorrupt))
	}
	for i, c := range r.list {
		if c.damaged {
			d.report(damaged(c.key, "it was damaged in the log"))
			r.list[i].value = withCheck(nil, lost, c.key, nil)
		}
	}
	return r.list
}

// apply puts a record into the tables.
func (d *DB) apply(r *record) error {
	batch := d.tables.NewBatch()
	defer func() { _ = batch.Close() }() // it is in memory
	for _, c := range d.soundChanges(r) {
		set(batch, c)
	}
	setApplied(batch, r.number)
	return batch.Commit(pebble.NoSync)
}
