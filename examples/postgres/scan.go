package postgres

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-41655fb1/weft/store"
)

// The list in both orders, each of which the index has. The arguments are the bounds of the start,
// the position, and how many rows are read.
const (
	latestFirst = `
		SELECT summary FROM runs WHERE started > $1 AND started < $2 AND (started < $3 OR started = $3 AND (workflow, run) > ($4, $5))
		ORDER BY started DESC, workflow, run LIMIT $6`
	oldestFirst = `
		SELECT summary FROM runs WHERE started > $1 AND started < $2 AND (started > $3 OR started = $3 AND (workflow, run) < ($4, $5))
		ORDER BY started, workflow DESC, run DESC LIMIT $6`
)

// ListRuns implements store.Lister. It reads rows until it has selected limit rows, plus one to
// know whether there are more.
func (s *Store) ListRuns(ctx context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	at, query := position{a: math.MaxInt64}, latestFirst
	if f.Oldest {
		at, query = position{a: math.MinInt64}, oldestFirst
	}
	if token != "" {
		if at, err = parse(token); err != nil {
			return nil, "", err
		}
	}
	after, before := int64(math.MinInt64), int64(math.MaxInt64)
	if !f.StartedAfter.IsZero() {
		after = f.StartedAfter.UnixMicro()
	}
	if !f.StartedBefore.IsZero() {
		before = f.StartedBefore.UnixMicro()
	}
	const atOnce = 200
	for {
		rows, err := s.pool.Query(ctx, query, after, before, at.a, []byte(at.workflow), at.b, atOnce)
		if err != nil {
			return nil, "", classify(err)
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*store.Summary, error) {
			var b []byte
			if err := row.Scan(&b); err != nil {
				return nil, err
			}
			return decode(b)
		})
		if err != nil {
			return nil, "", classify(err)
		}
		for _, row := range found {
			if f.Selects(row) {
				if len(runs) == limit {
					return runs, at.token(), nil
				}
				runs = append(runs, *row)
			}
			at = position{row.Started.UnixMicro(), int64(row.Run), row.Workflow}
		}
		if len(found) < atOnce {
			return runs, "", nil
		}
	}
}

// Scan implements store.Scanner.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) (items []store.Item, next string, err error) {
	var at position
	if cursor != "" {
		if at, err = parse(cursor); err != nil {
			return nil, "", err
		}
	}
	rows, err := s.pool.Query(ctx, `SELECT `+columns+` FROM log WHERE (workflow, run, slot) > ($1, $2, $3) ORDER BY workflow, run, slot LIMIT $4`,
		[]byte(at.workflow), at.a, at.b, limit)
	if err != nil {
		return nil, "", classify(err)
	}
	items, err = pgx.CollectRows(rows, scanItem)
	if err != nil || len(items) < limit {
		return items, "", classify(err)
	}
	last := items[len(items)-1]
	return items, position{int64(last.Run), int64(last.Slot), last.Workflow}.token(), nil
}

// Delete implements store.Eraser.
func (s *Store) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, i := range items {
			key := []any{[]byte(i.Workflow), i.Run, i.Slot}
			if err := erase(ctx, tx, "log", "workflow = $1 AND run = $2 AND slot = $3", "commit_id = $4", key, i.Commit[:]); err != nil {
				return err
			}
			if err := forget(ctx, tx, []byte(i.Workflow), int64(i.Run), false); err != nil {
				return err
			}
		}
		for _, a := range attempts {
			key := []any{[]byte(a.Workflow), a.Run, a.Event}
			if err := erase(ctx, tx, "attempts", "workflow = $1 AND run = $2 AND event = $3", "number = $4 AND run_id = $5", key, a.Number, []byte(a.RunID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// erase deletes the row at a key if it is the one that was read. A missing row is not an error.
func erase(ctx context.Context, tx pgx.Tx, table, at, same string, key []any, read ...any) error {
	done, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE `+at+` AND `+same, append(key, read...)...)
	if err != nil || done.RowsAffected() > 0 {
		return err
	}
	var another bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+table+` WHERE `+at+`)`, key...).Scan(&another); err != nil {
		return err
	}
	if another {
		return fmt.Errorf("%w: another row is in %s", store.ErrStale, table)
	}
	return nil
}

// forget deletes a run's row in the list, and also its attempts if attempts is set, if the run has
// no commit left.
func forget(ctx context.Context, tx pgx.Tx, workflow []byte, run int64, attempts bool) error {
	const empty = ` WHERE workflow = $1 AND run = $2 AND NOT EXISTS (SELECT FROM log WHERE workflow = $1 AND run = $2)`
	_, err := tx.Exec(ctx, `DELETE FROM runs`+empty, workflow, run)
	if err == nil && attempts {
		_, err = tx.Exec(ctx, `DELETE FROM attempts`+empty, workflow, run)
	}
	return err
}

// DeleteExpired implements store.Expirer.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time, limit int) (deleted int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			DELETE FROM log WHERE (workflow, run, slot) IN (
			  SELECT workflow, run, slot FROM log WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)
			RETURNING workflow, run`, now.Unix(), limit)
		if err != nil {
			return err
		}
		type run struct {
			Workflow []byte
			Run      int64
		}
		gone, err := pgx.CollectRows(rows, pgx.RowToStructByPos[run])
		if err != nil {
			return err
		}
		deleted = len(gone)
		for _, r := range gone {
			if err := forget(ctx, tx, r.Workflow, r.Run, true); err != nil {
				return err
			}
		}
		return nil
	})
	return deleted, err
}

// The names in the table marks.
const (
	scanMark   = "scan"
	signingKey = "key"
)

// ReadMark implements store.Scanner.
func (s *Store) ReadMark(ctx context.Context) ([]byte, error) { return s.readMark(ctx, scanMark) }

// ReadKey implements store.Keys.
func (s *Store) ReadKey(ctx context.Context) ([]byte, error) { return s.readMark(ctx, signingKey) }

func (s *Store) readMark(ctx context.Context, name string) (value []byte, err error) {
	err = s.pool.QueryRow(ctx, `SELECT value FROM marks WHERE name = $1`, name).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// MakeKey implements store.Keys.
func (s *Store) MakeKey(ctx context.Context, key []byte) error {
	return s.change(ctx, `INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, signingKey, key)
}

// WriteMark implements store.Scanner.
func (s *Store) WriteMark(ctx context.Context, old, mark []byte) error {
	if len(old) == 0 {
		return s.change(ctx, `INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, scanMark, mark)
	}
	return s.change(ctx, `UPDATE marks SET value = $2 WHERE name = $1 AND value = $3`, scanMark, mark, old)
}

// change executes a conditional write of one row.
func (s *Store) change(ctx context.Context, query string, args ...any) error {
	done, err := s.pool.Exec(ctx, query, args...)
	if err == nil && done.RowsAffected() == 0 {
		err = store.ErrStale
	}
	return err
}

// position is where a list or a scan continues: when a run started and its number, or its number
// and a slot, and the workflow.
type position struct {
	a, b     int64
	workflow string
}

// token returns a position in the form for callers. Its checksum detects tokens that this store did
// not create.
func (p position) token() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.a))
	b = append(binary.BigEndian.AppendUint64(b, uint64(p.b)), p.workflow...)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func parse(token string) (position, error) {
	const numbers, sum = 16, 4
	b, err := base64.RawURLEncoding.DecodeString(token)
	end := len(b) - sum
	if err != nil || end < numbers || crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return position{}, fmt.Errorf("%w: %q", store.ErrBadToken, token)
	}
	return position{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:])), string(b[numbers:end])}, nil
}
