package lambdahost

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// gatewayTimeout is how long an HTTP API waits for its function.
const gatewayTimeout = 30 * time.Second

// Invoker passes an event to a function. A Host is one.
type Invoker interface {
	Invoke(ctx context.Context, function string, event []byte) ([]byte, error)
}

// RealTime is an Invoker whose functions run in real time, like those of a Host. A gateway waits
// for them as long as AWS's gateway does. For other invokers it waits without a limit, because a
// test may move their clock or a busy machine may delay them.
type RealTime interface {
	Invoker
	RealTime()
}

// patience returns the context of an invocation. The context limits how long a gateway waits.
func patience(ctx context.Context, functions Invoker, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, real := functions.(RealTime); real {
		return context.WithTimeout(ctx, limit)
	}
	return context.WithCancel(ctx)
}

// Gateway plays an HTTP API of API Gateway with a $default route to one function, payload format
// 2.0. It answers with status 500 if the function fails or dies, and with 503 if it takes too long.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
func Gateway(functions Invoker, function string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := requestEvent(r)
		if err != nil {
			message(w, http.StatusBadRequest, "Bad Request")
			return
		}
		ctx, cancel := patience(r.Context(), functions, gatewayTimeout)
		defer cancel()
		answer, err := functions.Invoke(ctx, function, event)
		if ctx.Err() != nil {
			message(w, http.StatusServiceUnavailable, "Service Unavailable")
			return
		}
		if err != nil || !writeAnswer(w, answer) {
			message(w, http.StatusInternalServerError, "Internal Server Error")
		}
	})
}

// message writes an answer that is the gateway's own.
func message(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"message":"`+text+`"}`)
}

// requestEvent returns the event of a request, in payload format 2.0.
func requestEvent(r *http.Request) ([]byte, error) {
	event, err := requestFields(r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(event)
}

// requestFields returns the fields of that event.
func requestFields(r *http.Request) (map[string]any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"host": r.Host, "content-length": strconv.Itoa(len(body))}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	delete(headers, "cookie")
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[name] = strings.Join(values, ",")
	}
	var cookies []string
	for _, c := range r.Cookies() {
		cookies = append(cookies, c.String())
	}
	now := time.Now().UTC()
	event := map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": r.URL.Path, "rawQueryString": r.URL.RawQuery, "headers": headers,
		"requestContext": map[string]any{
			"accountId": Account, "apiId": "local", "domainName": "local.execute-api." + Region + ".amazonaws.com", "domainPrefix": "local",
			"http": map[string]any{
				"method": r.Method, "path": r.URL.Path, "protocol": r.Proto, "sourceIp": "127.0.0.1", "userAgent": r.UserAgent(),
			},
			"requestId": uuid.NewString(), "routeKey": "$default", "stage": "$default",
			"time": now.Format("02/Jan/2006:15:04:05 -0700"), "timeEpoch": now.UnixMilli(),
		},
		"isBase64Encoded": false,
	}
	if len(query) > 0 {
		event["queryStringParameters"] = query
	}
	if len(cookies) > 0 {
		event["cookies"] = cookies
	}
	if len(body) > 0 {
		event["body"], event["isBase64Encoded"] = encodeBody(body)
	}
	return event, nil
}

func encodeBody(body []byte) (text string, encoded bool) {
	if utf8.Valid(body) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

// writeAnswer writes a function's answer, and reports whether the answer was in format 2.0 or 1.0.
// On AWS an answer without a status code is the body itself. No function of Weft relies on that, so
// it is an error here.
func writeAnswer(w http.ResponseWriter, answer []byte) bool {
	var a struct {
		StatusCode        int                 `json:"statusCode"`
		Headers           map[string]string   `json:"headers"`
		MultiValueHeaders map[string][]string `json:"multiValueHeaders"` // only in format 1.0
		Cookies           []string            `json:"cookies"`           // only in format 2.0
		Body              string              `json:"body"`
		IsBase64Encoded   bool                `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(answer, &a); err != nil || a.StatusCode < 100 || a.StatusCode > 599 {
		return false
	}
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			return false
		}
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	for name, values := range a.MultiValueHeaders {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	for _, c := range a.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	w.WriteHeader(a.StatusCode)
	_, _ = w.Write(body) // the client may have gone
	return true
}
