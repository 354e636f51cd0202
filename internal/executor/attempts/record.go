package attempts

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// BeginAt separates the claims of copies from an attempt's own records.
	BeginAt = outbox.MaxLook + 1
	// beatBits is the number of bits for the records of one attempt.
	beatBits = 20
	// MaxHeartbeats is the number of records that an attempt may write. A function writes one every
	// few seconds at most. A holder of a token may send heartbeats as often as they like.
	MaxHeartbeats = 1<<beatBits - 1 - BeginAt
)

// Failed returns the number of the record that says that an attempt failed.
func Failed(attempt int) int { return attempt << beatBits }

// Record is what is kept of an activity, or of a failed task, between its attempts.
type Record struct {
	// Failure is that of the attempt, and Next is when the next one begins.
	Failure *failure.Failure  `cbor:"1,keyasint,omitempty"`
	Next    history.Timestamp `cbor:"2,keyasint,omitempty"`
	// By is the send (Message.Send) whose attempt this was.
	By uint64 `cbor:"3,keyasint,omitempty"`
	// Details are those of the last heartbeat.
	Details history.Payload `cbor:"4,keyasint,omitempty"`
	// Deadline is when the time of an attempt outside is over, or 0. Heard is the time of its last
	// heartbeat.
	Deadline history.Timestamp `cbor:"5,keyasint,omitempty"`
	Heard    history.Timestamp `cbor:"6,keyasint,omitempty"`
	// Until is how long the attempt that has begun may go on without a heartbeat. It is 0 if none
	// has begun, or if attempts are not counted.
	Until history.Timestamp `cbor:"7,keyasint,omitempty"`
	// Look and Copy are those of the message that continues the attempt. Its Send is By.
	Look int    `cbor:"8,keyasint,omitempty"`
	Copy uint64 `cbor:"9,keyasint,omitempty"`
	// Taker identifies the delivery that has begun the attempt.
	Taker uint64 `cbor:"10,keyasint,omitempty"`
	// Held says what holds the attempt, until HeldUntil unless it is held again.
	Held      string            `cbor:"11,keyasint,omitempty"`
	HeldUntil history.Timestamp `cbor:"12,keyasint,omitempty"`
	// FirstFailed is when the first attempt at the activity failed, or 0 if that is not known.
	FirstFailed history.Timestamp `cbor:"13,keyasint,omitempty"`

	// LastFailed is the number of the last attempt that failed, or 0. It follows from Number.
	LastFailed int `cbor:"-"`
	// Number is the number of the record: see the package comment.
	Number int `cbor:"-"`
}

// Check returns an error if the body of a stored record cannot be read.
func Check(a store.Attempt) error {
	_, err := decode(a)
	return err
}

func decode(a store.Attempt) (*Record, error) {
	r := &Record{LastFailed: a.Number >> beatBits, Number: a.Number}
	return r, history.DecodeBody(a.Body, r)
}

// IsBy reports whether the record was written on behalf of a message, which then has to send what
// follows from it. A repaired first message stands for an attempt that ran inline, without a
// message of its own.
func (r *Record) IsBy(m *engine.Message) bool {
	return r.By == m.Send || m.Seen > 0 && m.Attempt == 1
}

// IsAhead reports whether a later copy of this message, or another with the same Look, continues
// the attempt.
func (r *Record) IsAhead(m *engine.Message, attempt int) bool {
	claimed := r.LastFailed == attempt-1 && r.Number > Failed(r.LastFailed)
	return claimed && (r.Look > m.Look || r.Look == m.Look && r.Copy != m.Copy)
}

// HasClaim reports whether the record is this message's own claim of an attempt.
func (r *Record) HasClaim(m *engine.Message, attempt int) bool {
	return r.Number > Failed(attempt-1) && r.By == m.Send && r.Look == m.Look && r.Copy == m.Copy
}

// Base returns what a record of an attempt takes over from the record that it replaces. A record
// that knows nothing of the attempt before, because that one's failure was not recorded, describes
// an earlier attempt: only its failures and details still hold.
func (r *Record) Base(attempt int) Record {
	if r.LastFailed == attempt-1 {
		return *r
	}
	return Record{Failure: r.Failure, FirstFailed: r.FirstFailed, Details: r.Details}
}

// HasRoom reports whether a number is left for one more record of an attempt before that of its
// failure.
func (r *Record) HasRoom(attempt int) bool { return r.Number+1 < Failed(attempt) }

// End returns the deadline of an attempt that continues outside, and the limit that sets it.
func (r *Record) End(a *engine.PendingActivity) (at history.Timestamp, limit string) {
	if silent := r.Heard.Add(time.Duration(a.Heartbeat)); a.Heartbeat > 0 && silent < r.Deadline {
		return silent, failure.Heartbeat
	}
	return r.Deadline, failure.StartToClose
}

// HeldNow returns what holds the attempt, or "" if nothing has held it lately.
func (r *Record) HeldNow(now history.Timestamp) string {
	if r.HeldUntil < now {
		return ""
	}
	return r.Held
}
