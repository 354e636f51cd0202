package privilege

import (
	"slices"
	"testing"
)

// A deployment of two functions.
const (
	table  = "arn:aws:dynamodb:us-east-1:1:table/t"
	orders = "arn:aws:sqs:us-east-1:1:orders"
	bills  = "arn:aws:sqs:us-east-1:1:bills"
)

func leading(values ...string) []Condition {
	return []Condition{{Operator: "ForAllValues:StringLike", Key: LeadingKeys, Values: values}}
}

func reader() Role {
	return Role{
		Name: "reader", Trusted: []string{Lambda}, Receives: []string{orders}, LogGroup: "arn:aws:logs:us-east-1:1:log-group:r", Region: "us-east-1",
		Statements: []Statement{
			{Sid: "Read", Effect: Allow, Actions: []string{"dynamodb:Query"}, Resources: []string{table}, Conditions: leading("a/w/*", "a/m")},
			{Sid: "Send", Effect: Allow, Actions: []string{"sqs:SendMessage"}, Resources: []string{orders, bills}},
			{
				Sid: "Poller", Effect: Allow, Resources: []string{orders},
				Actions: []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
			},
			{
				Sid: "Logs", Effect: Allow, Actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"},
				Resources: []string{"arn:aws:logs:us-east-1:1:log-group:r:*"},
			},
		},
	}
}

func uses() map[string][]Use {
	return map[string][]Use{
		"reader": {
			{Operation: "DynamoDB.Query", Action: "dynamodb:Query", Resource: table, Keys: []string{"a/w/1"}},
			{Operation: "DynamoDB.Query", Action: "dynamodb:Query", Resource: table, Keys: []string{"a/m"}},
			{Operation: "SQS.SendMessageBatch", Action: "sqs:SendMessage", Resource: orders},
			{Operation: "SQS.SendMessageBatch", Action: "sqs:SendMessage", Resource: bills},
		},
		"writer": {
			{Operation: "DynamoDB.Query", Action: "dynamodb:Query", Resource: table, Keys: []string{"a/w/2"}},
			{Operation: "DynamoDB.PutItem", Action: "dynamodb:PutItem", Resource: table, Keys: []string{"a/w/2"}},
			{Operation: "SQS.GetQueueAttributes", Action: "sqs:GetQueueAttributes", Resource: orders}, // as the reader's poller
		},
	}
}

// found returns the number of findings of each kind: missing, unused, foreign, wild, and by AWS.
func found(t *testing.T, r Role) [5]int {
	t.Helper()
	missing, err := Missing(r, uses()[r.Name])
	if err != nil {
		t.Fatal(err)
	}
	unused, err := Unused(r, uses()[r.Name])
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := Foreign(r, uses())
	if err != nil {
		t.Fatal(err)
	}
	return [5]int{len(missing), len(unused), len(foreign), len(Wild(r)), len(Differs(r))}
}

// A correct role has no findings, and each mistake has a finding of its own.
func TestFindings(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(r *Role)
		want   [5]int
	}{
		"as it should be":                {func(*Role) {}, [5]int{}},
		"a statement less":               {func(r *Role) { r.Statements = r.Statements[1:] }, [5]int{2, 0, 0, 0, 0}},
		"a resource less":                {func(r *Role) { r.Statements[1].Resources = []string{orders} }, [5]int{1, 0, 0, 0, 0}},
		"a resource more":                {func(r *Role) { r.Statements[1].Resources = []string{orders, bills, bills + "2"} }, [5]int{0, 1, 0, 0, 0}},
		"a resource twice":               {func(r *Role) { r.Statements[1].Resources = []string{orders, bills, bills} }, [5]int{0, 2, 0, 0, 0}},
		"another kind of items":          {func(r *Role) { r.Statements[0].Conditions = leading("a/w/*", "a/t/*") }, [5]int{1, 1, 0, 0, 0}},
		"a kind of items more":           {func(r *Role) { r.Statements[0].Conditions = leading("a/w/*", "a/t/*", "a/m") }, [5]int{0, 1, 0, 0, 0}},
		"an action that another has":     {func(r *Role) { r.Statements[0].Actions = []string{"dynamodb:Query", "dynamodb:PutItem"} }, [5]int{0, 2, 1, 0, 0}},
		"an action that nobody has":      {func(r *Role) { r.Statements[1].Actions = []string{"sqs:SendMessage", "sqs:PurgeQueue"} }, [5]int{0, 2, 0, 0, 0}},
		"all actions":                    {func(r *Role) { r.Statements[1].Actions = []string{"sqs:*"} }, [5]int{0, 0, 1, 1, 0}},
		"all queues":                     {func(r *Role) { r.Statements[1].Resources = []string{"*"} }, [5]int{0, 0, 0, 1, 0}},
		"a denial":                       {func(r *Role) { r.Statements[1].Effect = Deny }, [5]int{2, 2, 0, 0, 0}},
		"a policy that stands elsewhere": {func(r *Role) { r.Managed = []string{"AWSLambdaBasicExecutionRole"} }, [5]int{0, 0, 0, 1, 0}},
		"others act with it":             {func(r *Role) { r.Trusted = append(r.Trusted, "ec2.amazonaws.com") }, [5]int{0, 0, 0, 1, 0}},
		"a queue that is not polled":     {func(r *Role) { r.Receives = nil }, [5]int{0, 0, 0, 0, 1}},
		"another queue is polled":        {func(r *Role) { r.Receives = []string{bills} }, [5]int{0, 0, 0, 0, 1}},
		"the poller may more":            {func(r *Role) { r.Statements[2].Actions = append(r.Statements[2].Actions, "sqs:SendMessage") }, [5]int{0, 0, 0, 0, 1}},
		"the poller may less":            {func(r *Role) { r.Statements[2].Actions = r.Statements[2].Actions[1:] }, [5]int{0, 0, 0, 0, 1}},
		"another log group":              {func(r *Role) { r.LogGroup += "2" }, [5]int{0, 0, 0, 1, 1}},
		"all log groups":                 {func(r *Role) { r.Statements[3].Resources = []string{"*"} }, [5]int{0, 0, 0, 1, 1}},
		"traces without the right":       {func(r *Role) { r.Traced = true }, [5]int{0, 0, 0, 0, 1}},
		"a VPC without the rights":       {func(r *Role) { r.InVPC = true }, [5]int{0, 0, 0, 0, 2}},
		"a key without the right":        {func(r *Role) { r.Key = "arn:aws:kms:us-east-1:1:key/k" }, [5]int{0, 0, 0, 0, 1}},
	} {
		r := reader()
		c.change(&r)
		if got := found(t, r); got != c.want {
			t.Errorf("%s: %v missing, unused, foreign, wild, by AWS; want %v", what, got, c.want)
		}
	}
}

// In a VPC, Lambda may make network interfaces as the role, and the function may not.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	r := reader()
	r.InVPC, r.Function = true, "arn:aws:lambda:us-east-1:1:function:reader"
	for _, sid := range []string{"Network", "NoNetwork"} {
		s, ok := ByAWS[sid].statement(sid, r)
		if !ok {
			t.Fatalf("%s is not granted", sid)
		}
		r.Statements = append(r.Statements, s)
	}
	if got := found(t, r); got != [5]int{} {
		t.Errorf("%v", got)
	}
	for _, action := range interfaces {
		for function, want := range map[string]bool{"": true, r.Function: false, r.Function + ":7": false} {
			var from []string
			if function != "" {
				from = []string{function}
			}
			request := Request{Action: action, Resource: "arn:aws:ec2:us-east-1:1:network-interface/*", Context: map[string][]string{SourceFunction: from}}
			if got, err := Allowed(r.Statements, request); got != want || err != nil {
				t.Errorf("%s by %q: %v, %v; want %v", action, function, got, err, want)
			}
		}
	}
	r.Statements[len(r.Statements)-1].Effect = Allow
	if got := found(t, r); got != [5]int{0, 0, 0, 0, 1} {
		t.Errorf("a statement that allows what it has to deny: %v", got)
	}
}

// The grants for traces and for a key equal those of ByAWS for a role with both.
func TestByAWS(t *testing.T) {
	t.Parallel()
	r := reader()
	r.Traced, r.Key = true, "arn:aws:kms:us-east-1:1:key/k"
	for _, sid := range []string{"Tracing", "Kms"} {
		s, ok := ByAWS[sid].statement(sid, r)
		if !ok {
			t.Fatalf("%s is not granted", sid)
		}
		slices.Reverse(s.Actions)
		r.Statements = append(r.Statements, s)
	}
	if got := found(t, r); got != [5]int{} {
		t.Errorf("%v", got)
	}
	r.Statements[len(r.Statements)-1].Conditions = nil
	if got := found(t, r); got != [5]int{0, 0, 0, 0, 1} {
		t.Errorf("a key that may be used by anybody: %v", got)
	}
}

// A role that may invoke the versions of its function may also invoke its alias, which others use.
// That is no more than it has to be. The alias of another function is.
func TestForeignAlias(t *testing.T) {
	t.Parallel()
	const own, other = "arn:aws:lambda:us-east-1:1:function:own", "arn:aws:lambda:us-east-1:1:function:other"
	r := Role{Name: "own", Function: own, Statements: []Statement{{Sid: "HandOn", Effect: Allow, Actions: []string{"lambda:InvokeFunction"}, Resources: []string{own + ":*", other + ":*"}}}}
	invoke := func(resource string) Use {
		return Use{Operation: "Lambda.Invoke", Action: "lambda:InvokeFunction", Resource: resource}
	}
	foreign, err := Foreign(r, map[string][]Use{"own": {invoke(own + ":7")}, "prober": {invoke(own + ":live"), invoke(other + ":live")}})
	if err != nil || len(foreign) != 1 || foreign[0].Resource != other+":live" {
		t.Errorf("%v, %v", foreign, err)
	}
}
