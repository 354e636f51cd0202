package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the driver
)

func init() { stores["sqlite"] = openSQLite }

const sqliteSchema = `
CREATE TABLE IF NOT EXISTS log (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queue (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;`

// sqliteStore writes on one connection and reads on others. In WAL mode with
// synchronous=FULL a commit is shown to readers after its flush. A group of
// messages alone is committed with synchronous=NORMAL, which does not flush.
type sqliteStore struct {
	*group
	write, read   *sql.DB
	conn          *sql.Conn
	full          bool // synchronous is FULL on conn
	stmts         map[string]*sql.Stmt
	last, soonest *sql.Stmt
}

var sqliteWrites = map[string]string{
	"begin":  `BEGIN IMMEDIATE`,
	"commit": `COMMIT`,
	"back":   `ROLLBACK`,
	"append": `INSERT INTO log (k, v) VALUES (?, ?) ON CONFLICT DO NOTHING`,
	"insert": `INSERT INTO queue (k, v) VALUES (?, ?)`,
	"remove": `DELETE FROM queue WHERE k = ?`,
}

func openSQLite(dir string) (store, error) {
	dsn := "file:" + filepath.Join(dir, "weft.db") + "?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=cache_size(-32768)"
	s := &sqliteStore{full: true, stmts: map[string]*sql.Stmt{}}
	var err error
	if s.write, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	if s.conn, err = s.write.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err = s.conn.ExecContext(ctx, sqliteSchema); err != nil {
		return nil, err
	}
	for name, text := range sqliteWrites {
		if s.stmts[name], err = s.conn.PrepareContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if s.read, err = sql.Open("sqlite", dsn+"&_pragma=query_only(1)"); err != nil {
		return nil, err
	}
	s.read.SetMaxOpenConns(4)
	s.read.SetMaxIdleConns(4)
	if s.last, err = s.read.Prepare(`SELECT v FROM log WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT ?`); err != nil {
		return nil, err
	}
	if s.soonest, err = s.read.Prepare(`SELECT k FROM queue WHERE k >= ? ORDER BY k LIMIT ?`); err != nil {
		return nil, err
	}
	s.group = newGroup(true, s.commit)
	return s, nil
}

func (s *sqliteStore) commit(ops []*op, wait bool) error {
	if err := s.synchronous(wait); err != nil {
		return err
	}
	if err := s.exec("begin"); err != nil {
		return err
	}
	for _, o := range ops {
		if err := s.apply(o); err != nil {
			_ = s.exec("back")
			return err
		}
	}
	return s.exec("commit")
}

func (s *sqliteStore) synchronous(full bool) error {
	if s.full == full {
		return nil
	}
	level := "NORMAL"
	if full {
		level = "FULL"
	}
	// Never prepare this one: preparing it is what sets it.
	_, err := s.conn.ExecContext(ctx, "PRAGMA synchronous="+level)
	s.full = full
	return err
}

func (s *sqliteStore) exec(name string, args ...any) error {
	_, err := s.stmts[name].ExecContext(ctx, args...)
	return err
}

func (s *sqliteStore) apply(o *op) error {
	switch o.kind {
	case opInsert:
		return s.exec("insert", o.key, o.value)
	case opRemove:
		return s.exec("remove", o.key)
	}
	res, err := s.stmts["append"].ExecContext(ctx, o.key, o.value)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	o.lost = n == 0
	return err
}

func (s *sqliteStore) latest(prefix []byte, n int) ([][]byte, error) {
	return sqliteBlobs(s.last.QueryContext(ctx, prefix, after(prefix), n))
}

func (s *sqliteStore) next(from []byte, n int) ([][]byte, error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	return sqliteBlobs(s.soonest.QueryContext(ctx, from, n))
}

func sqliteBlobs(rows *sql.Rows, err error) (blobs [][]byte, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return nil, err
		}
		blobs = append(blobs, b)
	}
	return blobs, rows.Err()
}

func (s *sqliteStore) load(items []item) error { return s.commit(appends(items), true) }

func (s *sqliteStore) compact() error {
	for _, text := range []string{`VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := s.conn.ExecContext(context.Background(), text); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqliteStore) close() error {
	s.group.close()
	_ = s.read.Close()
	_ = s.conn.Close()
	return s.write.Close()
}
