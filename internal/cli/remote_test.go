package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const profiles = `
default: local
profiles:
  local: {url: "http://127.0.0.1:9000"}
  token: {url: "https://weft.example.com/base/", tokenFile: token}
  home: {url: "https://weft.example.com", tokenFile: ~/secret, auth: bearer}
  signed: {url: "https://abc.execute-api.eu-west-1.amazonaws.com/live", awsProfile: ops}
  both: {url: "http://127.0.0.1:9000", stack: weft}
  neither: {region: eu-west-1}
`

// withProfiles writes a file of profiles, and a token beside it and one at home.
func withProfiles(t *testing.T, s *Session, text string) {
	t.Helper()
	folder := filepath.Join(s.Home, ".config", "weft")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(folder, "config.yaml"): text, filepath.Join(folder, "token"): "of the profile\n", filepath.Join(s.Home, "secret"): "of the home",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A flag counts before the profile, and the profile before the environment.
func TestTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		remote            Remote
		env               map[string]string
		none              bool // there is no file of profiles
		url, auth, bearer string
	}{
		{name: "nothing", none: true, url: "http://127.0.0.1:8080", auth: "none"},
		{name: "the default profile", url: "http://127.0.0.1:9000", auth: "none"},
		{name: "the environment's address", env: map[string]string{"WEFT_URL": "http://a", "WEFT_PROFILE": "token"}, url: "http://a", auth: "none"},
		{name: "the environment's profile", env: map[string]string{"WEFT_PROFILE": "token"}, url: "https://weft.example.com/base", auth: "bearer", bearer: "of the profile"},
		{name: "a flag before the environment", remote: Remote{Profile: "local"}, env: map[string]string{"WEFT_URL": "http://a"}, url: "http://127.0.0.1:9000", auth: "none"},
		{name: "an address before the environment", remote: Remote{URL: "http://b/"}, env: map[string]string{"WEFT_STACK": "weft"}, url: "http://b", auth: "none"},
		{name: "a token of the home directory", remote: Remote{Profile: "home"}, url: "https://weft.example.com", auth: "bearer", bearer: "of the home"},
		{name: "the profile's token before the environment's", remote: Remote{Profile: "token"}, env: map[string]string{"WEFT_TOKEN": "of the environment"}, url: "https://weft.example.com/base", auth: "bearer", bearer: "of the profile"},
		{name: "a token before the profile's", remote: Remote{Profile: "token", Token: " of the flag\n"}, url: "https://weft.example.com/base", auth: "bearer", bearer: "of the flag"},
		{name: "the environment's token", env: map[string]string{"WEFT_TOKEN": "of the environment"}, url: "http://127.0.0.1:9000", auth: "bearer", bearer: "of the environment"},
		{name: "no authorization", remote: Remote{Profile: "token", Auth: "none"}, url: "https://weft.example.com/base", auth: "none"},
		{name: "API Gateway", remote: Remote{Profile: "signed"}, url: "https://abc.execute-api.eu-west-1.amazonaws.com/live", auth: "aws"},
		{name: "API Gateway with a token", remote: Remote{Profile: "signed", Token: "jwt"}, url: "https://abc.execute-api.eu-west-1.amazonaws.com/live", auth: "bearer", bearer: "jwt"},
		{name: "a function URL", remote: Remote{URL: "https://abc.lambda-url.eu-west-1.on.aws/"}, url: "https://abc.lambda-url.eu-west-1.on.aws", auth: "aws"},
		{name: "a domain of the user's", remote: Remote{URL: "https://weft.example.com", Auth: "aws", Region: "eu-west-1"}, url: "https://weft.example.com", auth: "aws"},
	} {
		s, _ := testSession(t, c.env)
		if !c.none {
			withProfiles(t, s, profiles)
		}
		d, err := c.remote.Open(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		token, _ := d.transport.(withToken)
		if d.URL != c.url || d.Auth != c.auth || token.token != c.bearer {
			t.Errorf("%s: %s, %s, token %q; want %s, %s, %q", c.name, d.URL, d.Auth, token.token, c.url, c.auth, c.bearer)
		}
		if c.auth == "aws" && d.AWS.Region != "eu-west-1" {
			t.Errorf("%s: signed for %q", c.name, d.AWS.Region)
		}
	}
}

// What cannot be is refused before anything is sent.
func TestNoTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		remote   Remote
		profiles string
		code     Code
		want     string
	}{
		{Remote{Profile: "prod"}, profiles, Usage, `there is no profile "prod" in`},
		{Remote{Profile: "prod"}, "", Usage, "config.yaml"},
		{Remote{Profile: "both"}, profiles, Usage, "give either url or stack"},
		{Remote{Profile: "neither"}, profiles, Usage, "give either url or stack"},
		{Remote{Profile: "a"}, "profiles: {a: {uri: x}}", Usage, `line 1: a profile has no key "uri": it has url, stack, region, awsProfile, auth, tokenFile`},
		{Remote{}, "nonsense", Usage, "config.yaml"},
		{Remote{}, strings.Repeat("# a comment\n", 1<<17), Usage, "may have"},
		{Remote{Profile: "a"}, `profiles: {a: {url: "http://a", auth: basic}}`, Usage, `there is no auth "basic"`},
		{Remote{Profile: "a"}, `profiles: {a: {url: "http://a", tokenFile: gone}}`, Usage, "the token"},
		{Remote{URL: "127.0.0.1:8080"}, "", Usage, "give one like http://127.0.0.1:8080"},
		{Remote{URL: "ftp://127.0.0.1"}, "", Usage, "give one like"},
		{Remote{URL: "http://a/?b=c"}, "", Usage, "give one like"},
		{Remote{URL: "http://ada:secret@a"}, "", Usage, "--token-file"},
		{Remote{URL: "http://a", Auth: "bearer"}, "", Usage, "there is no bearer token"},
		{Remote{URL: "http://a", Token: "two\nlines"}, "", Usage, "several lines, or characters that no token has: give another --token (WEFT_TOKEN)"},
		{Remote{URL: "http://a", Token: "a\x01b"}, "", Usage, "characters that no token has"},
		{Remote{Profile: "a"}, `profiles: {a: {url: "http://a", tokenFile: config.yaml}}` + "\n# of two lines", Usage, "config.yaml the file of a token?"},
		{Remote{URL: "http://a", Auth: "aws"}, "", Unreachable, "AWS_REGION"},
		{Remote{URL: "http://a", Auth: "aws", AWSProfile: "broken"}, "", Usage, "the profile is broken"},
	} {
		s, _ := testSession(t, nil)
		withProfiles(t, s, c.profiles)
		_, err := c.remote.Open(t.Context(), s)
		fails(t, c.want, err, c.code, c.want)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

// $WEFT_CONFIG names another file, which must be there, and $XDG_CONFIG_HOME another folder.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	s, _ := testSession(t, map[string]string{"WEFT_CONFIG": filepath.Join(t.TempDir(), "gone")})
	_, err := (&Remote{}).Open(t.Context(), s)
	fails(t, "a file that is not there", err, Usage, "gone")
	home, _ := testSession(t, nil)
	withProfiles(t, home, profiles)
	s, _ = testSession(t, map[string]string{"XDG_CONFIG_HOME": filepath.Join(home.Home, ".config")})
	if d, err := (&Remote{}).Open(t.Context(), s); err != nil || d.URL != "http://127.0.0.1:9000" {
		t.Errorf("%+v, %v", d, err)
	}
	s.Home, s.Getenv = "", func(string) string { return "" }
	if d, err := (&Remote{}).Open(t.Context(), s); err != nil || d.URL != defaultURL {
		t.Errorf("without a home directory: %+v, %v", d, err)
	}
}

// Requests have the token, or a signature, and a redirect does not lead them elsewhere.
func TestAuthorized(t *testing.T) {
	t.Parallel()
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer server.Close()
	for want, remote := range map[string]Remote{
		"":                                   {},
		"Bearer secret":                      {Token: "secret"},
		"AWS4-HMAC-SHA256 Credential=AKIDEX": {Auth: "aws", Region: "eu-west-1"},
	} {
		s, _ := testSession(t, nil)
		remote.URL = server.URL
		d, err := remote.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL+"/v1/workflows", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := d.HTTP().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if !strings.HasPrefix(got, want) || want == "" && got != "" || resp.StatusCode != http.StatusFound || r.Header.Get("Authorization") != "" {
			t.Errorf("the request had the authorization %q, want %q; status %d", got, want, resp.StatusCode)
		}
	}
}
