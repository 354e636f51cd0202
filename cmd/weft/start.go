package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// startCommand starts a run.
type startCommand struct {
	Type      string `arg:"" lookup:"types" help:"Type of the workflow."`
	ID        string `name:"id" placeholder:"WORKFLOW-ID" help:"Id of the workflow; without it, the deployment chooses one."`
	Wait      bool   `help:"Wait until the run has closed, and print its result. --timeout is for ever then, unless it is given."`
	RequestID string `placeholder:"ID" help:"Identifies the start when it is sent again; without it, each is another."`
	cli.Input `embed:""`
	startFlags
	visibilityFlags
	cli.Remote `embed:"" set:"timeout=-1ns"`
	cli.Output `embed:""`
}

// startFlags are options of a start.
type startFlags struct {
	Reuse            string        `group:"Start" enum:",allowDuplicate,allowDuplicateFailedOnly,rejectDuplicate" default:"" placeholder:"POLICY" help:"Whether the id of a closed run may be used again: allowDuplicate (the default), allowDuplicateFailedOnly or rejectDuplicate."`
	Conflict         string        `group:"Start" enum:",fail,useExisting,terminateExisting" default:"" placeholder:"POLICY" help:"What happens if a run of the id is open: fail (the default), useExisting or terminateExisting."`
	RunTimeout       time.Duration `group:"Start" placeholder:"DURATION" help:"How long the run may stay open."`
	ExecutionTimeout time.Duration `group:"Start" placeholder:"DURATION" help:"How long the workflow may take, all its runs together."`
	StartDelay       time.Duration `group:"Start" placeholder:"DURATION" help:"Delays the first task."`
	Cron             string        `group:"Start" placeholder:"EXPRESSION" help:"When the run begins, and when others follow it, as \"30 9 * * 1-5\", @hourly or \"@every 90m\"."`
	Notify           []string      `group:"Start" sep:"none" placeholder:"URL" help:"A URL that is notified when the workflow has ended; at most 4."`
	NotifyBus        bool          `group:"Start" help:"Have the deployment's event bus notified, too (EventBridge)."`
	NotifyResult     bool          `group:"Start" help:"Send the result, too, or the text of the failure, in plain text."`
	retryFlags
}

// Validate refuses flags that say nothing together.
func (f startFlags) Validate() error {
	if f.NotifyResult && len(f.Notify) == 0 && !f.NotifyBus {
		return errors.New("--notify-result says what to send, and nobody is notified: add --notify or --notify-bus")
	}
	return nil
}

// notifications returns who is notified of the end.
func (f startFlags) notifications() (all []client.Notification) {
	for _, url := range f.Notify {
		all = append(all, client.Notification{URL: url, Result: f.NotifyResult})
	}
	if f.NotifyBus {
		all = append(all, client.Notification{EventBridge: true, Result: f.NotifyResult})
	}
	return all
}

// retryFlags are a retry policy.
type retryFlags struct {
	RetryAttempts    int           `group:"Start" placeholder:"N" help:"How often a run that fails is tried, the first included."`
	RetryInterval    time.Duration `group:"Start" placeholder:"DURATION" help:"The wait before the second try; 1s if only --retry-attempts is given."`
	RetryMaxInterval time.Duration `group:"Start" placeholder:"DURATION" help:"The longest wait."`
	RetryCoefficient float64       `group:"Start" placeholder:"N" help:"By how much the wait grows with each try; 2 if it is not given."`
}

// policy returns the retry policy, or nil if no flag is given.
func (r retryFlags) policy() *client.Retry {
	if r == (retryFlags{}) {
		return nil
	}
	return &client.Retry{InitialInterval: r.RetryInterval, MaxInterval: r.RetryMaxInterval, BackoffCoefficient: r.RetryCoefficient, MaxAttempts: r.RetryAttempts}
}

// visibilityFlags are what a run is found by, and what lists have of it.
type visibilityFlags struct {
	Attribute []string `group:"Start" sep:"none" placeholder:"NAME=VALUE" lookup:"attributes" help:"A search attribute: a number, true or false, a moment (2026-11-21T08:00:00Z), a list ([\"a\",\"b\"]), or a keyword. {\"keyword\":\"42\"} names the type."`
	Memo      []string `group:"Start" sep:"none" placeholder:"NAME=VALUE" lookup:"memos" help:"A field of the memo: JSON, or a text."`
}

// options returns the options of a start.
func (c startCommand) options() (o client.StartOptions, err error) {
	o = client.StartOptions{
		RequestID: c.RequestID, IDReusePolicy: c.Reuse, IDConflictPolicy: c.Conflict, RunTimeout: c.RunTimeout,
		ExecutionTimeout: c.ExecutionTimeout, StartDelay: c.StartDelay, Cron: c.Cron, Retry: c.policy(), Notify: c.notifications(),
	}
	o.Memo, o.SearchAttributes, err = c.fields()
	return o, err
}

// fields returns the memo and the search attributes.
func (v visibilityFlags) fields() (memo []client.MemoField, attributes []client.SearchAttribute, err error) {
	for _, text := range v.Memo {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, nil, cli.Errorf(cli.Usage, "--memo %q: give NAME=VALUE", text)
		}
		memo = append(memo, client.MemoField{Name: name, Value: jsonOrText(value)})
	}
	for _, text := range v.Attribute {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, nil, cli.Errorf(cli.Usage, "--attribute %q: give NAME=VALUE", text)
		}
		parsed, err := attributeOf(value)
		if err != nil {
			return nil, nil, cli.Errorf(cli.Usage, "--attribute %s: %w", name, err)
		}
		attributes = append(attributes, client.SearchAttribute{Name: name, Value: parsed})
	}
	return memo, attributes, nil
}

// jsonOrText returns JSON as it is, and any other text as a string of JSON.
func jsonOrText(value string) history.Payload {
	if json.Valid([]byte(value)) {
		return history.Payload(value)
	}
	text, _ := json.Marshal(value) // a string always encodes
	return text
}

// attributeOf returns the value of a search attribute as a user writes it.
func attributeOf(text string) (v history.AttributeValue, err error) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return history.NewAttributeValue(at), nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || len(bytes.TrimSpace([]byte(text)[d.InputOffset():])) > 0 {
		return history.NewAttributeValue(text), nil
	}
	switch value := value.(type) {
	case bool:
		return history.NewAttributeValue(value), nil
	case string:
		return history.NewAttributeValue(value), nil
	case json.Number:
		return numberOf(value)
	case []any:
		var keywords []string
		if err := json.Unmarshal([]byte(text), &keywords); err != nil || len(keywords) == 0 {
			return v, cli.Errorf(cli.Usage, "a list has keywords: %s is not one", text)
		}
		return history.NewAttributeValue(keywords), nil
	}
	return v, json.Unmarshal([]byte(text), &v)
}

// numberOf returns a whole number, or any other.
func numberOf(n json.Number) (history.AttributeValue, error) {
	if whole, err := n.Int64(); err == nil {
		return history.NewAttributeValue(whole), nil
	}
	f, err := n.Float64()
	return history.NewAttributeValue(f), err
}

// oneStarted is what a start prints as JSON.
type oneStarted struct {
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId,omitempty"`
}

// timeoutHelp implements mayWait.
func (*startCommand) timeoutHelp() string { return "without it, 30s, and for ever with --wait." }

// AfterApply sets the time-out.
func (c *startCommand) AfterApply() error {
	c.MayWait(c.Wait)
	return nil
}

// Run starts the run, and prints its ids or its result.
func (c startCommand) Run(ctx context.Context, s *cli.Session) error {
	input, err := c.Read(s)
	if err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	return c.Call(ctx, s, "the start of "+c.Type, func(ctx context.Context, api *client.Client) error {
		input, err := fill(ctx, api, c.Input, input, shapeOfStart(c.Type))
		if err != nil {
			return err
		}
		id, runID, err := api.Start(ctx, c.ID, c.Type, input, o)
		if err != nil {
			return suggest(unhappy(s, c.Output, outcome{}, err), c.Type, nil)
		}
		if c.Wait {
			return printResult(ctx, s, api, c.Output, id, string(runID))
		}
		return c.One(s, id, oneStarted{id, string(runID)}, func() error {
			return cli.Line(s, "Started %s, run %s", s.Painted(cli.Bold, id), s.Painted(cli.Dim, string(runID)))
		})
	})
}
