package requests

import (
	"context"
	"net/url"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// notifications describes the notifications that a run has or will have. It does not know how far
// a delivering run is.
func notifications(run *engine.Run) (all []schema.DescribedNotification) {
	state := schema.NotificationPending
	notified := run.Notified()
	switch {
	case notified:
		state = schema.NotificationDelivering
	case run.State.Status.Closed():
		state = schema.NotificationPassedOn
	}
	for _, asked := range run.State.Subscriptions {
		one := schema.DescribedNotification{EventID: asked.EventID, EventBridge: asked.EventBridge, Result: asked.Result, State: state}
		if u, err := url.Parse(asked.URL); err == nil && asked.URL != "" {
			one.Origin = sign.Origin(u)
		}
		if notified {
			in := stored.Input{RunID: string(run.State.RunID), EventID: asked.EventID}
			one.WorkflowID = in.WorkflowOf()
		}
		all = append(all, one)
	}
	return all
}

// addDeliveries adds how far the runs are that deliver notifications: a read of one commit for each
// notification of a run that has notified. The caller holds no lock.
func addDeliveries(ctx context.Context, s *session.Process, all []schema.DescribedNotification) error {
	ctx, cancel := s.World.WithTimeout(ctx, s.Options.SoftLimit)
	defer cancel()
	for i := range all {
		if all[i].WorkflowID == "" {
			continue
		}
		last, err := lastCommit(ctx, s, all[i].WorkflowID)
		switch {
		case err != nil:
			return err
		case last == nil || !last.Status.Closed(): // its message may be on the way
		case last.Status == history.Completed:
			all[i].State = schema.NotificationDelivered
		default:
			all[i].State = schema.NotificationFailed
		}
	}
	return nil
}
