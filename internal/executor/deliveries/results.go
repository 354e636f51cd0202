package deliveries

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/children"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// HandleResults commits the results of messages of one workflow, as many in one commit as fit. If
// it returns nil, the messages may be deleted.
func (s *Deliveries) HandleResults(ctx context.Context, workflowID string, messages []*engine.Message) error {
	ctx, ended := s.Process.Metered(ctx)
	defer ended()
	ctx, cancel := s.Process.World.WithTimeout(ctx, s.Process.Options.SoftLimit)
	defer cancel()
	for len(messages) > 0 {
		n := fitting(s.Process, messages)
		err := s.Process.At(ctx, workflowID, func(ctx context.Context, t *session.Session) error { return takeResults(ctx, t, messages[:n]) })
		if err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// fitting returns how many of the results fit into one commit and leave space for the code's
// reaction.
func fitting(s *session.Process, messages []*engine.Message) int {
	size := 0
	for i, m := range messages {
		size += len(history.ResolutionOf(m.Result.Attributes).Result)
		if i > 0 && size > s.Options.MaxCommit/2 {
			return i
		}
	}
	return len(messages)
}

func takeResults(ctx context.Context, t *session.Session, messages []*engine.Message) error {
	// Locate all of them first: that may read, and the read may change which messages are needed.
	var triggers []*engine.Message
	var strays []engine.Message
	for _, m := range messages {
		run, place, err := inbox.Locate(ctx, t, m)
		if err != nil {
			return err
		}
		if place == inbox.InLog {
			triggers = append(triggers, m) // the others' runs have closed or are gone: their results are moot
		}
		if place == inbox.Never || place == inbox.InLog && run.State.Status.Closed() {
			strays = append(strays, children.RedirectStray(t, m)...)
		}
	}
	if err := t.Process.Outbox.Send(ctx, strays); err != nil || len(triggers) == 0 {
		return err
	}
	run := t.Run()
	stand, overtaken, err := split(ctx, t, run, triggers)
	if err != nil {
		return err
	}
	if len(stand) > 0 {
		if err := commitResults(ctx, t, run, stand); err != nil {
			return err
		}
	}
	// After the commit: a session that loses a race comes here once.
	for _, again := range overtaken {
		if err := again.Send(ctx, t.Process); err != nil {
			return err
		}
	}
	return nil
}

// split splits results into those that stand, and those of executions that were overtaken. The
// causation ids of overtaken results stay out of the commit. Otherwise their copies would find them
// there, and resend the messages of that commit.
func split(ctx context.Context, t *session.Session, run *engine.Run, triggers []*engine.Message) (stand []*engine.Message, overtaken []*activities.Again, err error) {
	for _, m := range triggers {
		if m.RunID != run.State.RunID || !run.Overtaken(m) {
			stand = append(stand, m)
			continue
		}
		again, err := activities.AttemptAgain(ctx, t, run, m)
		if err != nil {
			return nil, nil, err
		}
		overtaken = append(overtaken, again)
	}
	return stand, overtaken, nil
}

// commitResults commits the results of messages that the run still waits for.
func commitResults(ctx context.Context, t *session.Session, run *engine.Run, triggers []*engine.Message) error {
	var events []history.Event
	for _, m := range triggers {
		if m.RunID == run.State.RunID {
			events = append(events, *m.Result)
		}
	}
	if events = run.Awaited(events...); len(events) == 0 {
		return inbox.SendOwed(ctx, t, run, triggers)
	}
	if err := commit.CheckBuild(ctx, t, run); err != nil {
		return err
	}
	return commit.Events(ctx, t, run, events, triggers...)
}
