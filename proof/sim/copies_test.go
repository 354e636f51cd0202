package sim

import (
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/queue"
)

// TestCopiesAreCountedFromTheCommitOn checks how the audit counts copies before and after their
// commit lands.
func TestCopiesAreCountedFromTheCommitOn(t *testing.T) {
	t.Parallel()
	copyAt := func(look int, number uint64) *engine.Message {
		return &engine.Message{
			Kind: engine.RunActivity, WorkflowID: "w", RunID: history.NewRunID(1, [8]byte{7}), EventID: 5, Attempt: 1, Send: 1, Look: look, Copy: number,
		}
	}
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
			s := run(1)
			if s.wrong != nil || s.has(restored) {
				t.Fatalf("seed 1 is not calm enough for this test: %q", s.wrong)
			}
			a := newAudit(s)
			deliver := func(all []*engine.Message) {
				for _, m := range all {
					body, err := history.EncodeBody(m)
					if err != nil {
						t.Fatal(err)
					}
					a.delivered(queue.Activities, []queue.Delivery{{Body: body}})
				}
			}
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
