package calls_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	blobs3 "github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe/calls"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// service answers the requests of AWS's clients, one answer after the other, and then with the last
// one again.
type service struct {
	answers []func(r *http.Request) (*http.Response, error)
	asked   int
}

// Do implements aws.HTTPClient.
func (s *service) Do(r *http.Request) (*http.Response, error) {
	next := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	return next(r)
}

func says(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Request: r, ContentLength: int64(len(body)),
			Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
}

// refuses answers with an error of a code, in the forms of all services at once.
func refuses(status int, code string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		body := `{"__type":"com.amazonaws#` + code + `","message":"no"}`
		if r.Header.Get("X-Amz-Target") == "" { // S3
			body = "<Error><Code>" + code + "</Code><Message>no</Message></Error>"
		}
		return says(status, body)(r)
	}
}

var works = says(http.StatusOK, `{}`)

// unreachable is a service that nothing listens for.
func unreachable(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }

// silent is a service that never answers.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func configOf(s *service) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://aws.invalid"), HTTPClient: s,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}
}

// called is a call of one of the services.
type called func(t *testing.T, ctx context.Context, c *calls.Calls, config aws.Config) error

func tableOf(t *testing.T, c *calls.Calls, config aws.Config) store.Log {
	t.Helper()
	s, err := dynamo.New(dynamodb.NewFromConfig(config), dynamo.Options{Table: "weft"})
	if err != nil {
		t.Fatal(err)
	}
	return c.Log(s)
}

func reads(t *testing.T, ctx context.Context, c *calls.Calls, config aws.Config) error {
	t.Helper()
	_, err := tableOf(t, c, config).Backward(ctx, "order", store.Key{}, store.Key{}, 1)
	return err
}

func writes(t *testing.T, ctx context.Context, c *calls.Calls, config aws.Config) error {
	t.Helper()
	return tableOf(t, c, config).Append(ctx, store.Item{Key: store.Key{Workflow: "order", Run: 1}, Commit: [16]byte{1}, Body: []byte("x")})
}

// writesUntil writes as the executor does: again, while the outcome is unknown.
func writesUntil(t *testing.T, ctx context.Context, c *calls.Calls, config aws.Config) (err error) {
	t.Helper()
	for log := tableOf(t, c, config); ctx.Err() == nil; time.Sleep(time.Second) {
		err = log.Append(ctx, store.Item{Key: store.Key{Workflow: "order", Run: 1}, Commit: [16]byte{1}, Body: []byte("x")})
		if !errors.Is(err, store.ErrUnknown) {
			return err
		}
	}
	return err
}

func sends(t *testing.T, ctx context.Context, c *calls.Calls, config aws.Config) error {
	t.Helper()
	q := sqs.New(awssqs.NewFromConfig(config), sqs.Options{URLs: map[string]string{queue.Timers: "http://aws.invalid/1/timers"}})
	return c.Ports(executor.Ports{Queue: q}).Queue.Send(ctx, queue.Timers, queue.Message{Body: []byte("x")})
}

func puts(t *testing.T, ctx context.Context, c *calls.Calls, config aws.Config) error {
	t.Helper()
	return c.Blobs(blobs3.New(s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }), "bucket")).Put(ctx, "key", []byte("x"))
}

func generates(t *testing.T, ctx context.Context, c *calls.Calls, config aws.Config) error {
	t.Helper()
	const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	_, _, err := c.Keys(awskms.New(kms.NewFromConfig(config), []string{key})).Generate(ctx, "shop")
	return err
}

// What AWS's services answer counts as it should, behind the adapters and their retries. A throttle
// or a crash that a retry absorbs counts nothing.
func TestServices(t *testing.T) {
	t.Parallel()
	type answers = []func(*http.Request) (*http.Response, error)
	for what, test := range map[string]struct {
		call    called
		answers answers
		want    string
	}{
		"read, wrong table":               {reads, answers{refuses(400, "ResourceNotFoundException")}, "StoreRefused"},
		"read, denied":                    {reads, answers{refuses(400, "AccessDeniedException")}, "StoreRefused"},
		"read, throttled once":            {reads, answers{refuses(400, "ThrottlingException"), works}, ""},
		"read, throttled":                 {reads, answers{refuses(400, "ProvisionedThroughputExceededException")}, "StoreThrottled"},
		"read, crashes once":              {reads, answers{refuses(500, "InternalServerError"), works}, ""},
		"read, crashes":                   {reads, answers{refuses(500, "InternalServerError")}, "StoreUnanswered"},
		"read, of a proxy":                {reads, answers{says(403, "<html>")}, "StoreUnanswered"},
		"read, garbled":                   {reads, answers{says(200, "{")}, "StoreUnanswered"},
		"read, unreachable once":          {reads, answers{unreachable, works}, ""},
		"read, unreachable":               {reads, answers{unreachable}, "StoreUnanswered"},
		"read, silent once":               {reads, answers{silent, works}, ""},
		"read, silent":                    {reads, answers{silent}, "StoreUnanswered"},
		"write, denied":                   {writes, answers{refuses(400, "AccessDeniedException")}, "StoreRefused"},
		"write, throttled once":           {writes, answers{refuses(400, "ThrottlingException"), works}, ""},
		"write, throttled":                {writes, answers{refuses(400, "ThrottlingException")}, "StoreThrottled"},
		"write, lost a race":              {writes, answers{refuses(400, "ConditionalCheckFailedException")}, ""},
		"write, meets another":            {writesUntil, answers{refuses(400, "TransactionConflictException"), refuses(400, "TransactionConflictException"), works}, ""},
		"write, crashes once":             {writesUntil, answers{refuses(500, "InternalServerError"), works}, ""},
		"write, crashes twice":            {writesUntil, answers{refuses(500, "InternalServerError"), refuses(500, "InternalServerError"), works}, "StoreUnanswered"},
		"write, silent once":              {writesUntil, answers{silent, works}, ""},
		"write, silent twice":             {writesUntil, answers{silent, silent, works}, "StoreUnanswered"},
		"send, denied":                    {sends, answers{refuses(403, "AccessDenied")}, "QueueRefused"},
		"send, no queue":                  {sends, answers{refuses(400, "QueueDoesNotExist")}, "QueueRefused"},
		"send, throttled once":            {sends, answers{refuses(400, "RequestThrottled"), sent}, ""},
		"send, throttled":                 {sends, answers{refuses(400, "RequestThrottled")}, "QueueThrottled"},
		"send, crashes once":              {sends, answers{refuses(500, "InternalFailure"), sent}, ""},
		"send, crashes":                   {sends, answers{refuses(500, "InternalFailure")}, "QueueUnanswered"},
		"send, unreachable":               {sends, answers{unreachable}, "QueueUnanswered"},
		"send, silent":                    {sends, answers{silent}, "QueueUnanswered"},
		"send, a message is refused":      {sends, answers{fails("AccessDenied")}, "QueueRefused"},
		"send, a message is throttled":    {sends, answers{fails("RequestThrottled")}, "QueueThrottled"},
		"send, a message is not answered": {sends, answers{fails("InternalError")}, "QueueUnanswered"},
		"put, denied":                     {puts, answers{refuses(403, "AccessDenied")}, "PayloadFailures"},
		"put, slow once":                  {puts, answers{refuses(503, "SlowDown"), works}, ""},
		"put, silent":                     {puts, answers{silent}, "PayloadFailures"},
		"generate, disabled":              {generates, answers{refuses(400, "DisabledException")}, "PayloadFailures"},
		"generate, unreachable":           {generates, answers{unreachable}, "PayloadFailures"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				c, s := counting()
				err := test.call(t, ctx, c, configOf(&service{answers: test.answers}))
				if diff := cmp.Diff(one(test.want), s.take()); diff != "" {
					t.Errorf("- want, + what a call counts that ends with %v:\n%s", err, diff)
				}
			})
		})
	}
}

// sent is SQS's answer to a batch with the one message of this test.
func sent(r *http.Request) (*http.Response, error) {
	const sum = "aaf8e253d25fc68de51cc68a360868d6"
	return says(http.StatusOK, `{"Successful":[{"Id":"0","MessageId":"m","MD5OfMessageBody":"`+sum+`"}],"Failed":[]}`)(r)
}

// fails is SQS's answer to a batch whose message it does not take.
func fails(code string) func(*http.Request) (*http.Response, error) {
	return says(http.StatusOK, `{"Successful":[],"Failed":[{"Id":"0","Code":"`+code+`","Message":"no","SenderFault":true}]}`)
}
