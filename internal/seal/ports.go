package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Ports wraps all ports of a service.
func (s *Sealer) Ports(p turn.Ports) turn.Ports {
	p.Log, p.Attempts, p.Timers, p.Queue = s.Log(p.Log), s.Attempts(p.Attempts), s.Timers(p.Timers), s.Sender(p.Queue)
	if p.Scanner != nil {
		p.Scanner = s.Scanner(p.Scanner)
	}
	if p.Keys != nil {
		p.Keys = s.Keys(p.Keys)
	}
	return p
}

// Log returns a log that seals what it puts into another, and opens what it reads from there.
func (s *Sealer) Log(l store.Log) store.Log { return &log{l, s} }

// Attempts is Log for attempts.
func (s *Sealer) Attempts(a store.Attempts) store.Attempts { return &attempts{a, s} }

// Timers is Log for timers.
func (s *Sealer) Timers(t store.Timers) store.Timers { return &timers{t, s} }

// Scanner is Log for the check over all runs. The caller's mark stays plain: it is a place.
func (s *Sealer) Scanner(c store.Scanner) store.Scanner { return &scanner{c, s} }

// Keys is Log for the key that the deployment signs with.
func (s *Sealer) Keys(k store.Keys) store.Keys { return &keys{k, s} }

// Sender is Log for what is sent.
func (s *Sealer) Sender(q queue.Sender) queue.Sender { return &sender{q, s} }

// Receiver is Log for what is received.
func (s *Sealer) Receiver(q queue.Receiver) queue.Receiver { return &receiver{q, s} }

// The places of bodies. %q leaves no doubt where an id ends.
func placeOf(i *store.Item) string {
	return fmt.Sprintf("commit/%q/%d/%d/%x", i.Workflow, i.Run, i.Slot, i.Commit)
}

func placeOfAttempt(a *store.Attempt) string {
	return fmt.Sprintf("attempt/%q/%d/%d/%d", a.Workflow, a.Run, a.Event, a.Number)
}

func placeOfTimer(t *store.Timer) string { return fmt.Sprintf("timer/%q", t.ID) }

const (
	placeOfMessage = "message"
	placeOfKey     = "key"
)

// sealAll returns copies of values with sealed bodies. After an error nothing was done.
func sealAll[T any](ctx context.Context, s *Sealer, values []T, part func(*T) (place string, body *[]byte)) ([]T, error) {
	sealed := slices.Clone(values)
	for i := range sealed {
		place, body := part(&sealed[i])
		var err error
		if *body, err = s.Seal(ctx, place, *body); err != nil {
			if errors.Is(err, ErrKey) {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %w", store.ErrThrottled, err)
		}
	}
	return sealed, nil
}

// openAll opens the bodies of values that were read. The data keys that they need are unwrapped at once: those of a long run
// are many, and each may be a request.
func openAll[T any](ctx context.Context, s *Sealer, values []T, part func(*T) (place string, body *[]byte)) error {
	if s.keys != nil && len(values) > 1 {
		bodies := make([][]byte, len(values))
		for i := range values {
			_, body := part(&values[i])
			bodies[i] = *body
		}
		s.ring.prepare(ctx, bodies)
	}
	for i := range values {
		place, body := part(&values[i])
		if err := s.open(ctx, place, body); err != nil {
			return err
		}
	}
	return nil
}

func partOfItem(i *store.Item) (string, *[]byte)         { return placeOf(i), &i.Body }
func partOfAttempt(a *store.Attempt) (string, *[]byte)   { return placeOfAttempt(a), &a.Body }
func partOfTimer(t *store.Timer) (string, *[]byte)       { return placeOfTimer(t), &t.Body }
func partOfMessage(m *queue.Message) (string, *[]byte)   { return placeOfMessage, &m.Body }
func partOfDelivery(d *queue.Delivery) (string, *[]byte) { return placeOfMessage, &d.Body }

type log struct {
	store.Log
	s *Sealer
}

// Append implements store.Log.
func (l *log) Append(ctx context.Context, items ...store.Item) error {
	sealed, err := sealAll(ctx, l.s, items, partOfItem)
	if err != nil {
		return err
	}
	err = l.Log.Append(ctx, sealed...)
	var conflict *store.Conflict
	if errors.As(err, &conflict) {
		// A writer tells its own by the commit id, so that one that cannot be opened now is a Conflict all the same.
		existing := conflict.Existing
		if l.s.open(ctx, placeOf(&existing), &existing.Body) == nil {
			return &store.Conflict{Existing: existing}
		}
	}
	return err
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

func (s *Sealer) page(ctx context.Context, page store.Page, err error) (store.Page, error) {
	if err == nil {
		err = openAll(ctx, s, page.Items, partOfItem)
	}
	if err != nil {
		return store.Page{}, err
	}
	return page, nil
}

type attempts struct {
	store.Attempts
	s *Sealer
}

// RecordAttempt implements store.Attempts.
func (a *attempts) RecordAttempt(ctx context.Context, attempt store.Attempt) error {
	sealed, err := sealAll(ctx, a.s, []store.Attempt{attempt}, partOfAttempt)
	if err != nil {
		return err
	}
	return a.Attempts.RecordAttempt(ctx, sealed[0])
}

// ReadAttempts implements store.Attempts.
func (a *attempts) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	all, err := a.Attempts.ReadAttempts(ctx, workflow, run)
	if err == nil {
		err = openAll(ctx, a.s, all, partOfAttempt)
	}
	return all, err
}

type keys struct {
	store.Keys
	s *Sealer
}

func partOfKey(key *[]byte) (string, *[]byte) { return placeOfKey, key }

// ReadKey implements store.Keys.
func (k *keys) ReadKey(ctx context.Context) ([]byte, error) {
	key, err := k.Keys.ReadKey(ctx)
	if err != nil {
		return nil, err
	}
	all := [][]byte{key}
	err = openAll(ctx, k.s, all, partOfKey)
	return all[0], err
}

// MakeKey implements store.Keys.
func (k *keys) MakeKey(ctx context.Context, key []byte) error {
	sealed, err := sealAll(ctx, k.s, [][]byte{key}, partOfKey)
	if err != nil {
		return err
	}
	return k.Keys.MakeKey(ctx, sealed[0])
}

type timers struct {
	store.Timers
	s *Sealer
}

// PutTimers implements store.Timers.
func (t *timers) PutTimers(ctx context.Context, all []store.Timer) error {
	sealed, err := sealAll(ctx, t.s, all, partOfTimer)
	if err != nil {
		return err
	}
	return t.Timers.PutTimers(ctx, sealed)
}

// DueTimers implements store.Timers.
func (t *timers) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	due, err := t.Timers.DueTimers(ctx, before, limit)
	if err == nil {
		err = openAll(ctx, t.s, due, partOfTimer)
	}
	return due, err
}

type scanner struct {
	store.Scanner
	s *Sealer
}

// Scan implements store.Scanner.
func (c *scanner) Scan(ctx context.Context, cursor string, limit int) ([]store.Item, string, error) {
	items, next, err := c.Scanner.Scan(ctx, cursor, limit)
	if err == nil {
		err = openAll(ctx, c.s, items, partOfItem)
	}
	return items, next, err
}

type sender struct {
	queue.Sender
	s *Sealer
}

// Send implements queue.Sender.
func (q *sender) Send(ctx context.Context, name string, messages ...queue.Message) error {
	sealed, err := sealAll(ctx, q.s, messages, partOfMessage)
	if err != nil {
		return err
	}
	return q.Sender.Send(ctx, name, sealed...)
}

type receiver struct {
	queue.Receiver
	s *Sealer
}

// Receive implements queue.Receiver. What cannot be opened is delivered sealed: nobody can read it, and it comes again.
func (q *receiver) Receive(ctx context.Context, name string, limit int) ([]queue.Delivery, error) {
	all, err := q.Receiver.Receive(ctx, name, limit)
	q.s.Deliveries(ctx, all)
	return all, err
}

// Deliveries opens messages that were received, in place: for an event source mapping, which is no Receiver. What cannot be
// opened stays sealed, and the log says why.
func (s *Sealer) Deliveries(ctx context.Context, all []queue.Delivery) {
	for i := range all {
		place, body := partOfDelivery(&all[i])
		if err := s.open(ctx, place, body); err != nil {
			s.log.WarnContext(ctx, "a message cannot be opened for now; it comes again", "error", err)
		}
	}
}
