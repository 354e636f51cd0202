package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-41655fb1/weft/queue"
)

// MaxMessage is the largest body of a message.
const MaxMessage = 768 << 10

// pollEvery is how long a Receive waits before it looks again for messages that have become visible
// or that another process has sent. Messages of this process wake it. (LISTEN would wake it for
// other processes, too, on a connection of its own.)
const pollEvery = 500 * time.Millisecond

// Queue has the queues of a deployment in PostgreSQL. Send and Receive are durable when they
// return.
type Queue struct {
	pool     *pgxpool.Pool
	settings map[string]queue.Settings
	now      func() time.Time

	mu      sync.Mutex
	changed chan struct{} // closed when a message of this process may have become visible
}

var _ queue.Queue = (*Queue)(nil)

// NewQueue returns the queues with these settings. now is the time by which messages are delayed
// and become visible again. The clocks of all processes that share the queues have to agree to
// within a visibility timeout.
func NewQueue(pool *pgxpool.Pool, settings map[string]queue.Settings, now func() time.Time) *Queue {
	return &Queue{pool: pool, settings: settings, now: now, changed: make(chan struct{})}
}

// of returns the settings of a queue, or an error if there is none.
func (q *Queue) of(name string) (queue.Settings, error) {
	s, ok := q.settings[name]
	if !ok {
		return s, fmt.Errorf("%w: there is no queue %q", queue.ErrInvalid, name)
	}
	return s, nil
}

// Send implements queue.Sender. All messages are sent in one transaction.
func (q *Queue) Send(ctx context.Context, name string, messages ...queue.Message) error {
	s, err := q.of(name)
	if err != nil {
		return err
	}
	if len(messages) > queue.MaxBatch {
		return fmt.Errorf("%w: %d messages, at most %d", queue.ErrInvalid, len(messages), queue.MaxBatch)
	}
	var all pgx.Batch
	now := q.now()
	for _, m := range messages {
		if err := check(s, m); err != nil {
			return err
		}
		var group []byte
		if s.FIFO {
			group = []byte(m.Group)
		}
		all.Queue(`INSERT INTO messages (queue, grp, body, visible) VALUES ($1, $2, $3, $4)`, name, group, m.Body, now.Add(m.Delay).UnixMicro())
	}
	if err := q.pool.SendBatch(ctx, &all).Close(); err != nil {
		return err
	}
	q.wake()
	return nil
}

// check returns an error if a message is invalid.
func check(s queue.Settings, m queue.Message) error {
	switch {
	case len(m.Body) > MaxMessage:
		return fmt.Errorf("%w: %d bytes, at most %d", queue.ErrTooLarge, len(m.Body), MaxMessage)
	case len(m.Body) == 0:
		return fmt.Errorf("%w: a message without a body", queue.ErrInvalid)
	case m.Delay < 0 || m.Delay > queue.MaxDelay || s.FIFO && m.Delay != 0:
		return fmt.Errorf("%w: a delay of %v", queue.ErrInvalid, m.Delay)
	case s.FIFO != (m.Group != ""):
		return fmt.Errorf("%w: the group %q", queue.ErrInvalid, m.Group)
	}
	return nil
}

// free is the condition under which a message m may be received at $2: it is visible, and no
// message of its group is in flight.
const free = `m.queue = $1 AND m.visible <= $2 AND NOT EXISTS (
  SELECT FROM messages AS flying WHERE flying.queue = $1 AND flying.grp = m.grp AND flying.visible > $2)`

// due locks messages that may be received, the oldest first. SKIP LOCKED skips messages that
// another Receive is taking.
const due = `SELECT m.id FROM messages AS m WHERE ` + free + ` AND m.received >= $4 ORDER BY m.id LIMIT $5 FOR UPDATE SKIP LOCKED`

// bury moves messages that were received $4 times to the dead letters $3, where they keep their
// place in their group. take receives messages, which are then invisible until $3.
const (
	bury = `UPDATE messages SET received = 0, queue = $3 WHERE id IN (` + due + `)`
	take = `UPDATE messages SET visible = $3, received = received + 1 WHERE id IN (` + due + `) RETURNING id, grp, body, received`
)

// lock makes this transaction the only one that moves messages of a FIFO queue.
const lock = `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, 0))`

// buryAtOnce is the largest number of messages that one Receive moves to the dead letters.
const buryAtOnce = 100

// Receive implements queue.Receiver.
func (q *Queue) Receive(ctx context.Context, name string, limit int) ([]queue.Delivery, error) {
	s, err := q.of(name)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > queue.MaxBatch {
		return nil, fmt.Errorf("%w: a limit of %d", queue.ErrInvalid, limit)
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		q.mu.Lock()
		changed := q.changed // read before the look, so that a later change ends the wait
		q.mu.Unlock()
		deliveries, err := q.take(ctx, name, s, limit)
		if ctx.Err() != nil && len(deliveries) == 0 {
			return nil, fmt.Errorf("receive from %s: %w", name, ctx.Err())
		}
		if len(deliveries) > 0 || err != nil {
			return deliveries, err
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
		}
	}
}

// message is a row of a received message.
type message struct {
	ID       int64
	Group    []byte
	Body     []byte
	Received int
}

// take receives the messages that are there. Only one Receive of a FIFO queue takes at a time: SKIP
// LOCKED would skip the first of a group and take the second. A crash after the commit leaves the
// messages in flight, and they become visible when the time-out is over.
func (q *Queue) take(ctx context.Context, name string, s queue.Settings, limit int) (deliveries []queue.Delivery, err error) {
	buried := int64(0)
	err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if s.FIFO {
			if _, err := tx.Exec(ctx, lock, name); err != nil {
				return err
			}
		}
		now := q.now()
		if s.MaxReceives > 0 {
			done, err := tx.Exec(ctx, bury, name, now.UnixMicro(), queue.DeadLetters(name), s.MaxReceives, buryAtOnce)
			if err != nil {
				return err
			}
			buried = done.RowsAffected()
		}
		rows, err := tx.Query(ctx, take, name, now.UnixMicro(), now.Add(s.Visibility).UnixMicro(), 0, limit)
		if err != nil {
			return err
		}
		messages, err := pgx.CollectRows(rows, pgx.RowToStructByPos[message])
		slices.SortFunc(messages, func(a, b message) int { return cmp.Compare(a.ID, b.ID) }) // RETURNING does not keep the order
		for _, m := range messages {
			deliveries = append(deliveries, queue.Delivery{Body: m.Body, Group: string(m.Group), Received: m.Received, Receipt: receipt(m.ID, m.Received)})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if buried > 0 {
		q.wake() // wakes receivers of dead letters
	}
	return deliveries, nil
}

// receipt returns the identity of a delivery: the message, and how often it has been received.
func receipt(id int64, received int) string { return fmt.Sprintf("%d/%d", id, received) }

func parseReceipt(r string) (id int64, received int, ok bool) {
	n, err := fmt.Sscanf(r, "%d/%d", &id, &received)
	return id, received, n == 2 && err == nil
}

// Delete implements queue.Receiver.
func (q *Queue) Delete(ctx context.Context, name string, receipts ...string) error {
	if _, err := q.of(name); err != nil {
		return err
	}
	if len(receipts) > queue.MaxBatch {
		return fmt.Errorf("%w: %d receipts, at most %d", queue.ErrInvalid, len(receipts), queue.MaxBatch)
	}
	var all pgx.Batch
	for _, r := range receipts {
		if id, received, ok := parseReceipt(r); ok {
			all.Queue(`DELETE FROM messages WHERE queue = $1 AND id = $2 AND received = $3`, name, id, received)
		}
	}
	if err := q.pool.SendBatch(ctx, &all).Close(); err != nil {
		return err
	}
	q.wake() // wakes receivers that wait for the next message of a group
	return nil
}

// Extend implements queue.Receiver. A message that was received again has another receipt, and a
// visible message is not in flight.
func (q *Queue) Extend(ctx context.Context, name, r string, d time.Duration) error {
	if _, err := q.of(name); err != nil {
		return err
	}
	id, received, ok := parseReceipt(r)
	if !ok {
		return nil
	}
	now := q.now()
	_, err := q.pool.Exec(ctx, `UPDATE messages SET visible = $4 WHERE queue = $1 AND id = $2 AND received = $3 AND visible > $5`,
		name, id, received, now.Add(d).UnixMicro(), now.UnixMicro())
	if err == nil {
		q.wake()
	}
	return err
}

// wake makes each Receive of this process look again.
func (q *Queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.changed)
	q.changed = make(chan struct{})
}
