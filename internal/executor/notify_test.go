package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/notify/eventbridge"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// delivered is a notification that a receiver got.
type delivered struct {
	url, id, body string
	header        http.Header
	at            time.Time
}

// receivers are all receivers on the internet.
type receivers struct {
	mu  sync.Mutex
	got []delivered
	// answers are the statuses of the next answers; 0 is none. Then all answers are 200.
	answers []int
	// first are the statuses of the first answers of hosts. Then they are as for all.
	first map[string][]int
	// takes is how long each answer takes.
	takes time.Duration
}

// RoundTrip implements http.RoundTripper.
func (r *receivers) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.got = append(r.got, delivered{request.URL.String(), request.Header.Get(sign.HeaderID), string(body), request.Header, time.Now()})
	status := http.StatusOK
	if len(r.answers) > 0 {
		status, r.answers = r.answers[0], r.answers[1:]
	}
	if first := r.first[request.URL.Host]; len(first) > 0 {
		status, r.first[request.URL.Host] = first[0], first[1:]
	}
	r.mu.Unlock()
	time.Sleep(r.takes)
	if status == 0 {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader(nil)), Request: request}, nil
}

// texts returns what the receivers got, in order: the URLs and the ids.
func (r *receivers) texts() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.got {
		all = append(all, one.url+" "+one.id)
	}
	return all
}

// all returns what the receivers got, in order.
func (r *receivers) all() []delivered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

var (
	notified = workflow.NewWorkflow[string, string]("notified")
	proceed  = workflow.NewSignal[string]("proceed")
	nudging  = workflow.NewUpdate[string, string]("nudging")
)

// runNotified waits for a signal, and does what that or its input says.
func runNotified(ctx workflow.Context, does string) (string, error) {
	nudging.Handle(ctx, func(_ workflow.Context, in string) (string, error) { return "nudged " + in, nil })
	if does == "" {
		var err error
		if does, err = proceed.Receive(ctx); err != nil {
			return "", err
		}
	}
	switch does {
	case "fail":
		return "", errors.New("it broke")
	case "again":
		return notified.ContinueAsNew(ctx, "")
	}
	return does, nil
}

var notifiedBinding = workflow.Bind(notified, runNotified, workflow.Names(proceed, nudging))

// notifying are the options of a process that notifies all of example.
func notifying(t *testing.T) executor.Options {
	t.Helper()
	allowed, err := guard.Parse("*.example,*.example:8443")
	if err != nil {
		t.Fatal(err)
	}
	return executor.Options{Webhooks: allowed}
}

// startNotified sends a start, and returns the run.
func startNotified(t *testing.T, p *testbed.Process, id, more string) history.RunID {
	t.Helper()
	a := p.Do(http.MethodPost, "/v1/workflows", fmt.Sprintf(`{"type":"notified","workflowId":%q,%s}`, id, more))
	if a.Status >= 300 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var answer struct{ RunID history.RunID }
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.RunID
}

// However a run ends, its subscribers are notified of it once.
func TestARunNotifies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more string
		end  func(ctx context.Context, p *testbed.Process) error
		runs int
		want []string // of the bodies, in any order: the type and what is not always there
	}{
		"completes at once": {more: `"input":"done"`, runs: 1, want: []string{`workflow.completed`}},
		"completes": {more: `"input":""`, runs: 1, want: []string{`workflow.completed`}, end: func(ctx context.Context, p *testbed.Process) error {
			return proceed.Send(ctx, p.Client, "w", "done")
		}},
		"fails at once": {more: `"input":"fail"`, runs: 1, want: []string{`workflow.failed`}},
		"is retried":    {more: `"input":"fail","retryPolicy":{"maximumAttempts":3}`, runs: 3, want: []string{`workflow.failed`}},
		"continues as new": {more: `"input":""`, runs: 2, want: []string{`workflow.terminated`}, end: func(ctx context.Context, p *testbed.Process) error {
			return errors.Join(proceed.Send(ctx, p.Client, "w", "again"), p.Terminate(ctx, "w", "", "enough"))
		}},
		"is canceled": {more: `"input":""`, runs: 1, want: []string{`workflow.canceled`}, end: func(ctx context.Context, p *testbed.Process) error {
			return p.Cancel(ctx, "w", "", "enough")
		}},
		"times out": {more: `"input":"","runTimeout":"10s"`, runs: 1, want: []string{`workflow.timedOut`}},
		"is reset while it is open": {more: `"input":""`, runs: 2, want: []string{`workflow.terminated`}, end: func(ctx context.Context, p *testbed.Process) error {
			if _, err := p.Client.Reset(ctx, "w", client.ResetOptions{To: "firstTask"}); err != nil {
				return err
			}
			return p.Terminate(ctx, "w", "", "enough")
		}},
		"is reset after it closed": {more: `"input":"done"`, runs: 2, want: []string{`workflow.completed`, `workflow.completed`}, end: func(ctx context.Context, p *testbed.Process) error {
			_, err := p.Client.Reset(ctx, "w", client.ResetOptions{To: "firstTask"})
			return err
		}},
		"is replaced": {more: `"input":""`, runs: 2, want: []string{`workflow.terminated`}, end: func(ctx context.Context, p *testbed.Process) error {
			_, err := notified.Start(ctx, p.Client, "w", "done", workflow.StartOptions{IDConflictPolicy: "terminateExisting"})
			return err
		}},
		"follows a cron expression": {more: `"input":"done","cronSchedule":"@every 1h"`, runs: 3, want: []string{`workflow.completed`, `workflow.completed`}, end: func(context.Context, *testbed.Process) error {
			time.Sleep(2*time.Hour + time.Minute)
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, r := testbed.New(t), &receivers{}
				d.Receivers = r
				p := d.Start(notifying(t), notifiedBinding)
				startNotified(t, p, "w", c.more+`,"notify":[{"url":"https://a.example/x?y=z"}]`)
				if c.end != nil {
					if err := c.end(t.Context(), p); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(5 * time.Minute)
				if runs := d.Runs("w"); len(runs) != c.runs {
					t.Errorf("%d runs, want %d", len(runs), c.runs)
				}
				if len(r.all()) != len(c.want) {
					t.Fatalf("the receivers got %q, want %q", r.texts(), c.want)
				}
				ids := map[string]bool{}
				for i, one := range r.all() {
					var body struct {
						Type string
						Data struct{ ID, RunID, WorkflowID, FailureType string }
					}
					if err := json.Unmarshal([]byte(one.body), &body); err != nil {
						t.Fatal(err)
					}
					if body.Type != c.want[i] || body.Data.WorkflowID != "w" || body.Data.ID != one.id || one.url != "https://a.example/x?y=z" || !strings.Contains(one.id, body.Data.RunID) || ids[one.id] {
						t.Errorf("%+v", one)
					}
					if failed := body.Type != "workflow.completed"; failed != (body.Data.FailureType != "") {
						t.Errorf("%s", one.body)
					}
					ids[one.id] = true
					secrets, err := p.WebhookSecret(t.Context(), "https://a.example/other")
					if err == nil {
						err = client.VerifyWebhook(secrets, one.header, []byte(one.body), one.at)
					}
					if err != nil {
						t.Error(err)
					}
					of := d.Runs(fmt.Sprintf("weft.notify:%s:2", body.Data.RunID))
					if len(of) != 1 || of[0].State.Status != history.Completed || len(of[0].Log) != 1 {
						t.Errorf("the delivering runs are %+v", of)
					}
				}
				d.Replay(notifiedBinding)
			})
		})
	}
}

// A start that uses the open run adds its notifications, once for each request id, up to a limit.
func TestUseExistingSubscribes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{}
		d.Receivers = r
		p := d.Start(notifying(t), notifiedBinding)
		run := startNotified(t, p, "w", `"input":"","requestId":"a","notify":[{"url":"https://a.example"}]`)
		use := `"input":"","idConflictPolicy":"useExisting"`
		for range 2 {
			startNotified(t, p, "w", `"input":"","requestId":"a","notify":[{"url":"https://a.example"}]`)
			startNotified(t, p, "w", use+`,"requestId":"b","notify":[{"url":"https://b.example"},{"url":"https://c.example"}]`)
			startNotified(t, p, "w", use+`,"requestId":"c"`)
		}
		for range 2 {
			a := p.Do(http.MethodPost, "/v1/workflows/w/updates/nudging", `{"updateId":"u","input":"x","waitFor":"completed","start":{"type":"notified",`+use+`,"requestId":"d","notify":[{"url":"https://d.example"}]}}`)
			if a.Status >= 300 || !strings.Contains(string(a.Body), "nudged x") {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		if state := d.Runs("w")[0].State; len(state.Subscriptions) != 4 || state.RunID != run || state.NextSlot != 4 { // start, b, d, the update
			t.Errorf("%d slots, %+v", state.NextSlot, state.Subscriptions)
		}
		for i := range engine.MaxSubscriptions - 4 {
			startNotified(t, p, "w", fmt.Sprintf(`%s,"requestId":"e%d","notify":[{"url":"https://e.example"}]`, use, i))
		}
		before := d.Snapshot()
		a := p.Do(http.MethodPost, "/v1/workflows", `{"type":"notified","workflowId":"w",`+use+`,"requestId":"f","notify":[{"url":"https://f.example"}]}`)
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "may have 16") || d.Snapshot() != before {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		for range 2 {
			a := p.Do(http.MethodPost, "/v1/workflows/w/signals/proceed", `{"input":"done","requestId":"s","start":{"type":"notified","input":"","requestId":"a","notify":[{"url":"https://a.example"}]}}`)
			if a.Status >= 300 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		time.Sleep(time.Minute)
		got := r.texts()
		slices.Sort(got)
		if len(got) != engine.MaxSubscriptions || len(slices.Compact(got)) != engine.MaxSubscriptions {
			t.Errorf("%d notifications: %q", len(got), got)
		}
		d.Replay(notifiedBinding)
	})
}

// A description says what a run notifies, and where each notification stands.
func TestDescribedNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{first: map[string][]int{"b.example:8443": {410}, "c.example": {500, 500}}, takes: 100 * time.Millisecond}
		d.Receivers = r
		p := d.Start(notifying(t), notifiedBinding)
		check := func(run history.RunID, want ...client.DescribedNotification) {
			t.Helper()
			got, err := p.Client.Describe(t.Context(), "w", string(run))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Notifications, want) {
				t.Errorf("the notifications of run %s are %+v, want %+v", run, got.Notifications, want)
			}
		}
		first := startNotified(t, p, "w", `"input":"","notify":[{"url":"https://A.example:443/hunter2?x=y"},{"url":"https://b.example:8443","result":true},{"url":"https://c.example"}]`)
		a, b, c := client.DescribedNotification{EventID: 2, Origin: "https://a.example"}, client.DescribedNotification{EventID: 3, Origin: "https://b.example:8443", Result: true}, client.DescribedNotification{EventID: 4, Origin: "https://c.example"}
		in := func(one client.DescribedNotification, state client.NotificationState, by history.RunID) client.DescribedNotification {
			one.State = state
			if by != "" {
				one.WorkflowID = fmt.Sprintf("weft.notify:%s:%d", by, one.EventID)
			}
			return one
		}
		check(first, in(a, "pending", ""), in(b, "pending", ""), in(c, "pending", ""))
		if err := proceed.Send(t.Context(), p.Client, "w", "again"); err != nil {
			t.Fatal(err)
		}
		check(first, in(a, "passedOn", ""), in(b, "passedOn", ""), in(c, "passedOn", ""))
		if err := proceed.Send(t.Context(), p.Client, "w", "done"); err != nil {
			t.Fatal(err)
		}
		last := d.Runs("w")[1].State.RunID
		check(last, in(a, "delivering", last), in(b, "delivering", last), in(c, "delivering", last))
		time.Sleep(time.Second)
		check(last, in(a, "delivered", last), in(b, "failed", last), in(c, "delivering", last))
		time.Sleep(time.Minute)
		check(last, in(a, "delivered", last), in(b, "failed", last), in(c, "delivered", last))
		if _, err := p.Client.Reset(t.Context(), in(b, "", last).WorkflowID, client.ResetOptions{To: "firstTask"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		check(last, in(a, "delivered", last), in(b, "delivered", last), in(c, "delivered", last))
	})
}

// buses are all event buses. They implement aws.HTTPClient.
type buses struct {
	mu  sync.Mutex
	got []string // the events, as they were sent
	// answers are the bodies of the next answers, which have this status. An empty one is no
	// answer. Then all answers are good.
	answers []string
	status  int
}

// bus returns the one named orders.
func (b *buses) bus() *eventbridge.Bus {
	config := aws.Config{Region: "eu-west-1", HTTPClient: b, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "hunter2"}, nil
	})}
	return eventbridge.New(config, eventbridge.Options{Name: "orders", Source: "weft.shop"})
}

// Do implements aws.HTTPClient.
func (b *buses) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.got = append(b.got, string(body))
	status, answer := http.StatusOK, `{"FailedEntryCount":0,"Entries":[{"EventId":"e1"}]}`
	if len(b.answers) > 0 {
		status, answer, b.answers = b.status, b.answers[0], b.answers[1:]
	}
	b.mu.Unlock()
	if answer == "" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// The event bus gets an event until it has taken it, always the same.
func TestEventBus(t *testing.T) {
	t.Parallel()
	const throttled = `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException","ErrorMessage":"slower"}]}`
	for name, c := range map[string]struct {
		answers []string
		status  int
		does    string
		log     string
		detail  string
	}{
		"takes it":                 {does: "done", detail: `"status":"completed","result":"done"}`},
		"takes a failure":          {does: "fail", detail: `"status":"failed","failureType":"application","failureText":"it broke"}`},
		"a large result":           {does: strings.Repeat("x", 50<<10), detail: `"status":"completed","resultOmitted":"tooLarge"}`},
		"has failed partly":        {answers: slices.Repeat([]string{throttled}, 3), status: 200, does: "done", log: "ThrottlingException: slower", detail: `"result":"done"}`},
		"throttles":                {answers: slices.Repeat([]string{`{"__type":"ThrottlingException"}`}, 4), status: 400, does: "done", log: "ThrottlingException", detail: `"result":"done"}`},
		"is not allowed, at first": {answers: []string{`{"__type":"AccessDeniedException","message":"no policy allows events:PutEvents"}`, ""}, status: 400, does: "done", log: "events:PutEvents", detail: `"result":"done"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, r, b := testbed.New(t), &receivers{}, &buses{answers: c.answers, status: c.status}
				d.Receivers, d.Bus = r, b.bus()
				var logs bytes.Buffer
				o := notifying(t)
				o.EventBus, o.Logger = true, slog.New(slog.NewTextHandler(&logs, nil))
				p := d.Start(o, notifiedBinding)
				run := startNotified(t, p, "w", fmt.Sprintf(`"input":%q,"notify":[{"eventBridge":true,"result":true},{"url":"https://a.example"}]`, c.does))
				time.Sleep(time.Hour)
				if of := d.Runs(fmt.Sprintf("weft.notify:%s:2", run)); len(of) != 1 || of[0].State.Status != history.Completed || len(r.all()) != 1 {
					t.Fatalf("%+v, and %d requests", of, len(r.all()))
				}
				if len(b.got) != len(c.answers)+1 || len(slices.Compact(b.got)) != 1 {
					t.Fatalf("the bus got %q", b.got)
				}
				var request struct {
					Entries []struct{ EventBusName, Source, DetailType, Detail string }
				}
				if err := json.Unmarshal([]byte(b.got[0]), &request); err != nil || len(request.Entries) != 1 {
					t.Fatalf("%s, %v", b.got[0], err)
				}
				one := request.Entries[0]
				if one.EventBusName != "orders" || one.Source != "weft.shop" || !strings.HasPrefix(one.DetailType, "workflow.") || !strings.HasSuffix(one.Detail, c.detail) ||
					!strings.HasPrefix(one.Detail, fmt.Sprintf(`{"id":"weft_%s_2","workflowId":"w"`, run)) {
					t.Errorf("%+v", one)
				}
				if text := logs.String(); !strings.Contains(text, c.log) || (c.log == "") != (text == "") || strings.Contains(text, "hunter2") {
					t.Errorf("the log is %s", text)
				}
				d.Replay(notifiedBinding)
			})
		})
	}
}

// A deployment without an event bus refuses a start that asks for it. If it has lost its bus, what
// it owes fails, and is delivered when it has one again.
func TestNoEventBus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{}
		d.Receivers = r
		p := d.Start(notifying(t), notifiedBinding)
		before := d.Snapshot()
		a := p.Do(http.MethodPost, "/v1/workflows", `{"type":"notified","workflowId":"w","input":"done","notify":[{"url":"https://a.example"},{"eventBridge":true}]}`)
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "has no event bus") || !strings.Contains(string(a.Body), `"at":"notify[1].eventBridge"`) || d.Snapshot() != before {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		p.Stop()
		o := notifying(t)
		o.EventBus = true
		p = d.Start(o, notifiedBinding) // has the setting, and no bus
		run := startNotified(t, p, "w", `"input":"done","notify":[{"eventBridge":true}]`)
		if a := p.Do(http.MethodPost, "/v1/workflows", `{"type":"notified","workflowId":"x","input":"done","notify":[{"eventBridge":true,"url":"https://a.example"}]}`); a.Status != http.StatusBadRequest {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		time.Sleep(time.Minute)
		p.Stop()
		b := &buses{}
		d.Bus = b.bus()
		d.Start(o, notifiedBinding)
		time.Sleep(time.Hour)
		if of := d.Runs(fmt.Sprintf("weft.notify:%s:2", run)); len(of) != 1 || of[0].State.Status != history.Completed || len(b.got) != 1 {
			t.Errorf("%+v, and %d events", of, len(b.got))
		}
	})
}

// A start that comes with a signal or an update opens its run with the notifications, or adds them
// to the open one.
func TestNotificationsOfStartsWithMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{}
		d.Receivers = r
		p := d.Start(notifying(t), notifiedBinding)
		for _, c := range []struct{ path, body string }{
			{"u/updates/nudging", `{"updateId":"u","input":"x","waitFor":"completed","start":{"type":"notified","input":"","idConflictPolicy":"fail","notify":[{"url":"https://u.example"}]}}`},
			{"u/signals/proceed", `{"input":"done","start":{"type":"notified","input":"","notify":[{"url":"https://v.example"}]}}`},
			{"s/signals/proceed", `{"input":"done","start":{"type":"notified","input":"","notify":[{"url":"https://s.example"}]}}`},
		} {
			if a := p.Do(http.MethodPost, "/v1/workflows/"+c.path, c.body); a.Status >= 300 {
				t.Errorf("%s: %d %s", c.path, a.Status, a.Body)
			}
		}
		time.Sleep(time.Minute)
		var got []string
		for _, text := range r.texts() {
			got = append(got, text[:len("https://u")])
		}
		slices.Sort(got)
		if fmt.Sprint(got) != "[https://s https://u https://v]" {
			t.Errorf("the receivers got %q", r.texts())
		}
	})
}

// What a receiver does decides whether it is asked again: with the same id and the same body.
func TestDelivery(t *testing.T) {
	t.Parallel()
	many := func(status, n int) []int { return slices.Repeat([]int{status}, n) }
	for name, c := range map[string]struct {
		answers []int
		want    history.Status
		got     int
		after   time.Duration // the last attempt, about
	}{
		"takes it":                {got: 1, want: history.Completed},
		"takes it after an error": {answers: many(500, 2), got: 3, want: history.Completed, after: 5 * time.Second},
		"is slow":                 {answers: many(0, 2), got: 3, want: history.Completed, after: 15 * time.Second},
		"redirects":               {answers: many(302, 1), got: 2, want: history.Completed},
		"is gone at once":         {answers: many(410, 1), got: 1, want: history.Failed},
		"is gone later":           {answers: append(many(500, 3), 410), got: 4, want: history.Failed, after: 30 * time.Second},
		"never takes it":          {answers: many(503, 100), got: 19, want: history.Failed, after: 66 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, r := testbed.New(t), &receivers{answers: c.answers}
				d.Receivers = r
				var logs bytes.Buffer
				o := notifying(t)
				o.Logger, o.Retention = slog.New(slog.NewTextHandler(&logs, nil)), 30*24*time.Hour
				p := d.Start(o, notifiedBinding)
				run := startNotified(t, p, "w", `"input":"fail","notify":[{"url":"https://a.example/hunter2?b=hunter2","result":true}]`)
				time.Sleep(80 * time.Hour)
				of := d.Runs(fmt.Sprintf("weft.notify:%s:2", run))
				if len(of) != 1 || of[0].State.Status != c.want {
					t.Fatalf("%+v, want %s", of, c.want)
				}
				if len(r.all()) != c.got {
					t.Fatalf("the receiver got %d requests, want %d", len(r.all()), c.got)
				}
				first, last := r.all()[0], r.all()[len(r.all())-1]
				for _, one := range r.all() {
					if one.id != first.id || one.body != first.body || !strings.Contains(one.body, `"failureText":"it broke"`) {
						t.Errorf("%+v\nwant %+v", one, first)
					}
				}
				if took := last.at.Sub(first.at); took < c.after {
					t.Errorf("the last attempt came after %s, want %s", took, c.after)
				}
				p.Stop()
				if text := logs.String(); strings.Contains(text, "hunter2") || (len(c.answers) > 0) != strings.Contains(text, "did not take a notification") {
					t.Errorf("the log is %s", text)
				}
				d.Replay(notifiedBinding)
			})
		})
	}
}

// A receiver that took a notification never gets it again, however short the retention is: the run
// sends its message again for as long as it is there, and the delivering run stays until then.
func TestDeliveredOnce(t *testing.T) {
	t.Parallel()
	for _, retention := range []time.Duration{2 * time.Hour, 12 * time.Hour, day, 36 * time.Hour, 2 * day, 3 * day, 7 * day} {
		t.Run(retention.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, r := maintained(t), &receivers{}
				d.Receivers = r
				o := notifying(t)
				o.Retention = retention
				p := d.Start(o, notifiedBinding)
				time.Sleep(6 * time.Hour)
				run := startNotified(t, p, "w", `"input":"done","notify":[{"url":"https://a.example"}]`)
				time.Sleep(12 * day)
				if len(r.all()) != 1 {
					t.Errorf("the receiver got %q", r.texts())
				}
				for _, id := range []string{"w", fmt.Sprintf("weft.notify:%s:2", run)} {
					if a := p.Do(http.MethodGet, "/v1/workflows/"+id, ""); a.Status != http.StatusNotFound {
						t.Errorf("%s is there after its retention: %s", id, a.Body)
					}
				}
			})
		})
	}
}

// Neither callers nor workflow code keep a delivery from going on, or let one that was delivered go
// out again. One that was given up is delivered again by a reset.
func TestCallersSteerNoDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{answers: slices.Repeat([]int{500}, 100)}
		d.Receivers = r
		o := notifying(t)
		o.Retention = 30 * day
		teller := workflow.NewWorkflow[string, string]("teller")
		p := d.Start(o, notifiedBinding, workflow.Bind(teller, func(ctx workflow.Context, id string) (string, error) {
			_, err := proceed.SendTo(ctx, workflow.External(id), "x").Get(ctx)
			return fmt.Sprint(errors.Is(err, workflow.ErrInvalid), err), nil
		}))
		run := startNotified(t, p, "w", `"input":"done","notify":[{"url":"https://a.example/x"}]`)
		time.Sleep(2 * time.Second)
		id := fmt.Sprintf("weft.notify:%s:2", run)
		delivering := d.Runs(id)[0].State
		var activity int64
		for activity = range delivering.Activities {
		}
		refused := func(path, body string) {
			t.Helper()
			before := d.Snapshot()
			a := p.Do(http.MethodPost, "/v1/workflows/"+id+path, body)
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "one of Weft's own") || d.Snapshot() != before {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
		again := `{"to":"firstTask","reason":"x"}`
		for path, body := range map[string]string{
			"/signals/x": `{}`, "/updates/x": `{}`, "/pause": `{}`, "/reset": again, "/move": `{}`,
			fmt.Sprintf("/activities/%d/fail?runId=%s", activity, delivering.RunID): `{}`, fmt.Sprintf("/activities/%d/complete?runId=%s", activity, delivering.RunID): `{}`,
		} {
			refused(path, body)
		}
		tells, err := teller.Start(t.Context(), p.Client, "t", id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tells.Result(t.Context()); err != nil || !strings.HasPrefix(got, "true") || !strings.Contains(got, "one of Weft's own") {
			t.Errorf("a signal of another workflow: %s, %v", got, err)
		}
		time.Sleep(80 * time.Hour)
		if all := d.Runs(id); len(all) != 1 || all[0].State.Status != history.Failed {
			t.Fatalf("%d runs, the last is %v", len(all), all[len(all)-1].State.Status)
		}
		r.mu.Lock()
		r.answers, r.got = nil, nil
		r.mu.Unlock()
		if a := p.Do(http.MethodPost, "/v1/workflows/"+id+"/reset", again); a.Status >= 300 {
			t.Fatalf("a reset of one that was given up: %d %s", a.Status, a.Body)
		}
		time.Sleep(time.Minute)
		refused("/reset", again)
		time.Sleep(time.Minute)
		if n := len(r.all()); n != 1 {
			t.Errorf("the receiver got it %d times", n)
		}
	})
}

// An outage of all receivers shows in a health metric, and a first attempt that fails does not.
func TestNotificationFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []int
		want    float64
	}{
		"takes it":                       {},
		"takes it at the second attempt": {answers: []int{503}},
		"takes it at the third attempt":  {answers: []int{503, 503}, want: 1},
		"wants none any more":            {answers: []int{410}, want: 1},
		"never takes it":                 {answers: slices.Repeat([]int{503}, 100), want: 19}, // 18 attempts, and the end
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, counted := testbed.New(t), &testbed.Observed{}
				d.Receivers = &receivers{answers: c.answers}
				o := notifying(t)
				o.Observe, o.Retention = observe.New(counted), 30*day
				p := d.Start(o, notifiedBinding)
				startNotified(t, p, "w", `"input":"fail","notify":[{"url":"https://a.example"}]`)
				time.Sleep(80 * time.Hour)
				if got, calls := counted.Sum(observe.NotificationFailures), counted.Sum(observe.CallFailures); got != c.want || calls != c.want {
					t.Errorf("%v failures, and %v of calls, want %v", got, calls, c.want)
				}
			})
		})
	}
}

// The function of activities may have its least time-out, 10 s of which 5 are kept: further
// attempts fit into it.
func TestDeliveryInTheShortestFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{answers: []int{503, 503}}
		d.Receivers = r
		p := d.Idle(notifying(t), notifiedBinding)
		run := startNotified(t, p, "w", `"input":"done","notify":[{"url":"https://a.example"}]`)
		for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
			for _, name := range []string{queue.Activities, queue.Timers} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				got, _ := d.Queue.Receive(ctx, name, queue.MaxBatch)
				cancel()
				for _, one := range got {
					m, err := outbox.Decode(one.Body)
					if err != nil {
						t.Fatal(err)
					}
					received := inbox.Delivery{Message: m, Received: 1, Deadline: time.Now().Add(10 * time.Second), Longest: 5 * time.Second}
					if err := p.Service.Service.Deliveries.Handle(t.Context(), received); err != nil {
						t.Error(err)
					}
					if err := d.Queue.Delete(t.Context(), name, one.Receipt); err != nil {
						t.Error(err)
					}
				}
			}
		}
		of := d.Runs(fmt.Sprintf("weft.notify:%s:2", run))
		if len(of) != 1 || of[0].State.Status != history.Completed || len(r.all()) != 3 {
			t.Errorf("%d requests; the delivering run is %+v", len(r.all()), of)
		}
	})
}

// A delivering run with a shorter retention than its run is there as long as that one is: it is not
// deleted on request, the receiver gets nothing twice, and the run says that it was delivered.
func TestDeliveringRunIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := maintained(t), &receivers{}
		d.Receivers = r
		o := notifying(t)
		o.Retention = 60 * day
		p := d.Start(o, notifiedBinding)
		run := startNotified(t, p, "w", `"input":"","notify":[{"url":"https://a.example"}]`)
		time.Sleep(time.Hour)
		p.Stop()
		o.Retention = 7 * day
		p = d.Start(o, notifiedBinding)
		if err := proceed.Send(t.Context(), p.Client, "w", "done"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(day)
		delivering := fmt.Sprintf("weft.notify:%s:2", run)
		a := p.Do(http.MethodDelete, fmt.Sprintf("/v1/workflows/%s?runId=%s", delivering, d.Runs(delivering)[0].State.RunID), "")
		if a.Status != http.StatusConflict || !strings.Contains(string(a.Body), "delete that one first") {
			t.Errorf("its deletion: %d %s", a.Status, a.Body)
		}
		for range 58 {
			time.Sleep(day)
			if a := p.Do(http.MethodGet, "/v1/workflows/w", ""); !strings.Contains(string(a.Body), `"delivered"`) {
				t.Fatalf("the run is %s", a.Body)
			}
		}
		time.Sleep(5 * day)
		for _, id := range []string{"w", delivering} {
			if a := p.Do(http.MethodGet, "/v1/workflows/"+id, ""); a.Status != http.StatusNotFound {
				t.Errorf("%s is there after its retention: %s", id, a.Body)
			}
		}
		if len(r.all()) != 1 {
			t.Errorf("the receiver got %q", r.texts())
		}
	})
}

// A notification has the result if its start asked for it, unless the run has been deleted since.
func TestNotificationsWithResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{answers: slices.Repeat([]int{500}, 7)} // for an hour
		d.Receivers = r
		p := d.Start(notifying(t), notifiedBinding)
		run := startNotified(t, p, "w", `"input":"done","notify":[{"url":"https://a.example","result":true}]`)
		time.Sleep(3 * time.Hour)
		if err := p.Client.Delete(t.Context(), "w", string(run)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		if n := len(r.all()); n != 8 || !strings.Contains(r.all()[6].body, `"result":"done"`) || !strings.Contains(r.all()[7].body, `"resultOmitted":"deleted"`) {
			t.Errorf("%+v", r.all())
		}
	})
}

// playNotified plays a run that notifies two receivers, one of which answers only the second time,
// with one failing write. It returns how both runs and the receivers ended.
func playNotified(t *testing.T, number int, f fault) (seen []string, count int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, r := testbed.New(t), &receivers{answers: []int{500}}
		d.Receivers = r
		ports := &faulty{Ports: d.Ports, number: number, fault: f}
		d.Ports = executor.Ports{Log: ports, Attempts: ports, Timers: ports, Lister: d.Store, Queue: ports, Keys: d.Store}
		p := d.Start(notifying(t), notifiedBinding)
		startNotified(t, p, "w", `"input":"","requestId":"r","notify":[{"url":"https://a.example"},{"url":"https://b.example","result":true}]`)
		if err := p.Client.Signal(t.Context(), "w", "proceed", history.Payload(`"done"`), client.SignalOptions{RequestID: "s"}); err != nil {
			t.Errorf("signal: %v", err)
		}
		time.Sleep(10 * time.Minute)
		run := d.Runs("w")[0]
		for _, event := range []int64{2, 3} {
			of := d.Runs(fmt.Sprintf("weft.notify:%s:%d", run.State.RunID, event))
			if len(of) != 1 || of[0].State.Status != history.Completed {
				t.Errorf("the delivering runs of event %d are %+v", event, of)
			}
		}
		same := map[string]string{}
		for _, one := range r.all() {
			if before, ok := same[one.id]; ok && before != one.body {
				t.Errorf("%s has two bodies:\n%s\n%s", one.id, before, one.body)
			}
			same[one.id] = one.body
		}
		seen = append(seen, fmt.Sprint(run.State.Status, " ", len(same)))
		p.Stop()
		count = ports.written()
		d.Replay(notifiedBinding)
		if t.Failed() {
			t.Logf("write %d failed (%v): %s", number, f, ports.hit)
		}
	})
	return seen, count
}

// Each write of a run that notifies, and of the runs that deliver, fails in three ways. Each
// receiver is still notified by one run, always with the same id and the same body.
func TestEveryWriteOfANotificationFails(t *testing.T) {
	want, count := playNotified(t, 0, refused)
	if count < 6 || fmt.Sprint(want) != "[completed 2]" {
		t.Fatalf("without a fault %d writes end with %q", count, want)
	}
	t.Logf("the scenario makes %d writes", count)
	for number := 1; number <= count; number++ {
		for _, f := range faults(number) {
			if got, _ := playNotified(t, number, f); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("with write %d failing (%v) it ended with %q, want %q", number, f, got, want)
			}
		}
	}
}

// What a start may not ask for changes nothing.
func TestRefusedNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		d.Receivers = &receivers{}
		p, off := d.Idle(notifying(t), notifiedBinding), d.Idle(executor.Options{}, notifiedBinding)
		before := d.Snapshot()
		for _, c := range []struct {
			p          *testbed.Process
			notify     string
			at, detail string
		}{
			{off, `[{"url":"https://a.example"}]`, "notify[0].url", "notifies no URL"},
			{p, `[{"url":"https://a.example"},{"url":"https://evil.org/hunter2"}]`, "notify[1].url", "evil.org is not among"},
			{p, `[{"url":"http://a.example/hunter2"}]`, "notify[0].url", "https://"},
			{p, `[{}]`, "notify[0].url", "no URL"},
			{p, `[{"eventBridge":true}]`, "notify[0].eventBridge", "no event bus"},
			{p, `[{"eventBridge":true,"url":"https://a.example"}]`, "notify[0].eventBridge", "two notifications"},
			{p, `[{"url":"https://a.example"},{"url":"https://a.example"}]`, "notify[1]", "twice"},
			{p, `[{"url":"https://a.example"},{"url":"https://b.example"},{"url":"https://c.example"},{"url":"https://d.example"},{"url":"https://e.example"}]`, "notify", "at most 4"},
		} {
			for _, request := range []struct{ path, body, at string }{
				{"/v1/workflows", `{"type":"notified","workflowId":"w","input":"","notify":` + c.notify + `}`, ""},
				{"/v1/workflows/w/signals/proceed", `{"input":"","start":{"type":"notified","input":"","notify":` + c.notify + `}}`, "start."},
				{"/v1/workflows/w/updates/nudging", `{"input":"","waitFor":"accepted","start":{"type":"notified","input":"","idConflictPolicy":"useExisting","notify":` + c.notify + `}}`, "start."},
			} {
				a := c.p.Do(http.MethodPost, request.path, request.body)
				if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), `"at":"`+request.at+c.at+`"`) || !strings.Contains(string(a.Body), c.detail) || strings.Contains(string(a.Body), "hunter2") {
					t.Errorf("%s %s: %d %s", request.path, c.notify, a.Status, a.Body)
				}
			}
		}
		if d.Snapshot() != before {
			t.Error("a refused start wrote something")
		}
	})
}
