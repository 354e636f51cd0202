package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

var rewrite = flag.Bool("rewrite", false, "rewrite what is compared: testdata, and the table in docs/cli.md")

// testSession returns a session with an environment, and what is written to its output.
func testSession(t *testing.T, env map[string]string) (*Session, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	return &Session{
		In: strings.NewReader(""), Out: out, Err: io.Discard, Home: t.TempDir(), AWS: testAWS,
		Getenv: func(name string) string { return env[name] },
	}, out
}

// testAWS is a configuration with credentials. Without a region it has none.
func testAWS(_ context.Context, region, profile string) (aws.Config, error) {
	if profile == "broken" {
		return aws.Config{}, errors.New("the profile is broken")
	}
	return aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")}, nil
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (rewrite it with -rewrite, and read the difference):\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// fails checks the code and the text of an error.
func fails(t *testing.T, what string, err error, code Code, text string) {
	t.Helper()
	if err == nil || CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, with code %d; want code %d and %q", what, err, CodeOf(err), code, text)
	}
}
