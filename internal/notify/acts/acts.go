// Package acts makes attempts at notifications, with the service of the process that runs them.
package acts

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/notify/send"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Bus is the event bus of a deployment. Package eventbridge implements it.
type Bus interface {
	// Source returns the source of its events.
	Source() string
	// Put puts an event on the bus. After an error the bus may have it, too.
	Put(ctx context.Context, detailType string, at time.Time, detail []byte) error
}

// Notifier is a process that may reach receivers. It implements flow.Notifier.
type Notifier struct {
	service *executor.Service
	client  *send.Client
	bus     Bus
}

// New returns a notifier with the policy and the epoch of a service's options. transport makes the
// requests; nil is one that connects only where the policy allows. bus is nil if there is none.
func New(s *executor.Service, transport http.RoundTripper, bus Bus) *Notifier {
	return &Notifier{s, send.NewClient(&s.Process.Options.Webhooks, transport), bus}
}

// errNoBus says that the deployment no longer has the event bus that it had when the run started.
// It may have one again.
var errNoBus = errors.New("this deployment has no event bus: its operator names one in EventBus (WEFT_EVENT_BUS)")

// Notify implements flow.Notifier. It costs a read if the notification is to have the result, and
// a read of the signing key in the first attempt of a process.
func (n *Notifier) Notify(ctx context.Context, in *stored.Input) (stored.Tried, error) {
	ended, err := n.ended(ctx, in)
	if err != nil {
		return stored.Tried{}, err
	}
	tried, err := n.send(ctx, in, ended)
	if err != nil || tried.Refused != "" {
		n.report(ctx, in, tried, err)
	}
	return tried, err
}

// send sends a notification. A crash after it, before the commit, sends it again, with the same id.
func (n *Notifier) send(ctx context.Context, in *stored.Input, ended send.Ended) (stored.Tried, error) {
	if in.EventBridge {
		return stored.Tried{}, n.put(ctx, in, ended)
	}
	body, err := send.Body(in, ended)
	if err != nil {
		return stored.Tried{}, err
	}
	return n.client.Post(ctx, in, body, n.secrets, n.service.Process.World.Now())
}

// put sends a notification to the event bus.
func (n *Notifier) put(ctx context.Context, in *stored.Input, ended send.Ended) error {
	if n.bus == nil {
		return errNoBus
	}
	detail, err := send.Detail(in, ended, n.bus.Source())
	if err != nil {
		return err
	}
	return n.bus.Put(ctx, send.Type(in), in.Closed, detail)
}

// report logs a failed attempt, without the receiver's URL.
func (n *Notifier) report(ctx context.Context, in *stored.Input, tried stored.Tried, err error) {
	why := tried.Refused
	if err != nil {
		why = err.Error()
	}
	n.service.Process.Options.Logger.WarnContext(ctx, "a receiver did not take a notification",
		"notification", in.ID(), "workflowId", in.WorkflowID, "runId", in.RunID, "error", why)
}

// secrets implements send.Secrets.
func (n *Notifier) secrets(ctx context.Context, origin string) ([]sign.Secret, error) {
	return n.service.WebhookSecrets(ctx, origin)
}

// ended returns how the run ended, as far as the notification has it.
func (n *Notifier) ended(ctx context.Context, in *stored.Input) (send.Ended, error) {
	if !in.Result {
		return send.Ended{}, nil
	}
	of, err := n.service.Process.Parser().Await(in.WorkflowID, history.RunID(in.RunID), "")
	if err != nil {
		return send.Ended{}, err
	}
	got, err := n.service.Requests.Result(ctx, of)
	switch {
	case errors.Is(err, refusal.NotFound):
		return send.Ended{Omitted: send.Deleted}, nil
	case err != nil:
		return send.Ended{}, err
	case got.Failure != nil:
		return send.Ended{Failure: got.Failure.Err().Error()}, nil
	}
	return send.Ended{Result: got.Result}, nil
}
