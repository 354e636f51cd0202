package awspath

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/internal/function"
)

// forwarder returns the function that passes events on to the versions of a function, or nil in a
// testbed without versions.
func (s *Testbed) forwarder(role function.Role) function.Forward {
	if s.versions == nil {
		return nil
	}
	return func(ctx context.Context, build string, event []byte) ([]byte, error) {
		version := s.versions[build]
		if version == nil {
			return nil, fmt.Errorf("%w %q", function.ErrNoVersion, build)
		}
		s.forwarded++
		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{ClientContext: function.Mark(build, time.Time{})})
		return version.Invoke(ctx, string(role), event)
	}
}

// Forwarded returns how many events were passed on to versions.
func (s *Testbed) Forwarded() int { return s.forwarded }
