// Package awsform sends the few requests to services of AWS for which the SDK's module would be
// most of the program: forms that are answered in XML, to CloudFormation, CloudWatch and EC2,
// requests that read, to API Gateway, and JSON, to EventBridge and CodeDeploy.
package awsform

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return post(ctx, credentials, service, region, address, header, []byte(form.Encode()))
}

// JSON returns a signed request for an operation, AWSEvents.PutEvents for instance, with JSON. It
// returns an error if the address is not a URL.
func JSON(ctx context.Context, credentials aws.Credentials, service, region, address, operation string, body []byte) (*http.Request, error) {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {operation}}
	return post(ctx, credentials, service, region, address, header, body)
}

// post returns a signed request with a body.
func post(ctx context.Context, credentials aws.Credentials, service, region, address string, header http.Header, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	hash := sha256.Sum256(body)
	return r, v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash[:]), service, region, time.Now())
}

// Get returns a signed request that reads. It returns an error if the address is not a URL.
func Get(ctx context.Context, credentials aws.Credentials, service, region, address string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	hash := sha256.Sum256(nil)
	return r, v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash[:]), service, region, time.Now())
}

// Send sends a request and returns the answer with its body, which is closed. A client that is nil
// is http.DefaultClient.
func Send(client aws.HTTPClient, r *http.Request) (*http.Response, []byte, error) {
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp, body, err
}

// Refusal returns the code and the message of an answer to [JSON] that refuses the request. An
// answer that has no code has its status as the code.
func Refusal(resp *http.Response, body []byte) (code, message string) {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"` // in some services with a capital M, which does not matter here
	}
	_ = json.Unmarshal(body, &said) // what is no JSON has no code
	code, _, _ = strings.Cut(cmp.Or(said.Type, resp.Header.Get("X-Amzn-Errortype"), resp.Status), ":")
	return code[strings.LastIndex(code, "#")+1:], said.Message
}
