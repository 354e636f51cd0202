// Package awsform sends the few requests to services of AWS that take forms and answer in XML. The
// SDK's module for one request to CloudFormation or CloudWatch would be most of the command.
package awsform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// maxAnswer is the size of the largest answer, in bytes. The rest is cut off.
const maxAnswer = 1 << 20

// Address returns the address of a service in a region.
func Address(service, region string) string {
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return "https://" + service + "." + region + "." + domain
}

// Request returns a signed request with a form. It returns an error if the address is not a URL.
func Request(ctx context.Context, credentials aws.Credentials, service, region, address string, form url.Values) (*http.Request, error) {
	body := form.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	hash := sha256.Sum256([]byte(body))
	return r, v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash[:]), service, region, time.Now())
}

// Send sends a request and returns the answer with its body, which is closed.
func Send(client aws.HTTPClient, r *http.Request) (*http.Response, []byte, error) {
	resp, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp, body, err
}
