//go:build aws

package localstack_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/examples/fanout"
)

// An activity's message that is received too often goes to the dead letters, where a function resolves the activity as
// failed: nothing waits for it for ever. The test takes the place of the consumer that fails, and so does not run beside
// the others, whose activities it would take.
func TestDeadLetter(t *testing.T) {
	ctx, d := deployed(t)
	mapping := d.mapping(ctx, t, "activities")
	d.enable(ctx, t, mapping, false)
	defer d.enable(ctx, t, mapping, true)

	run, err := fanout.Workflow.Start(ctx, d.client, "book-dead", []string{"a page"})
	if err != nil {
		t.Fatal(err)
	}
	queues, url := d.queue(ctx, t, "activities")
	for received := 0; received < maxReceives; {
		out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Messages {
			received++
			if _, err := queues.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// SQS moves it when it would be received once more.
	until(ctx, t, "the message has died", func() (bool, error) {
		out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
		return err == nil && len(out.Messages) == 0, err
	})
	if book, err := run.Result(ctx); err == nil || !strings.Contains(err.Error(), "received too often") {
		t.Errorf("%+v, %v; want that the activity failed because its message died", book, err)
	}
}

// mapping is the id of the event source mapping of a queue.
func (d *deployment) mapping(ctx context.Context, t *testing.T, queue string) string {
	t.Helper()
	arn := fmt.Sprintf("arn:aws:sqs:%s:000000000000:%s-%s", d.server.Config.Region, d.stack, queue)
	var list struct{ EventSourceMappings []struct{ UUID string } }
	d.lambda(ctx, t, http.MethodGet, "?EventSourceArn="+url.QueryEscape(arn), nil, &list)
	if len(list.EventSourceMappings) != 1 {
		t.Fatalf("%d event source mappings of %s, want 1", len(list.EventSourceMappings), arn)
	}
	return list.EventSourceMappings[0].UUID
}

// enable starts or stops an event source mapping, and waits until it has.
func (d *deployment) enable(ctx context.Context, t *testing.T, mapping string, on bool) {
	t.Helper()
	var state struct{ State string }
	d.lambda(ctx, t, http.MethodPut, mapping, map[string]bool{"Enabled": on}, &state)
	want := map[bool]string{true: "Enabled", false: "Disabled"}[on]
	until(ctx, t, "the mapping is "+want, func() (bool, error) {
		d.lambda(ctx, t, http.MethodGet, mapping, nil, &state)
		return state.State == want, fmt.Errorf("it is %s", state.State)
	})
}

// lambda calls Lambda's API of event source mappings; for these three calls the module needs no other service client.
func (d *deployment) lambda(ctx context.Context, t *testing.T, method, path string, in, out any) {
	t.Helper()
	var body []byte
	if in != nil {
		body, _ = json.Marshal(in)
	}
	r, err := http.NewRequestWithContext(ctx, method, *d.server.Config.BaseEndpoint+"/2015-03-31/event-source-mappings/"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := d.server.Config.Credentials.Retrieve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash[:]), "lambda", d.server.Config.Region, time.Now()); err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %s %v", method, path, response.Status, answer, err)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatal(err)
	}
}
