package sim

import (
	"context"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/model"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// events tells the model what happens: each event of a simulation has to be one that the rules of package model allow.
type events struct {
	s       *simulation
	actors  uint32
	ended   bool
	checker *model.Checker
	ids     map[any]uint32 // small numbers for the ids of workflows, runs, commits, causation ids and requests
}

func newEvents(s *simulation) *events {
	return &events{s: s, checker: model.NewChecker(), ids: map[any]uint32{}}
}

// The kinds of names that do not tell themselves apart by their types.
type (
	requestName struct{ workflow, id string }
	updateName  struct{ workflow, id string }
	sendName    uint64
)

// id returns the number that stands for an id.
func (v *events) id(name any) uint32 {
	n := v.ids[name]
	if n == 0 {
		n = uint32(len(v.ids) + 1)
		v.ids[name] = n
	}
	return n
}

// happens has the checker take an event.
func (v *events) happens(e model.Event) {
	if v.ended || len(v.s.wrong) > 0 {
		return
	}
	if v.s.watch != nil {
		var pass bool
		if e, pass = v.s.watch(e); !pass {
			return
		}
	}
	if err := v.checker.Accept(e); err != nil {
		v.s.fail("this is no trace of the model: %v", err)
	}
}

// end has the model be told nothing more.
func (v *events) end() {
	if v != nil {
		v.ended = true
	}
}

// who returns the actor at work; 0 is one whose work the model takes as it comes: sweeps of timers, maintenance, late puts.
func (v *events) who() uint32 {
	if a := v.s.running; a != nil {
		return a.number
	}
	return 0
}

// name gives an actor a number.
func (v *events) name(a *actor) {
	v.actors++
	a.number = v.actors
}

// asked tells of an actor that takes up a request.
func (v *events) asked(a *actor) {
	if v == nil {
		return
	}
	v.name(a)
	v.happens(model.Event{Do: model.Ask, Actor: a.number})
}

// received tells of an actor that handles messages.
func (v *events) received(a *actor, part []queue.Delivery) {
	if v == nil {
		return
	}
	v.name(a)
	a.part = part
	v.happens(model.Event{Do: model.Receive, Actor: a.number, Messages: v.messages(part)})
}

// deleted tells of messages that were deleted.
func (v *events) deleted(receipts []string) {
	if v == nil {
		return
	}
	a := v.s.running
	if a == nil {
		return
	}
	part := slices.DeleteFunc(slices.Clone(a.part), func(d queue.Delivery) bool { return !slices.Contains(receipts, d.Receipt) })
	v.happens(model.Event{Do: model.Delete, Actor: v.who(), Messages: v.messages(part)})
}

func (v *events) messages(part []queue.Delivery) (all []model.Message) {
	for _, d := range part {
		if m, err := outbox.Decode(d.Body); err == nil {
			out := v.message(m)
			out.Received = uint8(min(d.Received, 255))
			all = append(all, out)
		}
	}
	return all
}

// sent tells of a message that was put on a queue, or kept among the timers.
func (v *events) sent(m *engine.Message) {
	v.happens(model.Event{Do: model.Send, Actor: v.sender(m), Message: v.message(m)})
}

// sender is the actor that a message is sent for: the one at work, or another of its process whose result goes with the same batch.
func (v *events) sender(m *engine.Message) uint32 {
	me := v.s.running
	if me == nil || m.Kind != engine.TakeResult || me.holds(m.CausationID) {
		return v.who()
	}
	for _, a := range v.s.actors {
		if a.process == me.process && !a.ended && a.holds(m.CausationID) {
			return a.number
		}
	}
	return 0 // its handler waits no longer, and has ended, but another had taken its result along
}

// holds reports whether an actor handles a message of a causation id.
func (a *actor) holds(w history.CausationID) bool {
	return slices.ContainsFunc(a.part, func(d queue.Delivery) bool {
		m, err := outbox.Decode(d.Body)
		return err == nil && m.CausationID == w
	})
}

// toldQueue is what a process sends to, above what encodes bodies.
type toldQueue struct {
	queue.Sender
	v *events
}

// Send sends, and tells of what was sent.
func (w toldQueue) Send(ctx context.Context, name string, messages ...queue.Message) error {
	err := w.Sender.Send(ctx, name, messages...)
	for _, m := range messages {
		if d, decodeErr := outbox.Decode(m.Body); err == nil && decodeErr == nil {
			w.v.sent(d)
		}
	}
	return err
}

// toldTimers is where a process keeps timers, above what encodes bodies.
type toldTimers struct {
	store.Timers
	v *events
}

// PutTimers keeps, and tells of what was kept.
func (w toldTimers) PutTimers(ctx context.Context, timers []store.Timer) error {
	err := w.Timers.PutTimers(ctx, timers)
	for _, timer := range timers {
		if d, decodeErr := outbox.Decode(timer.Body); err == nil && decodeErr == nil {
			w.v.sent(d)
			w.v.s.audit.checked(d) // a sweep sends it, when its queue is there again
			if d.Kind == engine.TakeResult {
				// It waits for its build, and another copy of the message may find the attempt interrupted by then.
				delete(w.v.s.audit.attempts.known, tried{string(d.RunID), d.EventID})
			}
		}
	}
	return err
}

// watchPorts has a process's sendings told.
func (v *events) watchPorts(p executor.Ports) executor.Ports {
	if v == nil {
		return p
	}
	p.Queue, p.Timers = toldQueue{p.Queue, v}, toldTimers{p.Timers, v}
	return p
}

// message returns a message as the model has it.
func (v *events) message(m *engine.Message) model.Message {
	out := model.Message{
		Kind: model.Kind(m.Kind), Workflow: v.id(m.WorkflowID), Number: int32(m.RunID.Number()), Run: v.id(m.RunID), Slot: int32(m.Slot),
		Commit: v.id(m.Commit), Event: int32(m.EventID), CausationID: v.id(m.CausationID), Send: v.id(sendName(m.Send ^ m.Copy)), Seen: int32(min(m.Seen, 1<<30)), Attempt: int32(m.Attempt),
	}
	if m.Result != nil {
		_, out.Starts = m.Result.Attributes.(*history.ChildWorkflowExecutionStarted)
	}
	return out
}

// put tells of commits that landed together. The runs have them already.
func (v *events) put(runs []*engine.Run, commits []*history.Commit) {
	if v == nil {
		return
	}
	var all []*model.Commit
	for i, c := range commits {
		all = append(all, v.commit(runs[i], c))
	}
	graced := false
	if a := v.s.running; a != nil {
		for _, d := range a.part {
			m, err := outbox.Decode(d.Body)
			graced = graced || err == nil && v.s.now.Sub(m.Sent.Time()) >= time.Minute-v.s.clockGap()
		}
	}
	v.happens(model.Event{Do: model.Put, Actor: v.who(), Commits: all, Graced: graced})
}

// commit returns a commit as the model has it.
func (v *events) commit(run *engine.Run, c *history.Commit) *model.Commit {
	out := &model.Commit{
		ID: v.id(c.ID), Run: v.id(c.RunID), Workflow: v.id(run.WorkflowID), Number: int32(run.Number), Slot: int32(c.Slot),
		Fence: c.Fence(), Task: c.Task != nil,
	}
	switch {
	case c.Status == history.Void:
		out.Status = model.Void
	case c.Status == history.ContinuedAsNew:
		out.Status = model.Continued
	case c.Status == history.Terminated:
		out.Status = model.Terminated
	case c.Status.Closed():
		out.Status = model.Completed
	}
	for _, w := range c.CausationIDs {
		out.CausationIDs = append(out.CausationIDs, v.id(w))
	}
	if out.Fence {
		return out
	}
	if next := c.NextRun(); next != "" {
		out.Next = v.id(next)
	}
	if started := c.Opens(); started != nil && !c.FromReset() && started.ContinuedFrom != "" {
		out.From = v.id(started.ContinuedFrom)
	}
	for _, m := range run.Messages(c) {
		out.Sched = append(out.Sched, model.Owing{Kind: model.Kind(m.Kind), Event: int32(m.EventID)})
	}
	for part := range c.Parts() {
		for _, e := range slices.Concat(part.InputEvents, part.Commands) {
			v.event(out, run, e)
		}
	}
	return out
}

// event adds what an event says to a commit.
func (v *events) event(c *model.Commit, run *engine.Run, e history.Event) {
	if about := history.ResolutionOf(e.Attributes).ID(); about != 0 {
		c.Done = append(c.Done, int32(about))
	}
	switch a := e.Attributes.(type) {
	case *history.ChildWorkflowExecutionStarted:
		c.Started = append(c.Started, int32(a.InitiatedEventID))
	case *history.WorkflowExecutionSignaled:
		if a.RequestID != "" {
			c.Signals = append(c.Signals, v.id(requestName{run.WorkflowID, a.RequestID}))
		}
	case *history.WorkflowExecutionUpdateAccepted:
		c.Updates = append(c.Updates, v.id(updateName{run.WorkflowID, a.UpdateID}))
	}
}

// begins tells of an attempt whose code runs.
func (v *events) begins(info activity.Info, limit int) {
	if v == nil {
		return
	}
	v.happens(model.Event{
		Do: model.Begin, Actor: v.who(), Number: int32(info.Attempt), Limit: int32(limit),
		Message: model.Message{Kind: model.RunActivity, Workflow: v.id(info.WorkflowID), Run: v.id(history.RunID(info.RunID)), Event: int32(info.EventID)},
	})
}

// dropped tells of a commit that was deleted.
func (v *events) dropped(item store.Item) {
	if v == nil {
		return
	}
	c := &model.Commit{ID: v.id(history.CommitID(item.Commit)), Workflow: v.id(item.Workflow), Number: int32(item.Run), Slot: int32(item.Slot)}
	v.happens(model.Event{Do: model.Drop, Commits: []*model.Commit{c}})
}
