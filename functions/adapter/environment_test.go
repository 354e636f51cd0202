package adapter

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// required returns the variables that a function needs.
func required() map[string]string {
	return map[string]string{
		"WEFT_TABLE":            "weft",
		"WEFT_QUEUE_WORKFLOW":   "https://sqs.us-east-1.amazonaws.com/123456789012/weft-workflow.fifo",
		"WEFT_QUEUE_TIMERS":     "https://sqs.us-east-1.amazonaws.com/123456789012/weft-timers",
		"WEFT_QUEUE_ACTIVITIES": "https://sqs.us-east-1.amazonaws.com/123456789012/weft-activities",
		"WEFT_BUILD":            "build-1",
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	vars := required()
	get := func(name string) string { return vars[name] }
	want := environment{Function: settings.Function{
		Table: "weft", Build: "build-1",
		QueueWorkflow: vars["WEFT_QUEUE_WORKFLOW"], QueueTimers: vars["WEFT_QUEUE_TIMERS"], QueueActivities: vars["WEFT_QUEUE_ACTIVITIES"],
	}, urls: map[string]string{
		queue.Workflow: vars["WEFT_QUEUE_WORKFLOW"], queue.Timers: vars["WEFT_QUEUE_TIMERS"], queue.Activities: vars["WEFT_QUEUE_ACTIVITIES"],
	}}
	for _, s := range settings.Of[settings.Function]() {
		if s.Values != nil && s.Field != "LogLevel" { // the logger is made before the environment is read
			reflect.ValueOf(&want.Function).Elem().FieldByName(s.Field).SetString(s.Default)
		}
	}
	check := func(what string) {
		t.Helper()
		got, err := readEnvironment(get)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(environment{}), cmp.Comparer(func(a, b guard.Policy) bool { return reflect.DeepEqual(a, b) })); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", what, err, diff)
		}
	}
	check("what is required")

	vars["WEFT_NAMESPACE"], vars["WEFT_LIST"], vars["WEFT_BASE_PATH"] = "shop", "off", "/shop"
	vars["WEFT_VISIBILITY"], vars["WEFT_LONG_TIMER"], vars["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = "1h", "30s", "256"
	vars["WEFT_GRACE"], vars["WEFT_UPDATES_IN_FLIGHT"] = "2s", "none"
	vars["WEFT_UPDATE_BYTES_IN_FLIGHT"], vars["WEFT_UPDATES_IN_TOTAL"] = "1000", "2000"
	vars["WEFT_RETENTION_DAYS"], vars["WEFT_CHECK_COMMITS"] = "30", "5000"
	want.RetentionDays, want.CheckCommits = 30, 5000
	want.Namespace, want.List, want.BasePath = "shop", "off", "/shop"
	want.Visibility, want.LongTimer, want.cacheBytes = time.Hour, 30*time.Second, 64<<20
	want.Grace, want.Updates = 2*time.Second, settings.Updates{UpdatesInFlight: -1, UpdateBytesInFlight: 1000, UpdatesInTotal: 2000}
	const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	vars["WEFT_PAYLOAD_KEY"], vars["WEFT_COMPRESS"] = "none,"+key, "zstd"
	want.PayloadKey, want.payloadKeys, want.Compress = "none,"+key, []string{"none", key}, "zstd"
	vars["WEFT_WEBHOOK_HOSTS"], vars["WEFT_WEBHOOK_PRIVATE"], vars["WEFT_WEBHOOK_EPOCH"] = "*.example.com", "on", "2"
	want.WebhookHosts, want.WebhookPrivate, want.WebhookEpoch = "*.example.com", "on", 2
	want.webhooks, _ = guard.Parse("*.example.com")
	want.webhooks.Private = true
	vars["WEFT_EVENT_BUS"], want.EventBus = "arn:aws:events:eu-west-1:123456789012:event-bus/orders", "arn:aws:events:eu-west-1:123456789012:event-bus/orders"
	check("all")

	const reports, slow = "https://sqs.us-east-1.amazonaws.com/123456789012/weft-tasks-reports", "https://localhost:4566/000000000000/slow-lane"
	vars["WEFT_TASK_QUEUES"] = "slow=" + slow + ",reports=" + reports
	want.taskQueues = []string{"reports", "slow"}
	want.TaskQueues = settings.QueueURLs{"reports": reports, "slow": slow}
	vars["WEFT_RATE"], vars["WEFT_BURST"] = "0.5", "3"
	want.Rate, want.Burst, want.rate = 0.5, 3, limits.Rate{PerSecond: 0.5, Burst: 3}
	want.urls[queue.ForTasks("reports")], want.urls[queue.ForTasks("slow")] = reports, slow
	check("task queues")
	for name, is := range map[string]string{
		"weft-activities": queue.Activities, "weft-tasks-reports": queue.ForTasks("reports"), "slow-lane": queue.ForTasks("slow"), "lane": "", "weft-timers": "",
	} {
		if got := function.QueueOf(want.urls)("arn:aws:sqs:us-east-1:123456789012:" + name); got != is {
			t.Errorf("the queue %s is %s, want %s", name, got, is)
		}
	}

	vars["WEFT_ROLLOUT"] = "weft-workflow"
	if _, err := readEnvironment(get); err == nil || !strings.Contains(err.Error(), "WEFT_ROLLOUT is set and WEFT_PINNING is off") {
		t.Errorf("a rollout without versions: %v", err)
	}
	want.Rollout = "weft-workflow"
	vars["WEFT_PINNING"], vars["AWS_LAMBDA_FUNCTION_NAME"] = "on", "weft-api"
	want.Pinning, want.function = "on", "weft-api"
	check("versions")
	for _, name := range []string{"WEFT_BUILD", "AWS_LAMBDA_FUNCTION_NAME"} {
		value := vars[name]
		delete(vars, name)
		if _, err := readEnvironment(get); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("versions, without %s: %v", name, err)
		}
		vars[name] = value
	}

	delete(vars, "WEFT_ROLLOUT")
	delete(vars, "WEFT_PINNING")
	delete(vars, "WEFT_BUILD")
	if e, err := readEnvironment(get); err != nil || e.Build == "" || e.Build != buildID() {
		t.Errorf("the build is %q by itself, %v", e.Build, err)
	}
}

// One error lists everything that is wrong.
func TestEnvironmentIsWrong(t *testing.T) {
	t.Parallel()
	_, err := readEnvironment(func(name string) string {
		return map[string]string{"WEFT_QUEUE_TIMERS": "x", "WEFT_LIST": "no", "WEFT_VISIBILITY": "13h", "WEFT_LONG_TIMER": "never", "WEFT_GRACE": "1h", "WEFT_UPDATES_IN_TOTAL": "0", "WEFT_RETENTION_DAYS": "a week", "WEFT_CHECK_COMMITS": "-1", "WEFT_PAYLOAD_KEY": "alias/weft", "WEFT_COMPRESS": "gzip", "WEFT_TASK_QUEUES": "reports,slow=x,slow=y,Slow=z", "WEFT_RATE": "fast"}[name]
	})
	for _, text := range []string{"WEFT_TABLE is not set", "WEFT_QUEUE_WORKFLOW", "WEFT_QUEUE_ACTIVITIES", "WEFT_LIST", "WEFT_VISIBILITY", "WEFT_LONG_TIMER", "WEFT_GRACE", "WEFT_UPDATES_IN_TOTAL", "WEFT_RETENTION_DAYS", "WEFT_CHECK_COMMITS", "WEFT_PAYLOAD_KEY", "WEFT_COMPRESS", `WEFT_TASK_QUEUES: "reports" names no queue`, `"slow" is there twice`, `"Slow" cannot be`, `WEFT_RATE is "fast"`} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not name %s", err, text)
		}
	}
	if err != nil && strings.Contains(err.Error(), "WEFT_QUEUE_TIMERS") {
		t.Errorf("%v names a valid variable", err)
	}
}

func TestOpen(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	vars := required()
	get := func(name string) string { return vars[name] }
	twice := activity.Options{StartToClose: -1}
	for what, c := range map[string]struct {
		role          Role
		registrations []workflow.Registration
		text          string
	}{
		"valid":          {API, cart.Registrations(), ""},
		"no role":        {"", cart.Registrations(), "WEFT_ROLE"},
		"one name twice": {API, append(cart.Registrations(), cart.Registrations()...), "registered twice"},
		"wrong options":  {API, []workflow.Registration{cart.Charge.With(twice)}, "negative"},
	} {
		f, err := Settings{}.open(t.Context(), c.role, get, slog.New(slog.DiscardHandler), c.registrations)
		if c.text == "" && (err != nil || f == nil) || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v, want %q", what, err, c.text)
		}
	}
	_, err := Settings{}.open(t.Context(), "", func(string) string { return "" }, slog.New(slog.DiscardHandler), append(cart.Registrations(), cart.Registrations()...))
	for _, text := range []string{"WEFT_ROLE", "WEFT_TABLE is not set", "registered twice"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
	vars["WEFT_NAMESPACE"] = "a namespace"
	if _, err := (Settings{}).open(t.Context(), API, get, slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("an invalid namespace is no error")
	}
	delete(vars, "WEFT_TABLE")
	if _, err := (Settings{}).open(t.Context(), API, get, slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("no table is no error")
	}
}
