// Package embedded is the queue of a deployment in one process: the messages stand in memory (see package lines), and in
// the file of the data directory, from which they are made again after a crash.
//
//	bucket    key   value
//	messages  id    queue, group, when it is visible, body
//	received  id    how often it has been received
//
// A Send does not wait for the disk: what is acknowledged later waits, and is behind it in the file's line (see package
// disk). A Receive waits: that a message was received, and how often, is on the disk before its handler begins.
package embedded

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/internal/lines"
)

var (
	messagesBucket = []byte("messages")
	receivedBucket = []byte("received")
)

// Options are the options of a queue. The zero value works.
type Options struct {
	// Clock says what time it is; nil is the time of day.
	Clock func() time.Time
	// Violation is told what rule of the port a caller has broken; nil tells nobody.
	Violation func(format string, args ...any)
}

// Queue holds the queues of a deployment. It is safe for concurrent use.
type Queue struct {
	*lines.Queue
	taskQueues []string
}

// TaskQueues are the task queues that there are, besides the default one, sorted.
func (q *Queue) TaskQueues() []string { return q.taskQueues }

// MaxBody is the largest body of a message.
const MaxBody = lines.MaxBody

// New returns the queues in a file, with these settings, and what was in them. Whoever opened the file closes it. A task queue
// that is in the file and not in the settings is there too: its messages wait for somebody to receive them.
func New(db *disk.DB, settings map[string]queue.Settings, o Options) (*Queue, error) {
	err := db.Write(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{messagesBucket, receivedBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.Violation == nil {
		o.Violation = func(string, ...any) {}
	}
	kept, err := load(db)
	if err != nil {
		return nil, err
	}
	settings = maps.Clone(settings)
	for name := range kept {
		if taskQueue, is := queue.IsForTasks(strings.TrimSuffix(name, queue.DeadLetters(""))); is {
			maps.Copy(settings, missing(settings, queue.Standard(taskQueue)))
		}
	}
	q := lines.New(settings, lines.Options{Clock: o.Clock, Violation: o.Violation, Journal: journal{db}})
	for _, name := range sortedNames(kept) {
		if err := q.Restore(name, kept[name]); err != nil {
			return nil, fmt.Errorf("messages of the queue %q are left over: %w", name, err)
		}
	}
	return &Queue{q, taskQueuesOf(settings)}, nil
}

// missing are those of all that are not in some.
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

// load reads the messages of each queue, in the order of their ids.
func load(db *disk.DB) (map[string][]lines.Kept, error) {
	kept := map[string][]lines.Kept{}
	err := db.Read(func(tx *bbolt.Tx) error {
		received := tx.Bucket(receivedBucket)
		return tx.Bucket(messagesBucket).ForEach(func(k, v []byte) error {
			var m message
			if err := cbor.Unmarshal(v, &m); err != nil {
				return fmt.Errorf("a message in the data directory cannot be read: %w", err)
			}
			one := lines.Kept{ID: binary.BigEndian.Uint64(k), Group: m.Group, Visible: time.UnixMicro(m.Visible), Body: m.Body}
			if count := received.Get(k); count != nil {
				one.Received = int(binary.BigEndian.Uint32(count))
			}
			kept[m.Queue] = append(kept[m.Queue], one)
			return nil
		})
	})
	return kept, err
}

// journal keeps what changes.
type journal struct{ db *disk.DB }

func key(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

// put puts a message into the file.
func put(tx *bbolt.Tx, queue string, k lines.Kept) error {
	value, err := cbor.Marshal(message{Queue: queue, Group: k.Group, Visible: k.Visible.UnixMicro(), Body: k.Body})
	if err != nil {
		return err
	}
	return tx.Bucket(messagesBucket).Put(key(k.ID), value)
}

func remove(tx *bbolt.Tx, id uint64) error {
	if err := tx.Bucket(receivedBucket).Delete(key(id)); err != nil {
		return err
	}
	return tx.Bucket(messagesBucket).Delete(key(id))
}

// Sent keeps messages. A crash before they are on the disk takes away what was acknowledged after them, too.
func (j journal) Sent(queue string, messages []lines.Kept) error {
	return j.db.Later(func(tx *bbolt.Tx) error {
		for _, k := range messages {
			if err := put(tx, queue, k); err != nil {
				return err
			}
		}
		return nil
	})
}

// Received keeps how often messages were received, and waits for the disk: only then may their handlers begin.
func (j journal) Received(counts map[uint64]int) error {
	return j.db.Write(func(tx *bbolt.Tx) error {
		for id, n := range counts {
			if tx.Bucket(messagesBucket).Get(key(id)) == nil {
				continue // deleted meanwhile, by an older delivery
			}
			if err := tx.Bucket(receivedBucket).Put(key(id), binary.BigEndian.AppendUint32(nil, uint32(n))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Deleted forgets messages. A crash before that is on the disk brings them again.
func (j journal) Deleted(ids []uint64) error {
	return j.db.Later(func(tx *bbolt.Tx) error {
		for _, id := range ids {
			if err := remove(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Died moves a message to the dead letters: both happen in one transaction, so that a crash neither loses nor doubles it.
func (j journal) Died(id uint64, to string, k lines.Kept) error {
	return j.db.Later(func(tx *bbolt.Tx) error {
		if err := remove(tx, id); err != nil {
			return err
		}
		return put(tx, to, k)
	})
}
