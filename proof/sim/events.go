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

// events reports what happens to the model. The rules of package model must allow each event of a
// simulation.
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

// The kinds of names whose types do not distinguish them.
type (
	requestName struct{ workflow, id string }
	updateName  struct{ workflow, id string }
	sendName    uint64
)

// id returns the number that represents an id.
func (v *events) id(name any) uint32 {
	n := v.ids[name]
	if n == 0 {
		n = uint32(len(v.ids) + 1)
		v.ids[name] = n
	}
	return n
}

// happens passes an event to the checker.
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

// end stops the reports to the model.
func (v *events) end() {
	if v != nil {
		v.ended = true
	}
}

// who returns the actor that runs, or 0 if the model does not track it: in sweeps of timers, in
// maintenance, and for late puts.
func (v *events) who() uint32 {
	if a := v.s.running; a != nil {
		return a.number
	}
	return 0
}

// name numbers an actor.
func (v *events) name(a *actor) {
	v.actors++
	a.number = v.actors
}

// asked reports an actor that begins a request.
func (v *events) asked(a *actor) {
	if v == nil {
		return
	}
	v.name(a)
	v.happens(model.Event{Do: model.Ask, Actor: a.number})
}

// received reports an actor that handles messages.
func (v *events) received(a *actor, part []queue.Delivery) {
	if v == nil {
		return
	}
	v.name(a)
	a.part = part
	v.happens(model.Event{Do: model.Receive, Actor: a.number, Messages: v.messages(part)})
}

// deleted reports deleted messages.
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

// sent reports a message that was put on a queue, or kept among the timers.
func (v *events) sent(m *engine.Message) {
	v.happens(model.Event{Do: model.Send, Actor: v.sender(m), Message: v.message(m)})
}

// sender returns the actor for which a message is sent: the running one, or another of its process
// whose result is in the same batch.
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
	return 0 // the handler has stopped waiting and ended, but another handler had included its result
}

// holds reports whether an actor handles a message of a causation id.
func (a *actor) holds(w history.CausationID) bool {
	return slices.ContainsFunc(a.part, func(d queue.Delivery) bool {
		m, err := outbox.Decode(d.Body)
		return err == nil && m.CausationID == w
	})
}

// toldQueue is a process's sender, above the codec.
type toldQueue struct {
	queue.Sender
	v *events
}

// Send sends, and reports what was sent.
func (w toldQueue) Send(ctx context.Context, name string, messages ...queue.Message) error {
	err := w.Sender.Send(ctx, name, messages...)
	for _, m := range messages {
		if d, decodeErr := outbox.Decode(m.Body); err == nil && decodeErr == nil {
			w.v.sent(d)
		}
	}
	return err
}

// toldTimers is a process's store of timers, above the codec.
type toldTimers struct {
	store.Timers
	v *events
}

// PutTimers keeps timers, and reports what was kept.
func (w toldTimers) PutTimers(ctx context.Context, timers []store.Timer) error {
	for _, timer := range timers {
		if d, err := outbox.Decode(timer.Body); err == nil {
			w.v.s.audit.replaces(d)
		}
	}
	err := w.Timers.PutTimers(ctx, timers)
	for _, timer := range timers {
		if d, decodeErr := outbox.Decode(timer.Body); err == nil && decodeErr == nil {
			w.v.sent(d)
			w.v.s.audit.checked(d) // a sweep sends it when its queue exists again
			if d.Kind == engine.TakeResult {
				// The message waits for its build. By then another copy of the message may find the
				// attempt interrupted.
				delete(w.v.s.audit.attempts.known, tried{string(d.RunID), d.EventID})
			}
		}
	}
	return err
}

// watchPorts returns ports that report a process's sendings.
func (v *events) watchPorts(p executor.Ports) executor.Ports {
	if v == nil {
		return p
	}
	p.Queue, p.Timers = toldQueue{p.Queue, v}, toldTimers{p.Timers, v}
	return p
}

// message returns the model's form of a message.
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

// put reports commits that landed together. The runs already have them.
func (v *events) put(runs []*engine.Run, commits []*history.Commit, items []store.Item) {
	if v == nil {
		return
	}
	var all []*model.Commit
	for i, c := range commits {
		put := v.commit(runs[i], c)
		if over := items[i].Over; over != ([16]byte{}) {
			put.Over = v.id(history.CommitID(over))
		}
		all = append(all, put)
	}
	graced := false
	if a := v.s.running; a != nil {
		for _, d := range a.part {
			m, err := outbox.Decode(d.Body)
			graced = graced || err == nil && v.s.now.Sub(m.Sent.Time()) >= time.Minute-v.s.clockGap()
		}
	}
	actor := v.who()
	if commits[0].Publishes() {
		actor = 0 // nothing follows from a batch of items, whatever message its attempt holds
	}
	v.happens(model.Event{Do: model.Put, Actor: actor, Commits: all, Graced: graced})
}

// commit returns the model's form of a commit.
func (v *events) commit(run *engine.Run, c *history.Commit) *model.Commit {
	out := &model.Commit{
		ID: v.id(c.ID), Run: v.id(c.RunID), Workflow: v.id(run.WorkflowID), Number: int32(run.Number), Slot: int32(c.Slot),
		Fence: c.Fence(), Task: c.Task != nil || pausesRun(c),
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

// event adds an event to the model's commit.
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

// begins reports an attempt whose code runs.
func (v *events) begins(info activity.Info, limit int) {
	if v == nil {
		return
	}
	v.happens(model.Event{
		Do: model.Begin, Actor: v.who(), Number: int32(info.Attempt), Limit: int32(limit),
		Message: model.Message{Kind: model.RunActivity, Workflow: v.id(info.WorkflowID), Run: v.id(history.RunID(info.RunID)), Event: int32(info.EventID)},
	})
}

// dropped reports a deleted commit.
func (v *events) dropped(item store.Item) {
	if v == nil {
		return
	}
	c := &model.Commit{ID: v.id(history.CommitID(item.Commit)), Workflow: v.id(item.Workflow), Number: int32(item.Run), Slot: int32(item.Slot)}
	v.happens(model.Event{Do: model.Drop, Commits: []*model.Commit{c}})
}
