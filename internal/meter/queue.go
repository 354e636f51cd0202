package meter

import (
	"context"

	"github.com/seed-41655fb1/weft/queue"
)

// Sender counts what goes through a queue.
func Sender(inner queue.Sender) queue.Sender { return &sender{inner} }

type sender struct{ inner queue.Sender }

// Send counts the messages.
func (s *sender) Send(ctx context.Context, q string, messages ...queue.Message) error {
	c := of(ctx).begin(ForQueue)
	c.add(Cost{Messages: int64(len(messages))})
	err := s.inner.Send(ctx, q, messages...)
	c.end(err)
	return err
}
