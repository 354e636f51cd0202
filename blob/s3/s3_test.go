package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/blob/s3"
)

// answering returns the blobs of a bucket that answers with f.
func answering(t *testing.T, f http.HandlerFunc) *s3.Blobs {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return s3.New(awss3.New(awss3.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), Retryer: aws.NopRetryer{},
	}), "bucket")
}

// S3 answers 403 for a missing object if the caller may not list the bucket, as Weft's functions
// may not. That error is permanent, and so is a disabled key. An error that waiting may fix is
// temporary.
func TestGetRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		want   error
	}{
		{http.StatusNotFound, "NoSuchKey", blob.ErrMissing},
		{http.StatusForbidden, "AccessDenied", blob.ErrDenied},
		{http.StatusBadRequest, "KMS.DisabledException", blob.ErrDenied},
		{http.StatusForbidden, "RequestTimeTooSkewed", nil},
		{http.StatusBadRequest, "ExpiredToken", nil},
		{http.StatusServiceUnavailable, "SlowDown", nil},
	} {
		b := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", c.code)
		})
		_, err := b.Get(t.Context(), "default/00000000/message/00")
		if err == nil || errors.Is(err, blob.ErrMissing) != (c.want == blob.ErrMissing) || errors.Is(err, blob.ErrDenied) != (c.want == blob.ErrDenied) {
			t.Errorf("%d %s: %v, want %v", c.status, c.code, err, c.want)
		}
	}
}

// Get repeats a request whose body ends too early. The SDK's own retries end when the body begins.
func TestGetIsCutOff(t *testing.T) {
	t.Parallel()
	body, asked := bytes.Repeat([]byte("x"), 100<<10), 0
	b := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		if asked == 1 {
			_, _ = w.Write(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body)
	})
	if got, err := b.Get(t.Context(), "default/00000000/message/00"); err != nil || !bytes.Equal(got, body) || asked != 2 {
		t.Errorf("%d bytes, %v, after %d requests", len(got), err, asked)
	}
}
