package sim

import (
	"encoding/json"
	"strings"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// endAudit has what is known of the executions of attempts at activities, and of the batches that
// they have published.
type endAudit struct {
	all   map[attemptKey][]*execution
	named map[string]*execution
	by    map[string]batchOf // by the id of an execution in the log
	texts map[string]bool    // the items that are in the log
}

type attemptKey struct {
	run     string
	event   int64
	attempt int
}

// execution is one run of an activity's code.
type execution struct {
	of     attemptKey
	copy   uint64 // the copy of its message that it sends because it was overtaken; 0 is none
	name   string // in its items; empty if it has published nothing
	began  int    // the step
	landed bool   // it has published a batch
	last   string // the item that it has collected
	// ended says that its code has returned, and failed that it has returned an error.
	ended, failed bool
}

// batchOf is the last batch of an execution.
type batchOf struct {
	name string
	at   int // the step at which it landed
}

func newEndAudit() endAudit {
	return endAudit{all: map[attemptKey][]*execution{}, named: map[string]*execution{}, by: map[string]batchOf{}, texts: map[string]bool{}}
}

// executes notes that the code of an activity begins.
func (a *audit) executes(info activity.Info) *execution {
	of := attemptKey{info.RunID, info.EventID, info.Attempt}
	e := &execution{of: of, began: a.s.steps}
	a.ends.all[of] = append(a.ends.all[of], e)
	a.s.running.code = e
	return e
}

// replaces looks at a message for an attempt that is about to be sent or kept. The actor that has
// run an execution of the attempt sends a copy because that execution was overtaken. Such a copy
// claims nothing. replaces demands that each execution sends one at most, and only if another
// execution has published.
func (a *audit) replaces(m *engine.Message) {
	if m.Kind != engine.RunActivity || m.Look < 2 || a.s.running == nil || a.s.running.code == nil {
		return
	}
	e := a.s.running.code
	if e.of != (attemptKey{string(m.RunID), m.EventID, m.Attempt}) {
		return
	}
	a.attempts.replaces[sending{m.Send, m.Copy}] = true
	if e.copy != 0 && e.copy != m.Copy {
		a.s.fail("an execution of attempt %d at event %d of %s sends two copies of its message", m.Attempt, m.EventID, m.WorkflowID)
	}
	e.copy = m.Copy
	run := a.current[place{m.WorkflowID, m.RunID.Number()}]
	if run == nil || run.State.Activities[m.EventID] == nil || a.s.has(restored) {
		return
	}
	if last := run.State.Activities[m.EventID].Publishing; last == nil || e.name != "" && a.ends.by[last.ID].name == e.name {
		a.s.fail("an execution of attempt %d at event %d of %s sends a copy of its message, and no other execution has published", m.Attempt, m.EventID, m.WorkflowID)
	}
}

// checkEnds looks at a commit before it is folded. It demands that the end of an activity is that
// of the execution that has published the last batch, or of one that began afterwards and has
// published none. The last item that an execution has collected is in the log with its result. A
// reset copies the ends of another run's activities, and their batches without items.
func (a *audit) checkEnds(at store.Key, run *engine.Run, c *history.Commit) {
	if c.FromReset() {
		return
	}
	last := map[int64]*engine.Execution{}
	for _, e := range c.InputEvents {
		switch e := e.Attributes.(type) {
		case *history.ActivityItemsPublished:
			last[e.ScheduledEventID] = &engine.Execution{ID: e.Execution, Attempt: e.Attempt, Batch: e.Batch}
			a.publishes(e)
		case *history.ActivityTaskCompleted:
			if e.ByHand == "" {
				a.checkEnd(at, run, attemptKey{string(run.State.RunID), e.ScheduledEventID, e.Attempt}, last[e.ScheduledEventID], false)
			}
		case *history.ActivityTaskFailed:
			if e.ByHand == "" {
				a.checkEnd(at, run, attemptKey{string(run.State.RunID), e.ScheduledEventID, e.Attempt}, last[e.ScheduledEventID], true)
			}
		}
	}
}

// publishes notes a batch that lands.
func (a *audit) publishes(e *history.ActivityItemsPublished) {
	var items []string
	if err := json.Unmarshal(e.Items, &items); err != nil || len(items) != e.Count {
		a.s.fail("a batch has the items %s: %v", e.Items, err)
	}
	for _, text := range items {
		a.ends.texts[text] = true
		name, _, _ := strings.Cut(text, " batch ")
		a.ends.by[e.Execution] = batchOf{name, a.s.steps}
		if e := a.ends.named[name]; e != nil {
			e.landed = true
		}
	}
}

// checkEnd is checkEnds for one activity. published is the batch of the same commit, or nil.
func (a *audit) checkEnd(at store.Key, run *engine.Run, of attemptKey, published *engine.Execution, failed bool) {
	p := run.State.Activities[of.event]
	if p == nil || a.s.restore.done || a.programs[at.Workflow].Ask { // an outsider may end it
		return
	}
	if published == nil {
		published = p.Publishing
	}
	if published == nil || published.Attempt < of.attempt {
		return
	}
	by, may, stands := a.ends.by[published.ID], 0, (*execution)(nil)
	for _, e := range a.ends.all[of] {
		if !e.ended || e.failed != failed {
			continue
		}
		may++
		if e.name == by.name || !e.landed && e.began >= by.at {
			stands = e
		}
	}
	switch {
	case may == 0: // no code has ended it
	case stands == nil || published.Attempt > of.attempt:
		a.s.fail("%s: event %d ends by an execution of attempt %d, and %s of attempt %d has published the last batch", at, of.event, of.attempt, by.name, published.Attempt)
	case may == 1 && !failed && stands.last != "" && !a.ends.texts[stands.last]:
		a.s.fail("%s: event %d ends with the result of %s, and its last item is not there", at, of.event, stands.name)
	default:
		a.s.count("an execution that has published ends its attempt")
	}
}
