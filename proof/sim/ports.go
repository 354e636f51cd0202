package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// ports is between one process and the store and the queues. At every call the process can die,
// sleep or get a wrong answer.
type ports struct {
	s *simulation
	p *process
}

// floating is a put whose writer does not know its outcome: it lands later, or never.
type floating struct {
	items []store.Item
	after time.Time
}

// chance draws whether something with this probability happens. Nothing bad happens in a calm
// simulation, nor at the end of a long one, because the backlog has to be worked off.
func (s *simulation) chance(p float64) bool {
	return !s.quiet() && s.random.chance(p)
}

// quiet reports whether no fault happens any more. One seed in ten gets that far. What it has found
// by then is a storm of messages, which costs as much as many other seeds and shows little that is
// new.
func (s *simulation) quiet() bool { return s.calm || s.steps >= 5_000*s.plan.most }

const beforePut = "before a put"

// point is a step. The actor stops here, perhaps for long, and its process may die.
func (t *ports) point(where string) {
	s := t.s
	until := s.now
	freeze := s.plan.slow / 10
	if where == beforePut {
		freeze = s.plan.slow // a sleep between a send and a put is the worst case
	}
	switch {
	case s.chance(freeze):
		t.p.freeze(s.now, s.now.Add(s.sleep()))
		s.thawed(t.p)
		s.count("a process freezes")
		s.log("process %d freezes until %s, %s", t.p.number, t.p.frozen.Format("15:04:05"), where)
	case s.chance(s.plan.slow):
		until = s.now.Add(time.Duration(s.random.IntN(4000)) * time.Millisecond)
	}
	s.stall(until, where == "before a read" || where == "after a read")
	if s.chance(s.plan.faults) {
		s.kill(t.p, where)
	}
}

// signedFor is how long AWS accepts a request after it was signed.
const signedFor = 15 * time.Minute

// Append puts items, or returns a wrong answer.
func (t *ports) Append(ctx context.Context, items ...store.Item) error {
	s := t.s
	s.overtake(items)
	items = slices.Clone(items)
	for i := range items {
		items[i].Body = t.p.settings.writes(items[i].Body)
	}
	asked := s.now
	s.claim(t.p, items)
	t.point(beforePut)
	me := s.running
	switch {
	case s.now.Sub(asked) > signedFor:
		s.log("put of %s is refused: its signature has expired", items[0].Key)
		return store.ErrUnknown // its writer slept, and sees a connection that is gone
	case s.chance(s.plan.faults):
		me.did.lied++
		s.count("a put is throttled")
		s.log("put of %s is throttled", items[0].Key)
		return store.ErrThrottled
	case s.chance(s.plan.faults):
		me.did.lied++
		s.count("a put arrives late")
		s.log("put of %s gets no answer, and is on its way", items[0].Key)
		s.floating = append(s.floating, &floating{items: items, after: s.now.Add(s.sleep())})
		return store.ErrUnknown
	case s.chance(s.plan.faults):
		me.did.lied++
		s.count("a put is lost")
		s.log("put of %s gets no answer, and was not made", items[0].Key)
		return store.ErrUnknown
	}
	err := t.s.append(context.WithoutCancel(ctx), items) // the put is under way, whatever happens to its writer
	appear := s.tear(items, err)
	t.point("after a put")
	appear()
	if s.chance(s.plan.faults) {
		me.did.lied++
		s.count("the answer to a put is lost")
		s.log("the answer to the put of %s is lost: %v", items[0].Key, err)
		return store.ErrUnknown
	}
	if conflict := (*store.Conflict)(nil); errors.As(err, &conflict) {
		conflict.Existing.Body = t.p.settings.reads(conflict.Existing.Body)
	}
	return err
}

// append puts items and reports them to the audit.
func (s *simulation) append(ctx context.Context, items []store.Item) error {
	err := s.store.Append(ctx, items...)
	var conflict *store.Conflict
	if errors.As(err, &conflict) {
		s.count("a put finds its slot taken")
		s.log("put of %s is refused: the slot is taken", items[0].Key)
	}
	if err == nil {
		s.audit.landed(items)
	}
	if me := s.running; me != nil && err == nil {
		me.did.landed++
	} else if me != nil {
		me.did.lost++
	}
	return err
}

// land lets a put that is under way land, or drops it.
func (s *simulation) land() {
	i := s.random.IntN(len(s.floating))
	f := s.floating[i]
	if s.now.Before(f.after) && !s.calm {
		s.now, s.lurched = s.now.Add(time.Second), s.lurched+time.Second // the put is not due yet
		return
	}
	s.floating = append(s.floating[:i], s.floating[i+1:]...)
	if s.chance(0.5) {
		s.log("the put of %s never arrives", f.items[0].Key)
		return
	}
	s.log("the put of %s arrives late", f.items[0].Key)
	err := s.append(context.Background(), f.items) // refused like any other put if the slot is taken
	_ = s.tear(f.items, err)
}

// Backward reads.
func (t *ports) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	t.point("before a read")
	if t.s.chance(t.s.plan.faults) {
		return store.Page{}, store.ErrThrottled
	}
	if t.s.random.oneIn(4) {
		limit = 1 + t.s.random.IntN(5) // small pages
	}
	read := func(before store.Key) (store.Page, error) {
		return t.s.store.Backward(ctx, workflow, before, until, limit)
	}
	page, err := read(before)
	page, err = t.s.seenPage(page, err, read)
	page.Items = t.p.settings.readsAll(page.Items)
	t.point("after a read")
	return page, err
}

// Forward reads.
func (t *ports) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	t.point("before a read")
	page, err := t.s.store.Forward(ctx, from, limit)
	page, err = t.s.seenPage(page, err, func(k store.Key) (store.Page, error) {
		return t.s.store.Forward(ctx, store.Key{Workflow: k.Workflow, Run: k.Run, Slot: k.Slot + 1}, limit)
	})
	page.Items = t.p.settings.readsAll(page.Items)
	t.point("after a read")
	return page, err
}

// RecordAttempt writes a record, or returns a wrong answer.
func (t *ports) RecordAttempt(ctx context.Context, a store.Attempt) error {
	t.point("before the record of an attempt")
	if t.s.chance(t.s.plan.faults) {
		return store.ErrUnknown
	}
	written := a
	written.Body = t.p.settings.writes(a.Body)
	err := t.s.store.RecordAttempt(ctx, t.s.asEarlier(written))
	if err == nil {
		t.s.audit.recorded(a)
	}
	t.point("after the record of an attempt")
	if t.s.chance(t.s.plan.faults) {
		return store.ErrUnknown
	}
	return err
}

// ReadAttempts reads.
func (t *ports) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	t.point("before a read of attempts")
	all, err := t.s.store.ReadAttempts(ctx, workflow, run)
	for i := range all {
		all[i].Body = t.p.settings.reads(all[i].Body)
	}
	return all, err
}

// ReadKey reads.
func (t *ports) ReadKey(ctx context.Context) ([]byte, error) {
	t.point("before a read of the key")
	return t.s.store.ReadKey(ctx)
}

// MakeKey writes the key, or returns a wrong answer.
func (t *ports) MakeKey(ctx context.Context, key []byte) error {
	t.point("before the key is made")
	err := t.s.store.MakeKey(ctx, key)
	t.point("after the key is made")
	if t.s.chance(t.s.plan.faults) {
		return store.ErrUnknown
	}
	return err
}

// Reserve reserves a slot, or returns a wrong answer.
func (t *ports) Reserve(ctx context.Context, slot store.Reservation) (time.Time, error) {
	t.point("before a slot is reserved")
	if t.s.chance(t.s.plan.faults) {
		return time.Time{}, store.ErrThrottled
	}
	at, err := t.s.store.Reserve(ctx, slot)
	t.point("after a slot is reserved")
	if t.s.chance(t.s.plan.faults) {
		return time.Time{}, store.ErrUnknown
	}
	return at, err
}

// PutTimers writes timers, or returns a wrong answer.
func (t *ports) PutTimers(ctx context.Context, timers []store.Timer) error {
	t.point("before timers are kept")
	if t.s.chance(t.s.plan.faults) {
		return store.ErrThrottled
	}
	timers = reveal(timers)
	for i := range timers {
		timers[i].Body = t.p.settings.writes(timers[i].Body)
	}
	err := t.s.store.PutTimers(ctx, timers)
	t.point("after timers are kept")
	if t.s.chance(t.s.plan.faults) {
		return store.ErrUnknown
	}
	return err
}

// DueTimers reads.
func (t *ports) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	t.point("before a read of timers")
	due, err := t.s.store.DueTimers(ctx, before, limit)
	for i := range due {
		due[i].Body = t.p.settings.reads(due[i].Body)
	}
	return t.s.hide(due), err
}

// DeleteTimers deletes.
func (t *ports) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	t.point("before timers are deleted")
	return t.s.store.DeleteTimers(ctx, timers)
}

// Send sends all messages, or some of them with a wrong answer, or some of them twice. It sends
// standard messages in any order.
func (t *ports) Send(ctx context.Context, name string, messages ...queue.Message) error {
	s := t.s
	t.point("before a send")
	if name == queue.Workflow && (s.hits(groupHot) || s.exceeds(groupQuota, messages[0].Group)) {
		s.log("a message group is throttled")
		return errors.New("RequestThrottled")
	}
	s.running.did.sent += len(messages)
	for _, m := range messages {
		if d, err := s.audit.decode(m.Body); err == nil {
			s.log("sends %s of %s event %d attempt %d in %v (causation id %04x, seen %d)", d.Kind, d.WorkflowID, d.EventID, d.Attempt, m.Delay, uint16(d.CausationID), d.Seen)
			s.audit.sent(d)
			s.count(sentKinds[d.Kind])
		}
	}
	partial := s.chance(s.plan.faults)
	if partial {
		s.count("a batch is sent in part")
	}
	for _, m := range messages {
		if partial && s.random.oneIn(2) {
			continue
		}
		copies := 1 + oneIf(s.chance(s.plan.duplicates))
		if copies > 1 {
			s.count("a message is sent twice")
		}
		m.Body = t.p.settings.writes(m.Body)
		for range copies {
			if m.Group == "" && !s.prompt(m) && s.random.oneIn(2) {
				m.Delay = min(m.Delay+time.Duration(s.random.IntN(2000))*time.Millisecond, queue.MaxDelay)
			}
			if err := s.queue.Send(ctx, name, m); err != nil {
				return err
			}
		}
	}
	t.point("after a send")
	if partial {
		return fmt.Errorf("%w: as the simulation has it", queue.ErrPartial)
	}
	return nil
}

// sentKinds has the name of the count of each kind of message that was sent.
var sentKinds = func() map[engine.MessageKind]string {
	names := map[engine.MessageKind]string{}
	for kind := range engine.MessageKind(32) {
		names[kind] = "message sent: " + kind.String()
	}
	return names
}()

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Receive is never called, because the simulation delivers messages itself.
func (t *ports) Receive(context.Context, string, int) ([]queue.Delivery, error) { return nil, nil }

// Delete deletes messages, or loses the request.
func (t *ports) Delete(ctx context.Context, name string, receipts ...string) error {
	t.point("before a delete")
	if t.s.chance(t.s.plan.faults) {
		t.s.count("a delete is lost")
		t.s.log("the delete is lost")
		return nil
	}
	t.s.events.deleted(receipts)
	return t.s.queue.Delete(ctx, name, receipts...)
}

// Extend extends the visibility timeout of a message.
func (t *ports) Extend(ctx context.Context, name, receipt string, d time.Duration) error {
	t.point("before an extension")
	return t.s.queue.Extend(ctx, name, receipt, d)
}

// ListRuns reads the list.
func (t *ports) ListRuns(ctx context.Context, f store.Filter, token string, limit int) ([]store.Summary, string, error) {
	t.point("before a read of the list")
	return t.s.list.ListRuns(ctx, f, token, limit)
}
