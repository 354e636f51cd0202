package executor

import (
	"cmp"
	"context"

	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
)

// WebhookSecrets returns the secrets that sign notifications for an origin now, the current one
// first. The first call of a deployment creates the key that they are derived from. Further calls
// of a process read nothing.
func (s *Service) WebhookSecrets(ctx context.Context, origin string) ([]sign.Secret, error) {
	key, err := activities.SigningKey(ctx, s.Process)
	if err != nil {
		return nil, err
	}
	return sign.SecretsOf(key, cmp.Or(s.Process.Options.WebhookEpoch, 1), origin), nil
}
