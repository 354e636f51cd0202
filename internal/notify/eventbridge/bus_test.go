package eventbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awstry"
	"github.com/seed-41655fb1/weft/internal/notify/eventbridge"
)

var at = time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC)

func config() aws.Config {
	return aws.Config{Region: "eu-west-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "hunter2"}, nil
	})}
}

func put(ctx context.Context, c aws.Config, address string) error {
	return eventbridge.New(c, eventbridge.Options{Name: "orders", Source: "weft.shop", Address: address}).Put(ctx, "workflow.completed", at, []byte(`{"id":"weft_1_2","result":"<é>"}`))
}

// What EventBridge gets.
func TestPut(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		const want = `{"Entries":[{"EventBusName":"orders","Source":"weft.shop","DetailType":"workflow.completed","Time":1795251600.123,` +
			`"Detail":"{\"id\":\"weft_1_2\",\"result\":\"\u003cé\u003e\"}"}]}`
		if string(body) != want || !json.Valid(body) {
			t.Errorf("the body is %s\nwant        %s", body, want)
		}
		if r.Method != http.MethodPost || r.URL.String() != "/" || r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents" || r.Header.Get("Content-Type") != "application/x-amz-json-1.1" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if sign := r.Header.Get("Authorization"); !strings.Contains(sign, "Credential=AKIDEXAMPLE/") || !strings.Contains(sign, "/eu-west-1/events/aws4_request") || !strings.Contains(sign, "x-amz-target") {
			t.Errorf("the signature is %s", sign)
		}
		_, _ = io.WriteString(w, `{"FailedEntryCount":0,"Entries":[{"EventId":"11710aed-b79e-4468-a20b-bb3c0c3b4860"}]}`)
	}))
	defer server.Close()
	for _, address := range []string{server.URL, server.URL + "/"} {
		if err := put(t.Context(), config(), address); err != nil {
			t.Error(err)
		}
	}
}

// What the answers mean.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		code   string // of an Error
		want   string
	}{
		"partly failed":     {200, `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException","ErrorMessage":"Rate exceeded"}]}`, "ThrottlingException", "event bus orders: EventBridge answers ThrottlingException: Rate exceeded"},
		"an internal one":   {200, `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"InternalFailure"}]}`, "InternalFailure", "event bus orders: EventBridge answers InternalFailure"},
		"a code alone":      {200, `{"FailedEntryCount":0,"Entries":[{"ErrorCode":"MalformedDetail"}]}`, "MalformedDetail", "MalformedDetail"},
		"no id":             {200, `{"FailedEntryCount":0,"Entries":[{}]}`, "no event id", "no event id"},
		"throttled":         {400, `{"__type":"ThrottlingException","message":"Rate exceeded"}`, "ThrottlingException", "ThrottlingException: Rate exceeded"},
		"too large":         {400, `{"__type":"com.amazonaws.events#ValidationException","Message":"Total size of the entries is over the limit"}`, "ValidationException", "Total size"},
		"not allowed":       {400, `{"__type":"AccessDeniedException","Message":"no identity-based policy allows the events:PutEvents action"}`, "AccessDeniedException", "events:PutEvents"},
		"no bus":            {400, `{"__type":"ResourceNotFoundException","message":"Event bus orders does not exist."}`, "ResourceNotFoundException", "does not exist"},
		"a gateway":         {502, `<html>`, "502 Bad Gateway", "EventBridge answers 502 Bad Gateway"},
		"another service":   {200, `<html>`, "", "check the address"},
		"another answer":    {200, `{}`, "", "check the address"},
		"two entries":       {200, `{"FailedEntryCount":0,"Entries":[{"EventId":"a"},{"EventId":"b"}]}`, "", "check the address"},
		"nothing":           {200, ``, "", "check the address"},
		"an endless answer": {200, strings.Repeat(" ", 2<<20), "", "check the address"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		err := put(t.Context(), config(), server.URL)
		server.Close()
		if err == nil || !strings.HasSuffix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		refused := (*eventbridge.Error)(nil)
		if errors.As(err, &refused) != (c.code != "") || refused != nil && (refused.Code != c.code || refused.Status != c.status) {
			t.Errorf("%s: %+v, want %s", name, refused, c.code)
		}
	}
}

// silent never answers.
type silent struct{}

func (silent) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A service that does not answer is left before the time of an attempt is over. Without credentials
// or with a wrong address, no request is made.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.HTTPClient = silent{}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := put(ctx, c, ""); !errors.Is(err, awstry.ErrSilent) || ctx.Err() != nil {
			t.Error(err)
		}
		c.Credentials = nil
		if err := put(t.Context(), c, ""); err == nil || !strings.Contains(err.Error(), "no credentials") {
			t.Error(err)
		}
		c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("expired") })
		if err := put(t.Context(), c, ""); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Error(err)
		}
		if err := put(t.Context(), config(), "http://a b"); err == nil {
			t.Error("an address that is none")
		}
	})
}
