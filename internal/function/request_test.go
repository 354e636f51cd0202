package function

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/workflow"
)

// formats are recorded events of requests, one for each kind of gateway.
var formats = []string{"http-api.json", "function-url.json", "rest.json"}

// requested returns a recorded request with another method, path, query string and body. The path
// is as the caller wrote it.
func requested(t *testing.T, format, method, path, query, body string) object {
	t.Helper()
	e := recorded(t, format)
	e["body"], e["isBase64Encoded"] = body, false
	if format == "rest.json" {
		e["httpMethod"], e["path"] = method, path
		within(e, "requestContext")["path"] = "/live" + path // of the stage live
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		e["multiValueQueryStringParameters"] = values
		return e
	}
	e["rawPath"], e["rawQueryString"] = path, query
	if format == "http-api.json" { // which decodes paths
		decoded, err := url.PathUnescape(path)
		if err != nil {
			t.Fatal(err)
		}
		e["rawPath"] = decoded
	}
	within(e, "requestContext", "http")["method"] = method
	return e
}

// within returns a part of an event, which is nested in others.
func within(e object, names ...string) object {
	for _, name := range names {
		e = e[name].(object)
	}
	return e
}

// httpAnswer is the answer to a request in both formats.
type httpAnswer struct {
	StatusCode        int
	Headers           map[string]string
	MultiValueHeaders map[string][]string
	Cookies           []string
	Body              string
	IsBase64Encoded   bool
}

// header returns a header of the answer in either format.
func (a httpAnswer) header(name string) string {
	return strings.Join(a.headers().Values(name), "")
}

// headers returns the headers of the answer in either format.
func (a httpAnswer) headers() http.Header {
	h := http.Header{}
	for name, values := range a.MultiValueHeaders {
		h[http.CanonicalHeaderKey(name)] = values
	}
	for name, value := range a.Headers {
		h.Add(name, value)
	}
	return h
}

// ask lets a function answer a request. A refusal with 413 or 5xx may be the function's own: it is
// compared with openapi.yaml, as the answers of the API are.
func ask(t *testing.T, f *Function, e object) httpAnswer {
	t.Helper()
	a := invoke[httpAnswer](t.Context(), t, f, e)
	if a.StatusCode == http.StatusRequestEntityTooLarge || a.StatusCode >= http.StatusInternalServerError {
		isDescribed(t, e, a)
	}
	return a
}

// isDescribed fails unless openapi.yaml has the answer to a request. A test's own handler may have
// other paths.
func isDescribed(t *testing.T, e object, a httpAnswer) {
	t.Helper()
	method, path := e["httpMethod"], e["path"]
	if e["version"] == "2.0" {
		method, path = within(e, "requestContext", "http")["method"], e["rawPath"]
	}
	x := apitest.Exchange{Method: method.(string), URL: &url.URL{Path: path.(string)}, Status: a.StatusCode, Header: a.headers(), Body: []byte(a.Body)}
	if !httpapi.Covers(x.URL.Path) {
		return
	}
	if err := x.Check(); err != nil {
		t.Errorf("%s %s: %d %s\n%v", x.Method, x.URL, x.Status, x.Body, err)
	}
}

// cartOfAllSignals returns a cart that takes signals of all names.
func cartOfAllSignals() []workflow.Registration {
	return append(cart.Registrations()[1:], workflow.Bind(cart.Workflow, cart.Run, cart.Names, workflow.BindOptions{Dynamic: workflow.Signals}))
}

// A cart is started and used through each kind of gateway.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			_, p := process(t, cartOfAllSignals()...)
			f := function(t, API, p, Options{})
			started := ask(t, f, recorded(t, format))
			if started.StatusCode != http.StatusCreated || started.header("Weft-Cost") == "" || started.header("Content-Type") != "application/json" {
				t.Fatalf("start: %+v", started)
			}
			for _, c := range []struct {
				method, path, query, body string
				status                    int
				header, value, text       string
			}{
				{"POST", "/v1/workflows/cart-1/updates/addItem", "", `{"input":{"sku":"tea","quantity":2}}`, 200, "Weft-Cost", "writes=1", `"items":2`},
				{"POST", "/v1/workflows/cart-1/updates/addItem", "", `{"input":{"sku":"tea","quantity":100}}`, 422, "Weft-Cost", "writes=0, reads=1, messages=0", "rejected"},
				{"POST", "/v1/workflows/cart-1/queries/price", "", `{}`, 404, "Content-Type", "application/problem+json", "no such query"},
				{"POST", "/v1/workflows/cart-1/signals/a%20%25%23%C3%A9", "", `{}`, 202, "Weft-Cost", "writes=1", ""},
				{"GET", "/v1/workflows/cart-1/history", "", "", 200, "", "", `"signalName":"a %#é"`},
				{"GET", "/v1/workflows", "type=cart&status=running", "", 200, "", "", "cart-1"},
				{"GET", "/v1/workflows", "type=other&startedAfter=2026-01-01T00:00:00%2B01:00", "", 200, "", "", "[]"},
				{"GET", "/v1/workflows", "startedAfter=tomorrow", "", 400, "", "", "startedAfter"},
				{"PUT", "/v1/workflows/cart-1", "", "", 405, "Allow", "GET, HEAD, DELETE", "method-not-allowed"},
				{"DELETE", "/v1/workflows/cart-1", "", "", 400, "", "", "the runId is missing"},
				{"GET", "/v2", "", "", 404, "", "", "/v1/workflows"},
				{"GET", "/v1/workflows//result", "", "", 404, "", "", "not-found"},
				{"POST", "/v1/workflows", "", "\xff", 400, "", "", "not the JSON object"},
			} {
				a := ask(t, f, requested(t, format, c.method, c.path, c.query, c.body))
				if a.StatusCode != c.status || !strings.Contains(a.header(c.header), c.value) || !strings.Contains(a.Body, c.text) || a.IsBase64Encoded {
					t.Errorf("%s %s?%s: %+v, want %d with %s: %s and %q", c.method, c.path, c.query, a, c.status, c.header, c.value, c.text)
				}
			}
		})
	}
}

// A name with a slash reaches the API through the gateways that leave paths as they are.
func TestEscapedSlash(t *testing.T) {
	t.Parallel()
	_, p := process(t, cartOfAllSignals()...)
	f := function(t, API, p, Options{})
	for _, format := range []string{"function-url.json", "rest.json"} {
		ask(t, f, recorded(t, format))
		ask(t, f, requested(t, format, "POST", "/v1/workflows/cart-1/signals/a%2Fb%3Fc", "", "{}"))
		if a := ask(t, f, requested(t, format, "GET", "/v1/workflows/cart-1/history", "", "")); !strings.Contains(a.Body, `"signalName":"a/b?c"`) {
			t.Errorf("%s: %+v", format, a)
		}
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	_, p := process(t, cart.Registrations()...)
	f := function(t, API, p, Options{BasePath: "/shop/"})
	for _, c := range []struct {
		stage, path string
		status      int
	}{
		{"$default", "/v1/workflows", 200},
		{"prod", "/prod/v1/workflows", 200},
		{"prod", "/v1/workflows", 200},
		{"v1", "/v1/workflows", 200},
		{"v1", "/v1/v1/workflows", 200},
		{"prod", "/shop/v1/workflows", 200},
		{"prod", "/prod/shop/v1/workflows", 200},
		{"v1", "/v1/schedules", 200},
		{"v1", "/v1/v1/schedules", 200},
		{"v1", "/v1/activities/complete", 405},
		{"prod", "/v1/openapi.yaml", 200},
		{"prod", "/prod/shop/v1/openapi.yaml", 200},
		{"v1", "/v1/openapi.yaml", 200},
		{"v1", "/v1/v1/openapi.yaml", 200},
		{"prod", "/production/v1/workflows", 404},
		{"prod", "/elsewhere/v1/workflows", 404},
		{"prod", "/shop/prod/v1/workflows", 404},
	} {
		for _, format := range formats {
			e := requested(t, format, "GET", c.path, "", "")
			within(e, "requestContext")["stage"] = c.stage
			if a := ask(t, f, e); a.StatusCode != c.status {
				t.Errorf("%s: %s at the stage %s: %d %s, want %d", format, c.path, c.stage, a.StatusCode, a.Body, c.status)
			}
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	_, p := process(t, cart.Registrations()...)
	f := function(t, API, p, Options{})
	for _, format := range formats {
		ask(t, f, recorded(t, format))
		a := ask(t, f, requested(t, format, "HEAD", "/v1/workflows/cart-1", "", ""))
		if a.StatusCode != http.StatusOK || a.Body != "" || a.header("Content-Length") != "" || a.header("Weft-Cost") == "" {
			t.Errorf("%s: %+v", format, a)
		}
	}
}

// An event that cannot be a request is answered, and does not fail the invocation.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	_, p := process(t, cart.Registrations()...)
	f := function(t, API, p, Options{})
	for _, format := range formats {
		e := recorded(t, format)
		e["body"], e["isBase64Encoded"] = "not base64!", true
		if a := ask(t, f, e); a.StatusCode != http.StatusBadRequest || a.header("Content-Type") != "application/problem+json" {
			t.Errorf("%s with a body that does not decode: %+v", format, a)
		}
	}
	for _, format := range []string{"function-url.json", "rest.json"} {
		e := requested(t, format, "GET", "/v1/workflows/%zz", "", "")
		if a := ask(t, f, e); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s with a path that does not decode: %+v", format, a)
		}
	}
	for _, format := range []string{"http-api.json", "function-url.json"} {
		e := requested(t, format, "GET", "/v1/workflows", "type=%zz", "")
		if a := ask(t, f, e); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s with a query string that does not decode: %+v", format, a)
		}
	}
}

// serving returns the api function with another handler instead of the API.
func serving(t *testing.T, handler http.HandlerFunc) *Function {
	t.Helper()
	_, p := process(t)
	f := function(t, API, p, Options{})
	f.api = handler
	return f
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	f := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.Header().Set("Retry-After", "1")
			w.Header().Add("Vary", "a")
			w.Header().Add("Vary", "b")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/panic":
			panic("broken")
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0x00})
		case "/query":
			_, _ = w.Write([]byte(strings.Join(r.URL.Query()["x"], " ")))
		}
	})
	for _, format := range formats {
		busy := ask(t, f, requested(t, format, "GET", "/busy", "", ""))
		if busy.StatusCode != 503 || busy.header("Retry-After") != "1" || busy.Headers["Vary"] != "a,b" && !slices.Equal(busy.MultiValueHeaders["Vary"], []string{"a", "b"}) {
			t.Errorf("%s: %+v", format, busy)
		}
		if a := ask(t, f, requested(t, format, "GET", "/panic", "", "")); a.StatusCode != 500 || strings.Contains(a.Body, "broken") {
			t.Errorf("%s: a panic is answered %+v", format, a)
		}
		a := ask(t, f, requested(t, format, "GET", "/binary", "", ""))
		if body, err := base64.StdEncoding.DecodeString(a.Body); !a.IsBase64Encoded || err != nil || string(body) != "\xff\x00" {
			t.Errorf("%s: %+v", format, a)
		}
		if a := ask(t, f, requested(t, format, "GET", "/query", "x=a+b&y=c&x=%26d", "")); a.Body != "a b &d" {
			t.Errorf("%s: the query string arrives as %q", format, a.Body)
		}
	}
}

// An answer that is too large for Lambda is replaced by one that says so. Its size is that of its
// JSON.
func TestLargeAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("large payloads are slow with the race detector, and make test runs this")
	}
	t.Parallel()
	for what, c := range map[string]struct {
		body   string
		status int
	}{
		"just fits":        {strings.Repeat("<", maxAnswer-1000), 200},
		"is too large":     {strings.Repeat("x", maxAnswer), 413},
		"grows as JSON":    {strings.Repeat(`"`, maxAnswer/2), 413},
		"grows in base64":  {strings.Repeat("\xff", maxAnswer-maxAnswer/8), 413},
		"is small, binary": {"\xff", 200},
	} {
		f := serving(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Weft-Cost", "writes=0, reads=9, messages=0")
			w.Header().Set("Content-Length", "1")
			_, _ = w.Write([]byte(c.body))
		})
		for _, format := range formats {
			a := ask(t, f, accepting(requested(t, format, "GET", "/", "", ""), ""))
			if a.StatusCode != c.status || a.header("Weft-Cost") == "" || a.header("Content-Length") != "" {
				t.Errorf("%s: what %s is answered %d %.200s", format, what, a.StatusCode, a.Body)
			}
			if a.StatusCode == 413 && !strings.Contains(a.Body, "Accept-Encoding: gzip") {
				t.Errorf("%s: what %s is answered without advice: %s", format, what, a.Body)
			}
		}
	}
}

// accepting returns a request with this Accept-Encoding.
func accepting(e object, coding string) object {
	for name, value := range map[string]any{"headers": coding, "multiValueHeaders": []string{coding}} {
		headers, ok := e[name].(object)
		if !ok {
			continue
		}
		for header := range headers {
			if strings.EqualFold(header, "Accept-Encoding") {
				delete(headers, header)
			}
		}
		if coding != "" {
			headers["accept-encoding"] = value
		}
	}
	return e
}

// The largest payload reaches a caller that accepts gzip, whatever its bytes are, and any other
// caller is told to accept it. A small answer is never compressed.
func TestLargestPayload(t *testing.T) {
	if testing.Short() {
		t.Skip("large payloads are slow with the race detector, and make test runs this")
	}
	t.Parallel()
	const largest = 5 << 20
	random := rand.New(rand.NewPCG(1, 0x5a))
	letters := func(b *strings.Builder) { b.WriteString(strconv.FormatUint(random.Uint64()%36, 36)) }
	for what, item := range map[string]func(b *strings.Builder){
		"random letters in strings of one":  func(b *strings.Builder) { b.WriteByte('"'); letters(b); b.WriteByte('"') },
		"empty strings":                     func(b *strings.Builder) { b.WriteString(`""`) },
		"strings of quotes and backslashes": func(b *strings.Builder) { b.WriteString(`"` + []string{`\\`, `\"`}[random.IntN(2)] + `"`) },
	} {
		var b strings.Builder
		for sep := byte('['); b.Len() < largest-20; sep = ',' {
			b.WriteByte(sep)
			item(&b)
		}
		b.WriteByte(']')
		body := `{"status":"completed","result":` + b.String() + "}"
		f := serving(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Weft-Cost", "writes=0, reads=9, messages=0")
			w.Header().Set("Vary", "Origin")
			_, _ = w.Write([]byte(body))
		})
		for _, format := range formats {
			for coding, zips := range map[string]bool{"": false, "identity": false, "gzip;q=0": false, "gzip": true, "br, GZIP;q=0.5": true} {
				if coding != "gzip" && what != "empty strings" {
					continue
				}
				text, err := json.Marshal(accepting(requested(t, format, "GET", "/", "", ""), coding))
				if err != nil {
					t.Fatal(err)
				}
				out, err := f.Invoke(t.Context(), text)
				if err != nil || len(out) > maxAnswer {
					t.Fatalf("%s, %q: %s is answered with %d bytes, %v", format, coding, what, len(out), err)
				}
				var a httpAnswer
				if err := json.Unmarshal(out, &a); err != nil {
					t.Fatal(err)
				}
				if zips = zips && format != "rest.json"; !zips {
					if a.StatusCode != 413 || !strings.Contains(a.Body, "Accept-Encoding: gzip") {
						t.Errorf("%s, %q: %s is answered %d %.200s", format, coding, what, a.StatusCode, a.Body)
					}
					continue
				}
				if got := unzipped(t, a); a.StatusCode != 200 || got != body || a.header("Content-Encoding") != "gzip" || a.header("Vary") != "Origin,Accept-Encoding" {
					t.Errorf("%s, %q: %s is answered %d %v, with %d bytes", format, coding, what, a.StatusCode, a.Headers, len(got))
				}
			}
		}
	}
	small := serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	if a := ask(t, small, accepting(requested(t, formats[0], "GET", "/", "", ""), "gzip")); a.Body != "{}" || a.IsBase64Encoded || a.header("Content-Encoding") != "" {
		t.Errorf("a small answer is %+v", a)
	}
}

// unzipped returns the body of an answer that was compressed.
func unzipped(t *testing.T, a httpAnswer) string {
	t.Helper()
	zipped, err := base64.StdEncoding.DecodeString(a.Body)
	if err != nil || !a.IsBase64Encoded {
		t.Errorf("the body is not base64: %v", err)
		return ""
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Error(err)
		return ""
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}
