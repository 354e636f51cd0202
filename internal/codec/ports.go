package codec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Ports wraps the ports of a service.
func (s *Codec) Ports(p executor.Ports) executor.Ports {
	p.Log, p.Attempts, p.Timers, p.Queue = s.Log(p.Log), s.Attempts(p.Attempts), s.Timers(p.Timers), s.Sender(p.Queue)
	if p.Scanner != nil {
		p.Scanner = s.Scanner(p.Scanner)
	}
	if p.Keys != nil {
		p.Keys = s.Keys(p.Keys)
	}
	if p.Lister != nil {
		p.Lister = s.Lister(p.Lister)
	}
	if p.Browser != nil {
		p.Browser = s.Browser(p.Browser)
	}
	return p
}

// Log returns a log that encodes what it puts into another, and opens what it reads from there.
func (s *Codec) Log(l store.Log) store.Log { return &log{l, s} }

// Attempts is Log for attempts.
func (s *Codec) Attempts(a store.Attempts) store.Attempts { return &attempts{a, s} }

// Timers is Log for timers.
func (s *Codec) Timers(t store.Timers) store.Timers { return &timers{t, s} }

// Lister is Log for the memos in the list of workflows. The rest of the list stays plain.
func (s *Codec) Lister(l store.Lister) store.Lister { return &lister{l, s} }

// Scanner is Log for the check over all runs. The caller's mark stays plain: it is a position.
func (s *Codec) Scanner(c store.Scanner) store.Scanner { return &scanner{c, s} }

// Keys returns keys that decrypt the key that a deployment signs with, if it is encrypted. A new
// one stays plain: it never changes, and so would outlive the key that encrypts it.
func (s *Codec) Keys(k store.Keys) store.Keys { return &keys{k, s} }

// Sender is Log for what is sent.
func (s *Codec) Sender(q queue.Sender) queue.Sender { return &sender{q, s} }

// Receiver is Log for what is received.
func (s *Codec) Receiver(q queue.Receiver) queue.Receiver { return &receiver{q, s} }

// Browser is Log for what a queue shows. It leaves out messages that cannot be opened.
func (s *Codec) Browser(b queue.Browser) queue.Browser { return &browser{b, s} }

// The places of bodies. A dot is escaped too: a bucket may interpret "." and ".." as in paths.
func placeOf(i *store.Item) string {
	return fmt.Sprintf("commit/%s/%d/%d/%x", escape(i.Workflow), i.Run, i.Slot, i.Commit)
}

func placeOfAttempt(a *store.Attempt) string {
	return fmt.Sprintf("attempt/%s/%d/%d/%d", escape(a.Workflow), a.Run, a.Event, a.Number)
}

func placeOfTimer(t *store.Timer) string { return placeOfTimers + "/" + escape(t.ID) }

// OpenItem opens the body of an item that was read from a store. Its errors are those of Open.
func (s *Codec) OpenItem(ctx context.Context, i *store.Item) (err error) {
	i.Body, err = s.Open(ctx, placeOf(i), i.Body)
	return err
}

// OpenAttempt is OpenItem for an attempt.
func (s *Codec) OpenAttempt(ctx context.Context, a *store.Attempt) (err error) {
	a.Body, err = s.Open(ctx, placeOfAttempt(a), a.Body)
	return err
}

// OpenTimer is OpenItem for a timer.
func (s *Codec) OpenTimer(ctx context.Context, t *store.Timer) (err error) {
	t.Body, err = s.Open(ctx, placeOfTimer(t), t.Body)
	return err
}

// OpenMessage is OpenItem for the body of a message.
func (s *Codec) OpenMessage(ctx context.Context, body []byte) ([]byte, error) {
	return s.Open(ctx, placeOfMessage, body)
}

func escape(id string) string { return strings.ReplaceAll(url.PathEscape(id), ".", "%2E") }

const (
	placeOfMessage = "message"
	placeOfTimers  = "timer"
	placeOfKey     = "key"
)

// kind is a kind of value with a body. A place is computed only if the body is encoded, or will be:
// most are not.
type kind[T any] struct {
	place func(*T) string
	body  func(*T) *[]byte
}

// encodeAll returns copies of values with encoded bodies. If it fails, nothing was done.
func encodeAll[T any](ctx context.Context, s *Codec, values []T, k kind[T]) ([]T, error) {
	encoded := slices.Clone(values)
	for i := range encoded {
		body := k.body(&encoded[i])
		var err error
		if *body, err = s.encode(ctx, func() string { return k.place(&encoded[i]) }, *body); err != nil {
			if errors.Is(err, ErrKey) {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %w", store.ErrThrottled, err)
		}
	}
	return encoded, nil
}

// openAll opens the bodies of values that were read. It unwraps the data keys that they need
// concurrently: a long run has many, and each may cost a request.
func openAll[T any](ctx context.Context, s *Codec, values []T, k kind[T]) error {
	var places []string
	var bodies []*[]byte
	for i := range values {
		if body := k.body(&values[i]); marked(*body) {
			places, bodies = append(places, k.place(&values[i])), append(bodies, body)
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	s.fetchAll(ctx, places, bodies)
	if s.keys != nil {
		s.ring.prepare(ctx, bodies)
	}
	for i, body := range bodies {
		if err := s.open(ctx, places[i], body); err != nil {
			return err
		}
	}
	return nil
}

// marked reports whether a body is not a plain one.
func marked(body []byte) bool { return len(body) > 0 && body[0] == marker }

// offloadAll offloads the bodies of encoded values that have at least from bytes.
func offloadAll[T any](ctx context.Context, s *Codec, values []T, from int, k kind[T]) error {
	for i := range values {
		body := k.body(&values[i])
		if s.blobs == nil || len(*body) < from {
			continue
		}
		var err error
		if *body, err = s.offload(ctx, k.place(&values[i]), *body); err != nil {
			return err
		}
	}
	return nil
}

var (
	ofItems    = kind[store.Item]{placeOf, func(i *store.Item) *[]byte { return &i.Body }}
	ofAttempts = kind[store.Attempt]{placeOfAttempt, func(a *store.Attempt) *[]byte { return &a.Body }}
	ofTimers   = kind[store.Timer]{placeOfTimer, func(t *store.Timer) *[]byte { return &t.Body }}
	ofMessages = kind[queue.Message]{func(*queue.Message) string { return placeOfMessage }, func(m *queue.Message) *[]byte { return &m.Body }}
	ofKeys     = kind[[]byte]{func(*[]byte) string { return placeOfKey }, func(key *[]byte) *[]byte { return key }}
)

type log struct {
	store.Log
	s *Codec
}

// Append implements store.Log.
func (l *log) Append(ctx context.Context, items ...store.Item) error {
	encoded, err := encodeAll(ctx, l.s, items, ofItems)
	if err == nil {
		err = l.s.encodeMemos(ctx, encoded)
	}
	if err == nil {
		err = offloadAll(ctx, l.s, encoded, cmp.Or(l.s.offloadFrom, commitsFrom(encoded)), ofItems)
	}
	if err != nil {
		return err
	}
	err = l.Log.Append(ctx, encoded...)
	var conflict *store.Conflict
	if errors.As(err, &conflict) {
		// A writer recognizes its own commit by the id, so a body that cannot be opened now is
		// still a Conflict.
		existing := []store.Item{conflict.Existing}
		if openAll(ctx, l.s, existing, ofItems) == nil && l.s.openMemos(ctx, existing) == nil {
			return &store.Conflict{Existing: existing[0]}
		}
	}
	return err
}

// commitsFrom returns the size from which commits of one put are offloaded.
func commitsFrom(items []store.Item) int {
	size := 0
	for _, item := range items {
		size += len(item.Body)
	}
	if size > together {
		return smallest
	}
	return commitFrom
}

// Backward implements store.Log.
func (l *log) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	page, err := l.Log.Backward(ctx, workflow, before, until, limit)
	return l.s.page(ctx, page, err)
}

// Forward implements store.Log.
func (l *log) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	page, err := l.Log.Forward(ctx, from, limit)
	return l.s.page(ctx, page, err)
}

func (s *Codec) page(ctx context.Context, page store.Page, err error) (store.Page, error) {
	if err == nil {
		if n := fitting(page.Items); n < len(page.Items) {
			page.Items, page.More = page.Items[:n], true
		}
		err = cmp.Or(openAll(ctx, s, page.Items, ofItems), s.openMemos(ctx, page.Items))
	}
	if err != nil {
		return store.Page{}, err
	}
	return page, nil
}

// fitting returns how many items, at least one, fit into a page with their offloaded bodies.
func fitting(items []store.Item) int {
	size := 0
	for i, item := range items {
		if size += sizeOf(item.Body); size > pageBytes && i > 0 {
			return i
		}
	}
	return len(items)
}

type attempts struct {
	store.Attempts
	s *Codec
}

// RecordAttempt implements store.Attempts.
func (a *attempts) RecordAttempt(ctx context.Context, attempt store.Attempt) error {
	encoded, err := encodeAll(ctx, a.s, []store.Attempt{attempt}, ofAttempts)
	if err != nil {
		return err
	}
	return a.Attempts.RecordAttempt(ctx, encoded[0])
}

// ReadAttempts implements store.Attempts.
func (a *attempts) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	all, err := a.Attempts.ReadAttempts(ctx, workflow, run)
	if err == nil {
		err = openAll(ctx, a.s, all, ofAttempts)
	}
	return all, err
}

type keys struct {
	store.Keys
	s *Codec
}

// ReadKey implements store.Keys.
func (k *keys) ReadKey(ctx context.Context) ([]byte, error) {
	key, err := k.Keys.ReadKey(ctx)
	if err != nil {
		return nil, err
	}
	all := [][]byte{key}
	err = openAll(ctx, k.s, all, ofKeys)
	return all[0], err
}

type timers struct {
	store.Timers
	s *Codec
}

// PutTimers implements store.Timers. A timer that moves to another moment is put as it was stored,
// whether it could be opened or not: its id is its place, so it needs no key and no bucket. A large
// body is offloaded, as a message's is: it belongs to a result that waits for its build, for
// minutes at a time. Its blob lasts for timerGrace, so the body of a timer that is due after half
// of that is not offloaded.
func (t *timers) PutTimers(ctx context.Context, all []store.Timer) error {
	var open, put []store.Timer
	for _, timer := range all {
		switch stored := timer.Stored; {
		case stored != nil:
			timer.Body, timer.Stored = stored, nil
			put = append(put, timer)
		case len(timer.Body) > 0 && timer.Body[0] == history.Encoded:
			put = append(put, timer)
		default:
			open = append(open, timer)
		}
	}
	encoded, err := encodeAll(ctx, t.s, open, ofTimers)
	if err == nil {
		err = t.offload(ctx, encoded)
	}
	if err != nil {
		return err
	}
	return t.Timers.PutTimers(ctx, append(put, encoded...))
}

func (t *timers) offload(ctx context.Context, encoded []store.Timer) error {
	if t.s.blobs == nil {
		return nil
	}
	last := t.s.clock().Add(timerGrace / 2)
	for i := range encoded {
		if encoded[i].Due.After(last) {
			continue
		}
		if err := offloadAll(ctx, t.s, encoded[i:i+1], cmp.Or(t.s.offloadFrom, commitFrom), ofTimers); err != nil {
			return err
		}
	}
	return nil
}

// DueTimers implements store.Timers. If the offloaded body of a timer cannot be read in time, it
// stays offloaded: other timers do not wait for it. If the timers have more than 6 MB together,
// those that are due last are left to another call.
func (t *timers) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	due, err := t.Timers.DueTimers(ctx, before, limit)
	if err != nil {
		return due, err
	}
	due = leave(due)
	var places []string
	var bodies, here []*[]byte
	for i := range due {
		timer := &due[i]
		if !marked(timer.Body) {
			continue
		}
		timer.Stored = timer.Body
		if isReference(timer.Body) {
			places, bodies = append(places, placeOfTimer(timer)), append(bodies, &timer.Body)
		}
		here = append(here, &timer.Body)
	}
	if len(bodies) > 0 {
		within, cancel := context.WithTimeout(ctx, timersWithin)
		t.s.fetchAll(within, places, bodies)
		cancel()
	}
	if t.s.keys != nil && len(here) > 0 {
		t.s.ring.prepare(ctx, here)
	}
	// A compressed body may be much larger than its stored form. Bodies are opened as long as they
	// fit.
	open := 0
	for i := range due {
		timer := &due[i]
		if open > pageBytes {
			due = due[:i]
			due[i-1].More = true
			break
		}
		if marked(timer.Body) && !isReference(timer.Body) {
			if err := t.s.open(ctx, placeOfTimer(timer), &timer.Body); err != nil {
				return nil, err
			}
		}
		open += len(timer.Body)
	}
	return due, nil
}

// leave returns the first timers, at least one, that fit into a page.
func leave(due []store.Timer) []store.Timer {
	n := 0
	for i := range due {
		if n += sizeOf(due[i].Body); n > pageBytes && i > 0 {
			due[i-1].More = true
			return due[:i]
		}
	}
	return due
}

type scanner struct {
	store.Scanner
	s *Codec
}

// Scan implements store.Scanner. It reads the offloaded body only for the last commit of a run. Of
// the others the check needs only their existence, and a page of their bodies would take much
// memory.
func (c *scanner) Scan(ctx context.Context, cursor string, limit int) ([]store.Item, string, error) {
	items, next, err := c.Scanner.Scan(ctx, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	for i := range items {
		last := i == len(items)-1 || items[i+1].Workflow != items[i].Workflow || items[i+1].Run != items[i].Run
		if isReference(items[i].Body) && !last {
			continue
		}
		if !marked(items[i].Body) {
			continue
		}
		if err := c.s.open(ctx, placeOf(&items[i]), &items[i].Body); err != nil {
			return nil, "", err
		}
	}
	return items, next, c.s.openMemos(ctx, items)
}

type sender struct {
	queue.Sender
	s *Codec
}

// Send implements queue.Sender.
func (q *sender) Send(ctx context.Context, name string, messages ...queue.Message) error {
	encoded, err := encodeAll(ctx, q.s, messages, ofMessages)
	if err != nil {
		return err
	}
	if err := offloadAll(ctx, q.s, encoded, cmp.Or(q.s.offloadFrom, messageFrom), ofMessages); err != nil {
		return fmt.Errorf("%w: %w", queue.ErrRefused, err) // small ones need no bucket
	}
	return q.Sender.Send(ctx, name, encoded...)
}

type receiver struct {
	queue.Receiver
	s *Codec
}

// Receive implements queue.Receiver. A message that cannot be opened is delivered encoded: nobody
// can read it, and it is redelivered.
func (q *receiver) Receive(ctx context.Context, name string, limit int) ([]queue.Delivery, error) {
	all, err := q.Receiver.Receive(ctx, name, limit)
	q.s.Deliveries(ctx, all)
	return all, err
}

// Deliveries opens messages that were received, in place, for an event source mapping, which is not
// a Receiver. A message that cannot be opened stays encoded, and the log says why.
func (s *Codec) Deliveries(ctx context.Context, all []queue.Delivery) {
	for i := range all {
		if err := s.open(ctx, placeOfMessage, &all[i].Body); err != nil {
			s.log.WarnContext(ctx, "a message cannot be opened for now and will be redelivered", "error", err)
		}
	}
}

type browser struct {
	queue.Browser
	s *Codec
}

// Browse implements queue.Browser.
func (b *browser) Browse(ctx context.Context, name string, limit int) ([][]byte, error) {
	all, err := b.Browser.Browse(ctx, name, limit)
	open := all[:0]
	for _, body := range all {
		if b.s.open(ctx, placeOfMessage, &body) == nil {
			open = append(open, body)
		}
	}
	return open, err
}
