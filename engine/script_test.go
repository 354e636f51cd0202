package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// TestScripts runs the golden scripts in testdata: each plays one run, step by step, and shows the
// engine's commits and the messages that it would send. Rewrite them with `go test ./engine -run
// TestScripts -rewrite` and read the difference.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		p := &player{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p.out.Reset()
			p.play(d)
			return p.out.String()
		})
		p.close()
	})
}

// player plays a script. It does what surrounds the engine in a process, without I/O.
type player struct {
	t        *testing.T
	out      strings.Builder
	run      *engine.Run
	instance *engine.Instance
	clock    history.Timestamp
	commits  byte
	build    string
	options  engine.Options
	locals   []string // outcomes of the next local activities
}

func (p *player) printf(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *player) close() {
	if p.instance != nil {
		p.instance.Close()
		p.instance = nil
	}
}

func (p *player) play(d *datadriven.TestData) {
	switch d.Cmd {
	case "start":
		p.start(started(d), subscriptions(d)...)
	case "complete", "fail", "canceled", "signal", "cancel", "fire", "move", "fail-update", "resume":
		p.bringEvent(p.event(d))
	case "pause":
		p.commit(p.run.Pause(p.writer(), history.Of(&history.WorkflowExecutionPaused{Reason: arg(d, "reason"), RequestID: arg(d, "request")})))
		p.close()
	case "subscribe":
		p.commit(p.run.Subscribe(p.writer(), subscriptions(d)))
		p.close()
	case "time-out":
		p.clock = max(p.clock, p.run.Deadline())
		p.take(p.run.TimeOut(p.writer()), engine.Task{})
	case "several":
		p.several(d)
	case "update":
		p.step(engine.Task{Updates: p.requests(d)})
	case "retry":
		p.step(engine.Task{Attempt: 2})
	case "query":
		p.query(arg(d, "name"))
	case "topics":
		p.topics()
	case "reset":
		p.reset(d)
	case "outcomes":
		p.outcomes(d)
	case "evict":
		p.close()
		p.printf("the instance is gone; %d commits remain", len(p.run.Log))
	case "replay":
		p.replay()
	case "pinned":
		p.printf("%q", p.run.State.Pinned)
	case "streak":
		p.streak()
	case "fence":
		p.commit(p.run.Fence(p.writer()))
	case "terminate":
		p.commit(p.run.End(p.writer(), history.Of(&history.WorkflowExecutionTerminated{NewRunID: history.RunID(arg(d, "next")), ReplacedBy: history.RunID(arg(d, "replaced-by"))})))
	case "deploy":
		p.build = arg(d, "build")
		p.close()
	case "advance":
		by, err := time.ParseDuration(arg(d, "by"))
		if err != nil {
			d.Fatalf(p.t, "%v", err)
		}
		p.clock = p.clock.Add(by)
	case "waits":
		p.waits()
	case "limit":
		p.options.MaxStarts, _ = strconv.Atoi(arg(d, "starts"))
		p.options.Limits.UpdatesInFlight, _ = strconv.Atoi(arg(d, "in-flight"))
		p.options.Limits.UpdateBytesInFlight, _ = strconv.Atoi(arg(d, "bytes"))
	default:
		news := p.news(d)
		if news == nil {
			d.Fatalf(p.t, "no such command")
		}
		p.bring(news)
	}
}

func arg(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name && len(a.Vals) > 0 {
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func payload(text string) history.Payload {
	if text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return history.Payload(text)
	}
	quoted, _ := json.Marshal(text)
	return quoted
}

func (p *player) event(d *datadriven.TestData) history.Event {
	id, _ := strconv.ParseInt(arg(d, "event"), 10, 64)
	switch d.Cmd {
	case "complete":
		return history.Of(&history.ActivityTaskCompleted{ScheduledEventID: id, Result: payload(arg(d, "result")), Attempt: 1})
	case "fail":
		return history.Of(&history.ActivityTaskFailed{ScheduledEventID: id, Failure: failure.FromError(failure.New(arg(d, "error"), "it failed")), Attempt: 1})
	case "canceled":
		return history.Of(&history.ActivityTaskCanceled{ScheduledEventID: id, Attempt: 1})
	case "signal":
		return history.Of(&history.WorkflowExecutionSignaled{SignalName: arg(d, "name"), Input: payload(arg(d, "input"))})
	case "cancel":
		return history.Of(&history.WorkflowExecutionCancelRequested{Reason: arg(d, "reason")})
	case "fail-update":
		return history.Of(&history.WorkflowExecutionUpdateFailed{UpdateID: arg(d, "id"), AcceptedEventID: id, Failure: failure.FromError(failure.New("UpdateFailedByOperator", arg(d, "reason")).Final())})
	case "move":
		return history.Of(&history.WorkflowExecutionOptionsUpdated{Build: arg(d, "build")})
	case "resume":
		return history.Of(&history.WorkflowExecutionUnpaused{Reason: arg(d, "reason"), RequestID: arg(d, "request")})
	}
	return history.Of(&history.TimerFired{StartedEventID: id})
}

// bringEvent delivers an event in a task. A paused run gets it in the task that resumes it.
func (p *player) bringEvent(e history.Event) {
	task := engine.Task{InputEvents: []history.Event{e}}
	if p.run.State.Paused != nil && !task.Resumes() {
		p.commit(p.run.Suspend(p.writer(), task.InputEvents))
		p.close()
		return
	}
	p.step(task)
}

// several delivers the events and updates of its lines in one task.
func (p *player) several(d *datadriven.TestData) {
	var task engine.Task
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		cmd, args, err := datadriven.ParseLine(line)
		if err != nil {
			d.Fatalf(p.t, "%v", err)
		}
		one := &datadriven.TestData{Cmd: cmd, CmdArgs: args}
		if cmd == "update" {
			task.Updates = append(task.Updates, p.requests(one)...)
		} else if news := p.news(one); news != nil {
			task.InputEvents = append(task.InputEvents, p.run.Awaited(history.Of(news))...)
		} else {
			task.InputEvents = append(task.InputEvents, p.event(one))
		}
	}
	p.step(task)
}

func (p *player) requests(d *datadriven.TestData) []engine.UpdateRequest {
	return []engine.UpdateRequest{{ID: arg(d, "id"), Name: arg(d, "name"), Input: payload(arg(d, "input"))}}
}

func (p *player) writer() *engine.Writer {
	p.commits++
	return &engine.Writer{Now: p.clock, Commit: history.CommitID{p.commits}, Build: p.build, RunID: history.NewRunID(1, [8]byte{7}), NextRunID: history.NewRunID(2, [8]byte{7}), Options: p.options, NextTime: nextHour}
}

// nextHour is when each cron expression of a script begins a run.
func nextHour(_ string, after history.Timestamp) history.Timestamp { return after.Add(time.Hour) }

// subscriptions returns a subscription for each word of an argument: a path of the caller's, or
// "bus".
func subscriptions(d *datadriven.TestData) (events []history.Event) {
	if arg(d, "notify") == "" {
		return nil
	}
	for _, to := range strings.Split(arg(d, "notify"), ",") {
		a := &history.CompletionSubscribed{RequestID: arg(d, "request"), EventBridge: to == "bus"}
		if !a.EventBridge {
			a.URL = "https://caller/" + to
		}
		events = append(events, history.Of(a))
	}
	return events
}

// started returns the event that a script's start opens its run with. The run is pinned to a build
// unless that is empty.
func started(d *datadriven.TestData) *history.WorkflowExecutionStarted {
	a := &history.WorkflowExecutionStarted{WorkflowType: arg(d, "type"), Input: payload(arg(d, "input")), Build: arg(d, "build"), Cron: arg(d, "cron"), RequestID: arg(d, "request")}
	if attempts, _ := strconv.Atoi(arg(d, "attempts")); attempts > 0 {
		a.Retry = &history.RetryPolicy{InitialInterval: history.Duration(time.Minute), BackoffCoefficient: 2, MaximumInterval: history.Duration(time.Hour), MaximumAttempts: attempts}
	}
	a.Attempt, _ = strconv.Atoi(arg(d, "attempt"))
	for name, to := range map[string]*history.Duration{"run-timeout": &a.RunTimeout, "execution-timeout": &a.ExecutionTimeout} {
		took, _ := time.ParseDuration(arg(d, name))
		*to = history.Duration(took)
	}
	return a
}

// start opens a run.
func (p *player) start(a *history.WorkflowExecutionStarted, subscriptions ...history.Event) {
	p.close()
	p.run, p.commits, p.build = engine.NewRun("script", 1), 0, "build-1"
	p.clock = history.At(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	p.step(engine.Task{InputEvents: append([]history.Event{history.Of(a)}, subscriptions...)})
}

// code returns the instance, and creates it if there is none.
func (p *player) code() *engine.Instance {
	if p.instance == nil {
		started := p.run.State.Started
		if started == nil {
			p.instance = engine.NewInstance(nil, "script", history.NewRunID(1, [8]byte{7}))
			return p.instance
		}
		p.instance = p.newInstance(started.WorkflowType)
	}
	return p.instance
}

func (p *player) newInstance(typ string) *engine.Instance {
	return engine.NewInstance(scriptRegistry(p.build).Workflow(typ), "script", history.NewRunID(1, [8]byte{7}))
}

func (p *player) step(task engine.Task) {
	if len(p.run.Log) == 0 {
		p.instance = p.newInstance(task.InputEvents[0].Attributes.(*history.WorkflowExecutionStarted).WorkflowType)
	}
	p.take(p.runLocals(p.code(), p.run.Step(p.code(), p.writer(), task)), task)
}

// take takes the transition of a task.
func (p *player) take(transition *engine.Transition, task engine.Task) {
	for i, u := range transition.Updates {
		p.verdict(task.Updates[i], u)
	}
	if f := transition.Failure; f != nil {
		p.printf("the task failed: %s: %s", f.Kind, f.Message)
	}
	if transition.Commit == nil {
		if transition.Unchanged {
			p.printf("nothing is written; the instance stays")
			return
		}
		p.printf("nothing is written; the instance is dropped")
		p.close()
		return
	}
	p.commit(transition.Commit)
	if transition.Failure != nil || transition.Task == nil {
		p.close()
	} else {
		p.printf("pending futures: %v", p.instance.PendingFutures())
	}
	for _, e := range transition.Next {
		p.printf("the next run begins with %s%s", e.Type(), attributes(e.Attributes))
	}
	for _, name := range transition.Unhandled {
		p.printf("a signal that no code has asked for: %s", name)
	}
	for _, w := range transition.Unfinished {
		p.printf("warning: handler still running: %s", w)
	}
}

func (p *player) verdict(request engine.UpdateRequest, u engine.UpdateResult) {
	names := []string{"unanswered", "accepted", "rejected", "invalid", "too many in flight", "too many in total"}
	text := names[u.Verdict]
	if u.Failure != nil {
		text += ": " + u.Failure.Message
	}
	p.printf("update %s: %s", request.ID, text)
}

// commit encodes a commit, decodes it again, and adds it to the log, as a store does.
func (p *player) commit(c *history.Commit) {
	body, err := history.Encode(c)
	if err != nil {
		p.t.Fatal(err)
	}
	stored, err := history.Decode(c.Slot, body)
	if err != nil {
		p.t.Fatal(err)
	}
	next := p.run.Messages(stored)
	if err := p.run.Append(stored, len(body)); err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(next, p.run.Messages(stored)); diff != "" {
		p.t.Errorf("slot %d schedules other messages when it is in the log (-before +after):\n%s", stored.Slot, diff)
	}
	p.printf("slot %d:", stored.Slot)
	for _, e := range stored.Events() {
		p.printf("  %2d %s%s", e.ID, e.Type(), attributes(e.Attributes))
	}
	for _, m := range p.run.Messages(stored) {
		due := ""
		if m.Due != 0 {
			due = " in " + m.Due.Sub(p.clock).String()
		}
		p.printf("send: %s, event %d, attempt %d%s", m.Kind, m.EventID, m.Attempt, due)
	}
	if stored.Status.Closed() {
		p.printf("the run is %s", stored.Status)
	}
}

// attributes returns the attributes that a script shows.
func attributes(a history.Attributes) string {
	data, _ := json.Marshal(a)
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields)
	show := ""
	for _, name := range []string{"workflowType", "workflowId", "initiatedEventId", "childInitiatedEventId", "parentClosePolicy", "quiet", "kind", "markerName", "id", "activityType", "signalName", "updateName", "updateId", "sequencingEventId", "acceptedEventId", "scheduledEventId", "startedEventId", "input", "result", "details", "retryAt", "fireAt", "topic", "offset", "count", "items", "before", "topics", "url", "eventBridge", "reason"} {
		if v, ok := fields[name]; ok && a.Type() != history.TypeWorkflowTaskStarted && a.Type() != history.TypeWorkflowTaskCompleted {
			show += " " + name + "=" + strings.Trim(string(v), `"`)
		}
	}
	if f, ok := fields["failure"]; ok {
		var fail failure.Failure
		_ = json.Unmarshal(f, &fail)
		for g := &fail; g != nil; g = g.Cause {
			show += " failure=" + g.Kind.String()
		}
	}
	return show
}

// replay rebuilds the instance from the commits, one by one.
func (p *player) replay() {
	p.close()
	in := p.code()
	for _, c := range p.run.Log {
		before := in.PendingFutures()
		if err := in.Replay(c); err != nil {
			p.printf("slot %d: %v", c.Slot, err)
			p.close()
			return
		}
		var matched []string
		for i, e := range c.Commands {
			matched = append(matched, fmt.Sprintf("%d %s", c.FirstCommandID()+int64(i), e.Type()))
		}
		p.printf("slot %d: futures %v; brought %d events; matched and removed %q; futures %v", c.Slot, before, len(c.InputEvents), matched, in.PendingFutures())
	}
}

// streak shows since when and why the run is stuck.
func (p *player) streak() {
	s := p.run.State.Streak
	if s == nil {
		p.printf("it is not stuck")
		return
	}
	p.printf("since %s, task of event %d; %d of its tasks in the log failed; first: %s: %s",
		s.Since.Time().Format(time.TimeOnly), s.FirstEvent, s.Commits, s.First.Kind, s.First.Message)
}

// topics shows the topics of the run.
func (p *player) topics() {
	for _, name := range slices.Sorted(maps.Keys(p.run.State.Topics)) {
		t := p.run.State.Topics[name]
		p.printf("%s: first %d, next %d; %d items here, %d bytes; withdrawn %v", name, t.First, t.Next, t.Items, t.Bytes, t.Withdrawn)
		for _, b := range t.Batches {
			p.printf("  %d from offset %d in slot %d%s", b.Count, b.Offset, b.Slot, map[bool]string{true: ", copied"}[b.Copied])
		}
	}
}

// reset resets the run to the task of an event, and goes on with the new run.
func (p *player) reset(d *datadriven.TestData) {
	event, _ := strconv.ParseInt(arg(d, "event"), 10, 64)
	commits, err := p.run.Reset(p.writer(), &engine.Reset{EventID: event, MaxCommit: 1 << 20, MaxTotal: 1 << 20}, p.run.Commits())
	if err != nil {
		d.Fatalf(p.t, "%v", err)
	}
	p.close()
	p.run = engine.NewRun("script", 2)
	for _, c := range commits {
		p.commit(c)
	}
	p.step(engine.Task{First: true})
}

func (p *player) query(name string) {
	answer, err := p.run.Query(p.code(), p.writer(), name, nil)
	p.close()
	if err != nil {
		p.printf("no answer: %v", err)
		return
	}
	p.printf("answer: %s", answer)
}
