package faultproxy_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/proof/faultproxy"
)

// server counts the requests that it carries out, and answers each with text.
type server struct {
	*httptest.Server
	applied atomic.Int64
	body    atomic.Value // the body of the last request
	header  atomic.Value
}

func newServer(t *testing.T, text string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.applied.Add(1)
		s.body.Store(string(body))
		header := maps.Clone(r.Header)
		header.Set("Host", r.Host)
		s.header.Store(header)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

func proxy(t *testing.T, s *server, rates faultproxy.Rates) (*faultproxy.Proxy, aws.Config) {
	t.Helper()
	p, err := faultproxy.Start(s.URL, 1, rates)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		BaseEndpoint: aws.String(p.URL()), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
}

func put(t *testing.T, c aws.Config) error {
	t.Helper()
	_, err := dynamodb.NewFromConfig(c).PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("t"), Item: map[string]dynamodbtypes.AttributeValue{"k": &dynamodbtypes.AttributeValueMemberS{Value: "v"}},
	})
	return err
}

func TestFaults(t *testing.T) {
	t.Parallel()
	broken := func(err error) bool {
		var network *net.OpError
		return errors.As(err, &network) && errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
	}
	cut := func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) }
	code := func(codes ...string) func(error) bool {
		return func(err error) bool {
			var refused smithy.APIError
			return errors.As(err, &refused) && slices.Contains(codes, refused.ErrorCode())
		}
	}
	for fault, test := range map[faultproxy.Fault]struct {
		rates   faultproxy.Rates
		applied int64
		is      func(error) bool
	}{
		faultproxy.Pass:        {faultproxy.Rates{}, 1, func(err error) bool { return err == nil }},
		faultproxy.LoseRequest: {faultproxy.Rates{LoseRequest: 1}, 0, broken},
		faultproxy.LoseAnswer:  {faultproxy.Rates{LoseAnswer: 1}, 1, broken},
		faultproxy.CutAnswer:   {faultproxy.Rates{CutAnswer: 1}, 1, cut},
		faultproxy.FailBefore:  {faultproxy.Rates{FailBefore: 1}, 0, code("InternalServerError")},
		faultproxy.FailAfter:   {faultproxy.Rates{FailAfter: 1}, 1, code("InternalServerError")},
		faultproxy.Throttle:    {faultproxy.Rates{Throttle: 1}, 0, code("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")},
	} {
		s := newServer(t, `{"Attributes":{}}`)
		p, c := proxy(t, s, test.rates)
		if err := put(t, c); !test.is(err) || s.applied.Load() != test.applied {
			t.Errorf("%s: error %v, applied %d times", fault, err, s.applied.Load())
		}
		if n := p.Counts()["PutItem"][fault]; n != 1 {
			t.Errorf("%s: counted %v", fault, p.Counts())
		}
		p.Set(faultproxy.Rates{})
		if err := put(t, c); err != nil {
			t.Errorf("after %s: %v", fault, err)
		}
	}
}

// A guard decides about each request by its service, its operation and its body.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := newServer(t, `{}`)
	p, c := proxy(t, s, faultproxy.Rates{})
	var asked []string
	p.Protect(func(service, operation string, body []byte) string {
		asked = append(asked, service+"."+operation)
		if service == "SQS" || strings.Contains(string(body), `"TableName":"t"`) {
			return "a:right"
		}
		return ""
	})
	receive := func() error {
		_, err := sqs.NewFromConfig(c).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("q")})
		return err
	}
	for _, err := range []error{put(t, c), receive()} {
		var denied smithy.APIError
		if !errors.As(err, &denied) || denied.ErrorCode() != "AccessDeniedException" || !strings.Contains(denied.ErrorMessage(), "a:right") {
			t.Errorf("error %v", err)
		}
	}
	if n := s.applied.Load(); n != 0 || p.Counts()["PutItem"][faultproxy.Deny] != 1 || !slices.Equal(asked, []string{"DynamoDB.PutItem", "SQS.ReceiveMessage"}) {
		t.Errorf("%d were carried out, counted %v, asked about %v", n, p.Counts(), asked)
	}
	p.Protect(nil)
	if err := put(t, c); err != nil {
		t.Errorf("without a guard: %v", err)
	}
}

// The proxy does not change what a request signs.
func TestPass(t *testing.T) {
	t.Parallel()
	s := newServer(t, `{}`)
	p, c := proxy(t, s, faultproxy.Rates{Delay: 1, MaxDelay: time.Millisecond})
	if err := put(t, c); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	header := s.header.Load().(http.Header)
	if header.Get("Host") != u.Host || !strings.Contains(header.Get("Authorization"), "SignedHeaders=") || header.Get("X-Amz-Target") != "DynamoDB_20120810.PutItem" {
		t.Errorf("the server got %v", header)
	}
	if n := p.Counts()["PutItem"][faultproxy.Delay]; n != 1 {
		t.Errorf("counted %v", p.Counts())
	}
}

func TestSQSThrottles(t *testing.T) {
	t.Parallel()
	_, c := proxy(t, newServer(t, `{}`), faultproxy.Rates{Throttle: 1})
	for range 10 {
		_, err := sqs.NewFromConfig(c).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("q")})
		var refused smithy.APIError
		if !errors.As(err, &refused) || refused.ErrorCode() != "RequestThrottled" && refused.ErrorCode() != "ThrottlingException" {
			t.Errorf("error %v", err)
		}
	}
}

func TestPartialSend(t *testing.T) {
	t.Parallel()
	s := newServer(t, `{"Successful":[]}`)
	_, c := proxy(t, s, faultproxy.Rates{Partial: 1})
	var entries []types.SendMessageBatchRequestEntry
	for _, id := range []string{"a", "b", "c"} {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &id})
	}
	client := sqs.NewFromConfig(c, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true })
	out, err := client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: aws.String("q"), Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	var sent struct{ Entries []struct{ Id string } }
	if err := json.Unmarshal([]byte(s.body.Load().(string)), &sent); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range sent.Entries {
		all = append(all, e.Id)
	}
	for _, f := range out.Failed {
		all = append(all, aws.ToString(f.Id))
	}
	slices.Sort(all)
	if len(sent.Entries) == 0 || len(out.Failed) == 0 || strings.Join(all, "") != "abc" {
		t.Errorf("the server got %v, and the client got %v as failed", sent.Entries, out.Failed)
	}
}

func TestPartialWrite(t *testing.T) {
	t.Parallel()
	s := newServer(t, `{"UnprocessedItems":{}}`)
	_, c := proxy(t, s, faultproxy.Rates{Partial: 1})
	var writes []dynamodbtypes.WriteRequest
	for _, key := range []string{"a", "b", "c"} {
		writes = append(writes, dynamodbtypes.WriteRequest{DeleteRequest: &dynamodbtypes.DeleteRequest{
			Key: map[string]dynamodbtypes.AttributeValue{"k": &dynamodbtypes.AttributeValueMemberS{Value: key}},
		}})
	}
	out, err := dynamodb.NewFromConfig(c).BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]dynamodbtypes.WriteRequest{"t": writes},
	})
	if err != nil {
		t.Fatal(err)
	}
	applied := strings.Count(s.body.Load().(string), "DeleteRequest")
	if left := len(out.UnprocessedItems["t"]); applied == 0 || left == 0 || applied+left != len(writes) {
		t.Errorf("the server got %s, and the client got %v as unprocessed", s.body.Load(), out.UnprocessedItems)
	}
}
