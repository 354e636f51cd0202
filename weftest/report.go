package weftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/replay"
)

// listener receives the events of the process.
type listener Env

// trouble is an event of a workflow task or an activity that fails the test.
type trouble struct {
	workflowID string
	// failed is the kind of a workflow task's failure, or empty for an activity.
	failed string
	// commit is the commit of the failed task, if it was recorded. update is set if an update
	// caused it.
	commit history.CommitID
	update bool
	// impure is the finding of the task's purity check. A task with a finding does not fail again.
	impure string
	// activity is the type of the activity. unknown is set if it is not registered. gone is set if
	// it ended its goroutine, as t.Fatal does.
	activity      string
	unknown, gone bool
	timedOut      bool
}

// Observe implements observe.Sink.
func (l *listener) Observe(_ context.Context, event observe.Event) {
	e := (*Env)(l)
	switch o := event.(type) {
	case *observe.Task:
		// A failed task that is discarded is ignored if it has no finding: it runs again, or the
		// same failure is recorded already.
		if o.Failure != "" && (o.Outcome != observe.Discarded || o.Impure != "") {
			t := trouble{workflowID: o.WorkflowID, failed: o.Failure, commit: o.Commit, update: o.Trigger == "update", impure: o.Impure}
			e.changed(func() { e.trouble = append(e.trouble, t) })
		}
	case *observe.Attempt:
		switch {
		case o.Failure == failure.KindUnregistered.String():
			e.changed(func() {
				e.trouble = append(e.trouble, trouble{workflowID: o.WorkflowID, activity: o.ActivityType, unknown: true})
			})
		case o.Number >= mostAttempts:
			t := trouble{workflowID: o.WorkflowID, activity: o.ActivityType, timedOut: o.Outcome == observe.TimedOut}
			e.changed(func() { e.trouble = append(e.trouble, t) })
		}
	}
}

// troubled reports the troubles of workflows, each of which fails the test, and returns whether
// there were any. A trouble that does not end by itself fails the test for good.
func (e *Env) troubled() bool {
	e.mu.Lock()
	all, allowed := e.trouble, e.allowFailed
	e.trouble = nil
	e.mu.Unlock()
	for _, t := range all {
		switch stuck := e.stuck(t); {
		case stuck != nil:
			e.broken(fmt.Sprintf("a workflow task of %s failed, and would be retried until other code is deployed: %v\n%s",
				t.workflowID, stuck.Err(), stuck.Stack))
		case t.failed == "":
			e.broken(e.describe(t))
		case !allowed:
			e.t.Errorf("weftest: %s", e.describeTask(t))
		}
	}
	return len(all) > 0
}

// stuck returns the failure of a workflow's task that would be retried without end, or nil.
func (e *Env) stuck(t trouble) *failure.Failure {
	if t.impure != "" {
		return nil
	}
	for _, run := range e.runs(t.workflowID) {
		if f := run.State.Stuck(); f != nil {
			return f
		}
	}
	return nil
}

// describeTask returns why a task failed that would not fail again by itself.
func (e *Env) describeTask(t trouble) string {
	what, why := "a task of workflow "+t.workflowID+" failed", t.impure
	if t.update {
		what = "an update of workflow " + t.workflowID + " failed its task"
	}
	for _, run := range e.runs(t.workflowID) {
		for _, c := range run.Log {
			if c.ID == t.commit && c.Failed() {
				why = strings.TrimSuffix(fmt.Sprintf("%v\n%s", c.Task.Failure.Err(), c.Task.Failure.Stack), "\n")
			}
		}
	}
	return fmt.Sprintf("%s (%s): %s\nA test that expects this calls env.AllowFailedUpdates", what, t.failed, why)
}

// describe returns what is wrong with an activity.
func (e *Env) describe(t trouble) string {
	if t.unknown {
		return fmt.Sprintf("workflow %s runs activity %q, which is not registered, and would be retried until a build that has it is deployed: "+
			"pass it to weftest.New, or mock it before the first request", t.workflowID, t.activity)
	}
	if t.gone {
		return fmt.Sprintf("activity %q of workflow %s ended its goroutine, as t.Fatal does: in an activity, report with t.Error "+
			"and return an error", t.activity, t.workflowID)
	}
	why := "it timed out"
	if !t.timedOut {
		e.mu.Lock()
		why = e.failures[t.activity]
		e.mu.Unlock()
	}
	return fmt.Sprintf("activity %q of workflow %s has failed %d times and would be retried for ever: let it fail with an error that "+
		"is final (activity.NewError(...).Final()), or limit its attempts (activity.Retry.MaxAttempts). The last error: %s",
		t.activity, t.workflowID, mostAttempts, why)
}

// broken fails the test for good: later requests are refused, and nothing more happens.
func (e *Env) broken(text string) {
	if e.given.Err() != nil {
		return
	}
	e.t.Errorf("weftest: %s", text)
	first, _, _ := strings.Cut(text, "\n")
	e.fail(errors.New(first))
}

// deadlock fails a test that waits for something that cannot happen.
func (e *Env) deadlock() {
	var b strings.Builder
	fmt.Fprintf(&b, "nothing will end what the test waits for: no message is on its way, no timer is set, no activity runs, and no call of "+
		"env.After is left. Send what is missing before the test waits, or with env.After")
	b.WriteString(e.openRuns())
	e.broken(b.String())
}

// mostNamed is how many open runs a message names.
const mostNamed = 20

// openRuns returns what each open run waits for.
func (e *Env) openRuns() string {
	var all []string
	for _, id := range e.workflows() {
		for _, run := range e.runs(id) {
			if !run.State.Status.Closed() {
				all = append(all, "\n"+e.waits(run))
			}
		}
	}
	if left := len(all) - mostNamed; left > 0 {
		all = append(all[:mostNamed], fmt.Sprintf("\n%d more are open", left))
	}
	return strings.Join(all, "")
}

// waits returns what an open run waits for, and where.
func (e *Env) waits(run *engine.Run) string {
	s := run.State
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %s (%s) waits", run.WorkflowID, s.Started.WorkflowType)
	in, err := replay.Open(e.registry.Workflow(s.Started.WorkflowType), run.WorkflowID, run.Log)
	if err != nil {
		return b.String()
	}
	defer in.Close()
	b.WriteString(replay.Lines(replay.Waiting(in)))
	for _, id := range slices.Sorted(maps.Keys(s.Activities)) {
		fmt.Fprintf(&b, "\n\tactivity %s (event %d) is pending", s.Activities[id].ActivityType, id)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Updates)) {
		if _, _, done := s.UpdateOutcome(s.Updates[id]); !done {
			fmt.Fprintf(&b, "\n\tupdate %s is in flight", id)
		}
	}
	return b.String()
}

// replayAll rebuilds all runs from their histories.
func (e *Env) replayAll() {
	e.t.Helper()
	e.mu.Lock()
	skip := e.skipReplay
	e.mu.Unlock()
	if skip {
		return
	}
	for _, id := range e.workflows() {
		for _, run := range e.runs(id) {
			code := e.registry.Workflow(run.State.Started.WorkflowType)
			if err := errors.Join(replay.Check(code, id, run.Log), replay.Twice(code, id, run.Log)); err != nil {
				e.t.Errorf("weftest: run %s of workflow %s does something else when it is rebuilt from its history, as it is whenever "+
					"a process is replaced: %v\nThe usual causes are the order of a map, the time, randomness, or a validator that changes state. Run weftvet",
					run.State.RunID, id, err)
			}
		}
	}
}

// dump writes the histories of all runs to the test's log. Of many runs it writes the first and the
// last ones. Of a long run it writes the beginning and the end.
func (e *Env) dump() {
	e.t.Helper()
	const first, last = 30, 30
	var all []History
	for _, id := range e.workflows() {
		all = append(all, e.Runs(id)...)
	}
	for i, h := range all {
		switch left := len(all) - first - last; {
		case left <= 0 || i < first || i >= first+left:
			e.log(h)
		case i == first:
			e.t.Logf("weftest: %d runs are left out", left)
		}
	}
}

// log writes a history to the test's log.
func (e *Env) log(h History) {
	e.t.Helper()
	const begin, end = 50, 150
	left, tail := len(h.Events)-begin-end, h
	if left > 0 {
		h.Events, tail.Events = h.Events[:begin], h.Events[begin+left:]
		e.t.Logf("weftest: at %s\n%s%d events are left out\n%s", stamp(time.Now()), cut(h), left, cut(tail))
		return
	}
	e.t.Logf("weftest: at %s\n%s", stamp(time.Now()), cut(h))
}

// cut returns the text of a history, with the middle of long events left out.
func cut(h History) string {
	const begin, end = 3 << 10, 1 << 10
	var b strings.Builder
	for line := range strings.Lines(h.String()) {
		if left := len(line) - begin - end; left > 0 {
			line = fmt.Sprintf("%s[%d bytes are left out]%s", line[:begin], left, line[begin+left:])
		}
		b.WriteString(line)
	}
	return strings.ToValidUTF8(b.String(), "")
}
