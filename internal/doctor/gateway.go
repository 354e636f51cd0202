package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awsform"
)

// accessLog checks that API Gateway may write the access log of a REST API: it needs a role for
// that in its settings of the account. HTTP APIs and function URLs need none.
func (f *findings) accessLog(ctx context.Context, a *AWS) {
	const check = "access log"
	u, err := url.Parse(a.URL)
	if err != nil {
		return
	}
	id, _, is := strings.Cut(u.Hostname(), ".execute-api.")
	if !is {
		return
	}
	var stages struct {
		Item []struct {
			AccessLogSettings *struct {
				DestinationArn string `json:"destinationArn"`
			} `json:"accessLogSettings"`
		} `json:"item"`
	}
	var account struct {
		CloudwatchRoleArn string `json:"cloudwatchRoleArn"`
	}
	rest := true
	err = within(ctx, func(ctx context.Context) (err error) {
		if rest, err = gateway(ctx, a.Config, "/restapis/"+id+"/stages", &stages); err != nil || !rest {
			return err
		}
		_, err = gateway(ctx, a.Config, "/account", &account)
		return err
	})
	logs := false
	for _, s := range stages.Item {
		logs = logs || s.AccessLogSettings != nil && s.AccessLogSettings.DestinationArn != ""
	}
	switch {
	case err != nil:
		f.warn(check, "give your credentials apigateway:GET to check this", "not checked: %v", err)
	case !rest:
	case !logs:
		f.ok(check, "the REST API has none")
	case account.CloudwatchRoleArn == "":
		f.warn(check, "make account, or weft template account: once for the account and Region", "API Gateway has no role with which it writes logs: requests to the REST API are not logged")
	default:
		f.ok(check, "API Gateway writes it with %s", named(&account.CloudwatchRoleArn))
	}
}

// gateway reads something of API Gateway. It returns false if that does not exist.
func gateway(ctx context.Context, c aws.Config, path string, into any) (found bool, err error) {
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return false, err
	}
	address := cmp.Or(aws.ToString(c.BaseEndpoint), awsform.Address("apigateway", c.Region)) + path
	r, err := awsform.Get(ctx, credentials, "apigateway", c.Region, address)
	if err != nil {
		return false, err
	}
	resp, body, err := awsform.Send(c.HTTPClient, r)
	switch {
	case err != nil:
		return false, err
	case resp.StatusCode == http.StatusNotFound:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		kind, _, _ := strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":")
		return false, fmt.Errorf("API Gateway answers %s", cmp.Or(kind, resp.Status))
	}
	return true, json.Unmarshal(body, into)
}
