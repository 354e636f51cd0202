// Package billed counts what DynamoDB and SQS would bill for the calls of a process: units by the
// sizes of items as store/dynamo encodes them, and requests by messages. It is for stores in
// memory, where no server counts. A lost race and a deletion of nothing are billed like the write.
package billed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// Counts are what the calls of some processes are billed.
type Counts struct {
	// WriteUnits are those of the table, and IndexUnits those of the list's index.
	WriteUnits, IndexUnits float64
	// ReadUnits are those of strongly consistent reads of logs and attempts, and TimerUnits those
	// of the reads of timers and of the mark. ScanUnits are those of the slow check, and MarkUnits
	// what it writes of its position.
	ReadUnits, TimerUnits, ScanUnits, MarkUnits float64
	// QueueRequests are messages sent, received and deleted.
	QueueRequests float64
}

// Table is what processes write to. Its Namespace and Listed are those of the deployment.
type Table struct {
	Namespace string
	Listed    bool

	mu    sync.Mutex
	items map[store.Key]size
}

type size struct{ bytes, row int }

// Size returns the bytes of an item and those of its row.
func (t *Table) Size(item store.Item) (bytes, row int) {
	item.Over = [16]byte{}
	bytes, row, err := dynamo.Size(t.Namespace, item, t.Listed)
	if err != nil {
		panic(fmt.Sprintf("billed: %v", err)) // the store in memory has taken it
	}
	return bytes, row
}

// Over returns ports that count into n what goes through p. The calls of processes that share n
// must not be concurrent.
func (t *Table) Over(p executor.Ports, n *Counts) executor.Ports {
	m := &meter{Ports: p, table: t, n: n}
	p.Log, p.Attempts, p.Timers, p.Queue = m, m, m, m
	if p.Scanner != nil {
		s := &scanner{p.Scanner, m}
		p.Scanner, p.Eraser = s, s
	}
	return p
}

type meter struct {
	executor.Ports
	table *Table
	n     *Counts
}

// units returns the units of a size, of which one has so many bytes: one at least.
func units(bytes, each int) float64 { return float64(max(1, (bytes+each-1)/each)) }

const (
	writeUnit, readUnit = 1 << 10, 4 << 10

	// shards are those of the timers, each of which is read.
	shards = 4
)

// change counts a write that makes an item of before one of after.
func (m *meter) change(before, after size, times float64) {
	m.n.WriteUnits += times * units(max(before.bytes, after.bytes), writeUnit)
	if before.row > 0 || after.row > 0 {
		m.n.IndexUnits += times * units(max(before.row, after.row), writeUnit)
	}
}

// Append implements store.Log. A transaction is billed twice.
func (m *meter) Append(ctx context.Context, items ...store.Item) error {
	err := m.Ports.Log.Append(ctx, items...)
	m.table.mu.Lock()
	defer m.table.mu.Unlock()
	times := 1.0
	if len(items) > 1 {
		times = 2
	}
	for _, item := range items {
		bytes, row := m.table.Size(item)
		if m.change(m.table.items[item.Key], size{bytes, row}, times); err != nil {
			continue
		}
		if m.table.items == nil {
			m.table.items = map[store.Key]size{}
		}
		m.table.items[item.Key] = size{bytes, row}
	}
	return err
}

// read counts a read of these items.
func (m *meter) read(items []store.Item) {
	all := 0
	for _, item := range items {
		bytes, _ := m.table.Size(item)
		all += bytes
	}
	m.n.ReadUnits += units(all, readUnit)
}

// Backward implements store.Log.
func (m *meter) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	page, err := m.Ports.Log.Backward(ctx, workflow, before, until, limit)
	m.read(page.Items)
	return page, err
}

// Forward implements store.Log.
func (m *meter) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	page, err := m.Ports.Log.Forward(ctx, from, limit)
	m.read(page.Items)
	return page, err
}

// RecordAttempt implements store.Attempts.
func (m *meter) RecordAttempt(ctx context.Context, a store.Attempt) error {
	m.n.WriteUnits += units(len(a.Body), writeUnit)
	return m.Ports.Attempts.RecordAttempt(ctx, a)
}

// ReadAttempts implements store.Attempts.
func (m *meter) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	all, err := m.Ports.Attempts.ReadAttempts(ctx, workflow, run)
	bytes := 0
	for _, a := range all {
		bytes += len(a.Body)
	}
	m.n.ReadUnits += units(bytes, readUnit)
	return all, err
}

// PutTimers implements store.Timers.
func (m *meter) PutTimers(ctx context.Context, timers []store.Timer) error {
	for _, t := range timers {
		m.n.WriteUnits += units(len(t.Body), writeUnit)
	}
	return m.Ports.Timers.PutTimers(ctx, timers)
}

// DueTimers implements store.Timers.
func (m *meter) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	due, err := m.Ports.Timers.DueTimers(ctx, before, limit)
	m.n.TimerUnits += max(shards, float64(len(due)))
	return due, err
}

// DeleteTimers implements store.Timers.
func (m *meter) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	for _, t := range timers {
		m.n.WriteUnits += units(len(t.Body), writeUnit)
	}
	return m.Ports.Timers.DeleteTimers(ctx, timers)
}

// requestsOfMessage are those of a message that is delivered once.
const requestsOfMessage = 3

// Send implements queue.Sender. It counts the receive and the deletion of each message as well.
func (m *meter) Send(ctx context.Context, name string, messages ...queue.Message) error {
	m.n.QueueRequests += requestsOfMessage * float64(len(messages))
	return m.Ports.Queue.Send(ctx, name, messages...)
}

type scanner struct {
	store.Scanner
	m *meter
}

// Scan implements store.Scanner. Its reads are eventually consistent, which cost a half.
func (s *scanner) Scan(ctx context.Context, cursor string, limit int) ([]store.Item, string, error) {
	items, next, err := s.Scanner.Scan(ctx, cursor, limit)
	all := 0
	for _, item := range items {
		bytes, _ := s.m.table.Size(item)
		all += bytes
	}
	s.m.n.ScanUnits += units(all, readUnit) / 2
	return items, next, err
}

// Delete implements store.Eraser.
func (s *scanner) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	s.m.table.mu.Lock()
	for _, item := range items {
		s.m.change(s.m.table.items[item.Key], size{}, 1)
		delete(s.m.table.items, item.Key)
	}
	s.m.table.mu.Unlock()
	s.m.n.WriteUnits += float64(len(attempts))
	return s.Scanner.Delete(ctx, items, attempts)
}

// ReadMark implements store.Scanner.
func (s *scanner) ReadMark(ctx context.Context) ([]byte, error) {
	s.m.n.TimerUnits++
	return s.Scanner.ReadMark(ctx)
}

// WriteMark implements store.Scanner.
func (s *scanner) WriteMark(ctx context.Context, old, mark []byte) error {
	s.m.n.MarkUnits++
	return s.Scanner.WriteMark(ctx, old, mark)
}
