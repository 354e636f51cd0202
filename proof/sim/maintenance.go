package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// maintenance is the state of a seed's slow check over all runs. It deletes closed runs in all
// seeds that have it. In most of these nothing is purged, and then the check must not find a run
// that waits in vain. So the check hides no mistake of the protocol.
type maintenance struct {
	at     time.Time // when the next step is due
	rounds int       // rounds after everything has ended
	purged bool
	sent   int
}

const (
	checkEvery  = 2 * time.Hour
	retention   = 2 * time.Hour // the minimum that the options allow
	lastRounds  = 3             // days in which everything that has closed is deleted
	afterPurges = 20            // days in which also activities with a single attempt are given up
)

// check lets processes run a step of the check, sometimes two at once.
func (s *simulation) check() {
	s.maintenance.at = s.now.Add(checkEvery)
	for range 1 + oneIf(s.chance(0.2)) {
		p := s.anyProcess()
		s.spawn(s.name("p%d check", p.number), p, func() {
			s.running.checks = true
			s.maintain(p)
		})
	}
}

// maintain runs the check until it has walked over everything, or its process fails.
func (s *simulation) maintain(p *process) {
	for {
		did, err := p.Service.Maintenance.Maintain(context.Background())
		s.log("the check did %+v: %v", did, err)
		if s.maintenance.sent += did.Sent; did.Sent > 0 && !s.maintenance.purged && !s.buildAway() && s.outages.excuse < 12*time.Hour {
			s.fail("the check found something that waits in vain, although nothing was purged")
		}
		if s.calm && (err != nil || did.Failed > 0) {
			s.fail("the check fails although nothing else does: %+v, %v", did, err)
		}
		if err != nil || did.Ended || did.Commits == 0 {
			return
		}
	}
}

// round runs a step of the check a day later, when nothing else happens any more. It returns false
// after enough rounds, or if something is wrong.
func (s *simulation) round() bool {
	most := lastRounds
	if s.maintenance.purged {
		most = afterPurges
	}
	if !s.plan.maintenance || s.maintenance.rounds == most || !s.maintenance.purged && s.audit.open() {
		return false
	}
	s.maintenance.rounds++
	s.now = s.now.Add(25 * time.Hour)
	s.queue.Tick()
	s.check()
	return true
}

// purge loses all messages of a queue, once.
func (s *simulation) purge() {
	if s.plan.purgeAfter == 0 || s.steps < s.plan.purgeAfter || s.maintenance.purged || s.calm {
		return
	}
	s.maintenance.purged = true
	all := queue.All(taskQueues...)
	name := all[s.random.IntN(len(all))]
	s.log("the queue %s is purged", name)
	s.count("a queue is purged")
	s.queue.Purge(name)
	s.queue.Purge(queue.DeadLetters(name))
}

// endMaintenance demands that nothing is left of any run.
func (s *simulation) endMaintenance() {
	for workflow, runs := range s.audit.runs {
		for _, item := range s.store.Dump(workflow) {
			if !item.Expires.IsZero() && item.Expires.Before(s.now) {
				continue // the store deletes it
			}
			if c, err := history.Decode(item.Slot, s.audit.whole(item).Body); err != nil || c.Status != history.Void {
				s.fail("%s is left, long after its run has closed", item.Key)
			}
		}
		for _, run := range runs {
			left, err := s.store.ReadAttempts(context.Background(), workflow, run.Number)
			left = slices.DeleteFunc(left, func(a store.Attempt) bool {
				return a.RunID == stranger || s.audit.attempts.overslept[effort{workflow: a.Workflow, run: a.Run, event: a.Event}] || !a.Expires.IsZero() && a.Expires.Before(s.now)
			})
			if err != nil || len(left) > 0 {
				s.fail("attempts %v of run %d of %s are left, long after it has closed: %v", left, run.Number, workflow, err)
			}
		}
	}
}

// open reports whether a run is open.
func (a *audit) open() bool {
	for _, runs := range a.runs {
		for _, run := range runs {
			if !run.State.Status.Closed() {
				return true
			}
		}
	}
	return false
}

// deleted forgets the number of a run whose first commit is deleted, or that is void. A void run
// may take its place then.
func (a *audit) deleted(item store.Item) {
	at := place{item.Workflow, item.Run}
	a.note(journaled{Item: item, deleted: true})
	run := a.current[at]
	if run != nil && !run.State.Status.Closed() {
		a.s.fail("%s was deleted, and its run is open", item.Key)
	}
	if run != nil {
		a.going[run] = true
	}
	if item.Slot == 0 || run != nil && run.Void() && !item.Expires.IsZero() {
		delete(a.current, at)
	}
	if left, err := a.s.store.Forward(context.Background(), store.Key{Workflow: item.Workflow, Run: item.Run}, 1); err == nil && len(left.Items) == 0 {
		a.s.list.changed(at, nil)
	}
}

// place is a run by its number.
type place struct {
	workflow string
	run      uint32
}

// current has the runs that now have a number.
type current map[place]*engine.Run

// scanner is a process's ports for the check.
type scanner struct{ *ports }

// Scan reads in pages of any size.
func (t scanner) Scan(ctx context.Context, cursor string, limit int) ([]store.Item, string, error) {
	t.point("before a scan")
	if t.s.chance(t.s.plan.faults) {
		return nil, "", store.ErrThrottled
	}
	if t.s.random.oneIn(2) {
		limit = 1 + t.s.random.IntN(5)
	}
	items, next, err := t.s.store.Scan(ctx, cursor, limit)
	items = t.p.settings.readsAll(t.s.seen(items))
	t.point("after a scan")
	return items, next, err
}

// Delete deletes all or some items, or returns a wrong answer.
func (t scanner) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	s := t.s
	items = slices.Clone(items)
	s.random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	for _, item := range items {
		t.point("before a deletion")
		if s.chance(s.plan.faults) {
			return store.ErrThrottled
		}
		if err := s.store.Delete(context.WithoutCancel(ctx), []store.Item{item}, nil); err != nil {
			return err
		}
		s.log("%s is deleted", item.Key)
		s.audit.deleted(item)
		s.events.dropped(item)
	}
	t.point("before attempts are deleted")
	err := s.store.Delete(context.WithoutCancel(ctx), nil, attempts)
	t.point("after a deletion")
	if s.chance(s.plan.faults) {
		return store.ErrUnknown
	}
	return err
}

// ReadMark reads the mark.
func (t scanner) ReadMark(ctx context.Context) ([]byte, error) {
	t.point("before a read of the mark")
	return t.s.store.ReadMark(ctx)
}

// WriteMark writes the mark, or returns a wrong answer.
func (t scanner) WriteMark(ctx context.Context, old, mark []byte) error {
	t.point("before the mark is moved")
	if t.s.chance(t.s.plan.faults) {
		return store.ErrUnknown
	}
	err := t.s.store.WriteMark(ctx, old, mark)
	t.point("after the mark is moved")
	if t.s.chance(t.s.plan.faults) {
		return store.ErrUnknown
	}
	return err
}

// options returns the options of a process.
func (s *simulation) options(p *process) executor.Options {
	return p.settings.over(executor.Options{
		Build: buildName(p.build), CacheEntries: s.plan.cacheEntries, Logger: cmp.Or(s.logger, quiet), Observe: s.hub,
		Retention: s.retentionOf(), CheckEvery: checkEvery - time.Minute, CheckAtOnce: 20, Webhooks: notifiable, EventBus: true,
		Engine: engine.Options{TaskQueues: taskQueues, SuggestAfterEvents: suggestAfter, MaxStarts: s.maxStarts()}, Owner: s.owners(p),
	})
}
