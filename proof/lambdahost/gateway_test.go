package lambdahost_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

// invoker is a function in this process.
type invoker func(event []byte) ([]byte, error)

func (f invoker) Invoke(_ context.Context, _ string, event []byte) ([]byte, error) { return f(event) }

func TestGateway(t *testing.T) {
	t.Parallel()
	gateway := lambdahost.Gateway(invoker(func(event []byte) ([]byte, error) {
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(event, &e); err != nil {
			return nil, err
		}
		if e.Version != "2.0" || e.RequestContext.HTTP.Method != "POST" || e.RawPath != "/v1/a b" || e.RawQueryString != "x=1&x=2" ||
			e.QueryStringParameters["x"] != "1,2" || e.Headers["x-name"] != "ada" || e.Cookies[0] != "c=d" || e.Body != `{"a":1}` {
			t.Errorf("the event is %s", event)
		}
		return json.Marshal(events.APIGatewayV2HTTPResponse{
			StatusCode: 202, Headers: map[string]string{"X-Weft": "yes"}, Cookies: []string{"k=v"}, Body: "AQI=", IsBase64Encoded: true,
		})
	}), "api")
	r := httptest.NewRequest(http.MethodPost, "/v1/a%20b?x=1&x=2", strings.NewReader(`{"a":1}`))
	r.Header.Set("X-Name", "ada")
	r.AddCookie(&http.Cookie{Name: "c", Value: "d"})
	w := httptest.NewRecorder()
	gateway.ServeHTTP(w, r)
	if w.Code != 202 || w.Header().Get("X-Weft") != "yes" || w.Header().Get("Set-Cookie") != "k=v" || w.Body.String() != "\x01\x02" {
		t.Errorf("the answer is %d %v %q", w.Code, w.Header(), w.Body)
	}
}

func TestRESTGateway(t *testing.T) {
	t.Parallel()
	gateway := lambdahost.RESTGateway(invoker(func(event []byte) ([]byte, error) {
		var e events.APIGatewayProxyRequest
		if err := json.Unmarshal(event, &e); err != nil {
			return nil, err
		}
		if e.HTTPMethod != "POST" || e.Path != "/v1/a%20b" || e.RequestContext.Path != "/prod/v1/a%20b" || e.QueryStringParameters["x"] != "2" ||
			len(e.MultiValueQueryStringParameters["x"]) != 2 || e.Headers["X-Name"] != "ada" || e.MultiValueHeaders["Host"][0] != "example.com" || e.Body != `{"a":1}` {
			t.Errorf("the event is %s", event)
		}
		return json.Marshal(events.APIGatewayProxyResponse{
			StatusCode: 202, MultiValueHeaders: map[string][]string{"X-Weft": {"yes", "no"}}, Body: "AQI=", IsBase64Encoded: true,
		})
	}), "api")
	r := httptest.NewRequest(http.MethodPost, "/v1/a%20b?x=1&x=2", strings.NewReader(`{"a":1}`))
	r.Header.Set("X-Name", "ada")
	w := httptest.NewRecorder()
	gateway.ServeHTTP(w, r)
	if w.Code != 202 || len(w.Header().Values("X-Weft")) != 2 || w.Body.String() != "\x01\x02" {
		t.Errorf("the answer is %d %v %q", w.Code, w.Header(), w.Body)
	}
}

func TestGatewayFailures(t *testing.T) {
	t.Parallel()
	for name, function := range map[string]invoker{
		"a function that failed":    func([]byte) ([]byte, error) { return nil, errors.New("no") },
		"an answer that is not one": func([]byte) ([]byte, error) { return []byte(`{"errorType":"x"}`), nil },
		"a body that is not in base64": func([]byte) ([]byte, error) {
			return []byte(`{"statusCode":200,"body":"*","isBase64Encoded":true}`), nil
		},
	} {
		w := httptest.NewRecorder()
		lambdahost.Gateway(function, "api").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != http.StatusInternalServerError || w.Body.String() != `{"message":"Internal Server Error"}` {
			t.Errorf("%s: the answer is %d %q", name, w.Code, w.Body)
		}
		w = httptest.NewRecorder()
		lambdahost.RESTGateway(function, "api").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != http.StatusBadGateway || w.Body.String() != `{"message":"Internal server error"}` {
			t.Errorf("%s: the answer of a REST API is %d %q", name, w.Code, w.Body)
		}
	}
}

// slow is a function that takes a minute, of real time or of another clock.
type slow struct{}

func (slow) Invoke(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	select {
	case <-time.After(time.Minute):
		return []byte(`{"statusCode":200}`), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type slowInRealTime struct{ slow }

func (slowInRealTime) RealTime() {}

// A gateway gives up on a function that runs in real time, and waits for any other function.
func TestGatewayPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			gateway http.Handler
			status  int
		}{
			"HTTP API":               {lambdahost.Gateway(slowInRealTime{}, "api"), http.StatusServiceUnavailable},
			"REST API":               {lambdahost.RESTGateway(slowInRealTime{}, "api"), http.StatusGatewayTimeout},
			"HTTP API, its own time": {lambdahost.Gateway(slow{}, "api"), http.StatusOK},
			"REST API, its own time": {lambdahost.RESTGateway(slow{}, "api"), http.StatusOK},
		} {
			w := httptest.NewRecorder()
			c.gateway.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if w.Code != c.status {
				t.Errorf("%s: the answer is %d, want %d", name, w.Code, c.status)
			}
		}
	})
}

var _ lambdahost.RealTime = (*lambdahost.Host)(nil)
