package sqs_test

import (
	"context"
	"crypto/md5" // SQS checks bodies with it
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

// request is a request that the SDK sent.
type request struct {
	operation string
	body      string
	fields    fields
}

// fields has the fields of all requests.
type fields struct {
	QueueURL            string `json:"QueueUrl"`
	Entries             []entry
	ReceiptHandle       string
	VisibilityTimeout   int
	WaitTimeSeconds     int
	MaxNumberOfMessages int
}

type entry struct {
	ID                     string `json:"Id"`
	MessageBody            string
	DelaySeconds           int
	MessageGroupID         *string `json:"MessageGroupId"`
	MessageDeduplicationID *string `json:"MessageDeduplicationId"`
	ReceiptHandle          string
}

// answer is the fake server's answer. An empty one is a success.
type answer struct {
	status int
	code   string
	body   any
	// lost breaks the connection instead.
	lost bool
}

// fake is a server that gives one answer after the other.
type fake struct {
	mu      sync.Mutex
	answers []answer
	got     []request
}

// Do implements aws.HTTPClient.
func (f *fake) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	got := request{operation: operation, body: string(body)}
	if err := json.Unmarshal(body, &got.fields); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, got)
	var a answer
	if len(f.answers) > 0 {
		a, f.answers = f.answers[0], f.answers[1:]
	}
	if a.lost {
		return nil, errors.New("connection reset by peer")
	}
	return a.response(got)
}

func (a answer) response(got request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.code != "" {
		header.Set("X-Amzn-Query-Error", a.code+";Sender")
		a.body = map[string]string{"__type": "com.amazonaws.sqs#" + a.code, "message": "refused"}
	}
	if a.body == nil {
		a.body = success(got)
	}
	body, err := json.Marshal(a.body)
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(string(body)))}, err
}

type object = map[string]any

// success returns the answer to a batch whose entries all succeeded.
func success(got request) any {
	all := []object{}
	for _, e := range got.fields.Entries {
		all = append(all, object{"Id": e.ID, "MessageId": "m", "MD5OfMessageBody": sum(e.MessageBody)})
	}
	return object{"Successful": all}
}

// partly returns the answer to a batch whose first entry failed.
func partly(code, message string) any {
	return object{"Failed": []object{{"Id": "0", "Code": code, "Message": message, "SenderFault": true}}}
}

func sum(body string) string {
	h := md5.Sum([]byte(body))
	return hex.EncodeToString(h[:])
}

// The port's names of the queues.
const (
	tasks  = queue.Activities
	orders = queue.Workflow
)

// open returns queues on a fake server. The SDK repeats a request twice, without waiting.
func open(o sqs.Options, answers ...answer) (*sqs.Queue, *fake) {
	f := &fake{answers: answers}
	client := awssqs.New(awssqs.Options{
		Region: "us-east-1", HTTPClient: f, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		BaseEndpoint: aws.String("http://sqs.invalid"),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		}),
	})
	o.URLs = map[string]string{tasks: "http://sqs.invalid/1/tasks", orders: "http://sqs.invalid/1/orders.fifo", queue.Unreadable: "http://sqs.invalid/1/unreadable"}
	return sqs.New(client, o), f
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	message := queue.Message{Body: []byte("message")}
	missing := answer{status: http.StatusBadRequest, code: "QueueDoesNotExist"}
	denied := answer{status: http.StatusForbidden, code: "AccessDenied"}
	calls := map[string]func(ctx context.Context, q *sqs.Queue) error{
		"Send":   func(ctx context.Context, q *sqs.Queue) error { return q.Send(ctx, tasks, message) },
		"Delete": func(ctx context.Context, q *sqs.Queue) error { return q.Delete(ctx, tasks, "receipt") },
		"Extend": func(ctx context.Context, q *sqs.Queue) error { return q.Extend(ctx, tasks, "receipt", 0) },
		"Receive": func(ctx context.Context, q *sqs.Queue) error {
			_, err := q.Receive(ctx, tasks, 1)
			return err
		},
	}
	for name, call := range calls {
		q, _ := open(sqs.Options{}, missing)
		is(t, name+" of a queue that is not there", call(t.Context(), q), queue.ErrInvalid)

		q, _ = open(sqs.Options{}, denied)
		if err := call(t.Context(), q); err == nil || errors.Is(err, queue.ErrInvalid) || errors.Is(err, queue.ErrPartial) {
			t.Errorf("%s without permission: %v", name, err)
		}

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		q, f := open(sqs.Options{})
		is(t, name+" with a context that has ended", call(ended, q), context.Canceled)
		if len(f.got) > 0 {
			t.Errorf("%s with a context that has ended made a request", name)
		}
	}
}
