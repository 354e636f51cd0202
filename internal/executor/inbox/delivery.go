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
	// Extend keeps it invisible for this long from now on; nil where that is not needed.
	Extend func(ctx context.Context, d time.Duration) error
	// Deadline is when the process may be ended; zero is never. No attempt is begun that may take longer: its message comes
	// again.
	Deadline time.Time
	// Longest is how long an attempt at an activity may take where this message is delivered, whatever is left of the time
	// now; 0 is without limit. One that may take longer is held (session.hold).
	Longest time.Duration

	Begun bool // the attempt is known to have begun
}
