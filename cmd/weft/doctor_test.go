package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	if code != cli.Done || errs != "" || strings.Contains(out, "bad ") {
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
	if code != cli.Other || !strings.HasPrefix(out, "bad   api  ") || !strings.Contains(out, "127.0.0.1:1") || !strings.Contains(out, "\n      -> ") || !strings.Contains(errs, "something is bad") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	asked := map[string]bool{}
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a broken connection fails the test anyway
		asked[r.Header.Get("X-Amz-Target")+string(body)] = true
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException"}`)
	}))
	t.Cleanup(cloud.Close)
	var printed, said bytes.Buffer
	s := &cli.Session{In: strings.NewReader(""), Out: &printed, Err: &said, Getenv: func(string) string { return "" }}
	s.AWS = func(_ context.Context, region, profile string) (aws.Config, error) {
		return aws.Config{Region: region, BaseEndpoint: &cloud.URL, Credentials: credentials.NewStaticCredentialsProvider(profile, "b", "")}, nil
	}
	code = run(t.Context(), s, []string{"doctor", url, "--name=shop", "--table=orders", "--region=eu-central-1", "--aws-profile=ops", "-o", "jsonl"})
	if code != cli.Other || !asked[`DynamoDB_20120810.DescribeTable{"TableName":"orders"}`] || !asked[`AmazonSQS.GetQueueUrl{"QueueName":"shop-workflow.fifo"}`] {
		t.Errorf("code %d, %s, asked for %v", code, said.String(), asked)
	}
	if out := printed.String(); !strings.Contains(out, "give your credentials dynamodb:DescribeTable to check this") || strings.Count(out, "\n") < 10 {
		t.Errorf("%s", out)
	}
	if code := run(t.Context(), s, []string{"doctor", url, "--name=shop"}); code != cli.Usage || !strings.Contains(said.String(), "give --region") {
		t.Errorf("without a region: code %d, %s", code, said.String())
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
		d := doctorCommand{}
		d.Output.Output = "table"
		if err := d.print(s, found); err != nil || out.String() != want {
			t.Errorf("%v\n%q, want\n%q", err, out.String(), want)
		}
	}
}
