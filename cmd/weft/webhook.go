package main

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// webhookCommand has the commands about receivers of notifications.
type webhookCommand struct {
	Secret webhookSecret `cmd:"" help:"Print the secret that signs notifications to a URL."`
}

type webhookSecret struct {
	URL        string `arg:"" help:"URL of the receiver. All URLs with the same scheme, host and port have the same secret."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (webhookSecret) Help() string {
	return "The current secret is in the first line. While the deployment changes its secrets (WebhookEpoch), the one before signs too, and is in the second line."
}

// Run prints the secrets.
func (c webhookSecret) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the request for the secret", func(ctx context.Context, api *client.Client) error {
		secrets, err := api.WebhookSecret(ctx, c.URL)
		if err != nil {
			return err
		}
		return c.One(s, secrets[0], secrets, func() error {
			for _, secret := range secrets {
				if err := cli.Line(s, "%s", cli.Clean(secret)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
