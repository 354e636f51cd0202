package inbox

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
)

// Delivery is a message as its handler gets it.
type Delivery struct {
	*engine.Message
	// Received is how often it was received, this time included.
	Received int
	// Extend keeps the message invisible for this long from now on; nil if that is not needed.
	Extend func(ctx context.Context, d time.Duration) error
	// Deadline is when the process may be ended, or zero. No attempt is begun that may take longer,
	// and its message is redelivered.
	Deadline time.Time
	// Longest is how long an attempt at an activity may take in this function, whatever time is
	// left now; 0 is without limit. An attempt that may take longer is held (activities.hold).
	Longest time.Duration

	Begun bool // the attempt is known to have begun
}
