package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/doctor"
)

// weft doctor finds nothing bad in a new server. It prints a line for each check, or JSON.
func TestDoctor(t *testing.T) {
	t.Parallel()
	url := serve(t)
	code, out, errs := exits(t, "doctor", "--url="+url)
	for _, want := range []string{"ok    api ", "ok    clock ", "ok    store ", "ok    queue workflow ", "ok    builds ", "no dead letters"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if code != cli.Done || errs != "" || strings.Contains(out, "bad ") || !strings.Contains(out, "\n\nVerdict: ") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	code, out, errs = exits(t, "doctor", "--url="+url, "-o", "json")
	var found []doctor.Finding
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != cli.Done || len(found) < 6 || found[0].Check != "api" || found[0].Verdict != doctor.OK {
		t.Errorf("code %d, %s, %v\n%s", code, errs, err, out)
	}
}

// A deployment that does not answer is something bad. Its table, queues and functions are looked at
// anyway.
func TestDoctorOfAnOutage(t *testing.T) {
	t.Parallel()
	const url = "--url=http://127.0.0.1:1"
	code, out, errs := exits(t, "doctor", url)
	if code != cli.Unreachable || !strings.HasPrefix(out, "bad   api  ") || !strings.Contains(out, "127.0.0.1:1") || !strings.Contains(out, "\n      -> ") || !strings.Contains(errs, "no answer from http://127.0.0.1:1") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	var printed, said bytes.Buffer
	s, asked := refusing(t, &printed, &said, "")
	code = run(t.Context(), s, []string{"doctor", url, "--name=shop", "--table=orders", "--region=eu-central-1", "--aws-profile=ops", "-o", "jsonl"})
	if code != cli.Unreachable || !asked[`DynamoDB_20120810.DescribeTable{"TableName":"orders"}`] || !asked[`AmazonSQS.GetQueueUrl{"QueueName":"shop-workflow.fifo"}`] {
		t.Errorf("code %d, %s, asked for %v", code, said.String(), asked)
	}
	if out := printed.String(); !strings.Contains(out, "give your credentials dynamodb:DescribeTable to check this") || strings.Count(out, "\n") < 10 {
		t.Errorf("%s", out)
	}
	s.AWS = func(_ context.Context, region, _ string) (aws.Config, error) { return aws.Config{Region: region}, nil }
	if code := run(t.Context(), s, []string{"doctor", url, "--name=shop", "--region=eu-central-1"}); code != cli.Unreachable || !strings.Contains(said.String(), `"shop" cannot be checked on AWS: there are no AWS credentials: set`) {
		t.Errorf("without credentials: code %d, %s", code, said.String())
	}
	if code := run(t.Context(), s, []string{"doctor", url, "--name=shop"}); code != cli.Usage || !strings.Contains(said.String(), "give --region") {
		t.Errorf("without a region: code %d, %s", code, said.String())
	}
}

// refusing returns a session whose AWS describes a stack so, unless that is empty, and refuses
// every other request. asked has the targets and the bodies of those.
func refusing(t *testing.T, printed, said io.Writer, stack string) (s *cli.Session, asked map[string]bool) {
	t.Helper()
	asked = map[string]bool{}
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a broken connection fails the test anyway
		if stack != "" && strings.Contains(string(body), "Action=DescribeStacks") {
			_, _ = io.WriteString(w, stack)
			return
		}
		asked[r.Header.Get("X-Amz-Target")+string(body)] = true
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException"}`)
	}))
	t.Cleanup(cloud.Close)
	s = &cli.Session{In: strings.NewReader(""), Out: printed, Err: said, Getenv: func(string) string { return "" }}
	s.AWS = func(_ context.Context, region, profile string) (aws.Config, error) {
		return aws.Config{Region: region, BaseEndpoint: &cloud.URL, Credentials: credentials.NewStaticCredentialsProvider(cmp.Or(profile, "a"), "b", "")}, nil
	}
	return s, asked
}

// With --stack and --url, the API is asked at the address, and the table is that of the stack.
func TestDoctorOfStackAtURL(t *testing.T) {
	t.Parallel()
	url := serve(t)
	var printed, said bytes.Buffer
	s, asked := refusing(t, &printed, &said, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>
<member><OutputKey>Table</OutputKey><OutputValue>orders</OutputValue></member>
<member><OutputKey>Url</OutputKey><OutputValue>http://127.0.0.1:1</OutputValue></member></Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`)
	code := run(t.Context(), s, []string{"doctor", "--stack=shop", "--url=" + url, "--region=eu-central-1"})
	if !strings.Contains(printed.String(), "ok    api ") || !strings.Contains(printed.String(), "weft protect --stack shop") || !asked[`DynamoDB_20120810.DescribeTable{"TableName":"orders"}`] {
		t.Errorf("code %d, %s\n%s\nasked for %v", code, said.String(), printed.String(), asked)
	}
}

// The exit code is that of any command if the deployment does not let it in, fails, or does not
// answer in time. What is bad in a deployment that answers is 1.
func TestDoctorExitCodes(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		code   cli.Code
		errs   string
	}{
		"no token": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, cli.Unreachable, "does not let the command in (401)"},
		"no right": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, cli.Unreachable, "does not let the command in (403)"},
		"refused":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, cli.Unreachable, "is not Weft"},
		"not Weft": {http.NotFound, cli.Unreachable, "is not Weft: the server answered 404"},
		"too old": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"type":"urn:weft:problem:not-found","title":"Not found","status":404,"detail":"there is no such path"}`)
		}, cli.Other, "something is bad"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-hold:
			}
		}, cli.TimedOut, "timed out after %s waiting for the checks"},
	} {
		server := httptest.NewServer(c.answer)
		t.Cleanup(server.Close)
		wrong := func(want string, args ...string) string {
			code, out, errs := exits(t, append([]string{"doctor", "--url=" + server.URL}, args...)...)
			same := strings.Contains(want, "is not Weft") == strings.Contains(out, "bad   api  what answers there is not Weft: the server answered 4")
			if code != c.code || !strings.Contains(errs, want) || !strings.HasPrefix(out, "bad   api  ") || !same {
				return fmt.Sprintf("%s: code %d, %s\n%s", what, code, errs, out)
			}
			return ""
		}
		if c.code == cli.TimedOut {
			outOfTime(t, func(timeout string) string { return wrong(fmt.Sprintf(c.errs, timeout), "--timeout="+timeout) })
		} else if found := wrong(c.errs); found != "" {
			t.Error(found)
		}
	}
}

// A path in the address that the server does not have is not taken for a workflow that does not
// exist, nor for an earlier version of Weft.
func TestWrongPath(t *testing.T) {
	t.Parallel()
	api := serve(t)
	for _, line := range []string{"describe order-7", "list", "doctor"} {
		code, out, errs := exits(t, append(strings.Fields(line), "--url="+api+"/base")...)
		if code != cli.Unreachable || !strings.Contains(errs, "the path in the address "+api+"/base is wrong: there is nothing at /base/v1/") || strings.Contains(out, "older") {
			t.Errorf("weft %s: code %d, %s\n%s", line, code, errs, out)
		}
	}
}

// A command that is interrupted exits like any other.
func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	var said bytes.Buffer
	s := &cli.Session{In: strings.NewReader(""), Out: io.Discard, Err: &said, Getenv: func(string) string { return "" }}
	if code := run(ctx, s, []string{"doctor", "--url=" + server.URL}); code != cli.Interrupted || !strings.Contains(said.String(), "interrupted while waiting for the checks") {
		t.Errorf("code %d, %s", code, said.String())
	}
}

// Ids and texts of a deployment do not control the terminal, and colours are only for one.
func TestDoctorPrints(t *testing.T) {
	t.Parallel()
	found := []doctor.Finding{
		{Check: "clock", Verdict: doctor.OK, Seen: "right"},
		{Check: "queue x\x1b[2J", Verdict: doctor.Bad, Seen: "gone", Do: "create\nit"},
		{Check: "list", Verdict: doctor.Warn, Seen: "off", Do: "turn it on"},
	}
	for colour, want := range map[bool]string{
		false: "ok    clock           right\nbad   queue x\\x1b[2J  gone\n      -> create\\nit\nwarn  list            off\n      -> turn it on\n",
		true:  "\x1b[32mok\x1b[0m    clock           right\n\x1b[31mbad\x1b[0m   queue x\\x1b[2J  gone\n      -> create\\nit\n\x1b[33mwarn\x1b[0m  list            off\n      -> turn it on\n",
	} {
		var out bytes.Buffer
		s := &cli.Session{Out: &out, Err: io.Discard, Colour: colour}
		if err := printFindings(s, cli.Output{Output: "table"}, found); err != nil || out.String() != want {
			t.Errorf("%v\n%q, want\n%q", err, out.String(), want)
		}
	}
}
