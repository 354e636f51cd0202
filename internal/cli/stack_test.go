package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// cloudFormationServer answers DescribeStacks with a status and a body, after it has checked the
// request.
func cloudFormationServer(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.PostFormValue("Action") != "DescribeStacks" || r.PostFormValue("StackName") != "weft-prod" || r.PostFormValue("Version") != "2010-05-15" {
			t.Errorf("the request is %s %s %v", r.Method, r.URL, r.PostForm)
		}
		if signed := r.Header.Get("Authorization"); !strings.Contains(signed, "/eu-west-1/cloudformation/aws4_request, SignedHeaders=content-length;content-type;host;x-amz-date") {
			t.Errorf("the request is signed %q", signed)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

// stackAnswer is an answer of CloudFormation.
func stackAnswer(stacks string) string {
	return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks>` + stacks +
		`</Stacks></DescribeStacksResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></DescribeStacksResponse>`
}

const aStack = `<member><StackName>weft-prod</StackName><Outputs>
<member><OutputKey>Table</OutputKey><OutputValue>weft-prod-Table-1</OutputValue></member>
<member><OutputKey>Url</OutputKey><OutputValue>%s</OutputValue></member></Outputs></member>`

// --stack reads the address from the outputs of the stack.
func TestStack(t *testing.T) {
	t.Parallel()
	server := cloudFormationServer(t, http.StatusOK, stackAnswer(fmt.Sprintf(aStack, "https://abc.execute-api.eu-west-1.amazonaws.com/")))
	s, _ := testSession(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDFORMATION": server.URL})
	d, err := (&Remote{Stack: "weft-prod", Region: "eu-west-1"}).Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if d.URL != "https://abc.execute-api.eu-west-1.amazonaws.com" || d.Auth != "aws" || d.Outputs["Table"] != "weft-prod-Table-1" || d.AWS == nil {
		t.Errorf("%+v", d)
	}
}

// --url replaces the stack's own address, as that of a domain in front of it. The other outputs are
// those of the stack.
func TestStackWithURL(t *testing.T) {
	t.Parallel()
	server := cloudFormationServer(t, http.StatusOK, stackAnswer(fmt.Sprintf(aStack, "https://abc.execute-api.eu-west-1.amazonaws.com/")))
	s, _ := testSession(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDFORMATION": server.URL})
	r := Remote{Stack: "weft-prod", URL: "https://weft.example.com/", Region: "eu-west-1"}
	d, err := r.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if d.URL != "https://weft.example.com" || d.Auth != "none" || d.Stack != "weft-prod" || d.Outputs["Table"] != "weft-prod-Table-1" || d.AWS == nil {
		t.Errorf("%+v", d)
	}
	if got, want := r.Command("list"), "weft list --url https://weft.example.com/ --stack weft-prod --region eu-west-1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The SDK's configuration names the endpoint, too, and a profile the stack.
func TestStackOfProfile(t *testing.T) {
	t.Parallel()
	server := cloudFormationServer(t, http.StatusOK, stackAnswer(fmt.Sprintf(aStack, "http://localhost:4566/api")))
	s, _ := testSession(t, nil)
	withProfiles(t, s, "default: prod\nprofiles: {prod: {stack: weft-prod, region: eu-west-1, awsProfile: ops}}")
	s.AWS = func(ctx context.Context, region, profile string) (aws.Config, error) {
		if profile != "ops" {
			t.Errorf("the profile of AWS is %q", profile)
		}
		c, err := testAWS(ctx, region, profile)
		c.BaseEndpoint = aws.String(server.URL)
		return c, err
	}
	if d, err := (&Remote{}).Open(t.Context(), s); err != nil || d.URL != "http://localhost:4566/api" || d.Auth != "none" {
		t.Errorf("%+v, %v", d, err)
	}
}

// A stack says whether it is protected, and a request switches that.
func TestProtectStack(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.PostFormValue("Action") == "DescribeStacks" {
				_, _ = fmt.Fprint(w, stackAnswer(strings.Replace(fmt.Sprintf(aStack, "https://a"), "<Outputs>", fmt.Sprintf("<EnableTerminationProtection>%t</EnableTerminationProtection><Outputs>", on), 1)))
				return
			}
			if want := fmt.Sprintf("Action=UpdateTerminationProtection&EnableTerminationProtection=%t&StackName=weft-prod&Version=2010-05-15", on); r.ParseForm() != nil || r.PostForm.Encode() != want {
				t.Errorf("asked %q, want %q", r.PostForm.Encode(), want)
			}
			_, _ = fmt.Fprint(w, "<UpdateTerminationProtectionResponse/>")
		}))
		t.Cleanup(server.Close)
		s, _ := testSession(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDFORMATION": server.URL})
		c, err := testAWS(t.Context(), "eu-west-1", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ProtectStack(t.Context(), c, "weft-prod", on); err != nil {
			t.Error(err)
		}
		if d, err := describeStack(t.Context(), s, c, "weft-prod"); err != nil || d.Protected != on {
			t.Errorf("%+v, %v; want protected: %t", d, err, on)
		}
	}
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>")
	}))
	t.Cleanup(denied.Close)
	s, _ := testSession(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDFORMATION": denied.URL})
	c, _ := testAWS(t.Context(), "eu-west-1", "")
	if err := s.ProtectStack(t.Context(), c, "weft-prod", true); err == nil || !strings.Contains(err.Error(), "need cloudformation:UpdateTerminationProtection") {
		t.Errorf("a refusal is %v", err)
	}
}

func TestCloudFormation(t *testing.T) {
	t.Parallel()
	s, _ := testSession(t, nil)
	for region, want := range map[string]string{"eu-west-1": "https://cloudformation.eu-west-1.amazonaws.com/", "cn-north-1": "https://cloudformation.cn-north-1.amazonaws.com.cn/"} {
		if got := cloudFormation(s, aws.Config{Region: region}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A stack that cannot be read is an error that says what to do.
func TestNoStack(t *testing.T) {
	t.Parallel()
	refusal := func(code, message string) string {
		return "<ErrorResponse><Error><Type>Sender</Type><Code>" + code + "</Code><Message>" + message + "</Message></Error></ErrorResponse>"
	}
	for _, c := range []struct {
		status int
		body   string
		code   Code
		want   string
	}{
		{400, refusal("ValidationError", "Stack with id weft-prod does not exist"), NotFound, `there is no stack "weft-prod" in eu-west-1`},
		{403, refusal("AccessDenied", "no"), Unreachable, "cloudformation:DescribeStacks"},
		{500, "a page", Unreachable, "500 Internal Server Error"},
		{200, "a page", Unreachable, "is not what it should be"},
		{200, stackAnswer(""), NotFound, "0 stacks"},
		{200, stackAnswer("<member><StackName>weft-prod</StackName></member>"), NotFound, "no output Url"},
		{200, stackAnswer(fmt.Sprintf(aStack, "nonsense")), Usage, "none of an API"},
	} {
		server := cloudFormationServer(t, c.status, c.body)
		s, _ := testSession(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDFORMATION": server.URL})
		_, err := (&Remote{Stack: "weft-prod", Region: "eu-west-1"}).Open(t.Context(), s)
		fails(t, c.body, err, c.code, c.want)
	}
	s, _ := testSession(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDFORMATION": "http://127.0.0.1:1"})
	_, err := (&Remote{Stack: "weft-prod", Region: "eu-west-1"}).Open(t.Context(), s)
	fails(t, "nobody listens", err, Unreachable, `reading stack "weft-prod"`)
	_, err = (&Remote{Stack: "weft-prod"}).Open(t.Context(), s)
	fails(t, "no region", err, Usage, "--region")
	s.AWS = func(context.Context, string, string) (aws.Config, error) { return aws.Config{Region: "eu-west-1"}, nil }
	_, err = (&Remote{Stack: "weft-prod"}).Open(t.Context(), s)
	fails(t, "no credentials", err, Unreachable, `stack "weft-prod" in eu-west-1 cannot be read: there are no AWS credentials: set AWS_ACCESS_KEY_ID`)
	s.AWS = func(context.Context, string, string) (aws.Config, error) {
		return aws.Config{Region: "eu-west-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, errors.New("the session has expired")
		})}, nil
	}
	_, err = (&Remote{Stack: "weft-prod"}).Open(t.Context(), s)
	fails(t, "expired credentials", err, Unreachable, "the AWS credentials cannot be used: the session has expired: renew them (aws sso login")
}
