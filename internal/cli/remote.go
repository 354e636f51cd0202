package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/client/sigv4"
)

// Remote is the flags of a command that calls a deployment. A flag counts before the profile, and
// the profile before the environment.
type Remote struct {
	URL        string `group:"Connection" xor:"where" placeholder:"URL" help:"Address of the API; with --stack, instead of the stack's own. Without it, --profile and --stack: $$WEFT_URL, then $$WEFT_STACK, then $$WEFT_PROFILE, then the default of the profiles, then http://127.0.0.1:8080."`
	Profile    string `group:"Connection" xor:"where,stack" placeholder:"NAME" lookup:"profiles" help:"Profile of ~/.config/weft/config.yaml, or of $$WEFT_CONFIG."`
	Stack      string `group:"Connection" xor:"stack" placeholder:"NAME" help:"CloudFormation stack of the deployment. Its outputs have the address, unless --url is another."`
	Region     string `group:"Connection" placeholder:"REGION" help:"Region of the stack and of signatures. Without it, that of the address, or of the AWS configuration."`
	AWSProfile string `group:"Connection" name:"aws-profile" placeholder:"NAME" help:"Profile of the AWS configuration. Without it, $$AWS_PROFILE."`
	Auth       string `group:"Connection" enum:"auto,aws,bearer,none" default:"auto" help:"What authorizes the requests: ${enum}. auto sends a token if there is one, and otherwise signs what goes to API Gateway and to function URLs."`
	Token      string `group:"Connection" xor:"token" placeholder:"TOKEN" help:"Bearer token ($$WEFT_TOKEN). Other users of this machine see it: prefer --token-file."`
	TokenFile  string `group:"Connection" xor:"token" placeholder:"FILE" help:"File with the bearer token, as .weft/token ($$WEFT_TOKEN_FILE)."`

	Timeout time.Duration `group:"Connection" default:"${timeout}" help:"${timeoutHelp}"`
}

// timeout is how long a command may take that waits for nothing.
const timeout = 30 * time.Second

// MayWait sets the time-out of a command that waits only with some flags, if it was not given. Such
// a command calls it in AfterApply, and has `set:"timeout=-1ns"`.
func (r *Remote) MayWait(waits bool) {
	switch {
	case r.Timeout >= 0:
	case waits:
		r.Timeout = 0
	default:
		r.Timeout = timeout
	}
}

// defaultURL is the address of weft dev.
const defaultURL = "http://127.0.0.1:8080"

// Vars are the variables of kong that the flags need. A command sets others where it embeds the
// flags. One that waits for something that may take any time has `set:"timeout=0s"`.
var Vars = kong.Vars{"timeout": timeout.String(), "timeoutHelp": "How long the command may take; 0s is for ever.", "output": "table"}

// target is how a deployment is reached, before it is.
type target struct {
	Profile
	token string
	file  string // of the token
}

// target returns what the flags, the environment and the profiles say.
func (r *Remote) target(s *Session) (t target, err error) {
	t.URL, t.Stack = r.URL, r.Stack
	name := r.Profile
	if t.URL == "" && t.Stack == "" && name == "" {
		if t.URL = s.Getenv("WEFT_URL"); t.URL == "" {
			if t.Stack = s.Getenv("WEFT_STACK"); t.Stack == "" {
				name = s.Getenv("WEFT_PROFILE")
			}
		}
	}
	if t.URL == "" && t.Stack == "" {
		if err := t.profiled(s, name); err != nil {
			return t, err
		}
	}
	t.Region = cmp.Or(r.Region, t.Region)
	t.AWSProfile = cmp.Or(r.AWSProfile, t.AWSProfile)
	if t.Auth = cmp.Or(t.Auth, "auto"); r.Auth != "" && r.Auth != "auto" {
		t.Auth = r.Auth
	}
	switch file := t.TokenFile; {
	case r.Token != "" || r.TokenFile != "":
		t.token, t.file = r.Token, r.TokenFile
	case file != "":
		t.file = file
	default:
		if t.token = s.Getenv("WEFT_TOKEN"); t.token == "" {
			t.file = s.Getenv("WEFT_TOKEN_FILE")
		}
	}
	return t, t.check()
}

// profiled reads a profile, or the default one if no name is given.
func (t *target) profiled(s *Session, name string) error {
	c, path, err := s.config()
	if err != nil {
		return err
	}
	if name = cmp.Or(name, c.Default); name == "" {
		t.URL = defaultURL
		return nil
	}
	if t.Profile, err = c.profile(name, path); err != nil {
		return err
	}
	t.TokenFile = s.expand(t.TokenFile, path)
	return nil
}

// check refuses an address, or a way to authorize, that cannot be.
func (t *target) check() error {
	switch t.Auth {
	case "auto", "aws", "bearer", "none":
	default:
		return Errorf(Usage, "there is no auth %q: give auto, aws, bearer or none", t.Auth)
	}
	if t.URL == "" {
		return nil
	}
	return checkURL(t.URL)
}

func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return Errorf(Usage, "the address %q is none of an API: give one like %s", address, defaultURL)
	}
	if u.User != nil {
		return Errorf(Usage, "the address has a name or a password in it, which is not sent: give --token-file")
	}
	return nil
}

// bearer returns the bearer token; empty if there is none.
func (t *target) bearer() (string, error) {
	token := t.token
	if t.file != "" {
		text, err := readFile(t.file)
		if err != nil {
			return "", Errorf(Usage, "the token: %w", err)
		}
		token = string(text)
	}
	token = strings.TrimSpace(token)
	switch control := strings.ContainsFunc(token, unicode.IsControl); {
	case control && t.file != "":
		return "", Errorf(Usage, "the token has several lines, or characters that no token has: is %s the file of a token?", t.file)
	case control:
		return "", Errorf(Usage, "the token has several lines, or characters that no token has: give another --token (WEFT_TOKEN)")
	}
	return token, nil
}

// Deployment is a deployment of Weft that a command can call.
type Deployment struct {
	// URL is the address of its API, without a slash at the end.
	URL string
	// Auth is what authorizes the requests: aws, bearer or none.
	Auth string
	// Stack is the name of its stack; empty if none was named. Outputs are those of the stack.
	Stack   string
	Outputs map[string]string
	// Protected says that CloudFormation refuses to delete the stack.
	Protected bool
	// AWS is the configuration that its stack was read with and requests are signed with; nil if
	// there is neither.
	AWS *aws.Config

	transport http.RoundTripper
}

// Open finds the deployment that the flags name. It reads the stack and the credentials, if it
// needs them, but does not call the deployment.
func (r *Remote) Open(ctx context.Context, s *Session) (*Deployment, error) {
	t, err := r.target(s)
	if err != nil {
		return nil, err
	}
	d := &Deployment{URL: t.URL, Stack: t.Stack, transport: http.DefaultTransport}
	if s.base != nil {
		d.transport = s.base
	}
	if t.Stack != "" {
		if err := d.ofStack(ctx, s, t); err != nil {
			return nil, err
		}
	}
	d.URL = strings.TrimRight(d.URL, "/")
	return d, d.authorize(ctx, s, t)
}

// authorize decides what authorizes the requests.
func (d *Deployment) authorize(ctx context.Context, s *Session, t target) error {
	token, err := "", error(nil)
	if t.Auth == "auto" || t.Auth == "bearer" {
		if token, err = t.bearer(); err != nil {
			return err
		}
	}
	host := "." + hostOf(d.URL)
	switch d.Auth = t.Auth; {
	case t.Auth == "bearer" && token == "":
		return Errorf(Usage, "there is no bearer token: give --token-file, or set WEFT_TOKEN")
	case token != "":
		d.Auth, d.transport = "bearer", withToken{token, d.transport}
	case t.Auth == "auto" && (strings.Contains(host, ".execute-api.") || strings.Contains(host, ".lambda-url.")):
		d.Auth = "aws"
	case t.Auth == "auto":
		d.Auth = "none"
	}
	if d.Auth != "aws" {
		return nil
	}
	if err := d.configure(ctx, s, cmp.Or(t.Region, regionOf(host)), t.AWSProfile); err != nil {
		return err
	}
	if d.AWS.Region != "" {
		if err := CheckCredentials(ctx, *d.AWS); err != nil {
			return fmt.Errorf("requests to %s are signed: %w", d.URL, err)
		}
	}
	signing, err := sigv4.New(ctx, *d.AWS)
	if err != nil {
		return With(Unreachable, err)
	}
	d.transport = signing.Transport
	return nil
}

// configure loads the AWS configuration, unless a stack was read with it.
func (d *Deployment) configure(ctx context.Context, s *Session, region, profile string) error {
	if d.AWS != nil {
		return nil
	}
	loaded, err := s.LoadAWS(ctx, region, profile)
	if err != nil {
		return err
	}
	d.AWS = &loaded
	return nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// regionOf returns the region in the host name of API Gateway or of a function URL; empty if there
// is none.
func regionOf(host string) string {
	for _, service := range []string{".execute-api.", ".lambda-url."} {
		if _, rest, ok := strings.Cut(host, service); ok {
			if region, _, _ := strings.Cut(rest, "."); strings.Count(region, "-") >= 2 { // not execute-api.localhost
				return region
			}
		}
	}
	return ""
}

// withToken sends a bearer token with each request.
type withToken struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a RoundTripper leaves its request as it is
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.next.RoundTrip(r)
}

// HTTP returns an HTTP client that authorizes each request. It has no time-out of its own, follows
// no redirects (which could lead a token elsewhere), and passes answers through while they come.
func (d *Deployment) HTTP() *http.Client {
	return &http.Client{Transport: d.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Client returns a client of the deployment.
func (d *Deployment) Client() *client.Client {
	return client.New(d.URL, client.Options{HTTP: d.HTTP()})
}
