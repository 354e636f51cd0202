package sim

import (
	"testing"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

var copiedRun = history.NewRunID(1, [8]byte{7})

// copyAt returns a copy of the message of an attempt at an activity of a run.
func copyAt(look int, number uint64) *engine.Message {
	return &engine.Message{Kind: engine.RunActivity, WorkflowID: "w", RunID: copiedRun, EventID: 5, Attempt: 1, Send: 1, Look: look, Copy: number}
}

// auditOfSeed1 returns an audit that has seen nothing, of a seed in which nothing was restored.
func auditOfSeed1(t *testing.T) *audit {
	t.Helper()
	s := run(1)
	if s.wrong != nil || s.has(restored) {
		t.Fatalf("seed 1 is not calm enough for this test: %q", s.wrong)
	}
	return newAudit(s)
}

// deliver tells the audit that messages were delivered.
func (a *audit) deliver(t *testing.T, all ...*engine.Message) {
	t.Helper()
	for _, m := range all {
		body, err := history.EncodeBody(m)
		if err != nil {
			t.Fatal(err)
		}
		a.delivered(queue.Activities, []queue.Delivery{{Body: body}})
	}
}

// TestCopiesAreCountedFromTheCommitOn checks how the audit counts copies before and after their
// commit lands.
func TestCopiesAreCountedFromTheCommitOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		early, late []*engine.Message // delivered before the commit landed, and after
		before      []*engine.Message // sent before it landed
		after       []*engine.Message // sent after it landed
		fails       bool
	}{
		"copies sent before, and sent on after": {
			early: []*engine.Message{copyAt(3, 1), copyAt(3, 2)}, before: []*engine.Message{copyAt(4, 3), copyAt(4, 4)},
			after: []*engine.Message{copyAt(4, 3), copyAt(4, 4)},
		},
		"copies decided before, and sent after": {
			early: []*engine.Message{copyAt(3, 1), copyAt(3, 2)}, after: []*engine.Message{copyAt(4, 3), copyAt(4, 4)},
		},
		"two copies replaced after": {
			late: []*engine.Message{copyAt(3, 1), copyAt(3, 2)}, after: []*engine.Message{copyAt(4, 3), copyAt(4, 4)}, fails: true,
		},
		"copies sent before are replaced twice after": {
			before: []*engine.Message{copyAt(3, 1), copyAt(3, 2)}, late: []*engine.Message{copyAt(3, 1), copyAt(3, 2)},
			after: []*engine.Message{copyAt(4, 3), copyAt(4, 4)}, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := auditOfSeed1(t)
			s := a.s
			deliver := func(all []*engine.Message) { a.deliver(t, all...) }
			send := func(all []*engine.Message) {
				for _, m := range all {
					a.copied(m)
				}
			}
			deliver(test.early)
			send(test.before)
			a.current[place{"w", 1}] = &engine.Run{Log: make([]*history.Commit, 1)}
			deliver(test.late)
			send(test.after)
			if got := s.wrong != nil; got != test.fails {
				t.Errorf("fails: %v, want %v: %q", got, test.fails, s.wrong)
			}
		})
	}
}

// A request that lets an attempt begin now releases the claim of a copy. Another copy may then
// claim the attempt, and be replaced. No other record allows that.
func TestCopiesAfterAReleasedClaim(t *testing.T) {
	t.Parallel()
	now := attempts.Record{By: 2, Next: 1}
	for name, test := range map[string]struct {
		records []attempts.Record
		sent    []uint64 // the copies that are sent in place of the two delivered ones
		fails   bool
	}{
		"one copy is replaced":           {sent: []uint64{3}},
		"both copies are replaced":       {sent: []uint64{3, 4}, fails: true},
		"the other one after a request":  {records: []attempts.Record{now}, sent: []uint64{3, 4}},
		"two more after a request":       {records: []attempts.Record{now}, sent: []uint64{3, 4, 5}, fails: true},
		"two more after two requests":    {records: []attempts.Record{now, now}, sent: []uint64{3, 4, 5}},
		"the other one after a claim":    {records: []attempts.Record{{By: 1, Look: 3, Copy: 1}}, sent: []uint64{3, 4}, fails: true},
		"the other one when it was held": {records: []attempts.Record{{By: 1, Held: "a pause"}}, sent: []uint64{3, 4}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := auditOfSeed1(t)
			a.current[place{"w", 1}] = &engine.Run{Log: make([]*history.Commit, 1)}
			a.deliver(t, copyAt(3, 1), copyAt(3, 2))
			a.s.running = &actor{}
			for i, record := range test.records {
				body, err := history.EncodeBody(&record)
				if err != nil {
					t.Fatal(err)
				}
				a.recorded(store.Attempt{Workflow: "w", Run: 1, Event: 5, Number: 1 + i, Body: body})
			}
			for _, number := range test.sent {
				a.copied(copyAt(4, number))
			}
			if got := a.s.wrong != nil; got != test.fails {
				t.Errorf("fails: %v, want %v: %q", got, test.fails, a.s.wrong)
			}
		})
	}
}

// Of two copies with the same look, one claims the attempt and is replaced, once for each of its
// deliveries. The other one runs, because its reservation may be used. Its executions take over
// from each other, and each that was overtaken sends a copy.
func TestCopiesOfOvertakenExecutions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		published string   // the execution that has published the last batch
		sent      []uint64 // the copies that the overtaken execution sends
		claimed   []uint64 // the copies that deliveries of the other copy send
		fails     bool
	}{
		"a copy besides those of the one that has claimed": {published: "other", sent: []uint64{3}, claimed: []uint64{4, 5}},
		"the same copy again":                              {published: "other", sent: []uint64{3, 3}, claimed: []uint64{4, 5}},
		"two copies":                                       {published: "other", sent: []uint64{3, 6}, fails: true},
		"nobody has published":                             {sent: []uint64{3}, fails: true},
		"nobody else has published":                        {published: "own", sent: []uint64{3}, fails: true},
		"a copy too many of the one that has claimed":      {published: "other", sent: []uint64{3}, claimed: []uint64{4, 5, 6}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := auditOfSeed1(t)
			pending := &engine.PendingActivity{}
			if test.published != "" {
				pending.Publishing = &engine.Execution{ID: test.published, Attempt: 1, Batch: 1}
				a.ends.by[test.published] = batchOf{name: test.published}
			}
			a.current[place{"w", 1}] = &engine.Run{Log: make([]*history.Commit, 1), State: &engine.State{Activities: map[int64]*engine.PendingActivity{5: pending}}}
			a.deliver(t, copyAt(3, 1), copyAt(3, 1), copyAt(3, 2), copyAt(3, 2))
			a.s.running = &actor{}
			a.executes(activity.Info{WorkflowID: "w", RunID: string(copiedRun), EventID: 5, Attempt: 1}).name = "own"
			for _, number := range test.sent {
				a.sent(copyAt(4, number))
			}
			a.s.running = &actor{}
			for _, number := range test.claimed {
				a.sent(copyAt(4, number))
			}
			if got := a.s.wrong != nil; got != test.fails {
				t.Errorf("fails: %v, want %v: %q", got, test.fails, a.s.wrong)
			}
		})
	}
}
