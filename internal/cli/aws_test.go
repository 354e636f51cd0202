package cli

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// withoutCredentials is the environment of a user who has configured none. The metadata of an EC2
// instance is a server that has none either.
func withoutCredentials(t *testing.T) {
	t.Helper()
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(metadata.Close)
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "AWS_CONFIG_FILE": filepath.Join(home, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, "credentials"),
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_CA_BUNDLE": "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
	} {
		t.Setenv(name, value)
	}
}

// Without credentials, each command that needs some says so in one error, which says what to do.
// The SDK's words about the last place that it has looked at are in neither the error nor a log.
func TestNoCredentials(t *testing.T) {
	withoutCredentials(t)
	s, _ := testSession(t, nil)
	s.AWS = awsConfig
	said := standardError(t)
	for what, remote := range map[string]Remote{
		`stack "weft-prod" in eu-west-1 cannot be read: `:                            {Stack: "weft-prod", Region: "eu-west-1"},
		"requests to https://abc.execute-api.eu-west-1.amazonaws.com/v are signed: ": {URL: "https://abc.execute-api.eu-west-1.amazonaws.com/v/"},
	} {
		_, err := remote.Open(t.Context(), s)
		fails(t, what, err, Unreachable, what+"there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile")
		if err == nil || strings.Contains(strings.ToLower(err.Error()), "imds") || !strings.Contains(err.Error(), "aws sso login") {
			t.Errorf("the error is %v", err)
		}
	}
	_, err := (&Remote{Stack: "weft-prod", Region: "eu-west-1", AWSProfile: "prod"}).Open(t.Context(), s)
	fails(t, "a profile that does not exist", err, Usage, `there is no profile "prod" in the AWS configuration`)
	if text := said(); text != "" {
		t.Errorf("standard error has %q", text)
	}
}

// What a credential_process or an endpoint of credentials has printed is in no error: it may be the
// credentials. Nor has a profile that lacks a key an error of several lines.
func TestErrorsOfCredentialsHaveNoSecrets(t *testing.T) {
	withoutCredentials(t)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("TOPSECRET"))
	}))
	t.Cleanup(endpoint.Close)
	s := Process()
	text := ""
	for name, command := range map[string]string{
		"note": `printf 'Note: hi\n{"Version":1,"SecretAccessKey":"TOPSECRET"}'`, "none": `printf '{"Version":"TOPSECRET"}'`, "ends": "echo TOPSECRET; exit 3",
	} {
		text += "[profile " + name + "]\nregion = eu-west-1\ncredential_process = " + command + "\n"
	}
	text += "[profile half]\nregion = eu-west-1\naws_secret_access_key = TOPSECRET\n"
	if err := os.WriteFile(os.Getenv("AWS_CONFIG_FILE"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	retrieve := func(profile string) error {
		c, err := s.LoadAWS(t.Context(), "eu-west-1", profile)
		if err == nil {
			err = CheckCredentials(t.Context(), c)
		}
		return err
	}
	for profile, want := range map[string]string{
		"note": "the credential_process of the profile did not print what it must", "none": "the credential_process of the profile did not print what it must",
		"ends": "the credential_process of the profile failed: exit status 3",
	} {
		err := retrieve(profile)
		fails(t, profile, err, Unreachable, want)
		if strings.Contains(err.Error(), "TOPSECRET") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
	fails(t, "half", retrieve("half"), Usage, "has only one of aws_access_key_id and aws_secret_access_key: add the other")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.URL)
	err := retrieve("")
	fails(t, "the endpoint", err, Unreachable, "refused them")
	if strings.Contains(err.Error(), "TOPSECRET") {
		t.Errorf("the error has the secret: %v", err)
	}
}

// A command that is over while credentials are looked for ends like any other.
func TestCredentialsOfAnEndedCommand(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	from := aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		end()
		return aws.Credentials{}, ctx.Err()
	})
	if _, err := (explained{from}).Retrieve(ctx); !errors.Is(err, context.Canceled) || CodeOf(err) != Other {
		t.Errorf("%v, code %d", err, CodeOf(err))
	}
}

// standardError replaces standard error until what it returns is called, which returns what was
// written to it.
func standardError(t *testing.T) (said func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = file
	restore := sync.OnceFunc(func() { os.Stderr = before })
	t.Cleanup(restore)
	return func() string {
		restore()
		text, err := os.ReadFile(path)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}
