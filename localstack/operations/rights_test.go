//go:build deploycheck

package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/faultproxy"
	"github.com/seed-41655fb1/weft/proof/privilege"
)

// rights has the policies of the roles, as they are deployed.
type rights struct {
	cloud
	functions *lambda.Client

	mu         sync.Mutex
	statements map[string][]privilege.Statement // by role
	err        error
}

// guard returns what decides about the requests of a role.
func (r *rights) guard(role string) faultproxy.Guard {
	e := privilege.Enforcer{
		ARN: func(service, resource string) string {
			return "arn:aws:" + service + ":" + awstest.Region + ":" + account + ":" + resource
		},
		Statements: func() ([]privilege.Statement, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.statements[role], nil
		},
	}
	return func(service, operation string, body []byte) string {
		r.mu.Lock()
		known := len(r.statements[role]) > 0
		r.mu.Unlock()
		if !known {
			return "" // during the first deployment
		}
		action, err := e.Denied(service, operation, body)
		if err != nil {
			r.fail(fmt.Errorf("the role %s: %w", role, err))
			return operation
		}
		return action
	}
}

// invocations starts a proxy for the requests of a role to Lambda, and returns its address. It
// denies those that the role may not send.
func (r *rights) invocations(t *testing.T, role string) string {
	t.Helper()
	target, err := url.Parse(r.address)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	pass.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // the function has left
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, name, _ := strings.Cut(request.URL.Path, "/functions/")
		name, operation, _ := strings.Cut(name, "/")
		if request.Method != http.MethodPost || operation != "invocations" {
			r.fail(fmt.Errorf("the role %s sends %s %s to Lambda: say here which right that needs", role, request.Method, request.URL.Path))
		}
		r.mu.Lock()
		statements := r.statements[role]
		r.mu.Unlock()
		if name = name[strings.LastIndex(name, ":")+1:]; len(statements) > 0 {
			allowed, err := privilege.Allowed(statements, privilege.Request{
				Action: "lambda:InvokeFunction", Resource: "arn:aws:lambda:" + awstest.Region + ":" + account + ":function:" + name,
			})
			if err != nil {
				r.fail(err)
			}
			if !allowed {
				w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
				http.Error(w, `{"Message":"the role may not invoke the function"}`, http.StatusForbidden)
				return
			}
		}
		pass.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// fail keeps an error because of which a request could not be decided.
func (r *rights) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// failure returns an error if a request could not be decided.
func (r *rights) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

const iam = "2010-05-08" // the version of IAM's API

// read reads the policies of all roles.
func (r *rights) read(ctx context.Context) error {
	for _, role := range roles {
		name, err := r.name(ctx, role)
		if err != nil {
			return err
		}
		var list struct {
			Names []string `xml:"ListRolePoliciesResult>PolicyNames>member"`
		}
		if err := r.form(ctx, "iam", iam, "ListRolePolicies", map[string]string{"RoleName": name}, &list); err != nil {
			return err
		}
		var all []privilege.Statement
		for _, policy := range list.Names {
			text, err := r.policy(ctx, name, policy)
			if err != nil {
				return err
			}
			var document any
			if err := json.Unmarshal([]byte(text), &document); err != nil {
				return err
			}
			statements, err := privilege.Parse(document)
			if err != nil {
				return err
			}
			all = append(all, statements...)
		}
		if len(all) == 0 {
			return fmt.Errorf("the role %s has no policy", name)
		}
		r.mu.Lock()
		r.statements[role] = all
		r.mu.Unlock()
	}
	return nil
}

// name returns the name of a function's role.
func (r *rights) name(ctx context.Context, role string) (string, error) {
	f, err := r.functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(stack + "-" + role)})
	if err != nil {
		return "", err
	}
	arn := aws.ToString(f.Role)
	return arn[strings.LastIndex(arn, "/")+1:], nil
}

// policy returns the text of a policy of a role.
func (r *rights) policy(ctx context.Context, name, policy string) (string, error) {
	var answer struct {
		Document string `xml:"GetRolePolicyResult>PolicyDocument"`
	}
	if err := r.form(ctx, "iam", iam, "GetRolePolicy", map[string]string{"RoleName": name, "PolicyName": policy}, &answer); err != nil {
		return "", err
	}
	return url.QueryUnescape(answer.Document)
}

// without removes an action from a role's policy. The fault returns what puts it back.
func (r *rights) without(role, action string) (fault, repair func(context.Context) error) {
	const policy = "function"
	var name, before string
	put := func(ctx context.Context, text string) error {
		parameters := map[string]string{"RoleName": name, "PolicyName": policy, "PolicyDocument": text}
		return errors.Join(r.form(ctx, "iam", iam, "PutRolePolicy", parameters, nil), r.read(ctx))
	}
	fault = func(ctx context.Context) (err error) {
		if name, err = r.name(ctx, role); err != nil {
			return err
		}
		if before, err = r.policy(ctx, name, policy); err != nil {
			return err
		}
		var document map[string]any
		if err := json.Unmarshal([]byte(before), &document); err != nil {
			return err
		}
		removed := 0
		statements, _ := document["Statement"].([]any)
		for _, s := range statements {
			statement, _ := s.(map[string]any)
			actions, _ := statement["Action"].([]any)
			left := slices.DeleteFunc(slices.Clone(actions), func(a any) bool { return a == action })
			removed += len(actions) - len(left)
			statement["Action"] = left
		}
		document["Statement"] = slices.DeleteFunc(statements, func(s any) bool { return len(s.(map[string]any)["Action"].([]any)) == 0 })
		if removed == 0 {
			return fmt.Errorf("the role %s does not have %s: %s", role, action, before)
		}
		text, err := json.Marshal(document)
		if err != nil {
			return err
		}
		return put(ctx, string(text))
	}
	return fault, func(ctx context.Context) error { return put(ctx, before) }
}
