package tickets_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// buy sells Ada two seats.
func buy(ctx context.Context, c *client.Client) (string, error) {
	ticket, err := tickets.Buy.Call(ctx, c, "show-7", tickets.Order{Buyer: "ada", Seats: 2})
	return ticket, err
}

func TestTickets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, tickets.Registrations()...)
		run, err := tickets.Workflow.Start(ctx, p.Client, "show-7", 3)
		if err != nil {
			t.Fatal(err)
		}
		if ticket, err := buy(ctx, p.Client); err != nil || ticket == "" {
			t.Errorf("the ticket is %q, %v", ticket, err)
		}
		if _, err := buy(ctx, p.Client); !errors.Is(err, tickets.ErrNotLeft) {
			t.Errorf("two seats when one is left: %v", err)
		}
		if err := tickets.Close.Send(ctx, p.Client, "show-7", struct{}{}); err != nil {
			t.Error(err)
		}
		if left, err := run.Result(ctx); left != 1 || err != nil {
			t.Errorf("%d seats are left, %v", left, err)
		}
	})
}
