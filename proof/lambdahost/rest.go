package lambdahost

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/uuid"
)

// restTimeout is the default of how long a REST API waits for its function.
const restTimeout = 29 * time.Second

// RESTGateway plays a REST API of API Gateway with a {proxy+} resource that is integrated with one
// function, payload format 1.0. It answers with status 502 if the function fails or dies, and with
// 504 if the function takes too long.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
func RESTGateway(functions Invoker, function string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := restEvent(r)
		if err != nil {
			message(w, http.StatusBadRequest, "Bad Request")
			return
		}
		ctx, cancel := patience(r.Context(), functions, restTimeout)
		defer cancel()
		answer, err := functions.Invoke(ctx, function, event)
		if ctx.Err() != nil {
			message(w, http.StatusGatewayTimeout, "Endpoint request timed out")
			return
		}
		if err != nil || !writeAnswer(w, answer) {
			message(w, http.StatusBadGateway, "Internal server error")
		}
	})
}

// restEvent returns the event of a request, in payload format 1.0. The path is unchanged.
func restEvent(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	const stage = "prod"
	path := r.URL.EscapedPath()
	e := events.APIGatewayProxyRequest{
		Resource: "/{proxy+}", Path: path, HTTPMethod: r.Method, PathParameters: map[string]string{"proxy": strings.TrimPrefix(path, "/")},
		MultiValueHeaders: maps.Clone(r.Header), Headers: map[string]string{},
		MultiValueQueryStringParameters: r.URL.Query(), QueryStringParameters: map[string]string{},
		RequestContext: events.APIGatewayProxyRequestContext{
			AccountID: Account, APIID: "local", Stage: stage, HTTPMethod: r.Method, Path: "/" + stage + path, Protocol: r.Proto,
			ResourcePath: "/{proxy+}", RequestID: uuid.NewString(), DomainName: "local.execute-api." + Region + ".amazonaws.com",
			DomainPrefix: "local", RequestTimeEpoch: time.Now().UnixMilli(), RequestTime: time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700"),
			Identity: events.APIGatewayRequestIdentity{SourceIP: "127.0.0.1", UserAgent: r.UserAgent()},
		},
	}
	e.MultiValueHeaders["Host"] = []string{r.Host}
	last := func(to map[string]string, from map[string][]string) {
		for name, values := range from {
			to[name] = values[len(values)-1]
		}
	}
	last(e.Headers, e.MultiValueHeaders)
	last(e.QueryStringParameters, e.MultiValueQueryStringParameters)
	if len(body) > 0 {
		e.Body, e.IsBase64Encoded = encodeBody(body)
	}
	return json.Marshal(e)
}
