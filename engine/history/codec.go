package history

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/seed-41655fb1/weft/engine/internal/wire"
)

// version is the first byte of a stored commit.
const version = 1

// Encoded is the first byte of a body that a codec between the protocol and the store has
// compressed or encrypted. No version ever has this number.
const Encoded = 0xFE

// ErrEncoded is wrapped by the error of Decode and DecodeBody for a body that was not decrypted:
// the key is missing, or it was changed.
var ErrEncoded = errors.New("history: encrypted, and it cannot be opened here: its key is missing or may not be used, or it was changed; the log says which")

// ErrNewer is wrapped by the error of Decode and DecodeBody for a body of a later version of Weft.
var ErrNewer = errors.New("history: written by a newer version of Weft; deploy that version or a later one")

// ErrCorrupt is wrapped by the error of Decode for bytes that are not a commit, and of DecodeBody
// for bytes that do not decode.
var ErrCorrupt = errors.New("history: corrupt")

// stored is a commit as it is encoded. Its numbers never change their meaning.
type stored struct {
	ID           CommitID      `cbor:"1,keyasint"`
	RunID        RunID         `cbor:"2,keyasint"`
	FirstEventID int64         `cbor:"3,keyasint"`
	Time         Timestamp     `cbor:"4,keyasint"`
	Status       Status        `cbor:"5,keyasint,omitempty"`
	Pending      Pending       `cbor:"6,keyasint,omitempty"`
	Task         *Task         `cbor:"7,keyasint,omitempty"`
	InputEvents  []Event       `cbor:"8,keyasint,omitempty"`
	Commands     []Event       `cbor:"9,keyasint,omitempty"`
	CausationIDs []CausationID `cbor:"10,keyasint,omitempty"`
	Expires      Timestamp     `cbor:"11,keyasint,omitempty"`
	Copied       []copied      `cbor:"12,keyasint,omitempty"`
	Beside       uint32        `cbor:"13,keyasint,omitempty"`
}

// copied is a commit that a reset has copied, inside another one, without what is the same there.
// The numbers are those of stored.
type copied struct {
	Time        Timestamp `cbor:"4,keyasint"`
	Task        *Task     `cbor:"7,keyasint,omitempty"`
	InputEvents []Event   `cbor:"8,keyasint,omitempty"`
	Commands    []Event   `cbor:"9,keyasint,omitempty"`
}

// An event is stored as an array of its type and its attributes, which pairHeader opens.
const (
	eventItems = 2
	pairHeader = 0x82
)

var (
	encMode = must(cbor.EncOptions{Sort: cbor.SortNone}.EncMode())
	// Texts need not be UTF-8: the text of an error may be anything. A log that was written can be
	// read.
	decMode = must(cbor.DecOptions{
		MaxArrayElements: 1 << 17, MaxMapPairs: 1 << 17, MaxNestedLevels: 64, UTF8: cbor.UTF8DecodeInvalid,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Encode returns the stored form of a commit. Its slot is not part of it.
func Encode(c *Commit) ([]byte, error) {
	s := stored{
		ID: c.ID, RunID: c.RunID, FirstEventID: c.FirstEventID, Time: c.Time, Status: c.Status, Pending: c.Pending,
		Task: c.Task, InputEvents: c.InputEvents, Commands: c.Commands, CausationIDs: c.CausationIDs, Expires: c.Expires, Beside: c.Beside,
	}
	for _, part := range c.Copied {
		s.Copied = append(s.Copied, copied{part.Time, part.Task, part.InputEvents, part.Commands})
	}
	w := newBody()
	writeStored(w, &s)
	if body, ok := w.Done(); ok {
		return body, nil
	}
	slow := s // so that s itself need not be on the heap
	return encodeSlowly(&slow)
}

// Decoder decodes commits. Those of one run share their build, the run's id and the names of activities; a Decoder keeps one copy
// of each. The zero Decoder is ready to use, by one goroutine at a time.
type Decoder struct{ names wire.Names }

// Decode decodes the stored form of the commit in slot.
func (d *Decoder) Decode(slot uint32, data []byte) (*Commit, error) {
	return decode(slot, data, &d.names)
}

// Decode decodes the stored form of the commit in slot. Use a [Decoder] for several commits of a
// run.
func Decode(slot uint32, data []byte) (*Commit, error) { return decode(slot, data, nil) }

func decode(slot uint32, data []byte, names *wire.Names) (*Commit, error) {
	var s stored
	if decodeFast(data, names, &s) {
		return s.commit(slot)
	}
	slow := &stored{} // so that s itself need not be on the heap
	if err := decodeSlowly(data, slow); err != nil {
		return nil, fmt.Errorf("slot %d: %w", slot, err)
	}
	return slow.commit(slot)
}

// commit returns the commit in slot with this stored form.
func (s *stored) commit(slot uint32) (*Commit, error) {
	c := &Commit{
		ID: s.ID, RunID: s.RunID, Slot: slot, FirstEventID: s.FirstEventID, Time: s.Time, Status: s.Status,
		Pending: s.Pending, Task: s.Task, InputEvents: s.InputEvents, Commands: s.Commands, CausationIDs: s.CausationIDs, Expires: s.Expires, Beside: s.Beside,
	}
	for _, part := range s.Copied {
		c.Copy(&Commit{Time: part.Time, Task: part.Task, InputEvents: part.InputEvents, Commands: part.Commands})
	}
	for part := range c.Parts() {
		if part.Task != nil && part.Task.Rules > CurrentRules {
			return nil, fmt.Errorf("slot %d: rules %d: %w", slot, part.Task.Rules, ErrNewer)
		}
	}
	return c, nil
}

// decodeFast decodes a commit without the library, and reports whether it could.
func decodeFast(data []byte, names *wire.Names, s *stored) bool {
	if len(data) == 0 || data[0] > version {
		return false
	}
	r := wire.NewReader(data[1:], names)
	readStored(r, s)
	return r.Done()
}

// EncodeTo writes the event as an array of its type and its attributes.
func (e Event) EncodeTo(w *wire.Writer) {
	w.Array(eventItems)
	writeAttributes(w, e.Attributes)
}

// DecodeFrom reads what EncodeTo wrote into a zero Event, which stays zero if that fails.
func (e *Event) DecodeFrom(r *wire.Reader) {
	if !r.Header(pairHeader) {
		return
	}
	attributes := readAttributes(r, Type(r.Uint(math.MaxUint8)))
	if !r.Failed() {
		e.Attributes = attributes
	}
}

func writeEvent(w *wire.Writer, e *Event) { e.EncodeTo(w) }

func readEvent(r *wire.Reader, e *Event) { e.DecodeFrom(r) }

// MarshalCBOR is EncodeTo for the library. It also writes attributes that are nested too deep for EncodeTo.
func (e Event) MarshalCBOR() ([]byte, error) {
	w := wire.NewWriter(nil)
	e.EncodeTo(w)
	if body, ok := w.Done(); ok {
		return body, nil
	}
	if e.Attributes != nil {
		k, ok := kinds[e.Type()]
		if ok && !k.folded && reflect.TypeOf(k.make()) == reflect.TypeOf(e.Attributes) {
			return encMode.Marshal([eventItems]any{e.Type(), e.Attributes})
		}
	}
	return nil, fmt.Errorf("history: an event of this type is not stored: %v", e.Attributes)
}

// decodeType decodes the type of an event, which in all that Weft writes is a number of one or two
// bytes.
func decodeType(data []byte) (typ Type, rest []byte, err error) {
	const small, oneByte = 24, 0x18 // how CBOR writes an unsigned number below 24, and one up to 255
	switch {
	case len(data) > 0 && data[0] < small:
		return Type(data[0]), data[1:], nil
	case len(data) > 1 && data[0] == oneByte:
		return Type(data[1]), data[2:], nil
	}
	rest, err = decMode.UnmarshalFirst(data, &typ)
	return typ, rest, err
}

// UnmarshalCBOR is DecodeFrom for the library.
func (e *Event) UnmarshalCBOR(data []byte) error {
	if len(data) == 0 || data[0] != pairHeader {
		return errors.New("an event is an array of two")
	}
	typ, rest, err := decodeType(data[1:])
	if err != nil {
		return err
	}
	k, ok := kinds[typ]
	if !ok || k.folded {
		return fmt.Errorf("event type %d: %w", uint8(typ), ErrNewer)
	}
	attributes := k.make()
	if err := decMode.Unmarshal(rest, attributes); err != nil {
		return fmt.Errorf("%s: %w", typ, err)
	}
	e.Attributes = attributes
	return nil
}
