package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// weft protect switches the termination protection of a stack, and says what that means.
func TestProtect(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.PostFormValue("Action")+" "+r.PostFormValue("StackName")+" "+r.PostFormValue("EnableTerminationProtection"))
		_, _ = io.WriteString(w, "<UpdateTerminationProtectionResponse/>")
	}))
	t.Cleanup(server.Close)
	var out bytes.Buffer
	s := &cli.Session{In: strings.NewReader(""), Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }}
	s.AWS = func(_ context.Context, region, _ string) (aws.Config, error) {
		return aws.Config{Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, nil
	}
	for _, args := range [][]string{{"protect", "--stack=shop", "--region=eu-west-1"}, {"protect", "--stack=shop", "--region=eu-west-1", "--off"}} {
		if err := execute(t.Context(), s, args); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(asked, ", "); got != "UpdateTerminationProtection shop true, UpdateTerminationProtection shop false" {
		t.Errorf("asked %s", got)
	}
	if want := "stack shop is protected: CloudFormation refuses to delete it until weft protect --off\nstack shop is not protected: it can be deleted\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if err := execute(t.Context(), s, []string{"protect", "--stack=shop"}); err == nil || !strings.Contains(err.Error(), "give --region") {
		t.Errorf("without a region: %v", err)
	}
}
