package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed-41655fb1/weft/queue"
)

var _ interface {
	queue.Inspector
	queue.Redriver
	queue.Browser
} = (*Queue)(nil)

// count counts the messages of a queue: those that are visible at $2, those in flight, and those
// that have not been visible yet.
const count = `SELECT count(*) FILTER (WHERE visible <= $2), count(*) FILTER (WHERE visible > $2 AND received > 0),
  count(*) FILTER (WHERE visible > $2 AND received = 0) FROM messages WHERE queue = $1`

// Depth implements queue.Inspector.
func (q *Queue) Depth(ctx context.Context, name string) (d queue.Depth, err error) {
	if _, err := q.of(name); err != nil {
		return d, err
	}
	err = q.pool.QueryRow(ctx, count, name, q.now().UnixMicro()).Scan(&d.Waiting, &d.InFlight, &d.Delayed)
	return d, err
}

// back moves the dead letters $1 that may be received at $2 back to the queue $3. They keep their
// places in their groups.
const back = `UPDATE messages AS m SET received = 0, queue = $3 WHERE ` + free

// Redrive implements queue.Redriver. All messages move in one transaction. It takes the lock of
// the dead letters, because their receivers take only the first messages of a group.
func (q *Queue) Redrive(ctx context.Context, name string) error {
	s, err := q.of(name)
	if err != nil {
		return err
	}
	dead := queue.DeadLetters(name)
	if _, err := q.of(dead); err != nil || s.MaxReceives == 0 {
		return fmt.Errorf("%w: the queue %q has no dead letters", queue.ErrInvalid, name)
	}
	err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if s.FIFO {
			if _, err := tx.Exec(ctx, lock, dead); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, back, dead, q.now().UnixMicro(), name)
		return err
	})
	if err == nil {
		q.wake()
	}
	return err
}

// Browse implements queue.Browser.
func (q *Queue) Browse(ctx context.Context, name string, limit int) ([][]byte, error) {
	if _, err := q.of(name); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("%w: a limit of %d", queue.ErrInvalid, limit)
	}
	rows, err := q.pool.Query(ctx, `SELECT body FROM messages WHERE queue = $1 ORDER BY id LIMIT $2`, name, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[[]byte])
}
