package sim

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// restored sets the table back to an earlier moment, as docs/operations.md says: with all processes
// stopped, and with the old queues or with new ones. What was promised since then is void. What is
// left ends and is consistent.
var restored = newFault("dynamodb: restored to an earlier moment",
	"Amazon DynamoDB Developer Guide, point-in-time recovery: a table is restored to any second of its recovery period, as a new table; what was "+
		"written later is not in it. Amazon SQS has no backups: its queues are ahead of the table then.", 0.2, 1)

// restoredWhole sets store and queues back to one moment, like a data directory that is restored
// from a backup. What was acknowledged since then is lost. Everything else holds as if what
// happened after that moment had never happened: no message is ahead of the log, and none is
// missing.
var restoredWhole = newFault("weft: store and queues restored to one moment",
	"Amazon EBS User Guide, EBS snapshots: a snapshot has all that was written to a volume up to one moment, and a volume that is made of it begins with "+
		"that. The local server has its log and its queues on one volume.", 0.15, 1)

// restore is the restore of a seed.
type restore struct {
	from, at int  // the steps of the backup and of the restore; 0 means never
	whole    bool // the queues are restored, too
	backup   *backup
	done     bool
	when     time.Time // the time of the restore
}

// ahead reports whether the store was set back without the queues. They may then have messages of
// commits that are gone.
func (r *restore) ahead() bool { return r.done && !r.whole }

// backup is the table at a moment, and the audit's state at that moment.
type backup struct {
	queues   map[string][]queuememory.Kept
	items    []store.Item
	void     map[store.Key]bool // the items of void runs
	attempts []store.Attempt
	timers   []store.Timer
	mark     []byte
	key      []byte
	taken    time.Time

	entries                 int // the number of entries of the journal
	starts, signals, resets int
	published               int
	told                    map[string][]*schema.UpdateResponse
	rows                    map[place]store.Summary
	tries                   attemptAudit
	sendings                map[outbound]map[uint64]bool
}

// journaled is a commit that landed or was deleted.
type journaled struct {
	store.Item
	commit  *history.Commit
	size    int
	deleted bool
}

// planRestore draws the restore of a seed. A seed has at most one. Only the slow check finds runs
// that wait for lost messages.
func (s *simulation) planRestore() {
	r := s.of(restored)
	if s.has(restored) && s.plan.maintenance {
		s.restore.from = 10 + r.IntN(500*s.plan.most)
	} else if r = s.of(restoredWhole); s.has(restoredWhole) {
		s.restore.from, s.restore.whole = 10+r.IntN(500*s.plan.most), true
	} else {
		return
	}
	s.restore.at = s.restore.from + 1 + r.IntN(300*s.plan.most)
}

// backUp takes a backup, and restores it, when these are due at this step.
func (s *simulation) backUp() {
	r := &s.restore
	switch {
	case s.calm || r.from == 0 || r.done:
	case r.backup == nil && s.steps >= r.from:
		r.backup = s.takeBackup()
	case r.backup != nil && s.steps >= r.at:
		r.done = true
		s.putBack(r.backup)
		s.events.end() // the model knows no restore
	}
}

func (s *simulation) takeBackup() *backup {
	ctx, a := context.Background(), s.audit
	b := &backup{
		void:    map[store.Key]bool{},
		taken:   s.now,
		entries: len(a.journal), starts: len(a.starts), signals: len(a.signals), resets: len(a.resets), published: len(a.published),
		told: maps.Clone(a.told), rows: maps.Clone(a.rows), tries: a.attempts.clone(), sendings: cloneSets(a.sendings),
		queues: map[string][]queuememory.Kept{},
	}
	for _, name := range allQueues {
		b.queues[name] = s.queue.Dump(name)
	}
	for _, workflow := range slices.Sorted(maps.Keys(a.runs)) {
		for _, item := range s.store.Dump(workflow) {
			c, err := history.Decode(item.Slot, a.whole(item).Body)
			b.void[item.Key] = err == nil && c.Status == history.Void
			b.items = append(b.items, item)
		}
		for _, run := range a.runs[workflow] {
			attempts, err := s.store.ReadAttempts(ctx, workflow, run.Number)
			s.must(err)
			b.attempts = append(b.attempts, attempts...)
		}
	}
	var err error
	b.timers, err = s.store.DueTimers(ctx, s.now.AddDate(10, 0, 0), math.MaxInt)
	s.must(err)
	b.mark, err = s.store.ReadMark(ctx)
	s.must(err)
	b.key, err = s.store.ReadKey(ctx)
	s.must(err)
	s.log("a backup is taken")
	return b
}

// putBack replaces the table by a backup, or the table and the queues.
func (s *simulation) putBack(b *backup) {
	f := restored
	if s.restore.whole {
		f = restoredWhole
	}
	r := s.of(f)
	length := []time.Duration{10 * time.Minute, 3 * time.Hour}[r.IntN(2)]
	s.happens(f)
	s.log("the table is put back")
	s.restore.when = s.now
	s.floating = nil // their writers wrote to the table that is gone
	s.outages.excuse += length
	if s.restore.whole {
		s.outages.excuse += s.now.Sub(b.taken) // what was done in this time is done again
	}
	s.switchOff(length)
	ctx, filling, had := context.Background(), true, s.audit.runs
	s.store = storememory.New(storememory.Options{Clock: func() time.Time { return s.now }, Encoded: isEncoded, Violation: func(format string, args ...any) {
		if filling { // earlier runs were deleted
			return
		}
		if strings.HasSuffix(format, "there was no earlier run") {
			// A message that is ahead of the table names a run that does not exist, and neither do
			// the runs before it. Its number is made void.
			at := args[0].(store.Key)
			if slices.ContainsFunc(had[at.Workflow], func(r *engine.Run) bool { return r.Number < at.Run }) {
				return
			}
		}
		s.fail("contract broken: "+format, args...)
	}})
	slices.SortStableFunc(b.items, func(x, y store.Item) int { // a void run may have replaced a first commit, because it was put last
		return oneIf(b.void[x.Key]) - oneIf(b.void[y.Key])
	})
	for _, item := range b.items {
		s.must(s.store.Append(ctx, item))
	}
	for _, a := range b.attempts {
		err := s.store.RecordAttempt(ctx, a)
		_ = err // a run number that was used twice has attempts of both runs
	}
	s.must(s.store.PutTimers(ctx, b.timers))
	s.must(s.store.WriteMark(ctx, nil, b.mark))
	if b.key != nil {
		s.must(s.store.MakeKey(ctx, b.key))
	}
	filling = false
	if s.restore.whole {
		s.putQueuesBack(b)
	} else {
		s.maintenance.purged = true
		if r.IntN(2) == 0 {
			s.log("the queues are new")
			for _, name := range allQueues {
				s.queue.Purge(name)
			}
		}
	}
	s.audit.putBack(b)
	for _, id := range slices.Sorted(maps.Keys(s.audit.runs)) { // the resumption of a run may be gone
		if run := s.audit.latest(id); run != nil && run.State.Paused != nil {
			s.resumeSoon(run)
		}
	}
	for _, id := range s.audit.schedules { // a client that had deleted one, or was about to, does it again
		s.spawn(s.name("keeper %s", id), nil, func() {
			s.pause(wait{until: s.now.Add(length + time.Duration(r.IntN(180))*time.Minute)})
			s.remove(id)
		})
	}
}

// putQueuesBack replaces the queues by those of a backup. Messages in flight become visible,
// because their handlers are gone.
func (s *simulation) putQueuesBack(b *backup) {
	s.queue = queuememory.New(queue.Standard(taskQueues...), queuememory.Options{
		Clock:     func() time.Time { return s.now },
		Violation: func(format string, args ...any) { s.fail("contract broken: "+format, args...) },
	})
	for _, name := range allQueues {
		s.must(s.queue.Restore(name, b.queues[name]))
	}
	s.queue.Restored()
	s.log("the queues are put back, too")
}

// must fails the simulation for one of its own errors.
func (s *simulation) must(err error) {
	if err != nil {
		s.fail("the simulation: %v", err)
	}
}

// note records what happens to the log, until the restore.
func (a *audit) note(e journaled) {
	if a.s.restore.from > 0 && !a.s.restore.done {
		a.journal = append(a.journal, e)
	}
}

// putBack sets the audit back to its state at the time of the backup.
func (a *audit) putBack(b *backup) {
	journal := a.journal[:b.entries]
	a.view = a.codec.Log(a.s.store)
	a.runs, a.current, a.going, a.journal = map[string][]*engine.Run{}, current{}, map[*engine.Run]bool{}, nil
	a.published = a.published[:b.published]
	a.starts, a.signals, a.resets, a.told = a.starts[:b.starts], a.signals[:b.signals], a.resets[:b.resets], b.told
	a.rows = b.rows
	if a.s.restore.whole {
		a.attempts, a.sendings = b.tries, b.sendings
	}
	a.s.list = newList(a.s)
	for _, e := range journal {
		if e.deleted {
			a.deleted(e.Item)
			continue
		}
		a.overwritten(e.Item, e.commit)
		if run := a.run(e.Key, e.commit); run != nil {
			a.s.must(run.Append(e.commit, e.size))
		}
	}
	a.s.forgetVoid()
	for at, row := range a.rows {
		if a.current[at] != nil {
			a.s.list.changed(at, &row)
		}
	}
}
