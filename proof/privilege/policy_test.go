package privilege

import (
	"encoding/json"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) ([]Statement, error) {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return Parse(document)
}

// keys returns a context with these partition keys.
func keys(names ...string) map[string][]string {
	return map[string][]string{"dynamodb:LeadingKeys": names}
}

// Allowed follows the rules of the package comment.
func TestAllowed(t *testing.T) {
	t.Parallel()
	const items = `{"Version":"2012-10-17","Statement":[{"Sid":"Items","Effect":"Allow","Action":["dynamodb:Query","dynamodb:PutItem"],` +
		`"Resource":"` + table + `","Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["a/w/*","a/m"]}}}]}`
	const without = `{"Statement":[{"Effect":"Allow","Action":"dynamodb:Query","Resource":"` + table + `"},` +
		`{"Effect":"Deny","Action":"dynamodb:Query","Resource":"` + table + `","Condition":{"StringEquals":{"dynamodb:LeadingKeys":"a"}}}]}`
	const logs = `{"Statement":{"Effect":"Allow","Action":"logs:PutLogEvents","Resource":"arn:aws:logs:us-east-1:1:log-group:/aws/lambda/f:*"}}`
	for what, c := range map[string]struct {
		policy string
		r      Request
		want   bool
	}{
		"what is allowed":                    {items, Request{"dynamodb:Query", table, keys("a/w/x")}, true},
		"a slash is nothing special":         {items, Request{"dynamodb:Query", table, keys("a/w/x/y")}, true},
		"another of the values":              {items, Request{"dynamodb:PutItem", table, keys("a/m")}, true},
		"several keys, all allowed":          {items, Request{"dynamodb:PutItem", table, keys("a/m", "a/w/")}, true},
		"several keys, one of them not":      {items, Request{"dynamodb:PutItem", table, keys("a/w/x", "b/w/x")}, false},
		"the case of an action":              {items, Request{"DynamoDB:query", table, keys("a/m")}, true},
		"the case of a resource":             {items, Request{"dynamodb:Query", strings.ToUpper(table), keys("a/m")}, false},
		"the case of a value":                {items, Request{"dynamodb:Query", table, keys("A/m")}, false},
		"no wildcard at the end of a value":  {items, Request{"dynamodb:Query", table, keys("a/m/x")}, false},
		"an action that is not named":        {items, Request{"dynamodb:DeleteItem", table, keys("a/w/x")}, false},
		"an action that begins like another": {items, Request{"dynamodb:QueryAll", table, keys("a/w/x")}, false},
		"a resource that is not named":       {items, Request{"dynamodb:Query", table + "/index/list", keys("a/w/x")}, false},
		"ForAllValues holds if there are no": {items, Request{"dynamodb:Query", table, keys()}, true},
		"a denial wins":                      {without, Request{"dynamodb:Query", table, keys("a")}, false},
		"a denial whose condition does not":  {without, Request{"dynamodb:Query", table, keys("b")}, true},
		"StringEquals fails if there is no":  {without, Request{"dynamodb:Query", table, keys()}, true},
		"a star at the end of a resource":    {logs, Request{"logs:PutLogEvents", "arn:aws:logs:us-east-1:1:log-group:/aws/lambda/f:log-stream:s", nil}, true},
		"another beginning":                  {logs, Request{"logs:PutLogEvents", "arn:aws:logs:us-east-1:1:log-group:/aws/lambda/g:log-stream:s", nil}, false},
	} {
		statements, err := parse(t, c.policy)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Allowed(statements, c.r); got != c.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", what, got, err, c.want)
		}
	}
	if got, err := Allowed(nil, Request{"dynamodb:Query", table, nil}); got || err != nil {
		t.Errorf("no policy at all: %v, %v", got, err)
	}
}

func TestArnLike(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:lambda:us-east-1:1:function:f"
	for _, c := range []struct {
		pattern, arn string
		want         bool
	}{
		{arn, arn, true},
		{arn + ":*", arn + ":7", true},
		{arn + ":*", arn, false},
		{arn, arn + ":7", false},
		{"arn:aws:lambda:*:1:function:f", arn, true},
		{"arn:aws:*:function:f", arn, false},
		{arn, "f", false},
	} {
		if got := arnLike(c.pattern, c.arn); got != c.want {
			t.Errorf("%q like %q: %v", c.arn, c.pattern, got)
		}
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a/*", "a/", true},
		{"a/*", "a", false},
		{"*", "", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"a.c", "abc", false},
		{"*b*", "abc", true},
		{"*b", "abc", false},
		{"a*", "a\nb", true},
		{"(", "(", true},
		{"?", "é", true},
	} {
		if got := like(c.pattern, c.text); got != c.want {
			t.Errorf("%q like %q: %v", c.text, c.pattern, got)
		}
	}
}

// What this package does not know is refused, when the policy is read or when the decision depends
// on it.
func TestUnknownPolicies(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[]`, `{"Id":"x","Statement":[]}`, `{"Statement":["x"]}`, `{}`,
		`{"Statement":{"Effect":"Allow","NotAction":"a:b","Resource":"*"}}`,
		`{"Statement":{"Effect":"Allow","Action":"a:b","NotResource":"*"}}`,
		`{"Statement":{"Effect":"Allow","Principal":"*","Action":"a:b","Resource":"*"}}`,
		`{"Statement":{"Effect":"allow","Action":"a:b","Resource":"*"}}`,
		`{"Statement":{"Effect":"Allow","Action":[],"Resource":"*"}}`,
		`{"Statement":{"Effect":"Allow","Action":"a:b"}}`,
		`{"Statement":{"Effect":"Allow","Action":["a:b",7],"Resource":"*"}}`,
		`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"arn:${aws:userid}"}}`,
		`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"*","Condition":"x"}}`,
		`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"*","Condition":{"StringLike":[]}}}`,
		`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"*","Condition":{"StringLike":{"k":{}}}}}`,
	} {
		if s, err := parse(t, text); err == nil {
			t.Errorf("%s was read as %+v", text, s)
		}
	}
	for _, s := range []Statement{
		{Actions: []string{"a:*b"}, Resources: []string{"r"}},
		{Actions: []string{"a:?"}, Resources: []string{"r"}},
		{Actions: []string{"a:b"}, Resources: []string{"arn:*:r"}},
		{Actions: []string{"a:b"}, Resources: []string{"r"}, Conditions: []Condition{{"StringNotLike", "k", []string{"v"}}}},
		{Actions: []string{"a:b"}, Resources: []string{"r"}, Conditions: []Condition{{"ForAnyValue:StringLike", "k", []string{"v"}}}},
		{Actions: []string{"a:b"}, Resources: []string{"r"}, Conditions: []Condition{{"StringLike", "other", []string{"v"}}}},
		{Actions: []string{"a:b"}, Resources: []string{"r"}, Conditions: []Condition{{"StringLike", "two", []string{"v"}}}},
	} {
		s.Effect = Allow
		r := Request{"a:b", "r", map[string][]string{"k": {"v"}, "two": {"v", "v"}}}
		if got, err := Allowed([]Statement{s}, r); err == nil {
			t.Errorf("%+v decided %v", s, got)
		}
	}
}

func TestParseTrust(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"lambda.amazonaws.com"}}]}`:        "lambda.amazonaws.com",
		`{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":["a","b"]}}}`:                       "a b",
		`{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":"*"}}}`:                                 "",
		`{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":"*"}}`:                                         "",
		`{"Statement":{"Effect":"Deny","Action":"sts:AssumeRole","Principal":{"Service":"a"}}}`:                              "",
		`{"Statement":{"Effect":"Allow","Action":"sts:*","Principal":{"Service":"a"}}}`:                                      "",
		`{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"a"},"Condition":{"x":{"y":"z"}}}}`: "",
		`{}`: "", `[]`: "",
	} {
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		got, err := ParseTrust(document)
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}
