package bridge

import (
	"context"
	"net/http"
	"time"
)

// Transport is the transport of a client that waits on the clock of a test. Pause replaces the
// function with which the client waits.
type Transport struct {
	http.RoundTripper
	Pause func(ctx context.Context, d time.Duration) error
}
