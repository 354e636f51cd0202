package turn

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
)

// SendTogether sends a result as a handler does.
func (s *Service) SendTogether(ctx context.Context, m engine.Message) error {
	return s.sendTogether(ctx, m)
}
