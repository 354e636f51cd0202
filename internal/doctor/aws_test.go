package doctor

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	gocmp "github.com/google/go-cmp/cmp"
)

type object = map[string]any

// answers are what AWS answers, by operation and, after a space, the name that it is about. An
// answer with a member __type is an error.
type answers map[string]object

// Do implements aws.HTTPClient.
func (a answers) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	key := keyOf(r)
	found, ok := a[key]
	if text, is := found["xml"].(string); is {
		return &http.Response{StatusCode: found["status"].(int), Status: "an answer", Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
	if !ok {
		found = object{"__type": "ResourceNotFoundException", "message": "nobody recorded " + key}
	}
	header, status := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, http.StatusOK
	if kind, failed := found["__type"].(string); failed {
		status = http.StatusBadRequest
		header.Set("X-Amzn-Errortype", kind)
	}
	body, err := json.Marshal(found)
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(string(body))), Request: r}, err
}

// keyOf returns what a request asks, and about what.
func keyOf(r *http.Request) string {
	if _, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		var about struct {
			TableName, QueueName string
			QueueURL             string `json:"QueueUrl"`
			Group                string `json:"deploymentGroupName"`
		}
		_ = json.NewDecoder(r.Body).Decode(&about) // the SDK wrote it
		name := about.TableName + about.QueueName + about.Group
		if about.QueueURL != "" {
			name = path.Base(about.QueueURL)
		}
		return operation + " " + name
	}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		return strings.TrimSuffix(r.PostFormValue("Action")+" "+r.PostFormValue("AlarmNamePrefix")+" "+r.PostFormValue("NextToken"), " ")
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "restapis" || parts[0] == "account" {
		return r.Method + " " + r.URL.Path
	}
	if parts[1] == "event-source-mappings" {
		return "mappings " + r.URL.Query().Get("FunctionName") + r.URL.Query().Get("Marker")
	}
	if len(parts) == 2 {
		return parts[1] // of the account
	}
	return parts[len(parts)-1] + " " + parts[2]
}

// deployed are the answers of a healthy deployment with the task queue reports.
func deployed() answers {
	a := answers{
		"DescribeTable weft": {"Table": object{
			"TableName": "weft", "TableStatus": "ACTIVE", "DeletionProtectionEnabled": true, "BillingModeSummary": object{"BillingMode": "PAY_PER_REQUEST"},
			"GlobalSecondaryIndexes": []object{{"IndexName": "list", "IndexStatus": "ACTIVE"}},
		}},
		"Scan weft":                      itemsOf("default/w/order-1", "default/t/0"),
		"DescribeTimeToLive weft":        {"TimeToLiveDescription": object{"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}},
		"DescribeContinuousBackups weft": {"ContinuousBackupsDescription": object{"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": object{"PointInTimeRecoveryStatus": "ENABLED"}}},
	}
	for _, role := range []string{"api", "workflow", "activity", "timer", "dead", "tasks-reports"} {
		name := "weft-" + role
		variables := object{"WEFT_TABLE": "weft", "WEFT_METRICS": "health"}
		if role == "timer" {
			variables["WEFT_PROBE"] = "weft-api"
		}
		a["configuration "+name] = object{
			"State": "Active", "LastUpdateStatus": "Successful", "MemorySize": 256, "Timeout": 30, "Environment": object{"Variables": variables},
			"LoggingConfig": object{"LogFormat": "JSON", "ApplicationLogLevel": "INFO"},
		}
		a["recursion-config "+name] = object{"RecursiveLoop": "Allow"}
		a["concurrency "+name] = object{}
	}
	for _, name := range []string{"workflow", "timers", "activities", "tasks-reports"} {
		suffix := ""
		if name == "workflow" {
			suffix = ".fifo"
		}
		settings := object{"VisibilityTimeout": "180", "MessageRetentionPeriod": "1209600", "MaximumMessageSize": "1048576", "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
		of, dead := maps.Clone(settings), "weft-"+name+"-dead"+suffix
		of["RedrivePolicy"] = `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:1:` + dead + `","maxReceiveCount":"10"}`
		for full, attributes := range map[string]object{"weft-" + name + suffix: of, dead: settings} {
			a["GetQueueUrl "+full] = object{"QueueUrl": "http://aws.invalid/1/" + full}
			a["GetQueueAttributes "+full] = object{"Attributes": attributes}
		}
	}
	maximumOf := map[string]int{"workflow.fifo": 100, "timers": 100, "activities": 400, "tasks-reports": 100}
	mapped := func(queues ...string) object {
		var all []object
		for _, q := range queues {
			all = append(all, object{
				"UUID": "uuid-" + q, "State": "Enabled", "EventSourceArn": "arn:aws:sqs:us-east-1:1:weft-" + q, "ScalingConfig": object{"MaximumConcurrency": maximumOf[q]},
			})
		}
		return object{"EventSourceMappings": all}
	}
	a["account-settings"] = object{"AccountLimit": object{"ConcurrentExecutions": 1000}}
	a["mappings weft-workflow"] = mapped("workflow.fifo", "timers")
	a["mappings weft-activity"] = mapped("activities")
	a["mappings weft-tasks-reports"] = mapped("tasks-reports")
	a["mappings weft-dead"] = mapped("workflow-dead.fifo", "timers-dead")
	a["mappings weft-dead"]["NextMarker"] = "-2"
	a["mappings weft-dead-2"] = mapped("activities-dead", "tasks-reports-dead")
	a["DescribeAlarms weft-"] = alarms(http.StatusOK, allAlarms()...)
	return a
}

// allAlarms returns the alarms of a healthy deployment with the task queue reports.
func allAlarms() (all []alarm) {
	for _, kind := range slices.Concat(healthAlarms, awsAlarms, []string{probeAlarm, "age-tasks-reports", "errors-tasks-reports", "throttles-tasks-reports"}) {
		all = append(all, alarm{"weft-" + kind, "OK", []string{"arn:topic"}})
	}
	all[1].State = "INSUFFICIENT_DATA"
	return all
}

// changed returns the alarms of a healthy deployment after a change; one without a name is gone.
func changed(change func(*alarm)) object {
	all := allAlarms()
	for i := range all {
		change(&all[i])
	}
	return alarms(http.StatusOK, slices.DeleteFunc(all, func(one alarm) bool { return one.Name == "" })...)
}

// paged is an answer with alarms that are not all.
func paged(next string, all ...alarm) object {
	o := alarms(http.StatusOK, all...)
	o["xml"] = strings.Replace(o["xml"].(string), "</MetricAlarms>", "</MetricAlarms><NextToken>"+next+"</NextToken>", 1)
	return o
}

// itemsOf is an answer with items that have these partition keys.
func itemsOf(keys ...string) object {
	items := []object{}
	for _, pk := range keys {
		items = append(items, object{"pk": object{"S": pk}})
	}
	return object{"Items": items}
}

// alarms is an answer with alarms.
func alarms(status int, all ...alarm) object {
	var text strings.Builder
	for _, one := range all {
		text.WriteString("<member><AlarmName>" + one.Name + "</AlarmName><StateValue>" + one.State + "</StateValue><AlarmActions>")
		for _, to := range one.Actions {
			text.WriteString("<member>" + to + "</member>")
		}
		text.WriteString("</AlarmActions></member>")
	}
	return object{"status": status, "xml": "<DescribeAlarmsResponse><DescribeAlarmsResult><MetricAlarms>" + text.String() + "</MetricAlarms></DescribeAlarmsResult></DescribeAlarmsResponse>"}
}

func examine(t *testing.T, a answers) []Finding {
	t.Helper()
	d := onAWS(a)
	return d.Check(t.Context())
}

// onAWS returns the deployment with these answers.
func onAWS(a answers) AWS {
	config := aws.Config{
		Region: "us-east-1", HTTPClient: a, BaseEndpoint: aws.String("http://aws.invalid"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}
	return AWS{
		Config: config, Table: "weft", Name: "weft", TaskQueues: []string{"reports"}, List: true, Stack: "weft", Protected: true,
		API: &recorded{beats: beating()}, Now: noon,
	}
}

// A stack has to be protected; a module has no stack.
func TestProtection(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		of   AWS
		want string
	}{
		"a module":           {AWS{}, ""},
		"protected":          {AWS{Stack: "shop", Protected: true}, "ok protection: CloudFormation refuses to delete the stack shop"},
		"without protection": {AWS{Stack: "shop"}, "warn protection: the stack shop can be deleted by mistake: only its table, its keys and its bucket would stay -> weft protect --stack shop"},
	} {
		var f findings
		f.protection(&c.of)
		if got := strings.Join(text(f), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func TestHealthyAWS(t *testing.T) {
	t.Parallel()
	found := examine(t, deployed())
	if Worst(found) != OK {
		t.Errorf("found %q", text(found))
	}
	var checks []string
	for _, f := range found {
		checks = append(checks, f.Check)
	}
	want := []string{
		"table", "replicas", "index", "expiry", "backups",
		"function api", "function workflow", "function activity", "function timer", "function dead", "function tasks-reports",
		"namespace",
		"settings of queue activities", "settings of queue tasks-reports", "settings of queue timers", "settings of queue workflow",
		"mapping of queue activities", "mapping of queue activities-dead", "mapping of queue tasks-reports", "mapping of queue tasks-reports-dead",
		"mapping of queue timers", "mapping of queue timers-dead", "mapping of queue workflow", "mapping of queue workflow-dead", "concurrency", "protection", "metrics", "probe", "alarms", "idle",
	}
	if diff := gocmp.Diff(want, checks); diff != "" {
		t.Error(diff)
	}
	if last := found[len(found)-1]; !strings.Contains(last.Seen, "8 queues") || !strings.Contains(last.Seen, "$0.88 to $2.20") {
		t.Errorf("idling costs: %s", last.Seen)
	}
}

// Each trouble has one finding that is not ok, which says what was seen and what to do.
func TestTroubledAWS(t *testing.T) {
	t.Parallel()
	// in returns the object at a path of members in an answer.
	in := func(a answers, key string, members ...string) object {
		at := a[key]
		for _, m := range members {
			at = at[m].(object)
		}
		return at
	}
	attributes := func(a answers, name string) object { return in(a, "GetQueueAttributes "+name, "Attributes") }
	denied := object{"__type": "AccessDeniedException", "message": "not you"}
	for what, c := range map[string]struct {
		change  func(a answers)
		verdict Verdict
		check   string
		seen    string
		do      string
	}{
		"a table in creation":  {func(a answers) { in(a, "DescribeTable weft", "Table")["TableStatus"] = "CREATING" }, Bad, "table", "CREATING", "wait"},
		"provisioned capacity": {func(a answers) { delete(in(a, "DescribeTable weft", "Table"), "BillingModeSummary") }, Warn, "table", "provisioned", "PAY_PER_REQUEST"},
		"no protection":        {func(a answers) { in(a, "DescribeTable weft", "Table")["DeletionProtectionEnabled"] = false }, Warn, "table", "by mistake", "DeletionProtection"},
		"a global table": {func(a answers) {
			in(a, "DescribeTable weft", "Table")["Replicas"] = []object{{"RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE"}, {"RegionName": "eu-north-1"}}
		}, Bad, "replicas", "in eu-west-1, eu-north-1", "delete the replicas"},
		"no index": {func(a answers) { delete(in(a, "DescribeTable weft", "Table"), "GlobalSecondaryIndexes") }, Bad, "index", "no index", "deploy"},
		"an index in creation": {func(a answers) {
			in(a, "DescribeTable weft", "Table")["GlobalSecondaryIndexes"].([]object)[0]["IndexStatus"] = "CREATING"
		}, Bad, "index", "CREATING", "wait"},
		"no expiry": {func(a answers) {
			in(a, "DescribeTimeToLive weft", "TimeToLiveDescription")["TimeToLiveStatus"] = "DISABLED"
		}, Warn, "expiry", "does not delete", "expires"},
		"another expiry": {func(a answers) { in(a, "DescribeTimeToLive weft", "TimeToLiveDescription")["AttributeName"] = "ttl" }, Warn, "expiry", "does not delete", "expires"},
		"no backups": {func(a answers) {
			in(a, "DescribeContinuousBackups weft", "ContinuousBackupsDescription", "PointInTimeRecoveryDescription")["PointInTimeRecoveryStatus"] = "DISABLED"
		}, Warn, "backups", "cannot be restored", "point-in-time"},
		"no right": {func(a answers) { a["DescribeContinuousBackups weft"] = denied }, Warn, "backups", "AccessDeniedException", "dynamodb:DescribeContinuousBackups"},
		"another failure": {func(a answers) {
			a["DescribeContinuousBackups weft"] = object{"__type": "InternalServerError", "message": "oh"}
		}, Warn, "backups", "InternalServerError", "again"},
		"an endpoint of something else": {func(a answers) {
			a["DescribeContinuousBackups weft"] = object{"xml": "<html>", "status": http.StatusNotFound}
		}, Warn, "backups", "404", "endpoint"},
		"a function that is gone": {func(a answers) { delete(a, "configuration weft-timer") }, Bad, "function timer", "does not exist", "deploy"},
		"a failed function":       {func(a answers) { a["configuration weft-api"]["State"] = "Failed" }, Bad, "function api", "Failed", "deploy"},
		"a failed update":         {func(a answers) { a["configuration weft-api"]["LastUpdateStatus"] = "Failed" }, Bad, "function api", "update failed", "deploy"},
		"another table":           {func(a answers) { in(a, "configuration weft-api", "Environment", "Variables")["WEFT_TABLE"] = "shop" }, Bad, "function api", `"shop"`, "name"},
		"two namespaces": {func(a answers) {
			in(a, "configuration weft-dead", "Environment", "Variables")["WEFT_NAMESPACE"] = "shop"
		}, Bad, "namespace", "api, workflow, activity, timer, tasks-reports use default; dead uses shop", "deploy again"},
		"runs of another namespace too": {func(a answers) {
			a["Scan weft"] = itemsOf("default/w/order-1", "shop/w/order-1", "shop/w/order-1")
		}, Warn, "namespace", "32 of 48 items that were looked at are of shop", "if its own was changed"},
		"runs of another namespace only": {func(a answers) { a["Scan weft"] = itemsOf("shop/w/order-1") }, Bad, "namespace", "all 16 items that were looked at are of shop", "Namespace=shop"},
		"items of something else":        {func(a answers) { a["Scan weft"] = itemsOf("order-1", "default/w/a") }, Warn, "namespace", "16 of 32 items that were looked at are not of Weft", ""},
		"items without right":            {func(a answers) { a["Scan weft"] = denied }, Warn, "namespace", "AccessDeniedException", "dynamodb:Scan"},
		"no recursion":                   {func(a answers) { a["recursion-config weft-workflow"]["RecursiveLoop"] = "Terminate" }, Bad, "function workflow", "16 messages", "weft-workflow --recursive-loop Allow"},
		"a stopped function":             {func(a answers) { a["concurrency weft-activity"]["ReservedConcurrentExecutions"] = 0 }, Bad, "function activity", "stops it", "delete-function-concurrency"},
		"a short visibility":             {func(a answers) { attributes(a, "weft-timers")["VisibilityTimeout"] = "179" }, Warn, "settings of queue timers", "179 s", "180 s"},
		"a wrong visibility":             {func(a answers) { attributes(a, "weft-timers")["VisibilityTimeout"] = "29" }, Bad, "settings of queue timers", "twice", "180 s"},
		"slow FIFO":                      {func(a answers) { attributes(a, "weft-workflow.fifo")["DeduplicationScope"] = "queue" }, Warn, "settings of queue workflow", "300 calls", "messageGroup"},
		"a short retention":              {func(a answers) { attributes(a, "weft-timers")["MessageRetentionPeriod"] = "345600" }, Warn, "settings of queue timers", "4 days", "14 days"},
		"small messages":                 {func(a answers) { attributes(a, "weft-activities")["MaximumMessageSize"] = "262144" }, Warn, "settings of queue activities", "262144 bytes", "1048576"},
		"no redrive policy":              {func(a answers) { delete(attributes(a, "weft-tasks-reports"), "RedrivePolicy") }, Bad, "settings of queue tasks-reports", "for ever", "deploy"},
		"dead letters are gone":          {func(a answers) { delete(a, "GetQueueUrl weft-timers-dead") }, Bad, "settings of queue timers", "does not exist", "deploy"},
		"a queue that is gone":           {func(a answers) { delete(a, "GetQueueUrl weft-timers") }, Bad, "settings of queue timers", "does not exist", "deploy"},
		"a disabled mapping": {func(a answers) {
			a["mappings weft-activity"]["EventSourceMappings"].([]object)[0]["State"] = "Disabled"
		}, Bad, "mapping of queue activities", "Disabled", "--uuid uuid-activities --enabled"},
		"no mapping":             {func(a answers) { a["mappings weft-tasks-reports"] = object{} }, Bad, "mapping of queue tasks-reports", "no function", "deploy"},
		"mappings without right": {func(a answers) { a["mappings weft-activity"] = denied }, Warn, "queues of function activity", "AccessDeniedException", "lambda:ListEventSourceMappings"},
		"no alarms":              {func(a answers) { a["DescribeAlarms weft-"] = alarms(http.StatusOK) }, Warn, "alarms", "there are none", "Alarms"},
		"an alarm": {func(a answers) {
			a["DescribeAlarms weft-"] = changed(func(one *alarm) {
				if one.Name == "weft-stuck-runs" {
					one.State = "ALARM"
				}
			})
		}, Bad, "alarms", "on: weft-stuck-runs", "operations.md"},
		"alarms for nobody": {func(a answers) {
			a["DescribeAlarms weft-"] = changed(func(one *alarm) { one.Actions = nil })
		}, Warn, "alarms", "none notifies", "AlarmTopics"},
		"missing alarms": {func(a answers) {
			a["DescribeAlarms weft-"] = changed(func(one *alarm) {
				if slices.Contains([]string{"weft-probe", "weft-errors-tasks-reports", "weft-api-failures"}, one.Name) {
					one.Name = ""
				}
			})
		}, Warn, "alarms", "missing: weft-api-failures, weft-probe, weft-errors-tasks-reports", "deploy"},
		"an alarm on another page": {func(a answers) {
			first, second := allAlarms()[:3], allAlarms()[3:]
			second[len(second)-1].State = "ALARM"
			a["DescribeAlarms weft-"] = paged("two", first...)
			a["DescribeAlarms weft- two"] = alarms(http.StatusOK, second...)
		}, Bad, "alarms", "on: weft-throttles-tasks-reports", "operations.md"},
		"no metrics": {func(a answers) {
			in(a, "configuration weft-api", "Environment", "Variables")["WEFT_METRICS"] = "off"
			a["DescribeAlarms weft-"] = changed(func(one *alarm) { // as the template has them then
				if name := strings.TrimPrefix(one.Name, "weft-"); slices.Contains(healthAlarms, name) || name == probeAlarm {
					one.Name = ""
				}
			})
		}, Warn, "metrics", "off: there are alarms only on errors", "set Metrics to health"},
		"a log of warnings": {func(a answers) {
			in(a, "configuration weft-workflow", "LoggingConfig")["ApplicationLogLevel"] = "WARN"
		}, Warn, "metrics", "warnings: workflow", "INFO"},
		"alarms without right": {func(a answers) {
			a["DescribeAlarms weft-"] = object{"status": http.StatusForbidden, "xml": "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"}
		}, Warn, "alarms", "CloudWatch answers AccessDenied", "cloudwatch:DescribeAlarms"},
		"alarms that are none": {func(a answers) { a["DescribeAlarms weft-"] = object{"status": http.StatusOK, "xml": "{"} }, Warn, "alarms", "not checked", "cloudwatch:DescribeAlarms"},
	} {
		a := deployed()
		c.change(a)
		wrong := slices.DeleteFunc(examine(t, a), func(f Finding) bool { return f.Verdict == OK })
		if len(wrong) != 1 || wrong[0].Verdict != c.verdict || wrong[0].Check != c.check || !strings.Contains(wrong[0].Seen, c.seen) || !strings.Contains(wrong[0].Do, c.do) {
			t.Errorf("%s: found %q, want %s of %s with %q and %q", what, text(wrong), c.verdict, c.check, c.seen, c.do)
		}
	}
	nothing := examine(t, answers{})
	if Worst(nothing) != Bad {
		t.Errorf("a deployment that does not exist: %q", text(nothing))
	}
}
