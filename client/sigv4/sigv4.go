// Package sigv4 signs the requests of a client with AWS credentials, which a deployment on AWS asks
// for by default (authorization AWS_IAM). It is separate from package client, so that only callers
// of AWS get the AWS SDK:
//
//	config, err := config.LoadDefaultConfig(ctx)
//	signing, err := sigv4.New(ctx, config)
//	c := client.New(url, client.Options{HTTP: signing})
package sigv4

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// New returns an HTTP client that signs each request (Signature Version 4), with the credentials
// and for the region of the configuration. Credentials that expire are renewed. It fails if there
// is no region or there are no credentials. Like that of package client, it has no time-out of its
// own.
func New(ctx context.Context, config aws.Config) (*http.Client, error) {
	if config.Region == "" {
		return nil, errors.New("weft: requests are signed for a region, and none is configured: set AWS_REGION")
	}
	if config.Credentials == nil {
		return nil, errors.New("weft: requests are signed with AWS credentials, and none are configured")
	}
	if _, err := config.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("weft: requests are signed with AWS credentials, and there are none: %w", err)
	}
	return &http.Client{Transport: &transport{config, http.DefaultTransport, time.Now}}, nil
}

// transport signs what it sends.
type transport struct {
	config aws.Config
	next   http.RoundTripper
	now    func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
	}
	credentials, err := t.config.Credentials.Retrieve(r.Context())
	if err != nil {
		return nil, err
	}
	signed := r.Clone(r.Context()) // a RoundTripper leaves its request as it is
	signed.Body = io.NopCloser(bytes.NewReader(body))
	hash := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(r.Context(), credentials, signed, hex.EncodeToString(hash[:]), service(r.URL.Hostname()), t.config.Region, t.now())
	if err != nil {
		return nil, err
	}
	return t.next.RoundTrip(signed)
}

// service is what the signature is for: a function URL belongs to Lambda, everything else to API
// Gateway.
func service(host string) string {
	if strings.HasSuffix(host, ".on.aws") && strings.Contains(host, ".lambda-url.") {
		return "lambda"
	}
	return "execute-api"
}
