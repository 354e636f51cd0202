package privilege

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// enforced answers the requests that an enforcer allows.
type enforced struct {
	enforcer Enforcer
	denied   []string
	errs     []error
}

func (e *enforced) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	version, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	service, _, _ := strings.Cut(strings.TrimPrefix(version, "Amazon"), "_")
	action, err := e.enforcer.Denied(service, operation, body)
	if err != nil {
		e.errs = append(e.errs, err)
	}
	if action != "" {
		e.denied = append(e.denied, action)
	}
	return yes{}.Do(r)
}

// The enforcer allows what the policy of a role allows, and needs the same rights as the recorder
// finds in the requests before they are sent.
func TestEnforcer(t *testing.T) {
	t.Parallel()
	r := &Recorder{}
	for what, recorded := range calls(t, recording(r)) {
		r.uses = nil
		if err := recorded.call(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var all []Statement
		for _, u := range r.Uses() {
			s := Statement{Effect: Allow, Actions: []string{u.Action}, Resources: []string{u.Resource}}
			if len(u.Keys) > 0 {
				s.Conditions = []Condition{{"ForAllValues:StringEquals", LeadingKeys, u.Keys}}
			}
			all = append(all, s)
		}
		for i := -1; i < len(all); i++ {
			client := &enforced{enforcer: Enforcer{ARN: arn, Statements: func() ([]Statement, error) {
				if i < 0 {
					return all, nil
				}
				return slices.Delete(slices.Clone(all), i, i+1), nil
			}}}
			c := recording(&Recorder{})
			c.HTTPClient = client
			if err := calls(t, c)[what].call(t.Context()); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			want := "[]"
			if i >= 0 {
				want = fmt.Sprint(all[i].Actions)
			}
			if len(client.errs) > 0 || fmt.Sprint(client.denied) != want {
				t.Errorf("%s, without right %d of %v: denied %v, %v; want %s", what, i, all, client.denied, client.errs, want)
			}
		}
	}
}

// What the enforcer cannot decide is an error: a check on a guess would pass.
func TestEnforcerRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operation, body string
		err             error
	}{
		{"DynamoDB.CreateTable", `{"TableName":"t"}`, nil},
		{"DynamoDB.PutItem", `{"TableName":"t","Item":{"other":{"S":"x"}}}`, nil},
		{"DynamoDB.PutItem", `{`, nil},
		{"DynamoDB.TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"t"}}]}`, nil},
		{"DynamoDB.Query", `{"TableName":"t","KeyConditionExpression":"a = :a"}`, nil},
		{"DynamoDB.Scan", `{"TableName":"t"}`, errors.New("no answer")},
	} {
		service, operation, _ := strings.Cut(c.operation, ".")
		e := Enforcer{ARN: arn, Statements: func() ([]Statement, error) { return nil, c.err }}
		if action, err := e.Denied(service, operation, []byte(c.body)); err == nil {
			t.Errorf("%s %s: %q, want an error", c.operation, c.body, action)
		}
	}
	e := Enforcer{ARN: arn, Statements: func() ([]Statement, error) { return nil, nil }}
	for operation, want := range map[string]string{
		"SQS.GetQueueAttributes": "sqs:GetQueueAttributes", "SQS.ChangeMessageVisibility": "sqs:ChangeMessageVisibility", "SQS.StartMessageMoveTask": "sqs:StartMessageMoveTask",
	} {
		service, operation, _ := strings.Cut(operation, ".")
		if action, err := e.Denied(service, operation, []byte(`{"QueueUrl":"http://q/w","SourceArn":"arn:aws:sqs:us-east-1:1:w-dead"}`)); action != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", operation, action, err, want)
		}
	}
}
