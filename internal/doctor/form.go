package doctor

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/awsform"
)

// askForm sends a form to a service that answers in XML, and reads the answer. called is what
// errors call the service.
func askForm(ctx context.Context, c aws.Config, service, called string, form url.Values, into any) error {
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	address := cmp.Or(aws.ToString(c.BaseEndpoint), awsform.Address(service, c.Region)) + "/"
	r, err := awsform.Request(ctx, credentials, service, c.Region, address, form)
	if err != nil {
		return err
	}
	resp, body, err := awsform.Send(c.HTTPClient, r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var said struct {
			Code   string `xml:"Error>Code"`
			Listed string `xml:"Errors>Error>Code"` // in EC2's answers
		}
		_ = xml.Unmarshal(body, &said) // what is no XML has no code
		return fmt.Errorf("%s answers %s", called, cmp.Or(said.Code, said.Listed, resp.Status))
	}
	return xml.Unmarshal(body, into)
}
