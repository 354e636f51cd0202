package diskstore

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// malformed returns the error for a key or value that this package has not written. The database of
// an earlier version had no checksums.
func malformed(space disk.Space, key []byte) error {
	return &disk.KeyError{Space: space, Key: bytes.Clone(key), Why: "it has the wrong form"}
}

// workflowPrefix returns the prefix of the keys of everything that belongs to a workflow.
func workflowPrefix(workflow string) []byte {
	key := binary.BigEndian.AppendUint16(nil, uint16(len(workflow)))
	return append(key, workflow...)
}

// afterWorkflow returns a key after all keys of a workflow and before those of the next.
func afterWorkflow(workflow string) []byte {
	return append(workflowPrefix(workflow), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

func logKey(k store.Key) []byte {
	key := binary.BigEndian.AppendUint32(workflowPrefix(k.Workflow), k.Run)
	return binary.BigEndian.AppendUint32(key, k.Slot)
}

// runPrefix returns the prefix of the keys of a run. key is the key of one of its items.
func runPrefix(key []byte) []byte {
	n := 2 + int(binary.BigEndian.Uint16(key)) + 4
	return bytes.Clone(key[:n])
}

// workflowOf returns the workflow of a key of the log.
func workflowOf(key []byte) string { return string(key[2 : len(key)-8]) }

// isLogKey reports whether a key has the form of one that logKey makes.
func isLogKey(key []byte) bool { return isOfWorkflow(key, 4+4) }

// isOfWorkflow reports whether a key is a workflow followed by this many bytes.
func isOfWorkflow(key []byte, more int) bool {
	return len(key) >= 2+more && len(key) == 2+int(binary.BigEndian.Uint16(key))+more
}

// decodeKey reads a key of the log that belongs to this workflow.
func decodeKey(workflow string, key []byte) (store.Key, error) {
	if !isLogKey(key) {
		return store.Key{}, malformed(disk.Log, key)
	}
	rest := key[2+len(workflow):]
	return store.Key{Workflow: workflow, Run: binary.BigEndian.Uint32(rest), Slot: binary.BigEndian.Uint32(rest[4:])}, nil
}

// encodeItem returns the value of an item: its commit id, its expiry in seconds, its summary
// preceded by the summary's length, and its body.
func encodeItem(item store.Item) []byte {
	var summary []byte
	if item.Summary != nil {
		summary = encodeSummary(item.Summary)
	}
	value := make([]byte, 0, 16+8+binary.MaxVarintLen32+len(summary)+len(item.Body))
	value = append(value, item.Commit[:]...)
	value = binary.BigEndian.AppendUint64(value, uint64(seconds(item.Expires)))
	value = binary.AppendUvarint(value, uint64(len(summary)))
	value = append(value, summary...)
	return append(value, item.Body...)
}

// decodeItem reads the result of encodeItem. Its result does not share memory with value, which
// belongs to the file.
func decodeItem(key store.Key, value []byte) (store.Item, error) {
	const fixed = 16 + 8
	if len(value) < fixed {
		return store.Item{}, malformed(disk.Log, logKey(key))
	}
	item := store.Item{Key: key, Commit: [16]byte(value)}
	if s := int64(binary.BigEndian.Uint64(value[16:])); s != 0 {
		item.Expires = time.Unix(s, 0).UTC()
	}
	length, n := binary.Uvarint(value[fixed:])
	if n <= 0 || length > uint64(len(value)-fixed-n) {
		return store.Item{}, malformed(disk.Log, logKey(key))
	}
	rest := value[fixed+n:]
	if length > 0 {
		item.Summary = decodeSummary(rest[:length])
	}
	item.Body = bytes.Clone(rest[length:])
	return item, nil
}

// decodeEntry reads a key of the log that belongs to this workflow, and its value.
func decodeEntry(workflow string, k, v []byte) (store.Item, error) {
	key, err := decodeKey(workflow, k)
	if err != nil {
		return store.Item{}, err
	}
	return decodeItem(key, v)
}

// seconds returns an expiry in seconds, rounded up; 0 means never.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}

// row is a summary as it is stored. Its numbers never change their meaning.
type row struct {
	Workflow string `cbor:"1,keyasint"`
	Run      uint32 `cbor:"2,keyasint"`
	RunID    string `cbor:"3,keyasint"`
	Type     string `cbor:"4,keyasint"`
	Status   string `cbor:"5,keyasint"`
	Started  int64  `cbor:"6,keyasint"`
	Closed   int64  `cbor:"7,keyasint,omitempty"`
	Build    string `cbor:"24,keyasint,omitempty"`

	Attributes []byte `cbor:"25,keyasint,omitempty"`
	Memo       []byte `cbor:"26,keyasint,omitempty"`
	Facts      []byte `cbor:"27,keyasint,omitempty"`
}

func encodeSummary(s *store.Summary) []byte {
	data, err := cbor.Marshal(row{
		s.Workflow, s.Run, s.RunID, s.Type, s.Status, micros(s.Started), micros(s.Closed), s.Build, []byte(s.Attributes), []byte(s.Memo), []byte(s.Facts),
	})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return data
}

// decodeAny reads any key of the log and its value.
func decodeAny(k, v []byte) (store.Item, error) {
	if !isLogKey(k) {
		return store.Item{}, malformed(disk.Log, k)
	}
	return decodeEntry(workflowOf(k), k, v)
}

// decodeSummary reads the result of encodeSummary. It returns nil if it cannot.
func decodeSummary(data []byte) *store.Summary {
	var r row
	if err := cbor.Unmarshal(data, &r); err != nil {
		return nil
	}
	return &store.Summary{
		Workflow: r.Workflow, Run: r.Run, RunID: r.RunID, Type: r.Type, Status: r.Status,
		Started: fromMicros(r.Started), Closed: fromMicros(r.Closed), Build: r.Build, Attributes: string(r.Attributes), Memo: string(r.Memo), Facts: string(r.Facts),
	}
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// sortable returns a moment as a number whose eight bytes sort by time, even before 1970.
func sortable(us int64) uint64 { return uint64(us) ^ 1<<63 }

// rowKey returns the key of a run in the list. Runs that started last come first.
func rowKey(s *store.Summary) []byte {
	key := binary.BigEndian.AppendUint64(nil, ^sortable(micros(s.Started)))
	key = append(key, workflowPrefix(s.Workflow)...)
	return binary.BigEndian.AppendUint32(key, ^s.Run)
}

func expiryKey(expires time.Time, key []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, sortable(seconds(expires))), key...)
}

// decodeExpiry reads the result of expiryKey: when an item expires, and its key in the log, which
// shares memory with k.
func decodeExpiry(k []byte) (expires time.Time, key []byte, err error) {
	if len(k) < 8 || !isLogKey(k[8:]) {
		return time.Time{}, nil, malformed(disk.Expiry, k)
	}
	return time.Unix(int64(binary.BigEndian.Uint64(k)^1<<63), 0), k[8:], nil
}
