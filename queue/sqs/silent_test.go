package sqs_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

// silence is a fake that does not answer the first request.
type silence struct {
	*fake
	requests atomic.Int32
	took     atomic.Int64 // until the first request ended
}

func (s *silence) Do(r *http.Request) (*http.Response, error) {
	if s.requests.Add(1) > 1 {
		return s.fake.Do(r)
	}
	began := time.Now()
	<-r.Context().Done()
	s.took.Store(int64(time.Since(began)))
	return nil, r.Context().Err()
}

// A request without an answer is sent again, long before the caller's time is over. A poll gets its
// waiting time in addition.
func TestSilentTries(t *testing.T) {
	t.Parallel()
	call := map[string]func(context.Context, *sqs.Queue) error{
		"send": func(ctx context.Context, q *sqs.Queue) error {
			return q.Send(ctx, tasks, queue.Message{Body: []byte("x")})
		},
		"delete":  func(ctx context.Context, q *sqs.Queue) error { return q.Delete(ctx, tasks, "r") },
		"extend":  func(ctx context.Context, q *sqs.Queue) error { return q.Extend(ctx, tasks, "r", time.Minute) },
		"receive": func(ctx context.Context, q *sqs.Queue) error { _, err := q.Receive(ctx, tasks, 1); return err },
	}
	for name, do := range call {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				net := &silence{fake: &fake{}}
				if name == "receive" {
					net.answers = []answer{{body: object{"Messages": []object{{"MessageId": "m", "ReceiptHandle": "r", "Body": "x"}}}}}
				}
				q := sqs.New(awssqs.New(awssqs.Options{
					Region: "us-east-1", HTTPClient: net, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
					BaseEndpoint: aws.String("http://sqs.invalid"), DisableMessageChecksumValidation: true,
				}), sqs.Options{URLs: map[string]string{tasks: "http://sqs.invalid/1/tasks"}, TryTimeout: time.Second})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := do(ctx, q); err != nil || net.requests.Load() != 2 {
					t.Errorf("%v, with %d requests", err, net.requests.Load())
				}
				want := time.Second
				if name == "receive" {
					want += 20 * time.Second
				}
				if took := time.Duration(net.took.Load()); took != want {
					t.Errorf("the first try took %v, want %v", took, want)
				}
			})
		})
	}
}
