//go:build aws

package docs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// caller is who calls which service. It has the parts of a signature that are not in the request.
type caller struct{ key, secret, token, region, service string }

// authorization matches the header with a signature.
var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/[0-9]{8}/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

// check signs a request again, as AWS does, over the headers that its signature names, and
// compares. The headers have to include all whose names begin with x-amz-.
func (c caller) check(r *http.Request, body []byte) error {
	got := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if got == nil || got[1] != c.key || got[2] != c.region || got[3] != c.service || r.Header.Get("X-Amz-Security-Token") != c.token {
		return fmt.Errorf("want a signature of %+v: %v", c, r.Header)
	}
	again := &http.Request{Method: r.Method, Host: r.Host, URL: r.URL, Header: http.Header{}}
	signed := strings.Split(got[4], ";")
	for name, values := range r.Header {
		if slices.Contains(signed, strings.ToLower(name)) {
			again.Header[name] = values
		} else if strings.HasPrefix(name, "X-Amz-") {
			return fmt.Errorf("the header %s is not signed", name)
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return err
	}
	hash := sha256.Sum256(body)
	as := aws.Credentials{AccessKeyID: c.key, SecretAccessKey: c.secret, SessionToken: c.token}
	if err := v4.NewSigner().SignHTTP(r.Context(), as, again, hex.EncodeToString(hash[:]), c.service, c.region, at); err != nil {
		return err
	}
	if want := authorization.FindStringSubmatch(again.Header.Get("Authorization")); want[4] != got[4] || want[5] != got[5] {
		return fmt.Errorf("the signature is %v; want %v", got[4:], want[4:])
	}
	return nil
}

// gateway returns the address of a server that forwards signed requests to another server. Like a
// REST API, it serves them at /live.
func (c caller) gateway(t *testing.T, behind *url.URL) string {
	t.Helper()
	pass := httputil.NewSingleHostReverseProxy(behind)
	s := httptest.NewServer(http.StripPrefix("/live", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		whole := *r
		whole.URL = &url.URL{Scheme: "https", Host: r.Host, Path: "/live" + r.URL.Path, RawQuery: r.URL.RawQuery}
		if err == nil {
			err = c.check(&whole, body)
		}
		if err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	})))
	t.Cleanup(s.Close)
	return s.URL + "/live"
}

// shell runs a script as a caller, and returns its standard output.
func (c caller) shell(t *testing.T, script, address string) string {
	t.Helper()
	command := exec.Command("sh", "-eu")
	command.Stdin = strings.NewReader("set +u\n" + script) // the session token may be unset
	command.Env = append(command.Environ(), "AWS_ACCESS_KEY_ID="+c.key, "AWS_SECRET_ACCESS_KEY="+c.secret, "AWS_SESSION_TOKEN="+c.token, "AWS_REGION="+c.region, "URL="+address)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	return runID.ReplaceAllString(string(out), `"runId":"..."`)
}

// signing returns the shell code with which docs/deploy.md lets callers of a service sign, without
// the address.
func signing(t *testing.T, service string) string {
	t.Helper()
	const asThere = "SERVICE=execute-api\n"
	for _, block := range blocks(t, "docs/deploy.md", "sh") {
		_, code, found := strings.Cut(block, "\n")
		if found && strings.HasPrefix(block, "export URL=") && strings.Contains(code, asThere) {
			return strings.Replace(code, asThere, "SERVICE="+service+"\n", 1)
		}
	}
	t.Fatal("docs/deploy.md does not say how requests are signed")
	return ""
}

// The requests of docs/deploy.md, sent by curl, have the signatures that AWS demands. That holds
// for permanent and temporary credentials, and for API Gateway and Lambda. The shop answers them as
// the page says.
func TestCurl(t *testing.T) {
	t.Parallel()
	var requests, want string
	for _, block := range blocks(t, "docs/deploy.md", "sh") {
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "call ") {
				requests += line
			} else if answer, is := strings.CutPrefix(line, "# {"); is {
				want += "{" + answer
			}
		}
	}
	const fewest = 5
	if n := strings.Count(requests, "\n"); n < fewest || strings.Count(want, "\n") != n {
		t.Fatalf("docs/deploy.md has %d requests, and these answers\n%s", n, want)
	}
	behind := shop(t)
	for _, c := range []caller{
		{"AKIDEXAMPLE", "secret/key+1", "", "eu-central-1", "execute-api"},
		{"ASIAEXAMPLE", "secret/key+1", "a/token+of=many==", "eu-central-1", "execute-api"},
		{"ASIAEXAMPLE", "secret/key+1", "a/token+of=many==", "us-east-1", "lambda"},
	} {
		if got := c.shell(t, signing(t, c.service)+requests, c.gateway(t, behind)); got != want {
			t.Errorf("%+v is answered\n%s\nand docs/deploy.md has\n%s", c, got, want)
		}
	}
}

// The API answers the requests that docs/operations.md gives operators. It refuses those that name
// what these runs do not have.
func TestOperatorsCalls(t *testing.T) {
	t.Parallel()
	const start = `{"workflowId":"%s","type":"order","input":{"customer":"ada","seconds":3600},"searchAttributes":{"Region":{"keyword":"eu"}}}`
	refusals := map[string]string{ // parts of requests, and of their refusals
		`/updates/UPDATE_ID/fail`: `has accepted no update \"UPDATE_ID\"`,
		`/order-4/retry`:          `is not stuck`,
		`/activities/14/`:         `is not an activity`,
	}
	c := caller{"ASIAEXAMPLE", "secret/key+1", "a/token+of=many==", "eu-central-1", "execute-api"}
	script := signing(t, c.service)
	for _, id := range []string{"order-2", "order-3", "order-4"} {
		script += `call "$URL/v1/workflows" -d '` + fmt.Sprintf(start, id) + "' >/dev/null\n"
	}
	script += `RUN_ID=$(call "$URL/v1/workflows/order-4" | sed 's/.*"runId":"\([^"]*\)".*/\1/')` + "\n"
	var calls []string
	for _, block := range blocks(t, "docs/operations.md", "sh") {
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "call ") {
				calls = append(calls, strings.Replace(line, "runId=RUN_ID", "runId=$RUN_ID", 1))
			}
		}
	}
	said := slices.Collect(strings.Lines(c.shell(t, script+strings.Join(calls, ""), c.gateway(t, shop(t)))))
	const fewest = 16
	if len(calls) < fewest || len(said) != len(calls) {
		t.Fatalf("%d requests were answered with\n%s", len(calls), strings.Join(said, ""))
	}
	for i, call := range calls {
		want := ""
		for part, refusal := range refusals {
			if strings.Contains(call, part) {
				want = refusal
			}
		}
		if refused := strings.Contains(said[i], "urn:weft:problem"); refused != (want != "") || !strings.Contains(said[i], want) {
			t.Errorf("%sis answered %swant a refusal: %q", call, said[i], want)
		}
	}
	for part, in := range map[string]string{`"searchAttributes":{"Region":{"keyword":"eu"}}`: "Region", `"pendingTimers":[{`: `/order-2"`, `"type":"WorkflowExecutionStarted"`: "/history"} {
		i := slices.IndexFunc(calls, func(call string) bool { return strings.Contains(call, in) })
		if !strings.Contains(said[i], part) {
			t.Errorf("%sis answered %swant %s", calls[i], said[i], part)
		}
	}
}
