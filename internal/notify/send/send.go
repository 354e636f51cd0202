// Package send makes one attempt at a notification: it makes the body, signs it and sends it.
package send

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/internal/version"
)

const (
	// mostResult is the largest result or text of a failure that a body has, in bytes, and mostBody
	// the largest body.
	mostResult, mostBody = 48 << 10, 64 << 10
	// mostAnswer is how much of an answer is read, and mostHeader how much of its header.
	mostAnswer, mostHeader = 4 << 10, 16 << 10
)

// Why a body does not have the result that was asked for.
const (
	TooLarge = "tooLarge"
	Deleted  = "deleted"
)

// Ended is how a run ended, as far as a caller asked for it.
type Ended struct {
	Result history.Payload
	// Failure is the text of the failure.
	Failure string
	// Omitted says why there is neither; empty if there is, or if nobody asked for it.
	Omitted string
}

// data is what a body says of the run.
type data struct {
	ID            string          `json:"id"`
	WorkflowID    string          `json:"workflowId"`
	RunID         string          `json:"runId"`
	WorkflowType  string          `json:"workflowType"`
	Status        string          `json:"status"`
	FailureType   string          `json:"failureType,omitempty"`
	FailureText   string          `json:"failureText,omitempty"`
	Result        history.Payload `json:"result,omitempty"`
	ResultOmitted string          `json:"resultOmitted,omitempty"`
}

// Body returns the body of a notification. It is the same in each attempt, unless the run has been
// deleted meanwhile.
func Body(in *stored.Input, ended Ended) ([]byte, error) {
	return fit(in, ended, mostBody, func(d *data) any {
		return struct {
			Type      string    `json:"type"`
			Timestamp time.Time `json:"timestamp"`
			Data      *data     `json:"data"`
		}{Type(in), in.Closed, d}
	})
}

// Type returns the type of a notification.
func Type(in *stored.Input) string { return "workflow." + in.Status }

// timeSize is what EventBridge counts for the time of an event, in bytes.
const timeSize = 14

// Detail returns the detail of an event with this source: what a body has as its data. It is as
// much as EventBridge bills as one event.
func Detail(in *stored.Input, ended Ended, source string) ([]byte, error) {
	return fit(in, ended, mostBody-timeSize-len(source)-len(Type(in)), func(d *data) any { return d })
}

// fit returns what is said of a run in a form, without the result if it would be too large with it.
func fit(in *stored.Input, ended Ended, most int, form func(*data) any) ([]byte, error) {
	d := data{
		ID: in.ID(), WorkflowID: in.WorkflowID, RunID: in.RunID, WorkflowType: in.WorkflowType, Status: in.Status, FailureType: in.FailureType,
		FailureText: ended.Failure, Result: ended.Result, ResultOmitted: ended.Omitted,
	}
	if len(ended.Result)+len(ended.Failure) <= mostResult {
		if body, err := encode(form(&d)); err != nil || len(body) <= most {
			return body, err
		}
	}
	d.FailureText, d.Result, d.ResultOmitted = "", nil, TooLarge
	return encode(form(&d))
}

func encode(form any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // which would make a result larger
	err := encoder.Encode(form)
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), err
}

// Client sends notifications to the receivers that a policy allows.
type Client struct {
	policy    *guard.Policy
	transport http.RoundTripper
}

// NewClient returns a client. transport makes the requests; nil is Transport's.
func NewClient(policy *guard.Policy, transport http.RoundTripper) *Client {
	if transport == nil {
		transport = Transport(policy, nil)
	}
	return &Client{policy, transport}
}

// Transport returns a transport that connects only to addresses that the policy allows. resolver
// finds them; nil is the system's.
func Transport(policy *guard.Policy, resolver *net.Resolver) *http.Transport {
	dialer := &net.Dialer{ControlContext: policy.Control, Resolver: resolver}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: mostHeader, // and no proxy
	}
}

// Secrets returns the secrets that sign for a receiver.
type Secrets func(ctx context.Context, origin string) ([]sign.Secret, error)

// Post makes an attempt at a notification. It returns an error if another attempt may succeed. The
// error has the receiver's host, and nothing else of its URL or of its answer but the status. The
// transport follows no redirect, and reads no Location.
func (c *Client) Post(ctx context.Context, in *stored.Input, body []byte, secrets Secrets, now time.Time) (stored.Tried, error) {
	to, err := c.policy.Check(in.URL)
	if err != nil {
		return stored.Tried{}, err // the setting may change again
	}
	signing, err := secrets(ctx, sign.Origin(to))
	if err != nil {
		return stored.Tried{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return stored.Tried{}, fmt.Errorf("%s: the URL is invalid", to.Host)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "weft/"+version.Weft())
	sign.Request(request.Header, signing, in.ID(), now, body)
	answer, err := c.transport.RoundTrip(request)
	if err != nil {
		return stored.Tried{}, fmt.Errorf("%s: %w", to.Host, classOf(ctx, err))
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, mostAnswer) // the status is the answer
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return stored.Tried{Status: status}, nil
	case status == http.StatusGone:
		return stored.Tried{Status: status, Refused: to.Host + " answers 410: it wants no notifications any more"}, nil
	default:
		return stored.Tried{}, &StatusError{Host: to.Host, Status: status}
	}
}

// StatusError is an answer that is no success.
type StatusError struct {
	Host   string
	Status int
}

// Error names the host and the status.
func (e *StatusError) Error() string { return fmt.Sprintf("%s answers %d", e.Host, e.Status) }
