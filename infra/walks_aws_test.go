//go:build aws

package infra_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/workflow"
)

// began starts a walk.
func (d *deployment) began(id string, steps []string, o ...workflow.StartOptions) workflow.Run[string] {
	d.t.Helper()
	run, err := walk.Start(d.t.Context(), d.Client, id, steps, o...)
	if err != nil {
		d.t.Fatalf("%s: %v", id, err)
	}
	return run
}

// runWalks runs walks with each kind of step after each kind of event.
func (d *deployment) runWalks(v *traveller) {
	d.t.Helper()
	const trips = 3 // the task fails, and so do two further attempts at it
	v.trips.Store(trips)
	var runs []workflow.Run[string]
	for i, steps := range [][]string{
		{work}, {fanOut}, {nap}, {sleep}, // by the request
		{work, work}, {work, fanOut}, {work, nap}, {work, sleep}, {work, again, work}, // by the activity's message
		{fanOut, work}, {fanOut, nap}, {fanOut, sleep}, {fanOut, again, work}, // by the results
		{nap, work}, {nap, nap}, {nap, sleep}, {nap, again, nap}, // by the timer
		{children}, {work, children}, {fanOut, children, work}, {nap, children, nap}, // by each
		{flaky}, {distant}, {beat}, {nap, trip}, {freight, haul, convoy, nap, haul},
	} {
		runs = append(runs, d.began(fmt.Sprintf("walk-%d", i), steps))
	}
	for _, run := range runs {
		if _, err := run.Result(d.t.Context()); err != nil {
			d.t.Errorf("%s: %v", run.WorkflowID, err)
		}
	}
	soon := workflow.StartOptions{RunTimeout: shortNap}
	if _, err := d.began("too-long", []string{listen}, soon).Result(d.t.Context()); err == nil {
		d.t.Error("a run was open for longer than its timeout")
	}
	later := workflow.StartOptions{StartDelay: shortNap}
	if _, err := d.began("later", nil, later).Result(d.t.Context()); err != nil {
		d.t.Errorf("a delayed start: %v", err)
	}
}

// runRequests makes each request of the API, with each kind of step after those that cause a
// task.
func (d *deployment) runRequests() {
	d.t.Helper()
	ctx, id := d.t.Context(), "request"
	run := d.began(id, []string{listen, again, listen, listen, forever})
	check := func(err error) {
		d.t.Helper()
		if err != nil {
			d.t.Error(err)
		}
	}
	if _, err := detour.Call(ctx, d.Client, id, nil); err == nil {
		d.t.Error("an update with nothing to do was accepted")
	}
	for _, step := range []string{work, nap, sleep} {
		_, err := detour.Call(ctx, d.Client, id, []string{step}, workflow.CallOptions{ID: "to-" + step})
		check(err)
	}
	_, err := left.Ask(ctx, d.Client, id, workflow.None{})
	check(err)
	check(note.Send(ctx, d.Client, id, nil)) // and so it continues as new
	check(note.Send(ctx, d.Client, id, []string{work}))
	check(note.Send(ctx, d.Client, id, nil))
	for _, path := range []string{"", "/" + id, "/" + id + "/history", "/" + id + "/updates/to-work", "/" + id + "/result?runId=" + run.RunID} {
		d.get("/v1/workflows" + path)
	}
	d.began(id, []string{listen}, workflow.StartOptions{IDConflictPolicy: "terminateExisting"})
	check(walk.Get(d.Client, id).Cancel(ctx, "enough"))
	_, err = walk.Get(d.Client, id).Reset(ctx, workflow.ResetOptions{To: "firstTask"})
	check(err)
	_, err = detour.Call(ctx, d.Client, "with-update", []string{work}, workflow.CallOptions{
		Start: walk.WithStart([]string{listen}, workflow.StartOptions{IDConflictPolicy: "useExisting"}),
	})
	check(err)
	check(walk.Get(d.Client, "with-update").Terminate(ctx, "enough"))
	d.runOutside(check)
	d.runQueues(check)
	d.runBatch(check)
	d.runNotified(check)
	check(note.Send(ctx, d.Client, "with-signal", nil, workflow.SendOptions{Start: walk.WithStart([]string{listen})}))
}

// inBatch is the id of the workflow that a batch deletes.
const inBatch = "unwanted-in-batch"

// receiver gets notifications, and cannot be reached.
const receiver = "https://receiver.invalid/ends"

// runSecret asks for the secret of a receiver, which makes the signing key, and then deletes that
// key: an activity makes it as well.
func (d *deployment) runSecret(v *traveller) {
	d.t.Helper()
	ctx, table := d.t.Context(), d.table()
	if _, err := d.WebhookSecret(ctx, receiver); err != nil {
		d.t.Fatal(err)
	}
	key := map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: namespace + "/k"}}
	found, err := d.tables.Query(ctx, &dynamodb.QueryInput{TableName: &table, KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: key})
	if err != nil || len(found.Items) != 1 {
		d.t.Fatalf("%v, %v", found, err)
	}
	item := map[string]types.AttributeValue{"pk": found.Items[0]["pk"], "sk": found.Items[0]["sk"]}
	if _, err := d.tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: item}); err != nil {
		d.t.Fatal(err)
	}
	d.start(adapter.API, nil, v.registrations()...) // the process before has the key
}

// runNotified has a receiver notified, in vain: another run delivers, which tries again.
func (d *deployment) runNotified(check func(error)) {
	d.t.Helper()
	_, err := d.began("notified", []string{work}, workflow.StartOptions{Notify: []client.Notification{{URL: receiver}}}).Result(d.t.Context())
	check(err)
}

// runBatch deletes a run in a batch.
func (d *deployment) runBatch(check func(error)) {
	d.t.Helper()
	ctx := d.t.Context()
	b, err := d.StartBatch(ctx, client.BatchOptions{Filter: "WorkflowId = '" + inBatch + "'", Action: &client.BatchAction{Kind: "delete"}})
	check(err)
	_, err = d.Result(ctx, "weft.batch:"+b.ID, "")
	check(err)
	about, err := b.Describe(ctx)
	check(err)
	if err == nil && about.Counts.Done != 1 {
		d.t.Errorf("the batch is %s, with %+v, %v", about.State, about.Counts, about.Problems)
	}
}

// runQueues counts the messages of each queue, and moves its dead letters back.
func (d *deployment) runQueues(check func(error)) {
	d.t.Helper()
	ctx := d.t.Context()
	_, err := d.Deployment(ctx)
	check(err)
	_, err = d.Types(ctx)
	check(err)
	_, err = d.Builds(ctx, "")
	check(err)
	queues, err := d.Queues(ctx)
	check(err)
	for _, q := range queues {
		unreadable := q.Name == queue.Unreadable // it has no dead letters
		if q.Messages == nil || (q.Dead == nil) != unreadable || q.Problem != "" {
			d.t.Errorf("the queue %s is not counted: %+v", q.Name, q)
		}
		if unreadable {
			continue
		}
		_, err := d.Redrive(ctx, q.Name)
		check(err)
	}
}

// runOutside fails an attempt from outside, and completes the next one, with each kind of step
// after it.
func (d *deployment) runOutside(check func(error)) {
	d.t.Helper()
	ctx := d.t.Context()
	for _, step := range []string{work, nap, sleep} {
		run := d.began("ask-"+step, []string{ask, step})
		check(asking.Fail(ctx, d.Client, <-asked, errors.New("not at once")))
		token := <-asked
		check(activity.RecordHeartbeat(ctx, d.Client, token, "halfway"))
		check(asking.Complete(ctx, d.Client, token, "yes"))
		_, err := run.Result(ctx)
		check(err)
	}
	run := d.began("ask-in-vain", []string{askInVain})
	if _, err := run.Result(ctx); err == nil {
		d.t.Error("an activity ended that nobody completed")
	}
}

// get demands an answer to a request that only reads.
func (d *deployment) get(target string) {
	d.t.Helper()
	answer := httptest.NewRecorder()
	lambdahost.Gateway(d, string(adapter.API)).ServeHTTP(answer, httptest.NewRequestWithContext(d.t.Context(), http.MethodGet, target, nil))
	if answer.Code != http.StatusOK {
		d.t.Errorf("%s: %d %s", target, answer.Code, answer.Body)
	}
}

// runDeadLetters passes messages that were received too often to the dead-letter function,
// before any other function gets them. That function sends each again, delayed by five minutes.
// Those that have to arrive are in the table, where this test makes them due at once.
func (d *deployment) runDeadLetters(v *traveller) {
	d.t.Helper()
	d.start(adapter.Dead, map[string]string{"WEFT_LONG_TIMER": ""})
	for kind := engine.RunActivity; kind <= engine.CloseAttempt; kind++ {
		d.hand(adapter.Dead, ghost(d.t, kind, "dead-"+kind.String(), time.Now()))
	}
	d.start(adapter.Dead, nil) // with the LongTimer of this stack: the table keeps the delayed messages
	d.hand(adapter.Dead, d.offloaded(ghostOf(engine.TakeResult, "dead-freight", time.Now(), payload(d.t, freight))))

	d.hand(adapter.Dead, "no message of Weft's")
	if kept := d.take("WEFT_QUEUE_UNREADABLE"); kept != "no message of Weft's" {
		d.t.Errorf("%q is kept", kept)
	}
	d.began("activity-dies", []string{work})
	d.hand(adapter.Dead, d.take("WEFT_QUEUE_ACTIVITIES"))
	d.began("timer-dies", []string{nap})
	d.hand(adapter.Dead, d.take("WEFT_QUEUE_TIMERS"))
	for _, m := range d.early() {
		if m.WorkflowID == "activity-dies" {
			d.hand(adapter.Dead, body(d.t, m)) // it dies once more, and is replaced once more
		}
	}

	// This message died after its process had committed the result, and before it sent what
	// follows. The dead function sends that.
	sent := &letters{}
	p := d.before(v, 0, sent)
	c := client.ForHandler(p.API)
	if _, err := walk.Start(d.t.Context(), c, "follows", []string{freight, haul, nap}); err != nil || len(sent.sent) != 1 {
		d.t.Fatalf("%v, %d messages", err, len(sent.sent))
	}
	m, err := outbox.Decode(sent.sent[0].Body)
	if err != nil {
		d.t.Fatal(err)
	}
	m.Look, m.Copy = 1, 1
	if err := p.Service.Deliveries.Handle(d.t.Context(), executor.Delivery{Message: m, Received: 1}); err != nil || len(sent.sent) != 2 {
		d.t.Fatalf("%v, %d messages", err, len(sent.sent))
	}
	d.hand(adapter.Dead, body(d.t, m))
	d.early()
}

// diedAndWentOn has the walks of runDeadLetters.
var diedAndWentOn = []string{"activity-dies", "timer-dies", "follows"}

// runSweep has the timer function send a large result that has waited for its build.
func (d *deployment) runSweep() {
	d.t.Helper()
	m := ghostOf(engine.TakeResult, "waited", time.Now(), payload(d.t, freight))
	m.Due = history.At(time.Now())
	plain, err := history.EncodeBody(m)
	if err == nil {
		err = d.codec(d.objects).Timers(d.store()).PutTimers(d.t.Context(), []store.Timer{{ID: "waited", Due: m.Due.Time(), Body: plain}})
	}
	if err == nil {
		_, err = d.Invoke(d.t.Context(), string(adapter.Timer), []byte(`{"weft":{"beat":true}}`)) // also a beat
	}
	if err != nil {
		d.t.Error(err)
	}
}

// early makes all messages that wait in the table due now, and returns them.
func (d *deployment) early() (messages []*engine.Message) {
	d.t.Helper()
	ctx, s := d.t.Context(), d.store()
	kept, err := s.DueTimers(ctx, time.Now().Add(time.Hour), 100)
	if err != nil {
		d.t.Fatal(err)
	}
	now := slices.Clone(kept)
	for i := range now {
		m, err := outbox.Decode(now[i].Body)
		if err != nil {
			d.t.Fatal(err)
		}
		m.Due = history.At(time.Now())
		now[i].Due = m.Due.Time()
		if now[i].Body, err = history.EncodeBody(m); err != nil {
			d.t.Fatal(err)
		}
		messages = append(messages, m)
	}
	if err := errors.Join(s.PutTimers(ctx, now), s.DeleteTimers(ctx, kept)); err != nil {
		d.t.Fatal(err)
	}
	return messages
}

// runGhosts passes messages whose commits never arrive to functions, which fence the slot of
// each.
func (d *deployment) runGhosts() {
	d.t.Helper()
	for role, kind := range map[adapter.Role]engine.MessageKind{
		adapter.Activity: engine.RunActivity, adapter.Workflow: engine.FireTimer, adapter.Dead: engine.RunActivity,
	} {
		d.hand(role, ghost(d.t, kind, "ghost-"+string(role), time.Now().Add(-time.Hour)))
	}
}

// ghost is a message whose commit is not in the log.
func ghost(t testing.TB, kind engine.MessageKind, id string, sent time.Time) string {
	t.Helper()
	return body(t, ghostOf(kind, id, sent, nil))
}

// ghostOf returns a ghost, with a result if it should have one.
func ghostOf(kind engine.MessageKind, id string, sent time.Time, result history.Payload) *engine.Message {
	m := &engine.Message{
		Kind: kind, WorkflowID: id, RunID: history.NewRunID(1, [8]byte{1}), Commit: history.CommitID{1}, EventID: 5, Attempt: 1, Sent: history.At(sent),
	}
	if kind == engine.TakeResult {
		done := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: m.EventID, Result: result})
		m.Result = &done
	}
	return m
}

// payload returns a value as histories have it.
func payload(t testing.TB, v any) history.Payload {
	t.Helper()
	p, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// offloaded returns the text of a message that is kept in the bucket.
func (d *deployment) offloaded(m *engine.Message) string {
	d.t.Helper()
	plain, err := history.EncodeBody(m)
	sent := &letters{}
	if err == nil {
		err = d.codec(d.objects).Sender(sent).Send(d.t.Context(), queue.Workflow, queue.Message{Body: plain})
	}
	if err != nil || len(sent.sent) != 1 || len(sent.sent[0].Body) >= len(plain) {
		d.t.Fatalf("%v, %d messages", err, len(sent.sent))
	}
	return base64.RawStdEncoding.EncodeToString(sent.sent[0].Body)
}

// tidy deletes unused blobs, as the timer function does every ten minutes. Its clock is two
// months ahead, so all messages are unused.
func (d *deployment) tidy() {
	d.t.Helper()
	const later = 60 * 24 * time.Hour
	c := d.config(string(adapter.Timer))
	s, err := dynamo.New(dynamodb.NewFromConfig(c), dynamo.Options{Table: d.table(), Namespace: namespace})
	if err != nil {
		d.t.Fatal(err)
	}
	codec := d.codec(s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }), func() time.Time { return time.Now().Add(later) })
	if deleted, err := codec.Tidy(d.t.Context(), codec.Log(s)); err != nil || deleted == 0 {
		d.t.Errorf("%d deleted, %v", deleted, err)
	}
}

// past is the host of a process that ran some time ago.
type past struct {
	host.Machine
	ago time.Duration
}

// Now returns the time of that process.
func (p past) Now() time.Time { return p.Machine.Now().Add(-p.ago) }

// letters keeps the messages that are sent, and delivers none.
type letters struct{ sent []queue.Message }

// Send implements queue.Sender.
func (l *letters) Send(_ context.Context, _ string, messages ...queue.Message) error {
	l.sent = append(l.sent, messages...)
	return nil
}

// before returns a process that ran some time ago, on the same table.
func (d *deployment) before(v *traveller, ago time.Duration, l *letters) *assembly.Process {
	d.t.Helper()
	s := d.store()
	p := assembly.NewProcess(assembly.Config{
		Ports: assembly.PortsOf(s, s.Lister(), l), Registry: testbed.Registry(d.t, v.registrations()...), Host: past{ago: ago},
		Codec: d.codec(d.objects), Options: executor.Options{Logger: slog.New(slog.DiscardHandler)},
	})
	d.t.Cleanup(p.Service.Process.Close)
	return p
}

// runBefore leaves work that only the slow check finds: a run that closed long ago, with a
// recorded attempt, and two runs whose messages were lost. It deletes another run on request, and
// leaves one to the batch.
func (d *deployment) runBefore(v *traveller) {
	d.t.Helper()
	const longAgo, overdue = 60 * 24 * time.Hour, 3 * 24 * time.Hour
	ctx, sent := d.t.Context(), &letters{}
	p := d.before(v, longAgo, sent)
	c := client.ForHandler(p.API)
	run, err := walk.Start(ctx, c, "old", []string{flaky})
	if err != nil || len(sent.sent) != 1 {
		d.t.Fatalf("%v, %d messages", err, len(sent.sent))
	}
	m, err := outbox.Decode(sent.sent[0].Body)
	if err == nil {
		err = p.Service.Deliveries.Handle(ctx, executor.Delivery{Message: m, Received: 1})
	}
	if err == nil {
		err = run.Terminate(ctx, "enough")
	}
	if err != nil {
		d.t.Fatal(err)
	}
	asked, err := walk.Start(ctx, c, "unwanted", []string{listen})
	if err == nil {
		err = asked.Terminate(ctx, "enough")
	}
	if err == nil {
		err = d.Delete(ctx, "unwanted", asked.RunID)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	c = client.ForHandler(d.before(v, overdue, sent).API)
	if asked, err = walk.Start(ctx, c, inBatch, []string{listen}); err == nil {
		err = asked.Terminate(ctx, "enough")
	}
	if err != nil {
		d.t.Fatal(err)
	}
	for _, step := range []string{work, nap} {
		if _, err := walk.Start(ctx, c, "lost-"+step, []string{step, freight}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// runAfterwards waits until the slow check has done its work, and starts a run with the id of
// one that it has deleted.
func (d *deployment) runAfterwards() {
	d.t.Helper()
	for _, id := range append([]string{"lost-" + work, "lost-" + nap}, diedAndWentOn...) {
		if _, err := walk.Get(d.Client, id).Result(d.t.Context()); err != nil {
			d.t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := d.began("old", []string{work}).Result(d.t.Context()); err != nil {
		d.t.Error(err)
	}
}
