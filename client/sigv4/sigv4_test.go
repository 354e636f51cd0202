package sigv4

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// sent keeps the request that was sent, and its body.
type sent struct {
	request *http.Request
	body    string
}

// RoundTrip implements http.RoundTripper.
func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	s.request, s.body = r, string(body)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, err
}

// The signatures equal those of botocore 1.43 for the same requests.
func TestSignatures(t *testing.T) {
	t.Parallel()
	const gateway, lambda = "https://abc.execute-api.eu-west-1.amazonaws.com/live", "https://abc.lambda-url.eu-west-1.on.aws"
	for _, c := range []struct{ method, url, body, token, want string }{
		{
			http.MethodPost, gateway + "/v1/workflows/order%2F1/updates/add", `{"input":{"thing":"tea"}}`, "",
			"SignedHeaders=content-length;content-type;host;x-amz-date, Signature=6e0944e00a5d9aa7344a30d952a00d310fdc7cd510ba246d28027f552fec228d",
		},
		{
			http.MethodGet, gateway + "/v1/workflows/order-1/result?wait=20s&runId=a%20b", "", "a-token",
			"SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=b3b3fdd0864275b95754870924dea9b387679d2651c578b309784213c4d3dc8e",
		},
		{
			http.MethodGet, lambda + "/v1/workflows/order-1", "", "",
			"SignedHeaders=host;x-amz-date, Signature=3beee7ab16bf9fa884ed7be8c170d791e6c02bbe3472e91d1b78efd678ed4064",
		},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		out := &sent{}
		signing := &transport{configured("AKIDEXAMPLE", c.token), out, func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }}
		response, err := signing.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := out.request.Header.Get("Authorization"); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s %s is signed\n%s, want it to end\n%s", c.method, c.url, got, c.want)
		}
		if out.body != c.body {
			t.Errorf("%s %s: the body sent is %q", c.method, c.url, out.body)
		}
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s: the caller's request was changed", c.method, c.url)
		}
	}
}

func configured(key, token string) aws.Config {
	return aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider(key, "secret", token)}
}

// A request that cannot be signed fails at once, and not after the client's retries.
func TestNotConfigured(t *testing.T) {
	t.Parallel()
	noRegion := configured("AKIDEXAMPLE", "")
	noRegion.Region = ""
	expired := configured("", "")
	errGone := errors.New("the session has expired")
	expired.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errGone })
	for want, config := range map[string]aws.Config{
		"AWS_REGION":              noRegion,
		"none are configured":     {Region: "eu-west-1"},
		"the session has expired": expired,
	} {
		if _, err := New(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
	if c, err := New(t.Context(), configured("AKIDEXAMPLE", "")); err != nil || c == nil {
		t.Errorf("%v, %v; want a client", c, err)
	}
}
