package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
)

// Delivery is a message as its handler gets it.
type Delivery struct {
	*engine.Message
	// Received is how often it was received, this time included.
	Received int
	// Extend keeps it invisible for this long from now on; nil where that is not needed.
	Extend func(ctx context.Context, d time.Duration) error
	// Deadline is when the process may be ended; zero is never. No attempt is begun that may take longer: its message comes
	// again.
	Deadline time.Time
	// Longest is how long an attempt at an activity may take where this message is delivered, whatever is left of the time
	// now; 0 is without limit. One that may take longer is held (session.hold).
	Longest time.Duration

	begun bool // the attempt is known to have begun
}

// lookAgain is how long a message whose commit is not in the log is held before the next look, look by look. After the
// last a delayed copy takes its place.
var lookAgain = []time.Duration{20 * time.Millisecond, 80 * time.Millisecond, 200 * time.Millisecond}

// copyDelay is the delay of that copy, of a message that was sent just now.
const copyDelay = 2 * time.Second

// copyPart is the part of a message's age that a later copy waits, if that is longer. The number of copies grows with the logarithm of
// Grace: each copy that a queue delivers twice begins a chain of its own.
const copyPart = 4

// copyAfter returns the delay of the next copy of a message whose commit is not in the log. The age adds no delay that would put off the
// fence, or take the copy out of its queue. A message has a negative age if the clock was set back after it was sent: its copy waits
// until the clock is where it was, so that few copies are made until then.
func (s *Service) copyAfter(age time.Duration) time.Duration {
	if age < 0 {
		return max(copyDelay, min(-age, s.options.LongTimer))
	}
	return max(copyDelay, min(age/copyPart, s.options.Grace-age, s.options.LongTimer))
}

// Handle does what a message of the activity queue or the timer queue asks for. Where it returns nil the message is to be
// deleted: all that it set off is in the log, or on its way. Otherwise it is to be delivered again.
func (s *Service) Handle(ctx context.Context, d Delivery) error {
	ctx, ended := s.metered(ctx)
	defer ended()
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	for look := 0; ; look++ {
		found, err := s.handleNamed(ctx, d)
		if errors.Is(err, outcome.ErrDropped) {
			return s.dropped(context.WithoutCancel(ctx), d.Message)
		}
		if found || err != nil {
			return err
		}
		age := s.now().Sub(d.Sent)
		if age >= s.options.Grace {
			fenced, err := s.fence(ctx, d.Message)
			if fenced || err != nil {
				return err
			}
			continue // what stands in the slot decides
		}
		if look == len(lookAgain) {
			return s.outbox.SendLater(ctx, d.Message, s.copyAfter(age))
		}
		if err := s.world.Wait(ctx, lookAgain[look], nil); err != nil {
			return err
		}
	}
}

// handleNamed does what a message asks for if the commit that it names is in the log. found is false where it is not
// there yet, and may still come.
func (s *Service) handleNamed(ctx context.Context, d Delivery) (found bool, err error) {
	m := *d.Message // which is the sender's as well, or another delivery's
	d.Message = &m
	switch d.Kind {
	case engine.RunActivity:
		return s.handleActivity(ctx, d)
	case engine.SettleChild:
		return s.afterEnd(ctx, d.Message, s.settleChild)
	case engine.ReportChild:
		return s.reportChild(ctx, d.Message)
	case engine.ReachOut:
		return s.afterEnd(ctx, d.Message, s.reachOut)
	case engine.FireTimer, engine.RetryTask, engine.EndRun, engine.TakeResult, engine.StartTask, engine.CloseActivity, engine.CloseAttempt: // see act
	}
	err = s.at(ctx, d.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, d.Message)
		found = place != notYet
		if err != nil || place != inLog {
			return err
		}
		return t.act(ctx, run, d.Message)
	})
	return found, err
}

// at carries out fn at a workflow's gate, again and again while it loses races.
func (s *Service) at(ctx context.Context, workflowID string, fn func(context.Context, *session) error) error {
	t, err := s.open(ctx, workflowID)
	if err != nil {
		return err
	}
	defer t.close()
	return t.insist(ctx, fn)
}

// place is where the commit stands that a message names.
type place uint8

const (
	// notYet: its slot is empty.
	notYet place = iota
	// inLog: it is in the log.
	inLog
	// never: its slot holds another commit, or can no longer be filled. Nobody acts on the message.
	never
)

// named finds the commit that a message names, and the run that it is in.
func (t *session) named(ctx context.Context, m *engine.Message) (*engine.Run, place, error) {
	t.view.Expect = int(m.Slot)
	if err := t.view.EnsureLoaded(ctx); err != nil {
		return nil, notYet, err
	}
	for {
		run, p := t.find(m)
		if p == never && run != nil && run.Number > m.RunID.Number() {
			return t.past(ctx, run, m)
		}
		if p == inLog || t.view.Fresh {
			return run, p, nil
		}
		if err := t.view.Refresh(ctx); err != nil {
			return nil, notYet, err
		}
	}
}

// find is named by what is known.
func (t *session) find(m *engine.Message) (*engine.Run, place) {
	run, number := t.run(), m.RunID.Number()
	switch {
	case run == nil || run.Number < number:
		if t.view.IsMoot(number) {
			return nil, never // a void run, or one that is gone
		}
		// What the cache knows to have been void may have been deleted since: a start that is under way may take its number.
		return nil, notYet
	case run.Number > number:
		return run, never // a run before the latest has closed: all it was waiting for is moot; see past
	case run.State.RunID != m.RunID:
		return nil, never // of a run that has been deleted, and whose number another has now
	case m.Slot < run.State.NextSlot:
		if !run.Has(m.Slot, m.Commit) {
			return nil, never
		}
		return run, inLog
	case run.State.Status.Closed():
		return nil, never
	}
	return run, notYet
}

// fence puts an empty commit into the slot that a message names, so that the commit which should have stood there can
// never land: its writer has died, or sleeps. It reports false where something stands there already. A crash here leaves
// the message, and the fence if it landed; both are found again.
func (s *Service) fence(ctx context.Context, m *engine.Message) (fenced bool, err error) {
	err = s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, m)
		fenced = err == nil && place == notYet
		if !fenced {
			return err
		}
		if run == nil {
			if m.Slot != 0 && t.view.Highest == 0 {
				return nil // of a run that has been deleted: one that opens with several commits goes on from another, which would be here
			}
			// Its first slot is fenced, whichever slot the message names: who is to put the run puts that one, or has put it before.
			run = engine.NewRun(m.WorkflowID, m.RunID.Number())
		} else if m.Slot != run.State.NextSlot {
			return nil
		}
		w := t.writer(m)
		w.RunID = m.RunID
		c := run.Fence(w)
		if c.Status == history.Void {
			c.Expires = w.Now.Add(t.keep(0))
		}
		t.options.Logger.WarnContext(ctx, "fenced a slot whose writer did not come", "workflowId", m.WorkflowID, "run", m.RunID, "slot", m.Slot)
		return t.putFence(ctx, run, c)
	})
	return fenced, err
}

// putFence puts a fence. Where the slot has been taken meanwhile, the message is looked at again.
func (t *session) putFence(ctx context.Context, run *engine.Run, c *history.Commit) error {
	t.code.Drop()
	ch := &change{run: run, commit: c}
	if err := t.encode([]*change{ch}); err != nil {
		return err
	}
	return t.put(ctx, []*change{ch})
}

// act does what a message asks for whose commit is in the log.
func (t *session) act(ctx context.Context, run *engine.Run, m *engine.Message) error {
	if !run.Needed(m) {
		return t.repair(ctx, run, m)
	}
	if early := m.Due.Sub(t.now()); m.Due != 0 && early > 0 {
		return t.outbox.SendBack(ctx, m)
	}
	if m.Kind != engine.EndRun {
		if err := t.mine(ctx, run); err != nil {
			return err
		}
	}
	switch m.Kind {
	case engine.FireTimer:
		return t.commitEvents(ctx, run, []history.Event{history.Of(&history.TimerFired{StartedEventID: m.EventID})}, m)
	case engine.CloseActivity:
		f := runner.TimedOut(failure.ScheduleToClose, "its time was over", nil)
		return t.commitEvents(ctx, run, []history.Event{history.Of(&history.ActivityTaskTimedOut{ScheduledEventID: m.EventID, Failure: f})}, m)
	case engine.CloseAttempt:
		return t.closeAttempt(ctx, run, m)
	case engine.StartTask:
		return t.commitTask(ctx, run, engine.Task{First: true}, m)
	case engine.RetryTask:
		return t.retryTask(ctx, run, m)
	case engine.EndRun:
		t.code.Drop()
		return t.commit(ctx, run, run.TimeOut(t.writer(m)), m)
	case engine.TakeResult:
		return t.commitEvents(ctx, run, run.Awaited(*m.Result), m)
	case engine.RunActivity, engine.SettleChild, engine.ReportChild, engine.ReachOut: // see handleNamed
	}
	return nil
}

// repair sends again what the commits of a message's wave schedule and what is still needed, before the message is
// deleted: what the message asks for was done before, by one who may have died before it sent what follows.
func (t *session) repair(ctx context.Context, run *engine.Run, m *engine.Message) error {
	return t.sendOwed(ctx, run, []*engine.Message{m})
}

// past is what a message of a run before the latest comes to. What that run does to others outlives it: its children, its
// parent, and what it has sent.
func (t *session) past(ctx context.Context, latest *engine.Run, m *engine.Message) (*engine.Run, place, error) {
	if err := t.repairPast(ctx, latest, m); err != nil {
		return latest, never, err
	}
	switch m.Kind {
	case engine.SettleChild, engine.ReportChild, engine.ReachOut:
		run, err := t.view.Other(ctx, m.RunID)
		if err != nil || run == nil || !run.Has(m.Slot, m.Commit) {
			return latest, never, err
		}
		return run, inLog, nil
	case engine.RunActivity, engine.FireTimer, engine.RetryTask, engine.EndRun, engine.TakeResult, engine.StartTask, engine.CloseActivity, engine.CloseAttempt:
		// are moot
	}
	return latest, never, nil
}

// repairPast is repair for a message of a run before the latest. Whoever closed that run on its behalf may have died before
// he sent what follows from that, also in the run that the same put opened. The log says whether anybody has: that costs no read
// if the latest run continues the message's run, and otherwise a read of one commit.
func (t *session) repairPast(ctx context.Context, latest *engine.Run, m *engine.Message) error {
	// A run that a reset opened has the start of the one that was reset: another put opened it.
	if latest.State.Reset == nil && latest.State.Started.ContinuedFrom == m.RunID && !slices.Contains(latest.First().Waves, m.Wave) {
		return nil // the put that closed its run opened this one: another message, or a request, has made it
	}
	if last, err := t.view.LastCommit(ctx, t.workflowID, m.RunID); err != nil || last != nil && last.Status.Closed() && !slices.Contains(last.Waves, m.Wave) {
		return err // what another wave has closed owes nothing on behalf of this one
	}
	run, err := t.view.Other(ctx, m.RunID)
	if err != nil {
		return err
	}
	if run == nil {
		return t.repairNext(ctx, latest, m)
	}
	if m.Seen >= run.State.NextSlot {
		return nil // the run had closed when this was sent, and all that follows was sent again then
	}
	if err := t.repair(ctx, run, m); err != nil {
		return err
	}
	next := latest
	if id := run.State.Next(); id != latest.State.RunID {
		if id == "" {
			return nil
		}
		if next, err = t.view.Other(ctx, id); next == nil || err != nil {
			return err
		}
	}
	return t.repairNext(ctx, next, m)
}

// repairNext is repair for a message of a run that another one continues: the put that closed it also opened the next
// run, and whoever made it may have died before it sent what that run's first task schedules.
func (t *session) repairNext(ctx context.Context, next *engine.Run, m *engine.Message) error {
	if next.State.Started.ContinuedFrom != m.RunID {
		return nil
	}
	return t.outbox.Send(ctx, next.OwedFirst(m))
}

// commitEvents commits what messages or a request bring, with what the code does about it.
func (t *session) commitEvents(ctx context.Context, run *engine.Run, events []history.Event, triggers ...*engine.Message) error {
	return t.commitTask(ctx, run, engine.Task{Brought: events, CheckSignals: len(triggers) == 0}, triggers...)
}

// commitTask runs a task that messages brought, and commits it.
func (t *session) commitTask(ctx context.Context, run *engine.Run, task engine.Task, triggers ...*engine.Message) error {
	transition, err := t.step(ctx, run, task, triggers...)
	switch {
	case err != nil:
		return err
	case transition.Refused != nil:
		return t.refuse(ctx, transition)
	}
	err = t.commit(ctx, run, transition, triggers...)
	if !errors.Is(err, outcome.ErrTooLarge) {
		return err
	}
	t.discard()
	kept := t.deferred(run, transition, task, triggers...)
	if kept == nil && len(triggers) == 0 && !task.First {
		return err // a request, which is refused
	}
	if kept == nil {
		// What the code wants to write at once is larger than a commit may be. The events are kept, and the code is at
		// fault: the task fails, and is tried again when other code has been deployed.
		kept = t.failTooLarge(ctx, run, task, triggers...)
	}
	return t.commit(ctx, run, kept, triggers...)
}

// failTooLarge is what a task comes to whose code wants to write more at once than a commit may have.
func (t *session) failTooLarge(ctx context.Context, run *engine.Run, task engine.Task, triggers ...*engine.Message) *engine.Transition {
	w := t.writer(triggers...)
	failed := run.Fail(w, task, t.tooLarge())
	t.code.Tasks.Ran(ctx, run, w, task, t.world.Now(), failed)
	return failed
}

// hungRetry is the longest delay between two looks at a run whose code hangs.
const hungRetry = time.Minute

// retryTask is the next attempt at a task that failed. One that fails again sends the message of the one after it before
// its own is deleted, so the chain never ends, and there is one: a later commit ends it.
func (t *session) retryTask(ctx context.Context, run *engine.Run, m *engine.Message) error {
	task := engine.Task{Attempt: m.Attempt}
	transition, err := t.step(ctx, run, task, m)
	if err != nil {
		return err
	}
	if transition.Commit != nil {
		err := t.commit(ctx, run, transition, m)
		if !errors.Is(err, outcome.ErrTooLarge) {
			return err
		}
		transition = t.failTooLarge(ctx, run, task, m)
	}
	t.discard()
	next := *m
	next.Attempt++
	delay := engine.TaskRetryDelay(m.Attempt)
	if t.runner.Blocked(t.workflowID, run.State.RunID) != nil {
		delay = min(delay, hungRetry) // the code may come back at any moment
	}
	next.Due, next.Sent = t.now().Add(delay), 0
	return t.nextAttempt(ctx, m, run.State.LastTask.TaskScheduledID(), next, transition.Failure)
}
