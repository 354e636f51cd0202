package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
)

// Handler passes messages to a service, and decides which of them are finished. The worker and the
// Lambda functions differ only in what they do with the finished ones.
type Handler struct {
	Service *executor.Service
	Log     *slog.Logger
	// Extend makes a message in flight visible after d from now; nil if handlers may not do that.
	Extend func(ctx context.Context, queue, receipt string, d time.Duration) error
	// Deadline is when the process may be ended. Longest is how long an attempt at an activity may
	// take; see executor.Delivery. Zero is without limit.
	Deadline time.Time
	Longest  time.Duration
	// Other gets messages that belong together and that only another build may handle. It decides
	// itself whether they are finished. If it is nil, they wait for the build.
	Other func(o *executor.OtherBuild, part []Away)
}

// Split splits what was received together into parts that are handled together: the messages of a
// group, or single messages.
func Split(name string, all []queue.Delivery) [][]queue.Delivery {
	if name == queue.Workflow {
		return byGroup(all)
	}
	return one(all)
}

// For returns a function that handles the messages of a queue that belong together (see Split). It
// returns the receipts of those that are finished, and may be deleted. The others are redelivered.
// In a group the finished ones are the first. A panic is a defect: it passes through, and no
// message is finished.
func (h Handler) For(name string) func(ctx context.Context, part []queue.Delivery) (done []string) {
	_, attempts := queue.IsForTasks(name)
	switch {
	case attempts, name == queue.Timers:
		return func(ctx context.Context, part []queue.Delivery) []string { return h.handle(ctx, name, part) }
	case name == queue.Workflow:
		return h.handleGroup
	}
	return func(ctx context.Context, part []queue.Delivery) []string { return h.handleDead(ctx, name, part) }
}

// one returns each message as a part of its own.
func one(all []queue.Delivery) [][]queue.Delivery {
	parts := make([][]queue.Delivery, len(all))
	for i := range all {
		parts[i] = all[i : i+1]
	}
	return parts
}

// byGroup returns the messages of each group as a part, in their order.
func byGroup(all []queue.Delivery) [][]queue.Delivery {
	var parts [][]queue.Delivery
	place := map[string]int{}
	for _, d := range all {
		i, found := place[d.Group]
		if !found {
			i = len(parts)
			place[d.Group] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], d)
	}
	return parts
}

func (h Handler) handle(ctx context.Context, name string, deliveries []queue.Delivery) (done []string) {
	for _, d := range deliveries {
		m, ok := h.decode(ctx, d)
		if !ok {
			continue
		}
		delivery := executor.Delivery{Message: m, Received: d.Received, Deadline: h.Deadline, Longest: h.Longest}
		if h.Extend != nil {
			delivery.Extend = func(ctx context.Context, lease time.Duration) error { return h.Extend(ctx, name, d.Receipt, lease) }
		}
		err := h.Service.Deliveries.Handle(ctx, delivery)
		if postponed, is := h.other(ctx, err, []queue.Delivery{d}, m); is {
			done = append(done, postponed...)
		} else if h.succeeded(ctx, m, err) {
			done = append(done, d.Receipt)
		}
	}
	return done
}

func (h Handler) handleGroup(ctx context.Context, deliveries []queue.Delivery) (done []string) {
	var messages []*engine.Message
	for _, d := range deliveries {
		m, ok := h.decode(ctx, d)
		if !ok {
			break // later messages of its group have to wait
		}
		messages, done = append(messages, m), append(done, d.Receipt)
	}
	if len(messages) == 0 {
		return nil
	}
	err := h.Service.Deliveries.HandleResults(ctx, deliveries[0].Group, messages)
	if postponed, is := h.other(ctx, err, deliveries, messages...); is {
		return postponed
	}
	if !h.succeeded(ctx, messages[0], err) {
		return nil
	}
	return done
}

// Away is a message that only another build may handle.
type Away struct {
	queue.Delivery
	// Message is the message that waits for that build if this delivery does not reach it.
	Message *engine.Message
}

// Wait lets messages wait that only another build may handle and that do not reach it: because the
// build is gone, or else for now. It returns the receipts of the messages that this finishes; of a
// group they are the first ones.
func (h Handler) Wait(ctx context.Context, part []Away, gone bool) (done []string) {
	wait := h.Service.Deliveries.Postpone
	if gone {
		wait = h.Service.Deliveries.Park
	}
	for _, d := range part {
		if !h.succeeded(ctx, d.Message, wait(ctx, d.Message)) {
			break
		}
		done = append(done, d.Receipt)
	}
	return done
}

// other handles messages that only another build may handle, and returns the receipts of those that
// are finished. It returns false if this build may handle them.
func (h Handler) other(ctx context.Context, err error, deliveries []queue.Delivery, messages ...*engine.Message) (done []string, is bool) {
	var o *executor.OtherBuild
	if !errors.As(err, &o) {
		return nil, false
	}
	var part []Away
	for i, m := range messages {
		part = append(part, Away{deliveries[i], cmp.Or(o.Instead, m)})
	}
	if h.Other != nil {
		h.Other(o, part)
		return nil, true
	}
	h.Log.WarnContext(ctx, "messages wait for another build", "workflowId", o.WorkflowID, "runId", o.RunID, "build", o.Build, "messages", len(part))
	return h.Wait(ctx, part, true), true
}

// handleDead handles messages of the dead letters of a queue. Those that no version of Weft can
// read cannot be handled, and are kept elsewhere.
func (h Handler) handleDead(ctx context.Context, name string, deliveries []queue.Delivery) (done []string) {
	for _, d := range deliveries {
		m, err := outbox.Decode(d.Body)
		if errors.Is(err, history.ErrCorrupt) {
			if h.keep(ctx, strings.TrimSuffix(name, queue.DeadLetters("")), d, err) {
				done = append(done, d.Receipt)
			}
		} else if err == nil && h.succeeded(ctx, m, h.Service.Deliveries.HandleDead(ctx, m)) {
			done = append(done, d.Receipt)
		}
	}
	return done
}

// keep keeps a message of a queue that nobody can read, and reports whether its dead letter may be
// deleted.
func (h Handler) keep(ctx context.Context, name string, d queue.Delivery, reason error) bool {
	of := h.Service.Process
	if of.Keeper == nil {
		h.Log.ErrorContext(ctx, "a dead letter that cannot be read was deleted", "queue", name, "error", reason)
		return true
	}
	// The letter is deleted only if it is durable elsewhere. A crash in between leaves it in both
	// places: then it is kept twice.
	if err := of.Keeper.Keep(ctx, name, d, reason.Error()); err != nil {
		h.Log.WarnContext(ctx, "a dead letter that cannot be read could not be kept, and stays in its queue", "queue", name, "error", err)
		return false
	}
	h.Log.ErrorContext(ctx, "a dead letter that cannot be read was kept", "queue", name, "error", reason)
	of.Observed().Observe(ctx, &observe.DeadLetter{Kind: "unreadable"})
	return true
}

func (h Handler) decode(ctx context.Context, d queue.Delivery) (*engine.Message, bool) {
	m, err := outbox.Decode(d.Body)
	if err != nil {
		h.Log.ErrorContext(ctx, "a message cannot be read", "error", err)
	}
	return m, err == nil
}

func (h Handler) succeeded(ctx context.Context, m *engine.Message, err error) bool {
	if err != nil {
		h.Log.WarnContext(ctx, "a message will be redelivered", "workflowId", m.WorkflowID, "runId", m.RunID, "kind", m.Kind.String(), "eventId", m.EventID, "error", err)
	}
	return err == nil
}
