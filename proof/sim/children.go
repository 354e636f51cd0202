package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/workflow"
)

// A ledger has children, which are entries.
var (
	entry = workflow.NewWorkflow[draft, string]("entry")
	goOn  = workflow.NewSignal[int]("goOn")
)

// draft is the input of an entry.
type draft struct {
	Number int
	Waits  bool // it waits for a signal from its parent
	Again  bool // it continues as new
	Fails  bool
}

// patience is how long an entry waits for its parent. alone is the entry's result after that.
const (
	patience = 30 * time.Hour
	alone    = "alone"
)

func (l *code) entry(ctx workflow.Context, d draft) (string, error) {
	if d.Waits {
		gone := false
		err := workflow.Select(ctx, workflow.OnSignal(goOn, nil), workflow.OnTimeout(patience, func() { gone = true }))
		if err != nil || gone {
			return alone, err
		}
	}
	if _, err := l.work(program{}, "").Run(ctx, fmt.Sprintf("entry %d", d.Number)); err != nil {
		return "", err
	}
	switch {
	case d.Again:
		return entry.ContinueAsNew(ctx, draft{Number: d.Number, Fails: d.Fails})
	case d.Fails:
		return "", workflow.NewError("fails", "this entry fails")
	}
	return fmt.Sprint("entry ", d.Number), nil
}

// runChildren runs the children of a ledger. It also notifies another workflow that the ledger's
// own work is done.
func (l *code) runChildren(ctx workflow.Context, p program, t *tally) error {
	var group workflow.WaitGroup
	for i := range p.Kids {
		group.Go(ctx, func(ctx workflow.Context) {
			d, o := draft{Number: i, Waits: i%2 == 1, Again: i%3 == 1, Fails: i == 4}, workflow.ChildOptions{ParentClosePolicy: p.Policy}
			var result string
			var err error
			if d.Waits {
				child := entry.StartChild(ctx, d, o)
				if !p.Leave {
					_, err = goOn.SendTo(ctx, child, i).Get(ctx)
				}
				if err == nil {
					result, err = child.Get(ctx)
				}
			} else {
				result, err = entry.RunChild(ctx, d, o)
			}
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				result = err.Error()
			}
			t.Kids = append(t.Kids, result)
		})
	}
	if p.Leave {
		if p.Kids > 0 {
			return workflow.Sleep(ctx, time.Second) // so that they are started
		}
	} else if err := group.Wait(ctx); err != nil {
		return err
	}
	if p.Tells != "" {
		_, _ = note.SendTo(ctx, workflow.External(p.Tells), "told").Get(ctx)
	}
	return ctx.Err()
}

// childRecord is what the audit knows of a child: the runs that its start has opened, and the
// parents that started it.
type childRecord struct {
	made    []*engine.Run // without runs that continue others
	ends    []*engine.Run // the last run of each chain
	parents []*engine.Run
	events  []int64 // the events in the parents that initiated it
	policy  history.ParentClosePolicy
}

// last returns the last run of the last chain; nil if no start has opened a run.
func (f *childRecord) last() *engine.Run {
	if len(f.ends) == 0 {
		return nil
	}
	return f.ends[len(f.ends)-1]
}

// children returns the records of all children, by the request id of their start.
func (a *audit) children() map[string]*childRecord {
	all := map[string]*childRecord{}
	of := func(request string) *childRecord {
		if all[request] == nil {
			all[request] = &childRecord{}
		}
		return all[request]
	}
	for _, runs := range a.runs {
		for _, run := range runs {
			if run.Void() {
				continue
			}
			if started := run.State.Started; started.Parent != nil {
				f := of(started.RequestID)
				if started.ContinuedFrom == "" && started.OriginalRunID == "" {
					f.made, f.ends = append(f.made, run), append(f.ends, run)
				} else {
					f.ends = append(f.ends[:max(0, len(f.ends)-1)], run)
				}
			}
			for _, c := range run.Log {
				for _, e := range c.Events() {
					if i, ok := e.Attributes.(*history.StartChildWorkflowExecutionInitiated); ok {
						f := of(i.RequestID)
						f.parents, f.events, f.policy = append(f.parents, run), append(f.events, e.ID), i.Policy
					}
				}
			}
		}
	}
	return all
}

// checkChildren demands that each child was started once, that each parent knows how its child
// ended, and that every child has ended that its close policy ends.
func (a *audit) checkChildren() {
	children := a.children()
	for _, request := range slices.Sorted(maps.Keys(children)) {
		f := children[request]
		if len(f.made) > 1 && !a.s.plan.maintenance { // a parent that is reset after its child was deleted starts the child again
			a.s.fail("child %s was started %d times", request, len(f.made))
		}
		if len(f.parents) == 0 {
			a.s.fail("child %s was started, and nobody asked for it", request)
			continue
		}
		for i, p := range f.parents {
			if a.s.restore.ahead() {
				break // a parent may know an end of a child that the restore has undone
			}
			a.checkOutcome(request, f, p, f.events[i])
		}
		if !a.s.lost() {
			a.checkPolicy(request, f)
		}
	}
}

// checkOutcome compares the outcome of a child that its parent knows with the real one. A parent
// that is reset after its child was deleted starts another, and the run that was reset knows the
// outcome of the first.
func (a *audit) checkOutcome(request string, f *childRecord, parent *engine.Run, event int64) {
	for _, c := range parent.Log {
		for _, e := range c.Events() {
			done, ok := e.Attributes.(*history.ChildWorkflowExecutionCompleted)
			if !ok || done.InitiatedEventID != event {
				continue
			}
			if last := f.last(); last == nil {
				a.s.fail("child %s completed, and never was", request)
			} else if !slices.ContainsFunc(f.ends, func(end *engine.Run) bool { return ended(end, done.Result) }) {
				result, _ := last.State.Outcome()
				a.s.fail("child %s ended with %s; its parent was told %s", request, result, done.Result)
			}
		}
	}
}

// ended reports whether a run ended with a result.
func ended(run *engine.Run, result history.Payload) bool {
	got, _ := run.State.Outcome()
	return string(got) == string(result)
}

// checkPolicy demands that a child ends soon after its parent if the close policy ends it.
func (a *audit) checkPolicy(request string, f *childRecord) {
	child := f.last()
	if child == nil {
		if last := f.parents[len(f.parents)-1]; f.policy == history.AbandonChild && last.State.Next() == "" && !a.refused(last, f.events[len(f.events)-1]) {
			a.s.fail("child %s was to outlive its parent, and was never started", request)
		}
		return
	}
	result, _ := child.State.Outcome()
	left := f.policy != history.AbandonChild && string(result) == `"`+alone+`"`
	for _, p := range f.parents {
		left = left && child.State.CloseTime.Sub(p.State.CloseTime) > patience/2+a.s.outages.excuse
	}
	if left {
		a.s.fail("child %s was to end with its parent, and was left alone", request)
	}
}

// refused reports whether a child could not be started: another run had its workflow id.
func (a *audit) refused(parent *engine.Run, event int64) bool {
	for _, c := range parent.Log {
		for _, e := range c.Events() {
			failed, ok := e.Attributes.(*history.StartChildWorkflowExecutionFailed)
			initiated, is := e.Attributes.(*history.StartChildWorkflowExecutionInitiated)
			if ok && failed.InitiatedEventID == event || is && e.ID == event && len(a.runs[initiated.WorkflowID]) > 0 {
				return true
			}
		}
	}
	return false
}

// outbound is a message from one workflow to another, whichever process sends it.
type outbound struct {
	kind   engine.MessageKind
	commit history.CommitID
	event  int64
}

// mostSendings is how often a message about a child may be sent: once for each delivery in which
// its sender may have died, and once for each trigger of the commit that schedules it. The maximum
// in a thousand seeds was 34. In one of some ten thousand, fifteen deliveries of a message are held
// for forty minutes and then go on together, and each sends what follows.
const mostSendings = 120

// stormy is the share of failing calls from which on this is not demanded. A process that dies has
// up to forty messages in hand, which are all redelivered. If no process lives long enough to
// handle them, their number grows.
const stormy = 0.05

// stormyCount is the number of single faults from which on this is not demanded either.
const stormyCount = 200

// sent demands that messages between workflows do not multiply.
func (a *audit) sent(m *engine.Message) {
	a.replaces(m)
	a.copied(m)
	if m.Kind != engine.StartOrCloseChild && m.Kind != engine.NotifyParent && m.Kind != engine.DeliverExternal {
		return
	}
	if run := a.current[place{m.WorkflowID, m.RunID.Number()}]; run == nil || int(m.Slot) >= len(run.Log) || run.Log[m.Slot].ID != m.Commit {
		return // its commit has not landed: until the fence it is copied (see TestCopiesUpToTheFence)
	}
	e := outbound{m.Kind, m.Commit, m.EventID}
	if a.sendings[e] == nil {
		a.sendings[e] = map[uint64]bool{}
	}
	if a.sendings[e][m.Send^m.Copy] = true; len(a.sendings[e]) == mostSendings+1 && a.s.plan.faults < stormy && a.s.disturbed() < stormyCount {
		a.s.fail("the message %s of event %d of %s is sent again and again", m.Kind, m.EventID, m.WorkflowID)
	}
}
