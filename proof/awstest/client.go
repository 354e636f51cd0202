package awstest

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awstry"
)

var _ HTTPClient = (*client)(nil)

// HTTPClient is the type of the HTTP client in a Server's Config. A test that wraps the client
// embeds it, so that the wrapper is an awstry.Slow, too.
type HTTPClient interface {
	aws.HTTPClient
	awstry.Slow
}

// tryTimeout is the shortest timeout of a try. LocalStack serves few requests at once, so under
// forty parallel tests a request may wait for many seconds.
const tryTimeout = time.Minute

// idleTimeout is how long an unused connection stays open. DynamoDB Local closes one after 30 s,
// the others after 60 s. A request that is sent at that moment gets no answer and is sent again,
// and a test that counts requests would see both.
const idleTimeout = 10 * time.Second

// client adapts the AWS SDK to servers on localhost:
//
//   - The SDK closes a request's body while net/http may still read it. If the server answers
//     within microseconds, one in a few thousand requests fails with "use of closed network
//     connection". So net/http gets its own copy.
//   - DynamoDB Local sends a checksum with every error. The SDK checks it after the body was read,
//     and logs a warning each time. The client removes the header, so the SDK checks nothing.
type client struct {
	http http.Client
}

func newClient() *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the servers are on this machine
	transport.MaxIdleConnsPerHost = 64
	transport.IdleConnTimeout = idleTimeout
	return &client{http.Client{Transport: transport}}
}

// TryTimeout implements awstry.Slow.
func (c *client) TryTimeout() time.Duration { return tryTimeout }

// Do implements aws.HTTPClient.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	copied := r.Clone(r.Context())
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		copied.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := c.http.Do(copied)
	if err != nil {
		return nil, err
	}
	response.Header.Del("X-Amz-Crc32")
	return response, nil
}
