package awspath

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/internal/function"
)

// forwarder returns the function that passes a process's events on to its versions, or nil in a
// testbed without versions.
func (s *Testbed) forwarder(p *process, role function.Role) function.Forward {
	if s.versions == nil {
		return nil
	}
	return func(ctx context.Context, build string, event []byte) ([]byte, error) {
		version := s.versions[build]
		if version == nil {
			return nil, fmt.Errorf("%w %q", function.ErrNoVersion, build)
		}
		s.forwarded++
		if n := parts(event); n > 0 { // its messages are handled in parallel again: see Clock.batch
			ctx = s.clock.batch(p.delivered.Counting(context.Background()), n)
		}
		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{ClientContext: function.Mark(build, time.Time{})})
		return version.Invoke(ctx, string(role), event)
	}
}

// parts returns the number of parts in which the batch of an event is handled, or 0 if the event is
// not a batch.
func parts(event []byte) int {
	var e events.SQSEvent
	if json.Unmarshal(event, &e) != nil {
		return 0
	}
	groups, n := map[string]bool{}, 0
	for _, r := range e.Records {
		group := r.Attributes["MessageGroupId"]
		if group == "" || !groups[group] {
			n++
		}
		groups[group] = true
	}
	return n
}

// Forwarded returns how many events were passed on to versions.
func (s *Testbed) Forwarded() int { return s.forwarded }
