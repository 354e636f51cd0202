package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// rolloutSession returns a session whose CodeDeploy has the application shop, with the function
// shop-workflow. Its alias is at version 3, and its newest version is 4. A deployment ends at once,
// with a status.
func rolloutSession(t *testing.T, status string) (s *cli.Session, out, errs *bytes.Buffer) {
	t.Helper()
	at := "3"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		switch path := r.URL.Path; {
		case operation != "" && operation != "GetDeployment" && !strings.Contains(string(body), `"applicationName":"shop"`):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"ApplicationDoesNotExistException","message":"no"}`)
		case operation == "ListDeploymentGroups":
			_, _ = io.WriteString(w, `{"deploymentGroups":["shop-workflow"]}`)
		case operation == "ListDeployments":
			_, _ = io.WriteString(w, `{"deployments":[]}`)
		case operation == "CreateDeployment":
			if status == "Succeeded" {
				at = "4"
			}
			_, _ = io.WriteString(w, `{"deploymentId":"d-1"}`)
		case operation == "GetDeployment":
			_, _ = fmt.Fprintf(w, `{"deploymentInfo":{"status":%q}}`, status)
		case strings.HasSuffix(path, "/shop-workflow/aliases/live"):
			_, _ = fmt.Fprintf(w, `{"FunctionVersion":%q}`, at)
		case strings.HasSuffix(path, "/shop-workflow/versions"):
			_, _ = io.WriteString(w, `{"Versions":[{"Version":"3","Environment":{"Variables":{"WEFT_BUILD":"b1"}}},{"Version":"4","Environment":{"Variables":{"WEFT_BUILD":"b2"}}}]}`)
		default:
			t.Errorf("asked for %s %s", operation, path)
		}
	}))
	t.Cleanup(server.Close)
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	s = &cli.Session{In: strings.NewReader(""), Out: out, Err: errs, Getenv: func(name string) string {
		return map[string]string{"AWS_ENDPOINT_URL_CODEDEPLOY": server.URL}[name]
	}}
	s.AWS = func(_ context.Context, region, _ string) (aws.Config, error) {
		return aws.Config{Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, nil
	}
	return s, out, errs
}

// weft rollout prints each change, and its exit code says how it ended.
func TestRollout(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		status string
		args   []string
		code   cli.Code
		out    string
		errs   string
	}{
		"succeeded":    {"Succeeded", nil, cli.Done, "shop-workflow: version 3 (b1) -> 4 (b2), deployment d-1\nshop-workflow: Succeeded\n", ""},
		"failed":       {"Failed", nil, cli.Other, "shop-workflow: back at version 3\n", "shop-workflow: Failed; all functions have the version that they had"},
		"the build":    {"Succeeded", []string{"--build=b1"}, cli.Done, "Nothing to do", ""},
		"no build":     {"Succeeded", []string{"--build=b9"}, cli.Refused, "", "no version of the build b9"},
		"another name": {"Succeeded", []string{"--name=cart"}, cli.NotFound, "", "is rollout all-at-once, canary or linear, and applied?"},
		"no region":    {"Succeeded", []string{"--region="}, cli.Usage, "", "give --region"},
		"in vain":      {"InProgress", []string{"--timeout=1ms"}, cli.TimedOut, "", "weft rollout --name shop follows them"},
	} {
		s, out, errs := rolloutSession(t, c.status)
		code := run(t.Context(), s, append([]string{"rollout", "--name=shop", "--region=eu-west-1"}, c.args...))
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%s: code %d, want %d, printed\n%s%s", what, code, c.code, out, errs)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s, _, errs := rolloutSession(t, "Succeeded")
	if code := run(ended, s, []string{"rollout", "--name=shop", "--region=eu-west-1"}); code != cli.Interrupted {
		t.Errorf("interrupted: code %d, %s", code, errs)
	}
}
