package sim

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// life is a schedule from its creation to its end, read from its log.
type life struct {
	a      *audit
	id     string
	name   string
	born   time.Time
	died   time.Time
	ticked time.Time   // when a timer of it last fired
	ran    []time.Time // when its code ran
	phases []phase
	asked  []request
	shifts []*started
	open   map[int64]*started
	events int // the number of events that were read
	// split is the task that has to wait for the next one, and the timer with which the next one
	// begins. In that next task, split becomes goesOn.
	split, goesOn *split
	// resume is the timer after which the schedule continues with moments that did not fit into one
	// task.
	resume int64
}

// split is a task that waits for the next one.
type split struct {
	timer int64
	order int
	at    time.Time
}

// phase is a time in which a schedule does not change.
type phase struct {
	stored.Schedule
	from, to time.Time // to is zero for the last phase
}

// request is a request for one run, or for the runs of a time range.
type request struct {
	order      int // the number of its event
	at         time.Time
	phase      phase // of the schedule at this event; the next phase may have the same time
	overlap    stored.Overlap
	start, end time.Time // zero for a single run
}

// covers reports whether the request is for the runs of a range that includes this moment.
func (r request) covers(t time.Time) bool {
	return !r.start.IsZero() && !t.Before(r.start) && !t.After(r.end)
}

// started is a run that a schedule has started.
type started struct {
	order     int       // the number of its event, or of the task that had to leave it to the next one
	at        time.Time // the run's moment
	triggered bool
	request   string    // the request id of its start
	decided   time.Time // when the task that had to leave it to the next one ran, or when it was started
	from, to  time.Time // when it was started, and when the schedule knew of its end; to is zero if it never did
	// counted is when the run no longer kept others from starting. The moments that passed while it
	// was open are handled first, a part at a time.
	counted time.Time
}

// openAt reports whether the schedule knew the run as open at some time in this range.
func (s *started) openAt(from, to time.Time) bool {
	return !s.decided.After(to) && (s.to.IsZero() || !s.to.Before(from))
}

// keepsOthers reports whether the run kept others from starting at a time.
func (s *started) keepsOthers(t time.Time) bool {
	return !s.decided.After(t) && (s.counted.IsZero() || !s.counted.Before(t))
}

// startedAt reports whether the run was started because of what happened at a time.
func (s *started) startedAt(t time.Time) bool { return !s.decided.After(t) && !s.from.Before(t) }

// lives returns the schedules that have had an id.
func (a *audit) lives(id string) (all []*life) {
	var l *life
	for _, run := range a.runs[stored.IDPrefix+id] {
		if run.Void() {
			continue
		}
		if run.State.Started.ContinuedFrom == "" {
			l = &life{a: a, id: id, name: "schedule " + id + " " + string(run.State.RunID)}
			all = append(all, l)
		}
		l.read(run)
	}
	return all
}

// read adds a run's log.
func (l *life) read(run *engine.Run) {
	l.open, l.split = map[int64]*started{}, nil
	for _, c := range run.Log {
		at := c.Time.Time()
		if c.Task != nil {
			l.ran = append(l.ran, at)
		}
		starts, asked := 0, false
		for _, e := range c.Events() {
			l.event(e.ID, at, e.Event)
			switch e.Attributes.(type) {
			case *history.StartChildWorkflowExecutionInitiated:
				starts++
			case *history.WorkflowExecutionUpdateAccepted:
				asked = true // perhaps for any number of runs: a backfill
			}
		}
		if starts > atOnce && !asked {
			l.fail("has started %d runs in one task", starts)
		}
		l.goesOn = nil
	}
	l.died = run.State.CloseTime.Time()
	if run.State.Status != history.ContinuedAsNew {
		return
	}
	for _, s := range l.open {
		if s.to.IsZero() {
			s.to = l.died // the schedule does not wait for these in its next run
		}
		if s.counted.IsZero() {
			s.counted = l.died
		}
	}
	l.a.follows(l.name, run)
}

func (l *life) event(id int64, at time.Time, e history.Event) {
	l.events++
	if s := l.open[history.ResolutionOf(e.Attributes).Child]; s != nil {
		s.to, s.counted = at, at
		l.ended(at, e.Attributes)
	}
	switch e := e.Attributes.(type) {
	case *history.WorkflowExecutionStarted:
		if l.phases == nil {
			var n stored.Input
			l.decode(e.Input, &n)
			l.born, l.phases = at, []phase{{Schedule: n.Schedule, from: at}}
		}
	case *history.TimerStarted:
		l.waits(id, at, e)
	case *history.TimerFired:
		l.ticked = at
		if e.StartedEventID == l.resume {
			l.count(time.Time{}, at)
		}
		if l.split != nil && e.StartedEventID == l.split.timer {
			l.goesOn, l.split = l.split, nil
		}
	case *history.WorkflowExecutionUpdateAccepted:
		l.update(at, e)
	case *history.StartChildWorkflowExecutionInitiated:
		s := &started{order: l.events, request: e.RequestID, decided: at, from: at}
		if l.goesOn != nil {
			s.order, s.decided = l.goesOn.order, l.goesOn.at
		}
		moment := strings.TrimPrefix(e.WorkflowID, l.id+"-")
		moment, _, s.triggered = strings.Cut(moment, "Z-")
		var err error
		if s.at, err = time.Parse(time.RFC3339, strings.TrimSuffix(moment, "Z")+"Z"); err != nil {
			l.fail("has started %s: %v", e.WorkflowID, err)
		}
		l.shifts, l.open[id] = append(l.shifts, s), s
	}
}

// waits handles a timer after which the next task continues with what did not fit into this one, or
// with more moments.
func (l *life) waits(id int64, at time.Time, e *history.TimerStarted) {
	switch {
	case e.Point > 0:
		l.split = &split{timer: id, order: l.events, at: at}
		if l.goesOn != nil {
			l.split.order, l.split.at = l.goesOn.order, l.goesOn.at
		}
	case e.FireAt.Time().Equal(at.Add(partEvery)):
		l.resume = id
		l.count(at, time.Time{})
	}
}

// partEvery is the time after which a schedule continues with moments that did not fit into one
// task (internal/schedule/flow).
const partEvery = time.Second

// count changes when the ended runs stopped keeping others from starting.
func (l *life) count(from, to time.Time) {
	for _, s := range l.shifts {
		if !s.to.IsZero() && s.counted.Equal(from) {
			s.counted = to
		}
	}
}

// ended records how a run ended.
func (l *life) ended(at time.Time, e history.Attributes) {
	switch e.(type) {
	case *history.ChildWorkflowExecutionFailed, *history.ChildWorkflowExecutionTimedOut, *history.StartChildWorkflowExecutionFailed:
		if l.now().PauseOnFailure {
			l.change(at, func(s *stored.Schedule) { s.Paused = true })
		}
	}
}

// update applies an update that the schedule accepted.
func (l *life) update(at time.Time, u *history.WorkflowExecutionUpdateAccepted) {
	switch u.UpdateName {
	case stored.UpdatePause, stored.UpdateUnpause:
		l.change(at, func(s *stored.Schedule) { s.Paused = u.UpdateName == stored.UpdatePause })
	case stored.UpdateChange:
		var r stored.Change
		l.decode(u.Input, &r)
		l.change(at, func(s *stored.Schedule) { *s = *r.Schedule })
	case stored.UpdateTrigger:
		var r stored.Trigger
		l.decode(u.Input, &r)
		l.asked = append(l.asked, request{order: l.events, at: at, phase: *l.now(), overlap: r.Overlap})
	case stored.UpdateBackfill:
		var r stored.Backfill
		l.decode(u.Input, &r)
		l.asked = append(l.asked, request{order: l.events, at: at, phase: *l.now(), overlap: r.Overlap, start: r.StartAt, end: r.EndAt})
	}
}

func (l *life) now() *phase { return &l.phases[len(l.phases)-1] }

func (l *life) change(at time.Time, how func(*stored.Schedule)) {
	next := *l.now()
	l.now().to, next.from = at, at
	how(&next.Schedule)
	l.phases = append(l.phases, next)
}

func (l *life) decode(p history.Payload, v any) {
	if err := json.Unmarshal(p, v); err != nil {
		l.fail("has %s: %v", p, err)
	}
}

func (l *life) fail(format string, args ...any) {
	l.a.s.fail("%s "+format, append([]any{l.name}, args...)...)
}
