// Package postgres keeps a deployment of Weft in PostgreSQL. It has a store and queues, written
// against Weft's public ports as a separate module would do it. It is an example to copy. Its tests
// run the conformance suites of the ports, and a workflow in the local server.
//
//	weft.Main(registry, weft.Options{Backend: postgres.Open(url), SmallPayloads: true})
//
//	table     key                  value
//	log       workflow, run, slot  a commit: one conditional insert, which is what correctness rests on
//	runs      workflow, run        the run's row in the list of workflows
//	attempts  workflow, run, event the last attempt at an activity
//	timers    due, id              a message that is due later than a queue can delay it
//	marks     name                 the mark of the slow check, and the key that the deployment signs with
//	rates     task queue           how far its rate is used
//	messages  id                   a message of a queue
//
// Ids are bytea, because text cannot contain byte 0. Times are in microseconds since 1970, and
// expiry times in seconds.
package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// schema creates the tables that do not exist.
//
//go:embed schema.sql
var schema string

// Open returns a function that opens the tables in a database, and creates missing ones. The tables
// are in the first schema of the connection's search_path. Each deployment has a schema of its own.
// There is no blob store, so a payload has at most 256 KiB.
func Open(url string) backend.Open {
	return func(ctx context.Context, taskQueues []string) (*backend.Backend, error) {
		pool, err := connect(ctx, url)
		if err != nil {
			return nil, err
		}
		return &backend.Backend{
			Store: &Store{pool},
			Queue: NewQueue(pool, queue.Standard(taskQueues...), time.Now),
			Close: func() error { pool.Close(); return nil },
		}, nil
	}
}

// connect connects to a database and creates the tables.
func connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	// These hold whatever the server's defaults are: a commit is on the disk when it returns, and a
	// statement sees what was committed before it.
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// CREATE TABLE IF NOT EXISTS fails for one of two that run at the same time.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' weft', 0))`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("cannot make the tables: %w", err)
	}
	return pool, nil
}

// throttled are the codes of errors after which nothing was done and the same call may succeed: a
// serialization failure, a deadlock, too many connections, an unavailable lock, and a server that
// starts or stops (PostgreSQL, Appendix A).
var throttled = map[string]bool{"40001": true, "40P01": true, "53300": true, "55P03": true, "57P03": true}

// classify returns the store's error for an error of PostgreSQL before the commit. Nothing was
// done.
func classify(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && throttled[answer.Code] {
		return fmt.Errorf("%w: %w", store.ErrThrottled, err)
	}
	return err
}

// notNull returns a body for a column without NULL. For a nil slice pgx would write NULL.
func notNull(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}
