package disk

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// A backup is a stream of frames: keys with their values, not files, so any later version can read
// it. Numbers are big-endian.
//
//	frame      kind (1 byte), length of its content (4), the content, CRC-32C of all that (4)
//	start      the text backupFormat; the first frame
//	values     for each key: length of the key (varint), key with its space, length of the stored
//	           value (varint), stored value
//	damage     space (1 byte), length of a key (varint), key, key to the end: keys from the first
//	           to before the second may be missing. An empty second key is the end of the space
//	end        number of values (8 bytes), of damaged values (8), of damage frames (8), SHA-256 of
//	           all frames before; the last frame
//
// A damaged value is in the backup as a marker: see lost. So its run is damaged after a restore
// too, and does not pass for a shorter one.
const (
	frameStart, frameValues, frameDamage, frameEnd = 1, 2, 3, 4

	backupFormat = "weft backup, format 1\n"
	// frameBytes is the size from which a frame of values takes no more.
	frameBytes = 256 << 10
	// largestFrame is larger than the content of any frame: one value and its key may follow
	// frameBytes.
	largestFrame = 64 << 20
	endSize      = 3*8 + sha256.Size
)

// Summary describes a backup.
type Summary struct {
	// Values is the number of values, and Damaged the number of those that were damaged when the
	// backup was made.
	Values, Damaged uint64
	// Ranges are the parts of the data directory that could not be read then. Their contents are
	// missing.
	Ranges []Range
	// Bytes is the size of the backup.
	Bytes int64
}

// Sound reports whether nothing was damaged when the backup was made.
func (s Summary) Sound() bool { return s.Damaged == 0 && len(s.Ranges) == 0 }

// Range is the keys of a space from one to before another; an empty To is the end of the space.
type Range struct {
	Space    Space
	From, To []byte
}

// String returns the space, and the keys in hexadecimal.
func (r Range) String() string { return fmt.Sprintf("%s %x to %x", r.Space, r.From, r.To) }

// Backup writes everything that was on the disk when it began. Concurrent writes do not wait. It
// stops when ctx ends: ReadBackup then refuses what it has written.
func (d *DB) Backup(ctx context.Context, to io.Writer) (Summary, error) {
	tx, done, err := d.moment()
	if err != nil {
		return Summary{}, err
	}
	w := &backupWriter{to: to, sum: sha256.New()}
	err = w.frame(frameStart, []byte(backupFormat))
	for s := meta + 1; s <= Blobs && err == nil; s++ {
		err = w.space(ctx, tx, s)
	}
	if err == nil {
		err = w.end()
	}
	return w.Summary, errors.Join(err, done())
}

// moment returns a transaction that sees this moment until done is called. Close waits for done.
func (d *DB) moment() (tx *Tx, done func() error, err error) {
	d.using.RLock()
	if d.closed.Load() {
		d.using.RUnlock()
		return nil, nil, ErrClosed
	}
	if d.view != nil {
		return &Tx{from: d.tables, group: d.view}, func() error { d.using.RUnlock(); return nil }, nil
	}
	snapshot := d.tables.NewSnapshot()
	return &Tx{from: pebble.Reader(snapshot)}, func() error {
		defer d.using.RUnlock()
		return snapshot.Close()
	}, nil
}

type backupWriter struct {
	Summary
	to      io.Writer
	sum     hash.Hash
	content []byte // of a frame of values
	last    []byte // the last key
	err     error  // of writing
}

// frame writes a frame.
func (w *backupWriter) frame(kind byte, content []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(content)))
	crc := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, content)
	for _, part := range [][]byte{head, content, binary.BigEndian.AppendUint32(nil, crc)} {
		_, _ = w.sum.Write(part) // which never fails
		n, err := w.to.Write(part)
		if w.Bytes += int64(n); err != nil {
			return err
		}
	}
	return nil
}

// space writes the values of a space.
func (w *backupWriter) space(ctx context.Context, tx *Tx, s Space) error {
	tx.report = func(err error) {
		var key *KeyError
		if errors.As(err, &key) {
			k := inSpace(key.Space, key.Key)
			w.add(k, withCheck(nil, lost, k, nil))
		}
	}
	tx.hole = func(from, next []byte) {
		w.Ranges = append(w.Ranges, Range{s, bytes.Clone(from), bytes.Clone(next)})
		content := binary.AppendUvarint([]byte{byte(s)}, uint64(len(from)))
		w.flush()
		w.put(frameDamage, append(append(content, from...), next...))
	}
	err := tx.AscendSound(s, nil, nil, func(key, value []byte) bool {
		k := inSpace(s, key)
		w.add(k, withCheck(nil, plain, k, value))
		return w.err == nil && ctx.Err() == nil
	})
	w.flush()
	return errors.Join(err, w.err, ctx.Err())
}

// add adds a stored value, unless the key was added before: a scan past a damaged block reports a
// damaged value in front of it twice.
func (w *backupWriter) add(key, stored []byte) {
	if bytes.Compare(key, w.last) <= 0 {
		return
	}
	w.last = append(w.last[:0], key...)
	w.Values++
	if stored[0] == lost {
		w.Damaged++
	}
	w.content = append(binary.AppendUvarint(w.content, uint64(len(key))), key...)
	w.content = append(binary.AppendUvarint(w.content, uint64(len(stored))), stored...)
	if len(w.content) >= frameBytes {
		w.flush()
	}
}

func (w *backupWriter) flush() {
	if len(w.content) > 0 {
		w.put(frameValues, w.content)
		w.content = w.content[:0]
	}
}

// put is frame that keeps the error.
func (w *backupWriter) put(kind byte, content []byte) {
	if w.err == nil {
		w.err = w.frame(kind, content)
	}
}

func (w *backupWriter) end() error {
	content := binary.BigEndian.AppendUint64(nil, w.Values)
	content = binary.BigEndian.AppendUint64(content, w.Damaged)
	content = binary.BigEndian.AppendUint64(content, uint64(len(w.Ranges)))
	return w.frame(frameEnd, w.sum.Sum(content))
}

// ErrNoBackup is wrapped by the error of ReadBackup if the input is not a complete and sound
// backup.
var ErrNoBackup = errors.New("this is no whole backup")

func noBackup(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoBackup, fmt.Sprintf(format, args...))
}

// ReadBackup reads a backup to its end and verifies it: each frame, each value, and the whole.
func ReadBackup(from io.Reader) (Summary, error) {
	return readBackup(from, func([]byte, []byte) error { return nil })
}

// readBackup is ReadBackup that calls fn with each key and stored value. fn may use them only until
// it returns. The backup is known to be complete only when readBackup returns nil.
func readBackup(from io.Reader, fn func(key, stored []byte) error) (Summary, error) {
	r := &backupReader{from: bufio.NewReaderSize(from, 64<<10), sum: sha256.New()}
	kind, content, err := r.frame()
	if errors.Is(err, ErrNoBackup) {
		return r.Summary, noBackup("no backup of Weft begins as it does, or its first bytes are damaged")
	}
	if err != nil {
		return r.Summary, err
	}
	if kind != frameStart || string(content) != backupFormat {
		return r.Summary, noBackup("it begins with %.40q, and not with %q: a later version of Weft may have written it", content, backupFormat)
	}
	for {
		before := r.sum.Sum(nil)
		kind, content, err := r.frame()
		if err != nil {
			return r.Summary, err
		}
		switch kind {
		case frameValues:
			err = r.values(content, fn)
		case frameDamage:
			err = r.damage(content)
		case frameEnd:
			return r.Summary, r.end(content, before)
		default:
			err = noBackup("it has a frame of the unknown kind %d", kind)
		}
		if err != nil {
			return r.Summary, err
		}
	}
}

type backupReader struct {
	Summary
	from *bufio.Reader
	sum  hash.Hash
	last []byte // the last key
}

// frame reads the next frame.
func (r *backupReader) frame() (kind byte, content []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r.from, head); err != nil {
		return 0, nil, cutShort(err, r.Bytes)
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > largestFrame {
		return 0, nil, noBackup("the length of the frame at %d is wrong", r.Bytes)
	}
	rest := make([]byte, int(length)+crc32.Size)
	if _, err := io.ReadFull(r.from, rest); err != nil {
		return 0, nil, cutShort(err, r.Bytes)
	}
	content = rest[:length]
	if crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, content) != binary.BigEndian.Uint32(rest[length:]) {
		return 0, nil, noBackup("the checksum of the frame at %d is wrong", r.Bytes)
	}
	_, _ = r.sum.Write(head) // which never fails
	_, _ = r.sum.Write(rest)
	r.Bytes += int64(len(head) + len(rest))
	return head[0], content, nil
}

// cutShort returns the error of an incomplete frame.
func cutShort(err error, at int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return noBackup("it ends in the frame at %d", at)
	}
	return err
}

// values reads a frame of values.
func (r *backupReader) values(content []byte, fn func(key, stored []byte) error) error {
	for len(content) > 0 {
		key, rest, ok := cut(content)
		if !ok {
			return noBackup("a key cannot be read")
		}
		stored, rest, ok := cut(rest)
		if !ok || len(key) == 0 || Space(key[0]) == meta || Space(key[0]) > Blobs || bytes.Compare(key, r.last) <= 0 && r.Values > 0 {
			return noBackup("the key %x is in the wrong place, or its value cannot be read", key)
		}
		if _, err := withoutCheck(key, stored); err != nil {
			if len(stored) != valueHeader || stored[0] != lost {
				return noBackup("%v", err)
			}
			r.Damaged++
		}
		r.Values++
		r.last = append(r.last[:0], key...)
		if err := fn(key, stored); err != nil {
			return err
		}
		content = rest
	}
	return nil
}

// damage reads a frame that says what was damaged.
func (r *backupReader) damage(content []byte) error {
	if len(content) == 0 {
		return noBackup("a frame of damage is empty")
	}
	from, to, ok := cut(content[1:])
	if !ok {
		return noBackup("a frame of damage cannot be read")
	}
	r.Ranges = append(r.Ranges, Range{Space(content[0]), from, to})
	return nil
}

// end compares the end of a backup with the frames before it, whose hash is given.
func (r *backupReader) end(content, before []byte) error {
	if len(content) != endSize {
		return noBackup("its end has the wrong length")
	}
	for i, n := range []uint64{r.Values, r.Damaged, uint64(len(r.Ranges))} {
		if said := binary.BigEndian.Uint64(content[8*i:]); said != n {
			return noBackup("count %d of its end says %d, and there are %d", i+1, said, n)
		}
	}
	if !bytes.Equal(content[3*8:], before) {
		return noBackup("its hash is wrong")
	}
	if _, err := r.from.ReadByte(); !errors.Is(err, io.EOF) {
		return noBackup("something stands behind its end")
	}
	return nil
}
