//go:build deploycheck

package operations_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/seed-41655fb1/weft/internal/awsform"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

// cloud asks services of AWS for which there is no module of the SDK here.
type cloud struct {
	server  awstest.Server
	address string
}

// form sends a form, and decodes the answer, which is XML.
func (c cloud) form(ctx context.Context, service, version, action string, parameters map[string]string, answer any) error {
	form := url.Values{"Action": {action}, "Version": {version}}
	for name, value := range parameters {
		form.Set(name, value)
	}
	credentials, err := c.server.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	r, err := awsform.Request(ctx, credentials, service, c.server.Config.Region, c.address+"/", form)
	if err != nil {
		return err
	}
	resp, body, err := awsform.Send(http.DefaultClient, r)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", action, resp.Status, body)
	}
	switch answer := answer.(type) {
	case nil:
		return nil
	case *[]byte:
		*answer = body
		return nil
	}
	return xml.Unmarshal(body, answer)
}

// json sends a request in JSON, and decodes the answer.
func (c cloud) json(ctx context.Context, service, target string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", target)
	credentials, err := c.server.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash[:]), service, c.server.Config.Region, time.Now()); err != nil {
		return err
	}
	resp, text, err := awsform.Send(http.DefaultClient, r)
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", target, resp.Status, text)
	}
	return json.Unmarshal(text, answer)
}

// get reads a resource of LocalStack's own, in XML.
func (c cloud) get(ctx context.Context, path string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address+path, nil)
	if err != nil {
		return err
	}
	resp, body, err := awsform.Send(http.DefaultClient, r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, resp.Status, body)
	}
	return xml.Unmarshal(body, answer)
}
