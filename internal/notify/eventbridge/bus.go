// Package eventbridge puts events on an event bus of Amazon EventBridge. It signs its one request
// itself: the SDK's module for the service would lengthen each cold start.
package eventbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awsform"
	"github.com/seed-41655fb1/weft/internal/awstry"
)

// tryTime is how long a request may take. An attempt at a notification has more time than that, so
// its error says what happened.
const tryTime = 3 * time.Second

// Options are the options of a bus.
type Options struct {
	// Name is the name or the ARN of a bus of the classic kind, which has rules and targets.
	Name string
	// Source is the source of its events.
	Source string
	// Address is that of the service; empty is that of the configuration, or AWS's own.
	Address string
}

// Bus is an event bus.
type Bus struct {
	o      Options
	config aws.Config
	client aws.HTTPClient
}

// New returns a bus. It makes no request.
func New(c aws.Config, o Options) *Bus {
	o.Address = cmp.Or(o.Address, aws.ToString(c.BaseEndpoint), awsform.Address("events", c.Region))
	return &Bus{o: o, config: c, client: awstry.Wrap(c.HTTPClient, awstry.For(0, tryTime))}
}

// Source returns the source of the events.
func (b *Bus) Source() string { return b.o.Source }

// Put puts an event of a type on the bus: a detail, which is JSON, at a time. The bus has the event
// when it returns nil. After an error it may have it, too: the caller puts it again, and detail
// says that it is the same.
func (b *Bus) Put(ctx context.Context, detailType string, at time.Time, detail []byte) error {
	if err := b.put(ctx, detailType, at, detail); err != nil {
		return fmt.Errorf("event bus %s: %w", b.o.Name, err)
	}
	return nil
}

// errCredentials says that there is nothing to sign a request with.
var errCredentials = errors.New("there are no credentials")

func (b *Bus) put(ctx context.Context, detailType string, at time.Time, detail []byte) error {
	body, err := json.Marshal(map[string]any{"Entries": []entry{{
		Bus: b.o.Name, Source: b.o.Source, DetailType: detailType, Time: float64(at.UnixMilli()) / 1000, Detail: string(detail),
	}}})
	if err != nil {
		return err
	}
	if b.config.Credentials == nil {
		return errCredentials
	}
	credentials, err := b.config.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	request, err := awsform.JSON(ctx, credentials, "events", b.config.Region, strings.TrimSuffix(b.o.Address, "/")+"/", "AWSEvents.PutEvents", body)
	if err != nil {
		return err
	}
	resp, said, err := awsform.Send(b.client, request)
	if err != nil {
		return err
	}
	return errorOf(resp, said)
}

// entry is an event in a request.
type entry struct {
	Bus        string  `json:"EventBusName"`
	Source     string  `json:"Source"`
	DetailType string  `json:"DetailType"`
	Time       float64 `json:"Time"` // in seconds since 1970
	Detail     string  `json:"Detail"`
}

// Error is an answer of EventBridge that refuses an event.
type Error struct {
	// Status is the status of the answer. It is 200 if the answer refuses the event alone.
	Status int
	// Code and Message say why.
	Code, Message string
}

// Error says why EventBridge refuses the event.
func (e *Error) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("EventBridge answers %s: %s", e.Code, e.Message), ": ")
}

// errorOf returns why an answer refuses the event, or nil.
func errorOf(resp *http.Response, body []byte) error {
	if resp.StatusCode != http.StatusOK {
		code, message := awsform.Refusal(resp, body)
		return &Error{resp.StatusCode, code, message}
	}
	var answer struct {
		FailedEntryCount *int
		Entries          []struct{ EventID, ErrorCode, ErrorMessage string }
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.FailedEntryCount == nil || len(answer.Entries) != 1 {
		return errors.New("the answer is not one of EventBridge: check the address")
	}
	if one := answer.Entries[0]; *answer.FailedEntryCount > 0 || one.ErrorCode != "" || one.EventID == "" {
		return &Error{resp.StatusCode, cmp.Or(one.ErrorCode, "no event id"), one.ErrorMessage}
	}
	return nil
}
