package infra_test

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// refusal is a deployment that is refused before anything is made: by the module at addresses,
// and by a rule of the template. If a rule cannot express it, because rules cannot calculate, only
// AWS refuses it.
type refusal struct {
	inputs
	by   string
	rule string
}

var refusals = map[string]refusal{
	"url_token":      {inputs{"api": "url", "api_authorization": "JWT", "jwt_issuer": "https://a.example", "jwt_audience": []string{"a"}}, "aws_lambda_function_url.this", "Jwt"},
	"url_open":       {inputs{"api": "url", "api_authorization": "NONE"}, "aws_lambda_function_url.this", "Url"},
	"http_stream":    {inputs{"stream": true}, "aws_lambda_function.function", "Stream"},
	"rest_token":     {inputs{"api": "rest", "api_authorization": "JWT", "jwt_issuer": "https://a.example", "jwt_audience": []string{"a"}}, "aws_api_gateway_rest_api.this", "Jwt"},
	"rest_pages":     {inputs{"api": "rest", "cors_origins": []string{"https://a.example"}}, "aws_api_gateway_rest_api.this", "Rest"},
	"no_issuer":      {inputs{"api_authorization": "JWT", "jwt_audience": []string{"a"}}, "aws_apigatewayv2_authorizer.this", "Jwt"},
	"no_audience":    {inputs{"api_authorization": "JWT", "jwt_issuer": "https://a.example"}, "aws_apigatewayv2_authorizer.this", "Jwt"},
	"no_build":       {inputs{"pinning": true}, "aws_lambda_function.function", "Pinning"},
	"no_versions":    {inputs{"rollout": "canary"}, "aws_lambda_function.function", "Rollout"},
	"url_rollout":    {inputs{"rollout": "all-at-once", "api": "url", "pinning": true, "build": "b"}, "aws_lambda_function.function", "Rollout"},
	"no_alarms":      {inputs{"rollout": "canary", "alarms": false, "pinning": true, "build": "b"}, "aws_lambda_function.function", "Rollout"},
	"no_metrics":     {inputs{"rollout": "linear", "metrics": "off", "pinning": true, "build": "b"}, "aws_lambda_function.function", "Rollout"},
	"seen_too_soon":  {inputs{"activity_timeout": 400}, "aws_sqs_queue.queue check.visibility", ""},
	"few_workflows":  {inputs{"workflow_maximum_concurrency": 5, "timer_maximum_concurrency": 5, "workflow_reserved_concurrency": 9}, "aws_lambda_function.function", ""},
	"few_activities": {inputs{"activity_maximum_concurrency": 5, "activity_reserved_concurrency": 4}, "aws_lambda_function.function", ""},
	"few_by_preset":  {inputs{"activity_reserved_concurrency": 499}, "aws_lambda_function.function", ""},
	"few_versions":   {inputs{"activity_maximum_concurrency": 5, "activity_reserved_concurrency": 9, "pinning": true, "build": "b"}, "aws_lambda_function.function", ""},
	"half_network":   {inputs{"subnet_ids": []string{"subnet-0a1"}}, "aws_lambda_function.function", "Network"},
	"no_subnet":      {inputs{"security_group_ids": []string{"sg-0a1"}}, "aws_lambda_function.function", "Network"},
	"burst":          {inputs{"activity_burst": 5}, "aws_lambda_function.function", ""},
	"one_workflow":   {inputs{"workflow_maximum_concurrency": 1}, "var.workflow_maximum_concurrency", "Concurrency"},
	"one_timer":      {inputs{"timer_maximum_concurrency": 1}, "var.timer_maximum_concurrency", "Concurrency"},
	"one_activity":   {inputs{"activity_maximum_concurrency": 1}, "var.activity_maximum_concurrency", "Concurrency"},
}

// bad has values that neither a variable nor its parameter may have: one that is too small or
// malformed, and one that is too large. Those of a declared setting that is not named here follow
// from its declaration.
var bad = withDeclared(map[string][]any{
	"name": {"1st", "a-name-that-is-longer-than-28"}, "package": {"none.zip"}, "packages": {map[string]string{"apis": packageFile}},
	"task_queues": {
		map[string]any{"Reports": map[string]any{}},
		map[string]any{"reports-dead": map[string]any{}},
		map[string]any{"reports": map[string]any{"maximum_concurrency": 1}},
		map[string]any{"reports": map[string]any{"timeout": 901}},
		map[string]any{"reports": map[string]any{"rate": 1001}},
		map[string]any{"reports": map[string]any{"burst": 2}},
		map[string]any{"reports": map[string]any{"environment": map[string]string{"WEFT_TABLE": "x"}}},
	},
	"environment": {map[string]string{"WEFT_TABLE": "x"}}, "architecture": {"arm"}, "rollout": {"blue-green"}, "namespace": {"a/b"},
	"long_timer": {"0s", "16m"}, "wait_hold": {"-1s", "21s"}, "retention_days": {0, 3651}, "check_commits": {0, 1000001}, "updates_in_flight": {"0"}, "update_bytes_in_flight": {"1kB"}, "updates_in_total": {""},
	"memory": {127, 10241}, "activity_memory": {127, 10241}, "workflow_timeout": {9, 901}, "activity_timeout": {9, 901},
	"workflow_visibility": {9, 43201}, "activity_visibility": {9, 43201}, "max_receives": {1, 1001}, "max_message_size": {262143, 1048577},
	"workflow_batch_size": {0, 11}, "timer_batch_size": {0, 11}, "activity_batch_size": {0, 11},
	"concurrency": {"most"}, "workflow_maximum_concurrency": {-2, 1001}, "timer_maximum_concurrency": {-2, 1001}, "activity_maximum_concurrency": {-2, 1001},
	"api_reserved_concurrency": {-2}, "workflow_reserved_concurrency": {-2}, "activity_reserved_concurrency": {-2}, "activity_rate": {-1, 1001}, "activity_burst": {-1, 100001},
	"api": {"soap"}, "api_authorization": {"BASIC"}, "throttling_rate": {0}, "throttling_burst": {0},
	"subnet_ids": {[]string{"vpc-1"}, []string{"subnet-0a1", "subnet 2"}}, "security_group_ids": {[]string{"sg"}, []string{"sg-1", "SG-2"}},
	"permissions_boundary": {"boundary"}, "role_path": {"apps", "/apps"},
	"jwt_caller_claim": {"", "a.b"}, "kms": {"alias/key"}, "payload_keys": {[]string{"alias/key"}, []string{"create", "create"}}, "compress": {"gzip"}, "bucket": {"a/b", "s3://a"}, "log_retention_days": {2}, "log_level": {"loud"}, "system_log_level": {"ERROR"}, "metrics": {"some"}, "age_alarm_seconds": {900}, "slow_request_milliseconds": {0, 29001}, "slow_requests_alarm": {0, 1000001},
})

// withDeclared adds bad values for each setting that all functions get and that has none in all.
func withDeclared(all map[string][]any) map[string][]any {
	for _, s := range handedOn() {
		name := snake(s.Parameter)
		most, err := strconv.Atoi(s.Most)
		switch {
		case all[name] != nil || isSwitch(s):
		case s.Type.Kind() == reflect.Int && err == nil:
			all[name] = []any{0, most + 1}
		case len(s.Values) > 0:
			all[name] = []any{s.Values[0] + "x"}
		case pattern(s) != "":
			all[name] = []any{"?"}
		}
	}
	return all
}

// badRuns returns the same values in as few deployments as possible: every value of such a
// deployment has to be refused.
func badRuns() []inputs {
	var all []inputs
	for name, values := range bad {
		for i, value := range values {
			if i == len(all) {
				all = append(all, inputs{})
			}
			all[i][name] = value
		}
	}
	return all
}

// The template's parameters refuse what the module's variables refuse, if there is such a
// parameter.
func TestBadInputs(t *testing.T) {
	t.Parallel()
	c := load(t, path.Join("sam", "template.yaml"), "weft", nil)
	for name, v := range moduleVariables(t) {
		if v.validated != (bad[name] != nil) {
			t.Errorf("%s: the module validates it is %v; there are bad values of it: %v", name, v.validated, bad[name] != nil)
		}
		if slices.Contains(onlyTerraform, name) {
			continue
		}
		for _, value := range bad[name] {
			if text := parameter(value); c.takes(pascal(name), text) {
				t.Errorf("%s takes %q, and %s does not", pascal(name), text, name)
			}
		}
		if !c.takes(pascal(name), v.fallback) {
			t.Errorf("%s does not take its default, %q", pascal(name), v.fallback)
		}
	}
}

// The template's rules refuse what the module refuses, and nothing that is a variant.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, r := range refusals {
		if got := load(t, path.Join("sam", "template.yaml"), "weft", r.parameters()).refused(); r.rule != "" && !slices.Contains(got, r.rule) {
			t.Errorf("%s is refused by the rules %q of the template, want %s", name, got, r.rule)
		}
	}
	for name, in := range variants {
		if got := load(t, path.Join("sam", "template.yaml"), "weft", in.parameters()).refused(); len(got) > 0 {
			t.Errorf("%s is refused by the rules %q of the template", name, got)
		}
	}
}

// refused returns the rules that refuse the parameters.
func (c *template) refused() (all []string) {
	c.t.Helper()
	for name, rule := range c.rules {
		rule := rule.(map[string]any)
		if (rule["RuleCondition"] == nil || c.holds(rule["RuleCondition"])) && slices.ContainsFunc(rule["Assertions"].([]any), func(one any) bool { return !c.holds(one.(map[string]any)["Assert"]) }) {
			all = append(all, name)
		}
	}
	return all
}

// takes reports whether a parameter may have a value.
func (c *template) takes(name, value string) bool {
	c.t.Helper()
	p := c.declared[name]
	if pattern, ok := p["AllowedPattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(value) {
		return false
	}
	if values, ok := p["AllowedValues"].([]any); ok && !slices.Contains(values, any(value)) {
		return false
	}
	for bound, sign := range map[string]float64{"MinValue": 1, "MaxValue": -1} {
		limit, ok := p[bound].(string)
		if n, err := strconv.ParseFloat(value, 64); ok && (err != nil || sign*n < sign*number(c.t, limit)) {
			return false
		}
	}
	return true
}

func number(t testing.TB, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
