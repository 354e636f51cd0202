// Package diskqueue is the queue of a deployment in one process. The messages are in memory (see
// package lines), and in the file of the data directory, from which they are restored after a
// crash.
//
//	space     key   value
//	messages  id    queue, group, when it is visible, body
//	received  id    how often it has been received
//
// When a message is on the disk:
//
//   - A Send does not wait for the disk. A later acknowledged write waits, and is behind the Send
//     in the file's queue (see package disk).
//   - That a message was received, and how many times, is on the disk before its handler begins.
//     The exception is the first receive in the process that sent the message. So a message that
//     always ends the process is received at most once more than its limit, if it is on the disk by
//     then.
//   - A message may not be on the disk yet if its handler ends the process within milliseconds of
//     the Send. Its sender then sends it again, at most as many times as the sender's own message
//     is received.
//   - A sweep sends timers, and no limit stops a sweep. So the first receive of a timer waits for
//     the disk, too.
package diskqueue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/lines"
	"github.com/seed-41655fb1/weft/queue"
)

// Options are the options of a queue. The zero value works.
type Options struct {
	// Clock returns the time; nil means the system's clock.
	Clock func() time.Time
	// Violation is called with the rule of the port that a caller broke; nil ignores it.
	Violation func(format string, args ...any)
	// BodyBytes is how many bytes of bodies are in memory; 0 means no bound. Further bodies are
	// read from the file when their messages are delivered. The rest of each message takes some
	// hundred bytes of memory, without a bound.
	BodyBytes int64
}

// Queue holds the queues of a deployment. It is safe for concurrent use.
type Queue struct {
	*lines.Queue
	taskQueues []string
}

// TaskQueues returns the names of the task queues besides the default one, sorted.
func (q *Queue) TaskQueues() []string { return q.taskQueues }

// MaxBody is the largest body of a message.
const MaxBody = lines.MaxBody

// New returns the queues in a file, with these settings and their messages. The caller who opened
// the file closes it. A task queue that is in the file but not in the settings exists too: its
// messages wait for a receiver. Messages of a queue that cannot exist are reported and stay in the
// file.
func New(db *disk.DB, settings map[string]queue.Settings, o Options) (*Queue, error) {
	if o.Violation == nil {
		o.Violation = func(string, ...any) {}
	}
	kept, lastID, err := load(db, o.BodyBytes)
	if err != nil {
		return nil, err
	}
	settings = maps.Clone(settings)
	for name := range kept {
		if taskQueue, is := queue.IsForTasks(strings.TrimSuffix(name, queue.DeadLetters(""))); is {
			maps.Copy(settings, missing(settings, queue.Standard(taskQueue)))
		}
	}
	q := lines.New(settings, lines.Options{Clock: o.Clock, Violation: o.Violation, Journal: journal{db}, BodyBytes: o.BodyBytes, LastID: lastID})
	for _, name := range sortedNames(kept) {
		// An earlier version stored no checksums, so a flipped bit may have changed the name of a
		// queue. The messages stay in the file.
		if err := q.Restore(name, kept[name]); err != nil {
			db.Report(fmt.Errorf("%w: %d messages of the data directory name a queue that does not exist, %q: %w", disk.ErrCorrupt, len(kept[name]), name, err))
		}
	}
	q.Restored()
	return &Queue{q, taskQueuesOf(settings)}, nil
}

// missing returns the settings that are in all and not in some.
func missing(some, all map[string]queue.Settings) map[string]queue.Settings {
	maps.DeleteFunc(all, func(name string, _ queue.Settings) bool {
		_, there := some[name]
		return there
	})
	return all
}

func taskQueuesOf(settings map[string]queue.Settings) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if taskQueue, is := queue.IsForTasks(name); is && taskQueue != "" {
			names = append(names, taskQueue)
		}
	}
	return names
}

func sortedNames(kept map[string][]lines.Kept) []string {
	names := make([]string, 0, len(kept))
	for name := range kept {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// message is a message as it is stored. Its numbers never change their meaning.
type message struct {
	Queue   string `cbor:"1,keyasint"`
	Group   string `cbor:"2,keyasint,omitempty"`
	Visible int64  `cbor:"3,keyasint"`
	Body    []byte `cbor:"4,keyasint"`
}

// load reads the messages of each queue, in the order of their ids, and the highest id so far. It
// reports what it cannot read, and leaves it in the file. It loads bodyBytes bytes of bodies into
// memory, and leaves out further bodies; 0 means no bound.
func load(db *disk.DB, bodyBytes int64) (kept map[string][]lines.Kept, lastID uint64, err error) {
	kept = map[string][]lines.Kept{}
	counts, bytes := map[uint64]int{}, int64(0)
	err = db.Read(func(tx *disk.Tx) error {
		for _, space := range []disk.Space{disk.Messages, disk.Received} {
			last, err := tx.Last(space)
			switch {
			case errors.Is(err, disk.ErrCorrupt):
				db.Report(err)
			case err != nil:
				return err
			case len(last) == idSize:
				lastID = max(lastID, binary.BigEndian.Uint64(last))
			}
		}
		err := tx.AscendSound(disk.Received, nil, nil, func(k, v []byte) bool {
			id, idErr := decodeID(k)
			n, err := decodeCount(v)
			if err = errors.Join(idErr, err); err != nil {
				db.Report(fmt.Errorf("the count of receives of the message %x cannot be read: %w", k, err))
			} else {
				counts[id] = n
			}
			lastID = max(lastID, id)
			return true
		})
		if err != nil {
			return err
		}
		return tx.AscendSound(disk.Messages, nil, nil, func(k, v []byte) bool {
			id, m, err := decodeMessage(k, v)
			lastID = max(lastID, id)
			if err != nil {
				db.Report(fmt.Errorf("the message %x of the data directory cannot be read: %w", k, err))
				return true
			}
			if bytes += int64(len(m.Body)); bodyBytes > 0 && bytes > bodyBytes {
				m.Body = nil
			}
			kept[m.Queue] = append(kept[m.Queue], lines.Kept{
				ID: id, Group: m.Group, Visible: time.UnixMicro(m.Visible), Body: m.Body, Received: counts[id],
			})
			return true
		})
	})
	return kept, lastID, err
}

// decodeMessage reads the id and the value of a message.
func decodeMessage(k, v []byte) (id uint64, m message, err error) {
	if id, err = decodeID(k); err == nil {
		err = cbor.Unmarshal(v, &m)
	}
	if err == nil && (m.Queue == "" || len(m.Body) == 0) {
		err = errNoMessage
	}
	return id, m, err
}

// VisitAll calls fn with the queue and the body of each message of a data directory, and damaged
// with an error for each entry that it cannot read. What the directory itself detects goes to
// disk.Options.Damage.
func VisitAll(db *disk.DB, fn func(id uint64, queue string, body []byte), damaged func(error)) error {
	return db.Read(func(tx *disk.Tx) error {
		err := tx.AscendSound(disk.Received, nil, nil, func(k, v []byte) bool {
			_, idErr := decodeID(k)
			if _, err := decodeCount(v); idErr != nil || err != nil {
				damaged(fmt.Errorf("the count of receives of the message %x cannot be read: %w", k, errors.Join(idErr, err)))
			}
			return true
		})
		return errors.Join(err, tx.AscendSound(disk.Messages, nil, nil, func(k, v []byte) bool {
			id, m, err := decodeMessage(k, v)
			if err != nil {
				damaged(fmt.Errorf("the message %x cannot be read: %w", k, err))
				return true
			}
			fn(id, m.Queue, m.Body)
			return true
		}))
	})
}

// journal stores changes.
type journal struct{ db *disk.DB }

func key(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

const idSize, countSize = 8, 4

var (
	errNoID      = fmt.Errorf("%w: its key is not the number of a message", disk.ErrCorrupt)
	errNoMessage = fmt.Errorf("%w: it has no queue, or no body", disk.ErrCorrupt)
	errNoCount   = fmt.Errorf("%w: the value is not a count", disk.ErrCorrupt)
)

// decodeID reads a key of a message or of its count.
func decodeID(k []byte) (uint64, error) {
	if len(k) != idSize {
		return 0, errNoID
	}
	return binary.BigEndian.Uint64(k), nil
}

// decodeCount reads the count of a message's receives.
func decodeCount(v []byte) (int, error) {
	if len(v) != countSize {
		return 0, errNoCount
	}
	return int(binary.BigEndian.Uint32(v)), nil
}

// put puts a message into the file.
func put(tx *disk.Tx, queue string, k lines.Kept) error {
	value, err := cbor.Marshal(message{Queue: queue, Group: k.Group, Visible: k.Visible.UnixMicro(), Body: k.Body})
	if err != nil {
		return err
	}
	tx.Put(disk.Messages, key(k.ID), value)
	return nil
}

func remove(tx *disk.Tx, id uint64) {
	tx.Delete(disk.Received, key(id))
	tx.Delete(disk.Messages, key(id))
}

// Sent stores messages. A crash before they are on the disk also loses everything that was
// acknowledged after them.
func (j journal) Sent(queue string, messages []lines.Kept) error {
	bytes := 0
	for _, k := range messages {
		bytes += len(k.Body)
	}
	return j.db.LaterSized(bytes, func(tx *disk.Tx) error {
		for _, k := range messages {
			if err := put(tx, queue, k); err != nil {
				return err
			}
		}
		return nil
	})
}

// Received stores the counts of messages. If wait is set, the counts and the messages are on the
// disk when it returns.
func (j journal) Received(name string, counts map[uint64]int, wait bool) error {
	write := j.db.Later
	if wait || name == queue.Timers {
		write = j.db.Write
	}
	return write(func(tx *disk.Tx) error {
		for id, n := range counts {
			if err := received(tx, id, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// received stores the count of a message, unless an older delivery has deleted the message, or the
// stored count is higher. It overwrites a damaged count, and leaves a damaged message: both are
// sound in memory, and the rest of the batch waits.
func received(tx *disk.Tx, id uint64, n int) error {
	message, err := tx.Get(disk.Messages, key(id))
	if there := message != nil || errors.Is(err, disk.ErrCorrupt); !there {
		return err
	}
	value, err := tx.Get(disk.Received, key(id))
	before := 0
	if err == nil && value != nil {
		before, err = decodeCount(value)
	}
	if err != nil && !errors.Is(err, disk.ErrCorrupt) {
		return err
	}
	if before < n {
		tx.Put(disk.Received, key(id), binary.BigEndian.AppendUint32(nil, uint32(n)))
	}
	return nil
}

// Deleted deletes messages. A crash before that is on the disk redelivers them.
func (j journal) Deleted(ids []uint64) error {
	return j.db.Later(func(tx *disk.Tx) error {
		for _, id := range ids {
			remove(tx, id)
		}
		return nil
	})
}

// Bodies reads the bodies of messages. The latest messages may still be in the file's queue of
// writes: an empty write that waits behind them brings them to the disk.
func (j journal) Bodies(ids []uint64) (bodies map[uint64][]byte, err error) {
	for try := range 2 {
		if bodies, err = j.bodies(ids, try > 0); err != nil || len(bodies) == len(ids) {
			return bodies, err
		}
		if try == 0 {
			if err := j.db.Write(func(*disk.Tx) error { return nil }); err != nil {
				return nil, err
			}
		}
	}
	return bodies, nil
}

// bodies reads the bodies of messages that are on the disk. It leaves out what is missing or
// damaged, and reports it if asked to.
func (j journal) bodies(ids []uint64, report bool) (map[uint64][]byte, error) {
	bodies := make(map[uint64][]byte, len(ids))
	err := j.db.Read(func(tx *disk.Tx) error {
		for _, id := range ids {
			m, err := stored(tx, id)
			switch {
			case err == nil:
				bodies[id] = m.Body
			case !errors.Is(err, disk.ErrCorrupt):
				return err
			case report:
				j.db.Report(fmt.Errorf("the message %x of the data directory cannot be delivered: %w", id, err))
			}
		}
		return nil
	})
	return bodies, err
}

// stored reads a message. It returns ErrCorrupt if the message is damaged or missing.
func stored(tx *disk.Tx, id uint64) (m message, err error) {
	value, err := tx.Get(disk.Messages, key(id))
	if err == nil && value == nil {
		err = errNoMessage
	}
	if err != nil {
		return m, err
	}
	if _, m, err = decodeMessage(key(id), value); err != nil {
		err = fmt.Errorf("%w: %w", disk.ErrCorrupt, err)
	}
	return m, err
}

// Moved moves a message to another queue in one transaction, so that a crash neither loses nor
// duplicates it. A message whose body is neither in memory nor readable stays in the file, and is
// reported at the next start.
func (j journal) Moved(id uint64, to string, k lines.Kept) error {
	return j.db.LaterSized(len(k.Body), func(tx *disk.Tx) error {
		if k.Body == nil {
			m, err := stored(tx, id)
			if err != nil {
				return nil
			}
			k.Body = m.Body
		}
		remove(tx, id)
		return put(tx, to, k)
	})
}
