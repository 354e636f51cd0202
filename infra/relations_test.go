package infra_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// In each variant of the template, resources agree with each other and with the code. TestSame
// extends that to the module.
func TestRelations(t *testing.T) {
	t.Parallel()
	for variant, in := range variants {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			d := declaredByTemplate(t, in.parameters(), in.taskQueues()...)
			for _, name := range d.of("AWS::SQS::Queue") {
				d.checkQueue(t, d[name].(map[string]any))
			}
			for _, name := range d.of("AWS::Lambda::EventSourceMapping") {
				d.checkMapping(t, d[name].(map[string]any))
			}
			d.checkTable(t)
			d.checkFunctions(t)
			d.checkAPI(t)
			d.checkAlarms(t)
		})
	}
}

// of returns the resources of a type, sorted.
func (d declared) of(kind string) (all []string) {
	for name := range d {
		if name == kind || strings.HasPrefix(name, kind+" ") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// at returns a property of something, by its path.
func at(t testing.TB, v any, path ...string) any {
	t.Helper()
	for i, name := range path {
		object, _ := v.(map[string]any)
		if v = object[name]; v == nil {
			t.Fatalf("there is no %s", strings.Join(path[:i+1], "."))
		}
	}
	return v
}

func seconds(t testing.TB, v any, path ...string) time.Duration {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(at(t, v, path...)))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * time.Second
}

func want(t testing.TB, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// named returns the resource of a type that an ARN names.
func (d declared) named(t testing.TB, kind string, arn any) map[string]any {
	t.Helper()
	name := strings.TrimSuffix(fmt.Sprint(arn), ":live") // the alias of a function
	found, ok := d[kind+" "+name[strings.LastIndex(name, ":")+1:]].(map[string]any)
	if !ok {
		t.Fatalf("no %s is %s", kind, name)
	}
	return found
}

// consumer returns the name of the function that consumes a queue.
func (d declared) consumer(t testing.TB, q map[string]any) string {
	t.Helper()
	for _, mapping := range d.of("AWS::Lambda::EventSourceMapping") {
		if strings.HasSuffix(mapping, ":"+q["QueueName"].(string)) {
			return at(t, d.named(t, "AWS::Lambda::Function", at(t, d[mapping], "FunctionName")), "FunctionName").(string)
		}
	}
	t.Fatalf("nobody consumes %s", q["QueueName"])
	return ""
}

const deadFunction = "weft-dead"

func (d declared) checkQueue(t *testing.T, q map[string]any) {
	t.Helper()
	name := q["QueueName"].(string)
	const longest = 14 * 24 * time.Hour
	want(t, name+"'s retention", seconds(t, q, "MessageRetentionPeriod"), longest)
	if strings.HasSuffix(name, ".fifo") {
		want(t, name+"'s deduplication scope", q["DeduplicationScope"], "messageGroup")
		want(t, name+"'s throughput limit", q["FifoThroughputLimit"], "perMessageGroupId")
	}
	if name == "weft-unreadable" {
		if q["RedrivePolicy"] != nil {
			t.Errorf("messages of %s would leave it", name)
		}
		for _, mapping := range d.of("AWS::Lambda::EventSourceMapping") {
			if strings.HasSuffix(mapping, ":"+name) {
				t.Errorf("a function handles %s", name)
			}
		}
		return
	}
	if d.consumer(t, q) == deadFunction {
		if q["RedrivePolicy"] != nil {
			t.Errorf("dead letters of %s would return to it", name)
		}
		return
	}
	dead := d.named(t, "AWS::SQS::Queue", at(t, q, "RedrivePolicy", "deadLetterTargetArn"))
	want(t, "the function of "+name+"'s dead letters", d.consumer(t, dead), deadFunction)
	if n := seconds(t, q, "RedrivePolicy", "maxReceiveCount"); n < 2*time.Second {
		t.Errorf("one process that dies is enough to make a dead letter of %s", name)
	}
	sources := at(t, dead, "RedriveAllowPolicy", "sourceQueueArns").([]any)
	if len(sources) != 1 || !strings.HasSuffix(sources[0].(string), ":"+name) {
		t.Errorf("dead letters of %s may also come from %v", name, sources)
	}
}

func (d declared) checkMapping(t *testing.T, m map[string]any) {
	t.Helper()
	q, f := d.named(t, "AWS::SQS::Queue", m["EventSourceArn"]), d.named(t, "AWS::Lambda::Function", m["FunctionName"])
	// AWS demands this: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
	if visibility, least := seconds(t, q, "VisibilityTimeout"), 6*seconds(t, f, "Timeout"); visibility < least {
		t.Errorf("%s has a visibility of %v, which is less than six times the time-out of %s", q["QueueName"], visibility, f["FunctionName"])
	}
	want(t, "the response types of "+fmt.Sprint(f["FunctionName"]), m["FunctionResponseTypes"], []any{"ReportBatchItemFailures"})
	want(t, fmt.Sprint(f["FunctionName"])+"'s recursive loop", f["RecursiveLoop"], "Allow") // every consumer also sends
}

// checkTable compares the table with the store's.
func (d declared) checkTable(t *testing.T) {
	t.Helper()
	table, schema := d["AWS::DynamoDB::Table"], dynamo.Schema("any")
	index := schema.GlobalSecondaryIndexes[0]
	type shape struct{ Attributes, Keys, IndexName, IndexKeys, Projection, Kept any }
	pairs := func(first, second string, v any) (all []string) {
		for _, one := range v.([]any) {
			all = append(all, fmt.Sprint(at(t, one, first), " ", at(t, one, second)))
		}
		return all
	}
	indexes := at(t, table, "GlobalSecondaryIndexes").([]any)
	got := shape{
		pairs("AttributeName", "AttributeType", at(t, table, "AttributeDefinitions")), pairs("AttributeName", "KeyType", at(t, table, "KeySchema")),
		at(t, indexes[0], "IndexName"), pairs("AttributeName", "KeyType", at(t, indexes[0], "KeySchema")),
		at(t, indexes[0], "Projection", "ProjectionType"), fmt.Sprint(at(t, indexes[0], "Projection", "NonKeyAttributes")),
	}
	var attributes, keys, indexKeys []string
	for _, a := range schema.AttributeDefinitions {
		attributes = append(attributes, *a.AttributeName+" "+string(a.AttributeType))
	}
	for _, k := range schema.KeySchema {
		keys = append(keys, *k.AttributeName+" "+string(k.KeyType))
	}
	for _, k := range index.KeySchema {
		indexKeys = append(indexKeys, *k.AttributeName+" "+string(k.KeyType))
	}
	expected := shape{attributes, keys, *index.IndexName, indexKeys, string(index.Projection.ProjectionType), fmt.Sprint(index.Projection.NonKeyAttributes)}
	if diff := gocmp.Diff(expected, got); diff != "" || len(indexes) != len(schema.GlobalSecondaryIndexes) {
		t.Errorf("the table is not the store's (- store, + infra):\n%s", diff)
	}
	want(t, "how the table is billed", at(t, table, "BillingMode"), schema.BillingMode)
	want(t, "the TTL attribute", at(t, table, "TimeToLiveSpecification", "AttributeName"), dynamo.TTLAttribute)
	want(t, "TTL", at(t, table, "TimeToLiveSpecification", "Enabled"), true)
	want(t, "point-in-time recovery", at(t, table, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), true)
}

// checkFunctions compares the environment and the timeouts with what the functions do.
func (d declared) checkFunctions(t *testing.T) {
	t.Helper()
	softLimit := executor.Defaults().SoftLimit
	for _, name := range d.of("AWS::Lambda::Function") {
		f := d[name]
		variables := at(t, f, "Environment", "Variables")
		role, _ := strings.CutPrefix(name, "AWS::Lambda::Function weft-")
		if strings.HasPrefix(role, "tasks-") {
			role = "activity"
		}
		want(t, name+"'s role", at(t, variables, "WEFT_ROLE"), role)
		for _, q := range []string{queue.Workflow, queue.Timers, queue.Activities} {
			url := at(t, variables, "WEFT_QUEUE_"+strings.ToUpper(q)).(string)
			want(t, name+"'s queue", strings.TrimSuffix(url[strings.LastIndex(url, "/")+1:], ".fifo"), "weft-"+q)
		}
		activities := d["AWS::SQS::Queue weft-"+queue.Activities]
		if own := strings.TrimPrefix(name, "AWS::Lambda::Function "); strings.HasPrefix(own, "weft-tasks-") {
			activities = d["AWS::SQS::Queue "+own]
		}
		want(t, name+"'s WEFT_VISIBILITY", duration(t, at(t, variables, "WEFT_VISIBILITY")), seconds(t, activities, "VisibilityTimeout"))
		if d := duration(t, at(t, variables, "WEFT_LONG_TIMER")); d > queue.MaxDelay {
			t.Errorf("%s: a queue does not delay by %v", name, d)
		}
		// After the last try of a request, there has to be time to commit and to answer.
		timeout := seconds(t, f, "Timeout")
		if timeout-adapter.Reserve < softLimit {
			t.Errorf("%s has %v, which is too little for requests that are retried for %v", name, timeout, softLimit)
		}
		if role == string(adapter.Activity) {
			want(t, name+"'s WEFT_TIMEOUT", duration(t, at(t, variables, "WEFT_TIMEOUT")), timeout)
		}
	}
	late := at(t, d["AWS::Events::Rule weft-sweep"], "Targets").([]any)[0].(map[string]any)["RetryPolicy"]
	for what, p := range map[string]any{"EventBridge": late, "Lambda": d["AWS::Lambda::EventInvokeConfig"]} {
		want(t, "how often "+what+" repeats a sweep", at(t, p, "MaximumRetryAttempts"), 0)
		want(t, "for how long "+what+" keeps one", seconds(t, p, "MaximumEventAgeInSeconds"), time.Minute)
	}
	want(t, "the sweep", at(t, d["AWS::Events::Rule weft-sweep"], "ScheduleExpression"), "rate(1 minute)")
	if timeout := seconds(t, d["AWS::Lambda::Function weft-timer"], "Timeout"); timeout >= time.Minute {
		t.Errorf("one sweep may take %v, and the next begins before its end", timeout)
	}
}

func duration(t testing.TB, v any) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(fmt.Sprint(v))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkAPI demands that an API waits for the function at least as long as a request is retried,
// and that the function runs at least as long.
func (d declared) checkAPI(t *testing.T) {
	t.Helper()
	timeout := seconds(t, d["AWS::Lambda::Function weft-api"], "Timeout")
	var waits []any
	for _, name := range d.of("AWS::ApiGatewayV2::Integration") {
		waits = append(waits, at(t, d[name], "TimeoutInMillis"))
	}
	for _, name := range d.of("AWS::ApiGateway::Method") {
		waits = append(waits, at(t, d[name], "Integration", "TimeoutInMillis"))
	}
	if len(waits) == 0 && d["AWS::Lambda::Url"] == nil {
		t.Error("there is no API")
	}
	d.checkRoutes(t)
	for _, milliseconds := range waits {
		wait := duration(t, fmt.Sprint(milliseconds, "ms"))
		if softLimit := executor.Defaults().SoftLimit; wait <= softLimit {
			t.Errorf("the API waits for %v, and a request is tried for %v", wait, softLimit)
		}
		if wait > timeout {
			t.Errorf("the API waits for %v, and the function is ended after %v", wait, timeout)
		}
	}
}

// checkRoutes demands that exactly the requests that the API serves reach the function.
func (d declared) checkRoutes(t *testing.T) {
	t.Helper()
	methods := slices.Sorted(slices.Values(httpapi.Methods()))
	for _, kind := range []string{"AWS::ApiGatewayV2::Api", "AWS::Lambda::Url"} {
		for _, name := range d.of(kind) {
			properties := d[name].(map[string]any)
			for _, cors := range []string{"CorsConfiguration", "Cors"} {
				if properties[cors] != nil {
					want(t, "the methods of pages of other origins", at(t, properties, cors, "AllowMethods"), methods)
				}
			}
		}
	}
	for _, route := range httpapi.Routes() {
		if !strings.HasPrefix(route.Path(), "/v1/") {
			t.Errorf("%s is not under /v1", route.Pattern)
		}
	}
	paged := at(t, d["AWS::Lambda::Function weft-api"], "Environment", "Variables", settings.Variable("Page")) == "on"
	routes := d.of("AWS::ApiGatewayV2::Route")
	if len(routes) == 0 { // a function URL has no routes
		d.checkResources(t, paged)
		return
	}
	var all []string
	for _, method := range methods {
		all = append(all, "AWS::ApiGatewayV2::Route "+method+" /v1/{proxy+}")
	}
	if paged {
		all = append(all, "AWS::ApiGatewayV2::Route GET /", "AWS::ApiGatewayV2::Route GET /ui/{file}")
	}
	slices.Sort(all)
	want(t, "the routes of the HTTP API", routes, all)
	for _, name := range routes {
		for _, property := range []string{"AuthorizationType", "AuthorizerId", "AuthorizationScopes", "Target"} {
			want(t, "the "+property+" of "+name, d[name].(map[string]any)[property], d[routes[0]].(map[string]any)[property])
		}
	}
}

// checkResources demands that a REST API takes all methods of what is under /v1, and GET of the
// page and its files, with the same authorization.
func (d declared) checkResources(t *testing.T, paged bool) {
	t.Helper()
	rest := d.of("AWS::ApiGateway::Resource")
	if len(rest) == 0 {
		return
	}
	paths := []string{"AWS::ApiGateway::Resource v1", "AWS::ApiGateway::Resource {proxy+}"}
	methods := map[string]string{"RestItem": "ANY"}
	if paged {
		paths = append(paths, "AWS::ApiGateway::Resource ui", "AWS::ApiGateway::Resource {file}")
		methods["RestPageFile"], methods["RestApi.RootResourceId"] = http.MethodGet, http.MethodGet
	}
	slices.Sort(paths)
	want(t, "the paths of the REST API", rest, paths)
	want(t, "the number of its methods", len(d.of("AWS::ApiGateway::Method")), len(methods))
	for resource, method := range methods {
		declared := d["AWS::ApiGateway::Method weft-"+resource]
		want(t, "the methods of "+resource, at(t, declared, "HttpMethod"), method)
		for _, property := range []string{"AuthorizationType", "Integration"} {
			want(t, "the "+property+" of "+resource, at(t, declared, property), at(t, d["AWS::ApiGateway::Method weft-RestItem"], property))
		}
	}
}

// checkAlarms demands that alarms allow what happens in a healthy deployment.
func (d declared) checkAlarms(t *testing.T) {
	t.Helper()
	for _, name := range d.of("AWS::CloudWatch::Alarm") {
		a := d[name]
		if strings.Contains(name, "-age-") {
			if limit := seconds(t, a, "Threshold"); limit <= queue.MaxDelay {
				t.Errorf("%s: messages may wait for %v in a healthy deployment", name, limit)
			}
		}
		if strings.Contains(name, "-stuck-") {
			// A task that fails is retried within the longest delay of a queue.
			period, periods := seconds(t, a, "Period"), seconds(t, a, "EvaluationPeriods")/time.Second
			if window := period * periods; window <= queue.MaxDelay {
				t.Errorf("%s covers %v, and would end between two tries", name, window)
			}
		}
	}
}
