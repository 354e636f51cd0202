package notify

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Caller starts the run that delivers a notification, unless an earlier delivery of the message has
// started it. The commit that closed the run is in its log before anybody is notified.
//
// The delivering run makes its first attempt in its first task, before its commit. A crash in
// between repeats the attempt, with the same id.
func Caller(ctx context.Context, s *session.Process, m *engine.Message) (found bool, err error) {
	var in *stored.Input
	err = s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, m)
		found = place != inbox.NotYet
		if err == nil && place == inbox.InLog {
			in = inputOf(run, m.EventID)
		}
		return err
	})
	if err != nil || in == nil {
		return found, err
	}
	return true, start(ctx, s, m, in)
}

// inputOf returns the notification that an event of a closed run asked for, or nil if there is
// none.
func inputOf(run *engine.Run, event int64) *stored.Input {
	state := run.State
	asked := state.Subscription(event)
	if asked == nil || !state.Status.Closed() {
		return nil
	}
	in := &stored.Input{
		WorkflowID: run.WorkflowID, RunID: string(state.RunID), WorkflowType: state.Started.WorkflowType, EventID: event,
		Status: state.Status.String(), Closed: state.CloseTime.Time(), URL: asked.URL, EventBridge: asked.EventBridge, Result: asked.Result,
	}
	if _, f := state.Outcome(); f != nil {
		in.FailureType = cmp.Or(f.Type, f.Kind.String())
	}
	return in
}

// start starts the delivering run. Its id follows from the run and the event, so there is one for
// each. It starts none if one may have been there, and has been deleted.
func start(ctx context.Context, s *session.Process, m *engine.Message, in *stored.Input) error {
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	id := in.WorkflowOf()
	c, err := s.Parser().StartOwn(&schema.StartRequest{
		WorkflowID: &id, Type: stored.WorkflowType, Input: input, RequestID: id, IDReusePolicy: string(command.RejectDuplicate),
	})
	if err != nil {
		return err
	}
	started := starts.Event(ctx, s, c)
	return s.At(ctx, id, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		if t.Run() != nil {
			return inbox.RepairForeign(ctx, t, m) // an earlier delivery may have died before it sent what follows
		}
		if begun, err := mayHaveBegun(ctx, s, in); begun || err != nil {
			return err
		}
		_, _, err := commit.Open(ctx, t, nil, &schema.StartResponse{}, engine.Task{InputEvents: []history.Event{history.Of(started)}}, inbox.Foreign(m))
		return err
	})
}
