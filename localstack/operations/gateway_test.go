//go:build deploycheck

package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/proof/alarms"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/privilege"
)

// stage is the stage of the REST API.
const stage = "live"

// called is the function that the gateway invokes.
var called = stack + "-api"

// gateway is between callers and LocalStack's REST API, which does not ask whether it may invoke
// the function, and publishes no metrics. It does both as API Gateway documents it.
type gateway struct {
	rights *rights
	api    string // the id of the REST API
	metric alarms.Metric

	mu       sync.Mutex
	failures []time.Time // when an answer was 5xx
}

// startGateway starts what callers send their requests to, and returns its address. The name is
// that of the REST API with this id: API Gateway has it as a dimension.
func startGateway(t *testing.T, r *rights, api, name string) (*gateway, string) {
	t.Helper()
	target, err := url.Parse(r.address)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{rights: r, api: api, metric: alarms.Metric{
		Namespace: "AWS/ApiGateway", Name: "5XXError", Dimensions: alarms.Dimensions(map[string]string{"ApiName": name, "Stage": stage}),
	}}
	prefix := "/_aws/execute-api/" + api + "/" + stage
	pass := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ModifyResponse: func(answer *http.Response) error {
			if answer.StatusCode >= http.StatusInternalServerError {
				g.failed()
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // the caller has left
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		allowed, err := g.mayInvoke(request.Context(), request.Method, strings.TrimPrefix(request.URL.Path, prefix))
		switch {
		case err != nil && request.Context().Err() != nil: // the caller has left
		case err != nil:
			r.fail(err)
			fallthrough
		case !allowed:
			g.failed()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"message": "Internal server error"}`))
		default:
			pass.ServeHTTP(w, request)
		}
	}))
	t.Cleanup(server.Close)
	return g, server.URL + prefix
}

// mayInvoke reports whether the policy of the api function lets the gateway invoke it for a
// request.
func (g *gateway) mayInvoke(ctx context.Context, method, path string) (bool, error) {
	found, err := g.statements(ctx)
	if err != nil {
		return false, err
	}
	var statements []any
	for _, one := range found {
		delete(one, "Principal") // it is the gateway
		statements = append(statements, one)
	}
	parsed, err := privilege.Parse(map[string]any{"Statement": statements})
	if err != nil || len(parsed) == 0 {
		return false, err
	}
	source := "arn:aws:execute-api:" + awstest.Region + ":" + account + ":" + g.api + "/" + stage + "/" + method + path
	return privilege.Allowed(parsed, privilege.Request{
		Action: "lambda:InvokeFunction", Resource: "arn:aws:lambda:" + awstest.Region + ":" + account + ":function:" + called,
		Context: map[string][]string{"AWS:SourceArn": {source}},
	})
}

// statements returns what the policy of the api function says of the gateway.
func (g *gateway) statements(ctx context.Context) (all []map[string]any, err error) {
	out, err := g.rights.functions.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: &called})
	if none := (*lambdatypes.ResourceNotFoundException)(nil); errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var policy struct{ Statement []map[string]any }
	if err := json.Unmarshal([]byte(aws.ToString(out.Policy)), &policy); err != nil {
		return nil, err
	}
	for _, one := range policy.Statement {
		if principal, _ := one["Principal"].(map[string]any); principal["Service"] == "apigateway.amazonaws.com" {
			all = append(all, one)
		}
	}
	return all, nil
}

// failed counts an answer.
func (g *gateway) failed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures = append(g.failures, time.Now())
}

// take returns what the gateway has counted since it was last asked.
func (g *gateway) take() (data []alarms.Datum) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.failures {
		data = append(data, alarms.Datum{Metric: g.metric, Point: alarms.Point{At: at, Value: 1}})
	}
	g.failures = nil
	return data
}

// uninvoked takes the gateway's permission to invoke the api function away. It returns an error
// unless callers then get 500.
func (s *shop) uninvoked(ctx context.Context) error {
	statements, err := s.gateway.statements(ctx)
	if err != nil {
		return err
	}
	for _, one := range statements {
		id, _ := one["Sid"].(string)
		if _, err := s.functions.RemovePermission(ctx, &lambda.RemovePermissionInput{FunctionName: &called, StatementId: &id}); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv("URL")+"/v1/deployment", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil || len(statements) == 0 || answer.StatusCode != http.StatusInternalServerError {
		return fmt.Errorf("without %d permissions callers get %s, want 500: %v", len(statements), answer.Status, err)
	}
	return nil
}
