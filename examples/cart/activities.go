package cart

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
)

// The activities of a cart are ordinary functions, in which a real shop would call its warehouse,
// its payment provider and its mail server. Each may run more than once. The key makes a repetition
// harmless.
var (
	Reserve = activity.New("reserve", reserve)
	Charge  = activity.New("charge", charge, activity.Options{
		StartToClose: 10 * time.Second,
		Retry:        activity.Retry{MaxAttempts: 5, NonRetryable: []*activity.Error{ErrDeclined}},
	})
	Ship   = activity.New("ship", ship)
	Remind = activity.New("remind", remind)
)

// ErrDeclined says that the bank does not honour a card.
var ErrDeclined = activity.NewError("declined", "the card was declined")

func reserve(ctx context.Context, order Order) (string, error) {
	return "reservation-" + key(ctx), nil
}

func charge(ctx context.Context, order Order) (string, error) {
	if order.Owner == "mallory" {
		return "", ErrDeclined
	}
	return "payment-" + key(ctx), nil
}

func ship(ctx context.Context, reservation string) (string, error) {
	return "parcel-" + key(ctx), nil
}

func remind(ctx context.Context, owner string) (activity.None, error) {
	return activity.None{}, nil
}

// key returns a name for what an activity does. It is the same in each attempt.
func key(ctx context.Context) string {
	info := activity.InfoOf(ctx)
	return fmt.Sprintf("%s-%s-%d", info.WorkflowID, info.RunID, info.EventID)
}
