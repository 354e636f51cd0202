package diskstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// Place describes a key of the data directory. Workflow is empty if the key belongs to no workflow.
// Run is 0 if it belongs to no run. Commit is 0 if it belongs to no commit, and otherwise one more
// than the commit's slot.
type Place struct {
	Workflow    string
	Run, Commit uint32
}

// Visitor has the functions that VisitAll calls. A nil function is not called.
type Visitor struct {
	Item    func(store.Item)
	Attempt func(store.Attempt)
	Timer   func(store.Timer)
	// Finding is called with each error, and the place that it concerns.
	Finding func(Place, error)
}

// VisitAll reads everything that the store has: items in the order of workflows, runs and slots. It
// calls v.Finding for what it cannot read, unless the data directory detects that first, which
// calls disk.Options.Damage. It checks that expiries, rows and the list are consistent.
func (s *Store) VisitAll(ctx context.Context, v Visitor) error {
	return s.read(ctx, func(tx *disk.Tx) error {
		return errors.Join(v.items(ctx, tx), v.attempts(ctx, tx), v.timers(ctx, tx), v.expiries(ctx, tx), v.rows(ctx, tx), v.list(ctx, tx))
	})
}

func (v *Visitor) finding(space disk.Space, key []byte, err error) {
	v.Finding(PlaceOf(space, key), err)
}

// each calls fn with the keys and values of a space until ctx ends.
func each(ctx context.Context, tx *disk.Tx, space disk.Space, fn func(k, v []byte)) error {
	err := tx.AscendSound(space, nil, nil, func(k, v []byte) bool {
		fn(k, v)
		return ctx.Err() == nil
	})
	return errors.Join(err, ctx.Err())
}

func (v *Visitor) items(ctx context.Context, tx *disk.Tx) error {
	return each(ctx, tx, disk.Log, func(k, value []byte) {
		item, err := decodeAny(k, value)
		switch {
		case err != nil:
			v.finding(disk.Log, k, err)
		case item.Summary == nil && hasSummary(value):
			v.finding(disk.Log, k, fmt.Errorf("%w: the summary of the item cannot be read", disk.ErrCorrupt))
		default:
			v.Item(item)
		}
	})
}

// hasSummary reports whether an item that decodeItem reads has a summary.
func hasSummary(value []byte) bool {
	const fixed = 16 + 8
	length, _ := binary.Uvarint(value[fixed:])
	return length > 0
}

func (v *Visitor) attempts(ctx context.Context, tx *disk.Tx) error {
	return each(ctx, tx, disk.Attempts, func(k, value []byte) {
		a, err := decodeAttempt(k, value)
		if err != nil {
			v.finding(disk.Attempts, k, err)
			return
		}
		p := PlaceOf(disk.Attempts, k)
		a.Workflow, a.Run, a.Event = p.Workflow, p.Run, int64(binary.BigEndian.Uint64(k[len(k)-8:]))
		v.Attempt(a)
	})
}

func (v *Visitor) timers(ctx context.Context, tx *disk.Tx) error {
	return each(ctx, tx, disk.Timers, func(k, value []byte) {
		if len(k) < 8 {
			v.finding(disk.Timers, k, malformed(disk.Timers, k))
			return
		}
		due := int64(binary.BigEndian.Uint64(k) ^ 1<<63)
		v.Timer(store.Timer{ID: string(k[8:]), Due: fromMicros(due), Body: bytes.Clone(value)})
	})
}

func (v *Visitor) expiries(ctx context.Context, tx *disk.Tx) error {
	return each(ctx, tx, disk.Expiry, func(k, _ []byte) {
		expires, key, err := decodeExpiry(k)
		if err != nil {
			v.finding(disk.Expiry, k, err)
			return
		}
		if item, err := getAt(tx, key); err == nil && item != nil && !item.Expires.Equal(expires) { // items reports damaged ones
			v.finding(disk.Expiry, k, fmt.Errorf("%w: the item expires at %v, and its expiry says %v", disk.ErrCorrupt, item.Expires, expires))
		}
	})
}

// rows checks that each run has its row in the list.
func (v *Visitor) rows(ctx context.Context, tx *disk.Tx) error {
	return each(ctx, tx, disk.Rows, func(k, row []byte) {
		if !isOfWorkflow(k, 4) || !isRowKey(row) {
			v.finding(disk.Rows, k, malformed(disk.Rows, k))
			return
		}
		if value, err := tx.Get(disk.List, row); err == nil && value == nil {
			v.finding(disk.Rows, k, fmt.Errorf("%w: the run is missing in the list of runs", disk.ErrCorrupt))
		}
	})
}

func (v *Visitor) list(ctx context.Context, tx *disk.Tx) error {
	return each(ctx, tx, disk.List, func(k, value []byte) {
		if !isRowKey(k) || decodeSummary(value) == nil {
			v.finding(disk.List, k, malformed(disk.List, k))
		}
	})
}

// PlaceOf returns the place of a key of one of the store's spaces, as far as the key is readable.
func PlaceOf(space disk.Space, key []byte) (p Place) {
	more := 0 // the number of bytes after the workflow
	switch space {
	case disk.Log, disk.Rows, disk.Attempts:
		more = map[disk.Space]int{disk.Log: 8, disk.Rows: 4, disk.Attempts: 12}[space]
	case disk.List, disk.Expiry:
		if len(key) < 8 {
			return p
		}
		more = map[disk.Space]int{disk.List: 4, disk.Expiry: 8}[space]
		key = key[8:]
	}
	if more == 0 || !isOfWorkflow(key, more) {
		return p
	}
	rest := key[len(key)-more:]
	p.Workflow, p.Run = string(key[2:len(key)-more]), binary.BigEndian.Uint32(rest)
	if space == disk.List {
		p.Run = ^p.Run
	}
	if more == 8 {
		p.Commit = binary.BigEndian.Uint32(rest[4:]) + 1
	}
	return p
}

// DescribeRange describes a range of keys: its space and, as far as the keys at its ends begin with
// them, workflows, runs and commits. Workflows sort by the length of their ids, and then by their
// ids.
func DescribeRange(r disk.Range) string {
	what := spaceTexts[r.Space]
	if what == "" {
		what = "unknown values"
	}
	if len(r.From) == 0 && len(r.To) == 0 {
		return "all " + what
	}
	from, to := describeKey(r.Space, r.From), describeKey(r.Space, r.To)
	switch {
	case from == "" && to == "":
		return "some " + what
	case to == "":
		return what + " from " + from + " on"
	case from == "":
		return what + " before " + to
	}
	return what + " from " + from + " to " + to
}

// spaceTexts name the contents of the spaces.
var spaceTexts = map[disk.Space]string{
	disk.Log: "commits", disk.List: "entries of the list of runs", disk.Rows: "runs in the index of the list", disk.Attempts: "attempts of activities",
	disk.Timers: "long timers", disk.Expiry: "expiries of closed runs", disk.Marks: "marks of the server",
	disk.Messages: "queued messages", disk.Received: "counts of deliveries", disk.Blobs: "large payloads",
}

// describeKey describes the beginning of a key, which may be cut off or continue. It returns "" if
// the key does not begin with a whole workflow id.
func describeKey(space disk.Space, key []byte) string {
	if space != disk.Log && space != disk.Rows && space != disk.Attempts || len(key) < 2 {
		return ""
	}
	length := int(binary.BigEndian.Uint16(key))
	if key = key[2:]; length == 0 || len(key) < length || !utf8.Valid(key[:length]) {
		return ""
	}
	text := fmt.Sprintf("workflow %q", key[:length])
	if key = key[length:]; len(key) >= 4 {
		text += fmt.Sprintf(", run %d", binary.BigEndian.Uint32(key))
	}
	if space == disk.Log && len(key) >= 8 {
		text += fmt.Sprintf(", commit %d", uint64(binary.BigEndian.Uint32(key[4:]))+1)
	}
	return text
}

// VisitDamaged calls fn with each run of the list that would have commits in an unreadable range of
// the log, and with the number of its readable commits: 0 if all are missing. It omits a run whose
// middle commits are missing, because VisitAll shows that gap.
func (s *Store) VisitDamaged(ctx context.Context, r disk.Range, fn func(p Place, commits uint32)) error {
	return s.read(ctx, func(tx *disk.Tx) error {
		err := tx.AscendKeys(disk.Rows, nil, nil, func(k []byte) bool {
			if !isOfWorkflow(k, 4) {
				return ctx.Err() == nil
			}
			last := append(bytes.Clone(k), 0xff, 0xff, 0xff, 0xff)
			if bytes.Compare(last, r.From) < 0 || len(r.To) > 0 && bytes.Compare(k, r.To) >= 0 {
				return ctx.Err() == nil
			}
			commits, gap, final := uint32(0), false, bytes.Clone(k)
			_ = tx.AscendKeys(disk.Log, k, disk.After(k), func(key []byte) bool { // damage has been reported already
				if len(key) == len(k)+4 {
					gap = gap || binary.BigEndian.Uint32(key[len(k):]) != commits
					commits++
					final = append(final[:0], key...)
				}
				return !gap
			})
			if !gap && (commits == 0 || bytes.Compare(r.From, append(final, 0)) <= 0 && (len(r.To) == 0 || bytes.Compare(final, r.To) < 0)) {
				fn(PlaceOf(disk.Rows, k), commits)
			}
			return ctx.Err() == nil
		})
		return errors.Join(err, ctx.Err())
	})
}

// RunID returns the id of a run according to the list of runs, or "" if the list does not have it.
func (s *Store) RunID(ctx context.Context, workflow string, run uint32) (id string) {
	_ = s.read(ctx, func(tx *disk.Tx) error { // a failed read is a missing id
		row, err := tx.Get(disk.Rows, binary.BigEndian.AppendUint32(workflowPrefix(workflow), run))
		if err != nil || row == nil {
			return err
		}
		value, err := tx.Get(disk.List, row)
		if summary := decodeSummary(value); summary != nil {
			id = summary.RunID
		}
		return err
	})
	return id
}
