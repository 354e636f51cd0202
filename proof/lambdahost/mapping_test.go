package lambdahost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

// fakeQueue returns one batch of messages named by letters. It ends the test's mapping at the next
// request.
type fakeQueue struct {
	mu      sync.Mutex
	batch   []types.Message
	deleted []string
	end     context.CancelFunc
}

func (q *fakeQueue) ReceiveMessage(ctx context.Context, _ *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.batch == nil {
		q.end()
		return nil, ctx.Err()
	}
	batch := q.batch
	q.batch = nil
	return &sqs.ReceiveMessageOutput{Messages: batch}, nil
}

func (q *fakeQueue) DeleteMessageBatch(_ context.Context, in *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range in.Entries {
		q.deleted = append(q.deleted, strings.TrimPrefix(*e.ReceiptHandle, "receipt-"))
	}
	return &sqs.DeleteMessageBatchOutput{}, nil
}

// delivery records how a batch was delivered.
type delivery struct {
	events  []events.SQSEvent
	deleted string
	broken  []error
}

// run delivers a batch of messages. "a/g" is message a of group g.
func run(t *testing.T, m lambdahost.Mapping, answer func(n int) (string, error), messages ...string) (d delivery) {
	t.Helper()
	q := &fakeQueue{}
	for _, name := range messages {
		id, group, _ := strings.Cut(name, "/")
		q.batch = append(q.batch, types.Message{
			MessageId: aws.String(id), ReceiptHandle: aws.String("receipt-" + id), Body: aws.String("body " + id),
			Attributes: map[string]string{"ApproximateReceiveCount": "2", "MessageGroupId": group},
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q.end = cancel
	var mu sync.Mutex
	m.Queues, m.Function, m.Concurrency = q, "f", 2
	m.Broken = func(err error) { d.broken = append(d.broken, err) }
	m.Functions = invoker(func(event []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		var e events.SQSEvent
		if err := json.Unmarshal(event, &e); err != nil {
			t.Error(err)
		}
		d.events = append(d.events, e)
		text, err := answer(len(d.events))
		return []byte(text), err
	})
	m.Run(ctx)
	slices.Sort(q.deleted)
	d.deleted = strings.Join(q.deleted, "")
	return d
}

// always returns a function that always gives the same answer.
func always(text string, err error) func(int) (string, error) {
	return func(int) (string, error) { return text, err }
}

func TestMappingEvent(t *testing.T) {
	t.Parallel()
	d := run(t, lambdahost.Mapping{URL: "http://127.0.0.1/000000000000/jobs.fifo"}, always(`{"batchItemFailures":[]}`, nil), "a/g")
	if len(d.events) != 1 || d.deleted != "a" {
		t.Fatalf("delivered %d times, deleted %q", len(d.events), d.deleted)
	}
	r := d.events[0].Records[0]
	if r.MessageId != "a" || r.ReceiptHandle != "receipt-a" || r.Body != "body a" || r.EventSource != "aws:sqs" || r.AWSRegion != "us-east-1" ||
		r.EventSourceARN != "arn:aws:sqs:us-east-1:000000000000:jobs.fifo" || r.Attributes["ApproximateReceiveCount"] != "2" || r.Attributes["MessageGroupId"] != "g" {
		t.Errorf("the record is %+v", r)
	}
}

func TestMappingAnswers(t *testing.T) {
	t.Parallel()
	const standard, fifo = "http://127.0.0.1/0/jobs", "http://127.0.0.1/0/jobs.fifo"
	for _, test := range []struct {
		url, answer string
		err         error
		messages    string
		deleted     string
		broken      int
	}{
		{standard, `{"batchItemFailures":[]}`, nil, "a b", "ab", 0},
		{standard, `{"batchItemFailures":null}`, nil, "a b", "ab", 0},
		{standard, `{}`, nil, "a b", "ab", 0},
		{standard, `null`, nil, "a b", "ab", 0},
		{standard, ``, nil, "a b", "ab", 0},
		{standard, `{"batchItemFailures":[{"itemIdentifier":"a"}]}`, nil, "a b", "b", 0},
		{standard, ``, errors.New("it failed"), "a b", "", 0},
		{standard, `{"batchItemFailures":[{"itemIdentifier":""}]}`, nil, "a b", "", 1},
		{standard, `{"batchItemFailures":[{"itemIdentifier":"z"}]}`, nil, "a b", "", 1},
		{standard, `{"batchItemFailures":[{"messageId":"a"}]}`, nil, "a b", "", 1},
		{standard, `[]`, nil, "a b", "", 1},
		{fifo, `{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"c"}]}`, nil, "a/g b/g c/g d/h", "ad", 0},
		{fifo, `{"batchItemFailures":[{"itemIdentifier":"b"}]}`, nil, "a/g b/g c/g d/h", "acd", 1},
	} {
		d := run(t, lambdahost.Mapping{URL: test.url}, always(test.answer, test.err), strings.Fields(test.messages)...)
		if d.deleted != test.deleted || len(d.broken) != test.broken || len(d.events) != 1 {
			t.Errorf("%s: deleted %q, %v, delivered %d times; want %q and %d defects", test.answer, d.deleted, d.broken, len(d.events), test.deleted, test.broken)
		}
	}
}

func TestDisturbance(t *testing.T) {
	t.Parallel()
	once := func(n int) (string, error) { // the second delivery fails
		if n > 1 {
			return "", errors.New("it failed")
		}
		return "", nil
	}
	for _, test := range []struct {
		rates  lambdahost.Deliveries
		url    string
		events int
		counts string
	}{
		{lambdahost.Deliveries{}, "q", 1, "map[]"},
		{lambdahost.Deliveries{Duplicate: 1}, "q", 2, "map[duplicated:1]"},
		{lambdahost.Deliveries{Duplicate: 1}, "q.fifo", 2, "map[duplicated:1]"},
		{lambdahost.Deliveries{Late: 1}, "q", 2, "map[late:1]"},
		{lambdahost.Deliveries{Late: 1}, "q.fifo", 1, "map[]"},
		{lambdahost.Deliveries{Shuffle: 1}, "q", 1, "map[shuffled:1]"},
		{lambdahost.Deliveries{Shuffle: 1}, "q.fifo", 1, "map[]"},
		{lambdahost.Deliveries{Delay: 1, MaxDelay: time.Millisecond}, "q", 1, "map[delayed:1]"},
	} {
		disturbance := lambdahost.Disturb(1, test.rates)
		d := run(t, lambdahost.Mapping{URL: test.url, Disturb: disturbance}, once, "a", "b", "c", "d", "e")
		if got := fmt.Sprint(disturbance.Counts()); len(d.events) != test.events || d.deleted != "abcde" || got != test.counts {
			t.Errorf("%+v: delivered %d times, deleted %s, counted %s; want %d, all, %s", test.rates, len(d.events), d.deleted, got, test.events, test.counts)
		}
		var order string
		for _, r := range d.events[0].Records {
			order += r.MessageId
		}
		if shuffled := strings.Contains(test.counts, "shuffled"); (order != "abcde") != shuffled {
			t.Errorf("%+v: the order is %s", test.rates, order)
		}
	}
}
