package postgres

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-41655fb1/weft/store"
)

// MaxBody is the largest body that the store accepts.
const MaxBody = 1 << 20

// pageBytes is the largest total size of the bodies of a page. pageItems is the largest number of
// items if the caller has no limit.
const (
	pageBytes = 1 << 20
	pageItems = 1000
)

// Store keeps histories in PostgreSQL.
type Store struct{ pool *pgxpool.Pool }

var _ interface {
	store.Store
	store.Lister
	store.Expirer
} = (*Store)(nil)

// put inserts a commit if there is none, or replaces the one with the id $7. It locks an existing
// row, even if that row stays.
const put = `
INSERT INTO log AS l (workflow, run, slot, commit_id, body, expires, summary) VALUES ($1, $2, $3, $4, $5, $6, $8)
ON CONFLICT (workflow, run, slot) DO UPDATE
SET commit_id = excluded.commit_id, body = excluded.body, expires = excluded.expires, summary = excluded.summary
WHERE l.commit_id = $7`

// dropRow removes the row that the commit with the id $4 has written, if that commit stands at its
// key and is the last one that has written the run's row. Another commit replaces it now.
const dropRow = `
DELETE FROM runs AS r USING log AS l
WHERE l.workflow = $1 AND l.run = $2 AND l.slot = $3 AND l.commit_id = $4
AND r.workflow = l.workflow AND r.run = l.run AND r.summary = l.summary`

// putRow writes a run's row in the list.
const putRow = `
INSERT INTO runs (workflow, run, started, summary) VALUES ($1, $2, $3, $4)
ON CONFLICT (workflow, run) DO UPDATE SET started = excluded.started, summary = excluded.summary`

// Append implements store.Log. All items are in one transaction. A crash before its commit leaves
// none of them, and a crash after it leaves all. If the response to the commit is lost, the outcome
// is unknown (ErrUnknown).
func (s *Store) Append(ctx context.Context, items ...store.Item) error {
	for _, item := range items {
		if err := fits(item.Body); err != nil {
			return err
		}
	}
	items = slices.Clone(items)
	slices.SortFunc(items, byKey) // all transactions lock in the same order, so that no two wait for each other
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return classify(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // has no effect after the commit
	for _, item := range items {
		if err := putItem(ctx, tx, item); err != nil {
			return classify(err)
		}
	}
	return unknown(tx.Commit(ctx))
}

// unknown returns the error of a commit, or of a statement that is a transaction of its own. It may
// have been carried out.
func unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

func byKey(a, b store.Item) int {
	switch {
	case a.Workflow != b.Workflow:
		return strings.Compare(a.Workflow, b.Workflow)
	case a.Before(b.Key):
		return -1
	case b.Before(a.Key):
		return 1
	}
	return 0
}

// putItem puts an item, or returns a *store.Conflict.
func putItem(ctx context.Context, tx pgx.Tx, item store.Item) error {
	var over, summary []byte
	if item.Over != [16]byte{} {
		over = item.Over[:]
	}
	if item.Summary != nil {
		summary = encode(item.Summary)
	}
	k := item.Key
	if over != nil {
		if _, err := tx.Exec(ctx, dropRow, []byte(k.Workflow), k.Run, k.Slot, over); err != nil {
			return err
		}
	}
	done, err := tx.Exec(ctx, put, []byte(k.Workflow), k.Run, k.Slot, item.Commit[:], notNull(item.Body), seconds(item.Expires), over, summary)
	if err != nil {
		return err
	}
	if done.RowsAffected() == 0 {
		return conflict(ctx, tx, k)
	}
	if item.Summary != nil {
		_, err = tx.Exec(ctx, putRow, []byte(k.Workflow), k.Run, item.Summary.Started.UnixMicro(), summary)
	}
	return err
}

// conflict returns the item at a key, as the reason why another item was not put.
func conflict(ctx context.Context, tx pgx.Tx, k store.Key) error {
	rows, err := tx.Query(ctx, `SELECT `+columns+` FROM log WHERE workflow = $1 AND run = $2 AND slot = $3`, []byte(k.Workflow), k.Run, k.Slot)
	if err != nil {
		return err
	}
	standing, err := pgx.CollectExactlyOneRow(rows, scanItem)
	if err != nil {
		return err
	}
	return &store.Conflict{Existing: standing}
}

// columns are the columns that scanItem reads.
const columns = `workflow, run, slot, commit_id, body, expires, summary`

// scanItem reads an item. Columns after those of an item are read into more.
func scanItem(row pgx.CollectableRow) (store.Item, error) { return scanItemAnd(row) }

func scanItemAnd(row pgx.CollectableRow, more ...any) (item store.Item, err error) {
	var workflow, id, summary []byte
	var expires *int64
	to := []any{&workflow, &item.Run, &item.Slot, &id, &item.Body, &expires, &summary}
	if err := row.Scan(append(to, more...)...); err != nil {
		return item, err
	}
	item.Workflow, item.Expires = string(workflow), expiry(expires)
	if copy(item.Commit[:], id) != len(item.Commit) {
		return item, fmt.Errorf("%w: the commit id at %v has %d bytes", store.ErrCorrupt, item.Key, len(id))
	}
	if summary != nil {
		item.Summary, err = decode(summary)
	}
	return item, err
}

// page reads items of a workflow, from one key up to another, as many as fit. %[1]s is the
// direction. It reads one item more than the caller asks for, to know whether there are more. n is
// how many there were.
const page = `
SELECT ` + columns + `, n FROM (
  SELECT *, sum(octet_length(body)) OVER (ORDER BY run %[1]s, slot %[1]s) AS total, count(*) OVER () AS n FROM (
    SELECT * FROM log WHERE workflow = $1 AND (run, slot) >= ($2, $3) AND (run, slot) < ($4, $5)
    ORDER BY run %[1]s, slot %[1]s LIMIT $6 + 1) AS found) AS measured
WHERE total <= $7 OR total = octet_length(body)
ORDER BY run %[1]s, slot %[1]s LIMIT $6`

var forward, backward = fmt.Sprintf(page, "ASC"), fmt.Sprintf(page, "DESC")

// Backward implements store.Log.
func (s *Store) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	end := place{int64(before.Run), int64(before.Slot)}
	if end == (place{}) {
		end.run = math.MaxInt64
	}
	return s.page(ctx, backward, workflow, place{int64(until.Run), int64(until.Slot)}, end, limit)
}

// Forward implements store.Log.
func (s *Store) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	return s.page(ctx, forward, from.Workflow, place{int64(from.Run), int64(from.Slot)}, place{int64(from.Run) + 1, 0}, limit)
}

// place is a run and a slot.
type place struct{ run, slot int64 }

func (s *Store) page(ctx context.Context, query, workflow string, from, to place, limit int) (p store.Page, err error) {
	if limit == 0 {
		limit = pageItems
	}
	rows, err := s.pool.Query(ctx, query, []byte(workflow), from.run, from.slot, to.run, to.slot, limit, pageBytes)
	if err != nil {
		return p, classify(err)
	}
	found := 0
	p.Items, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Item, error) { return scanItemAnd(row, &found) })
	p.More = len(p.Items) < found
	return p, classify(err)
}

// RecordAttempt implements store.Attempts.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) error {
	if err := fits(a.Body); err != nil {
		return err
	}
	done, err := s.pool.Exec(ctx, `
		INSERT INTO attempts AS a (workflow, run, event, run_id, number, body, expires) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (workflow, run, event) DO UPDATE
		SET run_id = excluded.run_id, number = excluded.number, body = excluded.body, expires = excluded.expires
		WHERE a.run_id <> excluded.run_id OR a.number < excluded.number`,
		[]byte(a.Workflow), a.Run, a.Event, []byte(a.RunID), a.Number, notNull(a.Body), seconds(a.Expires))
	if err == nil && done.RowsAffected() == 0 {
		err = fmt.Errorf("%w: attempt %d of event %d, or a later one, is recorded", store.ErrStale, a.Number, a.Event)
	}
	return err
}

// ReadAttempts implements store.Attempts.
func (s *Store) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	rows, err := s.pool.Query(ctx, `SELECT event, run_id, number, body, expires FROM attempts WHERE workflow = $1 AND run = $2 ORDER BY event`,
		[]byte(workflow), run)
	if err != nil {
		return nil, classify(err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Attempt, error) {
		a := store.Attempt{Workflow: workflow, Run: run}
		var runID []byte
		var expires *int64
		err := row.Scan(&a.Event, &runID, &a.Number, &a.Body, &expires)
		a.RunID, a.Expires = string(runID), expiry(expires)
		return a, err
	})
}

// PutTimers implements store.Timers. A batch is one transaction.
func (s *Store) PutTimers(ctx context.Context, timers []store.Timer) error {
	var all pgx.Batch
	for _, t := range timers {
		if err := fits(t.Body); err != nil {
			return err
		}
		all.Queue(`INSERT INTO timers (due, id, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, t.Due.UnixMicro(), []byte(t.ID), notNull(t.Body))
	}
	return s.pool.SendBatch(ctx, &all).Close()
}

// DueTimers implements store.Timers.
func (s *Store) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	rows, err := s.pool.Query(ctx, `SELECT due, id, body FROM timers WHERE due < $1 ORDER BY due, id LIMIT $2`, before.UnixMicro(), limit)
	if err != nil {
		return nil, classify(err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t store.Timer, err error) {
		var due int64
		var id []byte
		err = row.Scan(&due, &id, &t.Body)
		t.Due, t.ID = time.UnixMicro(due).UTC(), string(id)
		return t, err
	})
}

// DeleteTimers implements store.Timers.
func (s *Store) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	var all pgx.Batch
	for _, t := range timers {
		all.Queue(`DELETE FROM timers WHERE due = $1 AND id = $2`, t.Due.UnixMicro(), []byte(t.ID))
	}
	return s.pool.SendBatch(ctx, &all).Close()
}

// Reserve implements store.Rates. It moves the mark as store.Reservation.Next says, in one
// statement.
func (s *Store) Reserve(ctx context.Context, reservation store.Reservation) (time.Time, error) {
	latest := int64(math.MaxInt64)
	if !reservation.Latest.IsZero() {
		latest = reservation.Latest.UnixMicro()
	}
	var mark int64
	err := s.pool.QueryRow(ctx, `
		INSERT INTO rates AS r (task_queue, mark) SELECT $1, $2::bigint + $3 WHERE $2::bigint + $3 <= $4
		ON CONFLICT (task_queue) DO UPDATE SET mark = greatest(r.mark, $2) + $3 WHERE greatest(r.mark, $2) + $3 <= $4
		RETURNING mark`,
		[]byte(reservation.TaskQueue), reservation.Floor.UnixMicro(), reservation.By.Microseconds(), latest).Scan(&mark)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, fmt.Errorf("%w: the next reservation of the task queue %q is after %v", store.ErrStale, reservation.TaskQueue, reservation.Latest)
	}
	return time.UnixMicro(mark).UTC(), unknown(err)
}

// fits returns an error if a body is too large.
func fits(body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, len(body), MaxBody)
	}
	return nil
}

// seconds returns an expiry in its stored form, rounded up; nil means never.
func seconds(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	s := t.Add(time.Second - 1).Unix()
	return &s
}

// expiry is the inverse of seconds.
func expiry(s *int64) time.Time {
	if s == nil {
		return time.Time{}
	}
	return time.Unix(*s, 0).UTC()
}

// encode encodes a row of the list. Its texts may have any bytes, which JSON would not keep.
func encode(row *store.Summary) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(row); err != nil {
		panic(err) // a struct of texts, numbers and times can always be encoded
	}
	return b.Bytes()
}

func decode(b []byte) (*store.Summary, error) {
	row := &store.Summary{}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(row); err != nil {
		return nil, fmt.Errorf("%w: a row of the list: %w", store.ErrCorrupt, err)
	}
	return row, nil
}
