package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/meter"
)

// Answer is an answer of the HTTP API.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Cost   meter.Cost
}

// Do sends a request to the process's handler, without a socket. It checks what all answers have in
// common.
func (p *Process) Do(method, target, body string) *Answer {
	p.t.Helper()
	return p.DoWith(p.t.Context(), method, target, body)
}

// DoWith does the same as Do with a context.
func (p *Process) DoWith(ctx context.Context, method, target, body string) *Answer {
	p.t.Helper()
	return Ask(p.t, p.Handler, httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body)))
}

// Ask lets a handler of the API answer a request. It checks what all answers have in common: the
// status, the headers, and that the body is JSON, except for the OpenAPI document.
func Ask(t testing.TB, h http.Handler, r *http.Request) *Answer {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a := &Answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
	if err := a.check(); err != nil {
		t.Errorf("%s %s: %v; the answer is %d %s", r.Method, r.URL, err, a.Status, a.Body)
	}
	return a
}

// Into decodes the body.
func (a *Answer) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
}

// costForm is the form of the Weft-Cost header. It has lost races only if there were any.
var costForm = regexp.MustCompile(`^writes=(\d+), reads=(\d+), messages=(\d+)(?:, lost=([1-9]\d*))?(?:, blobPuts=\d+, blobGets=\d+)?$`)

// statuses are the statuses that the API answers with.
var statuses = map[int]bool{200: true, 201: true, 202: true, 400: true, 404: true, 405: true, 406: true, 409: true, 413: true, 422: true, 429: true, 503: true}

func (a *Answer) check() error {
	if !statuses[a.Status] {
		return fmt.Errorf("the status is %d", a.Status)
	}
	if got := a.Header.Get("Content-Length"); got != strconv.Itoa(len(a.Body)) {
		return fmt.Errorf("the Content-Length is %q for %d bytes", got, len(a.Body))
	}
	isDocument := a.Status == http.StatusOK && a.Header.Get("Content-Type") == "application/yaml"
	if !utf8.Valid(a.Body) || !json.Valid(a.Body) && !isDocument {
		return fmt.Errorf("the body is not JSON")
	}
	var cost [4]int64
	parts := costForm.FindStringSubmatch(a.Header.Get(httpapi.CostHeader))
	if parts == nil {
		return fmt.Errorf("the cost is %q", a.Header.Get(httpapi.CostHeader))
	}
	for i, digits := range parts[1:] {
		cost[i], _ = strconv.ParseInt(digits, 10, 64) // no digits mean 0
	}
	a.Cost = meter.Cost{Writes: cost[0], Reads: cost[1], Messages: cost[2], Lost: cost[3]}
	if isDocument {
		return nil
	}
	return a.checkForm()
}

// checkForm distinguishes a problem document from another answer, and checks its form. A rejection
// is not a problem.
func (a *Answer) checkForm() error {
	var p struct {
		Type, Title, Detail, Stage string
		Status                     json.RawMessage
	}
	if err := json.Unmarshal(a.Body, &p); err != nil {
		return err
	}
	typ, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if a.Status < 400 || a.Status == http.StatusUnprocessableEntity && p.Stage == "rejected" {
		if typ != "application/json" {
			return fmt.Errorf("the content type is %q", typ)
		}
		return nil
	}
	switch {
	case typ != "application/problem+json":
		return fmt.Errorf("the content type of a problem is %q", typ)
	case !strings.HasPrefix(p.Type, "urn:weft:problem:"), p.Title == "", p.Detail == "", string(p.Status) != strconv.Itoa(a.Status):
		return fmt.Errorf("a problem lacks a member, or has another status")
	case a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "":
		return fmt.Errorf("no Retry-After")
	case a.Status == http.StatusMethodNotAllowed && a.Header.Get("Allow") == "":
		return fmt.Errorf("no Allow")
	}
	return nil
}
