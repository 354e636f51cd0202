package awstry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	// Tolerated is how far a process's clock may be from AWS's. Two processes may then differ by 10
	// s, which the protocol allows for.
	Tolerated = 5 * time.Second
	// resolution is the precision of the Date of an answer.
	resolution = time.Second
	// reportEvery is the shortest time between two reports of a process.
	reportEvery = 10 * time.Minute
)

// WatchClock returns a middleware that compares the Date of each answer of AWS with this process's
// clock. It calls report with how far the clock is ahead of AWS's if that is more than Tolerated,
// at most every ten minutes. Time that the request took, or that the process was frozen, does not
// count.
//
// AWS promises no bound on the clocks of Lambda. A wrong clock shows only in the first request,
// which AWS denies: the SDK then corrects its signatures by the same Date.
func WatchClock(report func(ahead time.Duration)) func(*middleware.Stack) error {
	w := &clockWatch{report: report}
	return func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("WeftWatchClock", w.handle), middleware.After)
	}
}

// clockWatch remembers when it last reported.
type clockWatch struct {
	report func(time.Duration)
	mu     sync.Mutex
	last   time.Time
}

func (w *clockWatch) handle(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	asked := time.Now()
	out, metadata, err := next.HandleDeserialize(ctx, in)
	answered := time.Now()
	resp, ok := out.RawResponse.(*smithyhttp.Response)
	if !ok || resp == nil || resp.Header.Get("Age") != "" {
		return out, metadata, err
	}
	if date, wrong := http.ParseTime(resp.Header.Get("Date")); wrong == nil {
		if ahead := difference(asked, date, answered); ahead.Abs() > Tolerated && w.due(asked) {
			w.report(ahead)
		}
	}
	return out, metadata, err
}

// difference returns at least how far this machine's clock was ahead of the service's, which wrote
// date. It is negative if the clock was behind. Some moment between asked and answered was within a
// second after date.
func difference(asked, date, answered time.Time) time.Duration {
	// Wall clocks are compared: a monotonic reading stops while the process is frozen.
	asked, answered = asked.Round(0), answered.Round(0)
	switch {
	case asked.After(date.Add(resolution)):
		return asked.Sub(date.Add(resolution))
	case answered.Before(date):
		return answered.Sub(date)
	}
	return 0
}

// due reports whether another report is due, and if so, records it as made.
func (w *clockWatch) due(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.last.IsZero() && now.Sub(w.last).Abs() < reportEvery {
		return false
	}
	w.last = now
	return true
}
