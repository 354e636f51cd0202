package turn

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
)

// sendOwed sends what a run owes on behalf of messages.
func (t *session) sendOwed(ctx context.Context, run *engine.Run, triggers []*engine.Message) error {
	owed, err := t.view.Owed(ctx, run, triggers, nil)
	if err != nil {
		return err
	}
	return t.outbox.Send(ctx, owed)
}
