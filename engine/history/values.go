package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/internal/jsontext"
)

// Payload is an encoded value of user code. The engine never decodes it.
type Payload []byte

// codedName is the name of the only member of the object that shows a payload in base64.
const codedName = "weft.base64"

// MarshalJSON returns a payload as the JSON that it is. If it is not JSON, it returns an object
// whose only member, weft.base64, holds the bytes in base64. A payload that looks like such an
// object is written in base64, too, so that UnmarshalJSON returns it.
func (p Payload) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	if _, coded := decodePayload(p); !coded && json.Valid(p) {
		return p, nil
	}
	return json.Marshal(map[string][]byte{codedName: p})
}

// UnmarshalJSON reads what MarshalJSON wrote. A payload that is JSON loses the white space around its parts.
func (p *Payload) UnmarshalJSON(data []byte) error {
	*p = nil
	if string(data) != "null" {
		*p = payloadFromJSON(data)
	}
	return nil
}

// payloadFromJSON is UnmarshalJSON for a payload that exists: null is one.
func payloadFromJSON(text []byte) Payload {
	if p, coded := decodePayload(text); coded {
		return p
	}
	return compact(text)
}

// decodePayload returns the payload that a text holds in base64. ok is false if the text is a
// payload itself: it is no object with the one member codedName, or its bytes would not have been
// encoded.
func decodePayload(text []byte) (p Payload, ok bool) {
	if !bytes.Contains(text, []byte(codedName)) {
		return nil, false
	}
	r := jsontext.NewReader(text)
	members := 0
	r.Object(func(name []byte) {
		value := r.Value()
		members++
		ok = string(name) == codedName && len(value) > 0 && value[0] == '"' && json.Unmarshal(value, (*[]byte)(&p)) == nil
	})
	if !ok || members != 1 || !r.OK() || len(r.Rest()) > 0 {
		return nil, false
	}
	if _, coded := decodePayload(p); !coded && json.Valid(p) {
		return nil, false
	}
	return p, true
}

// compact returns a copy of a text without the white space around its parts.
func compact(text []byte) []byte {
	if !bytes.ContainsAny(text, " \t\r\n") {
		return bytes.Clone(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return bytes.Clone(text)
	}
	return b.Bytes()
}

// Timestamp is a time, in microseconds since 1970 (UTC); zero is "none". All times that the engine
// handles have this precision, so that a stored time equals the original.
type Timestamp int64

// At rounds a time down to the precision of a Timestamp. The zero time becomes the zero Timestamp.
// A time out of range becomes the first or the last Timestamp.
func At(t time.Time) Timestamp {
	const edge = math.MaxInt64/1_000_000 - 1 // seconds
	switch {
	case t.IsZero():
		return 0
	case t.Unix() > edge:
		return math.MaxInt64
	case t.Unix() < -edge:
		return math.MinInt64
	}
	return Timestamp(t.UnixMicro())
}

// Time returns the time as a time.Time in UTC; the zero Timestamp becomes the zero time.
func (t Timestamp) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// Add returns the time d later. It stops at the last Timestamp instead of overflowing.
func (t Timestamp) Add(d time.Duration) Timestamp {
	sum := t + Timestamp(d.Microseconds())
	if d > 0 && sum < t {
		return Timestamp(1<<63 - 1)
	}
	return sum
}

// Sub returns the time from u to t. Like time.Time's, it stops at the longest Duration: a time
// centuries away is a usual way to say never.
func (t Timestamp) Sub(u Timestamp) time.Duration {
	const longest = Timestamp(math.MaxInt64 / time.Microsecond)
	switch d := t - u; {
	case t > u && (d < 0 || d > longest):
		return math.MaxInt64
	case t < u && (d > 0 || d < -longest):
		return math.MinInt64
	default:
		return time.Duration(d) * time.Microsecond
	}
}

// The first and the last second that RFC 3339, and so JSON, can express.
var (
	FirstSecond = Timestamp(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	LastSecond  = Timestamp(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).UnixMicro())
)

// MarshalText writes RFC 3339. A time out of its range is written as the first or the last that it
// can express.
func (t Timestamp) MarshalText() ([]byte, error) {
	return []byte(min(max(t, FirstSecond), LastSecond).Time().Format(time.RFC3339Nano)), nil
}

// Duration is a time.Duration that JSON shows as "1m30s".
type Duration time.Duration

// MarshalText writes the form that time.ParseDuration reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Status is the state of a run. The numbers are stored and never change their meaning.
type Status uint8

// The states of a run.
const (
	Running        Status = 0
	Completed      Status = 1
	Failed         Status = 2
	Canceled       Status = 3
	Terminated     Status = 4
	TimedOut       Status = 5
	ContinuedAsNew Status = 6
	// Void is a run whose start was fenced off: it never started, and its number is used up.
	Void Status = 7
)

var statusNames = [...]string{"running", "completed", "failed", "canceled", "terminated", "timedOut", "continuedAsNew", "void"}

// String returns the name that the HTTP API uses.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// MarshalText writes the name that the HTTP API uses.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote. An unknown name is an error that lists the known ones.
func (s *Status) UnmarshalText(text []byte) error {
	for i, name := range statusNames[:Void] {
		if name == string(text) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("unknown status %q: use one of %s", text, strings.Join(statusNames[:Void], ", "))
}

// Closed reports whether a run in this state has ended.
func (s Status) Closed() bool { return s != Running }

// CommitID is the name that a writer gives to a commit before it puts it. Every run of workflow
// code takes a new one. Only repeats of the identical put share it, so that a writer whose response
// was lost recognises its own commit.
type CommitID [16]byte

// String returns the id in hexadecimal.
func (id CommitID) String() string { return hex.EncodeToString(id[:]) }

// CausationID identifies everything that one sending of a message causes: its later attempts, its
// copies and its results. A commit records the causation ids of the messages that triggered it. The
// messages that the commit schedules have causation ids of their own.
type CausationID uint64

// NewCausationID returns the causation id of the message that a commit schedules by one of its events.
func NewCausationID(id CommitID, event int64) CausationID {
	var b [24]byte
	copy(b[:], id[:])
	binary.BigEndian.PutUint64(b[16:], uint64(event))
	sum := sha256.Sum256(b[:])
	return CausationID(binary.BigEndian.Uint64(sum[:]))
}

// RunID is the unique id of a run: its number among the runs of its workflow, a dash, and random
// digits. The number lets a run be found without an index.
type RunID string

// NewRunID returns the id of the run with this number; random makes it unique.
func NewRunID(number uint32, random [8]byte) RunID {
	return RunID(strconv.FormatUint(uint64(number), 10) + "-" + hex.EncodeToString(random[:]))
}

// Number returns the run's number, 1 for the first. It returns 0 for a string that is not a run id.
func (id RunID) Number() uint32 {
	digits, random, found := strings.Cut(string(id), "-")
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || !found || len(random) != 16 {
		return 0
	}
	return uint32(n)
}
