package requests

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/internal/where"
)

const (
	// maxCoroutines is how many coroutines an answer has, and maxWaits of how many things it says
	// that one of them waits for. maxAllWaits limits all of these together.
	maxCoroutines = 100
	maxWaits      = 100
	maxAllWaits   = 1000
	// maxPlaces is how many frames a coroutine has.
	maxPlaces = 8
)

// Waits replays the code of a run and says where it waits, and for what. Nothing is written, and no
// instance is kept. It holds the lock of the workflow during the replay. A run that has closed
// waits for nothing, so its code is not run.
func (s *Reports) Waits(ctx context.Context, of command.Describe) (*schema.Waits, error) {
	var answer *schema.Waits
	var found *runner.Waits
	var d *schema.Description
	err := look(ctx, s.Process, of.Target, func(t *session.Session, run *engine.Run) (err error) {
		if !run.State.Status.Closed() {
			if err := commit.CheckBuild(ctx, t, run); err != nil {
				return err
			}
			if err := refused(t, run, runner.CodeQuery); err != nil {
				return err
			}
		}
		if d, err = described(ctx, t, run); err != nil {
			return err
		}
		answer = waitsOf(run, d, t.Process.Options.Build)
		if run.State.Status.Closed() {
			answer.AtEventID = run.State.NextEventID - 1
			return nil
		}
		found, err = runner.WaitsOf(ctx, &t.Code, run)
		return err
	})
	if err != nil || found == nil {
		return answer, err
	}
	if of.Children() > 0 {
		if err := addChildStates(ctx, s.Process, d.PendingChildren, of.Children()); err != nil {
			return nil, err
		}
	}
	answer.AtEventID, answer.Stopped = found.LastSeen, found.Stopped
	answer.BeforeTask = found.Stopped == nil && found.LastSeen < found.End
	answer.UpdateHandlers, answer.QueryHandlers, answer.Signals = first(found.Updates), first(found.Queries), first(found.Signals)
	f := newFolder(d)
	for i := range found.Coroutines {
		f.add(&found.Coroutines[i])
	}
	answer.Coroutines, answer.More = f.coroutines()
	return answer, nil
}

// first returns the first of many names.
func first(names []string) []string { return names[:min(len(names), maxWaits)] }

// waitsOf returns what a run's log says, without its code.
func waitsOf(run *engine.Run, d *schema.Description, build string) *schema.Waits {
	w := &schema.Waits{
		WorkflowID: d.WorkflowID, RunID: d.RunID, Status: d.Status, State: d.State, BuildHere: build, Coroutines: []schema.Coroutine{},
	}
	if last := run.State.LastTask; last != nil {
		w.BuildOfTask = last.Task.Build
	}
	return w
}

// folder folds coroutines that wait at the same place for the same kinds of things into one.
type folder struct {
	activities map[int64]*schema.PendingActivity
	children   map[int64]*schema.PendingChild
	unread     map[string]int
	updates    []schema.UpdateInFlight

	groups []*alike
	byKey  map[string]*alike
}

// alike is several coroutines that are one in the answer.
type alike struct {
	schema.Coroutine
	waits []engine.WaitFor
	has   map[engine.WaitFor]bool
}

// newFolder returns a folder for the coroutines of a run.
func newFolder(d *schema.Description) *folder {
	f := &folder{
		activities: map[int64]*schema.PendingActivity{}, children: map[int64]*schema.PendingChild{}, unread: map[string]int{},
		updates: d.UpdatesInFlight, byKey: map[string]*alike{},
	}
	for i := range d.PendingActivities {
		f.activities[d.PendingActivities[i].EventID] = &d.PendingActivities[i]
	}
	for i := range d.PendingChildren {
		f.children[d.PendingChildren[i].EventID] = &d.PendingChildren[i]
	}
	for _, u := range d.UnreadSignals {
		f.unread[u.Name] = u.Count
	}
	return f
}

// add adds a coroutine.
func (f *folder) add(w *engine.CoroutineWait) {
	at, call := placesOf(where.Frames(w.PCs))
	var key strings.Builder
	fmt.Fprintf(&key, "%q %q %q %v", w.Name, w.UpdateID, call, at)
	for _, what := range w.For {
		fmt.Fprintf(&key, " %s %q %q", what.Kind, what.Type, what.Name)
	}
	g := f.byKey[key.String()]
	if g == nil {
		g = &alike{Coroutine: schema.Coroutine{Name: w.Name, UpdateID: w.UpdateID, At: at, Call: call}, has: map[engine.WaitFor]bool{}}
		f.groups, f.byKey[key.String()] = append(f.groups, g), g
	}
	g.Count++
	for _, what := range w.For {
		if !g.has[what] {
			g.has[what], g.waits = true, append(g.waits, what)
		}
	}
}

// placesOf returns the frames of the author's code, the innermost first, and the function of Weft
// that it called.
func placesOf(frames []where.Frame) (at []schema.Place, call string) {
	at = []schema.Place{}
	for i, frame := range frames {
		switch {
		case !frame.Author():
		case len(at) == maxPlaces:
			return at, call
		default:
			if len(at) == 0 && i > 0 {
				call = frames[i-1].Call()
			}
			at = append(at, schema.Place{Place: frame.Place(), Function: frame.Name()})
		}
	}
	return at, call
}

// coroutines returns the coroutines of the answer, and how many it leaves out.
func (f *folder) coroutines() (all []schema.Coroutine, more int) {
	all = []schema.Coroutine{}
	left := maxAllWaits
	for _, g := range f.groups {
		if len(all) == maxCoroutines {
			more += g.Count
			continue
		}
		fits := min(len(g.waits), maxWaits, left)
		left -= fits
		g.WaitsFor, g.More = make([]schema.WaitsFor, fits), len(g.waits)-fits
		for i, what := range g.waits[:fits] {
			g.WaitsFor[i] = f.waitsFor(what)
		}
		all = append(all, g.Coroutine)
	}
	return all, more
}

// waitsFor returns what code waits for, with what is known of it. An event id of code that does
// something else than history records may be that of another thing.
func (f *folder) waitsFor(what engine.WaitFor) schema.WaitsFor {
	w := schema.WaitsFor{
		Kind: string(what.Kind), EventID: what.EventID, Name: what.Name, Type: what.Type, Attempt: what.Attempt, WorkflowID: what.WorkflowID,
	}
	if what.FireAt != 0 {
		at := min(what.FireAt, history.LastSecond).Time()
		w.FireAt = &at
	}
	switch what.Kind {
	case engine.WaitActivity:
		if a := f.activities[what.EventID]; a != nil && a.Type == what.Type {
			w.Attempt, w.LastFailure, w.NextAttemptAt, w.Held = a.Attempt, a.LastFailure, a.NextAttemptAt, a.Held
		}
	case engine.WaitChild, engine.WaitChildStart:
		if c := f.children[what.EventID]; c != nil && c.WorkflowID == what.WorkflowID {
			w.Status, w.State = c.Status, c.State
		}
	case engine.WaitSignal:
		w.Unread = f.unread[what.Name]
	case engine.WaitUpdateHandlers:
		w.Updates = f.updates[:min(len(f.updates), maxWaits)]
	case engine.WaitLocalActivity, engine.WaitTimer, engine.WaitExternal, engine.WaitCondition, engine.WaitNextTask, engine.WaitFuture,
		engine.WaitChannel, engine.WaitLock, engine.WaitSemaphore, engine.WaitGroup:
	}
	return w
}
