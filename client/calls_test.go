package client_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// call is a case: the options of its testbed, and the function that plays it.
type call struct {
	args testbed.Args
	play func(s *fixture)
}

const (
	accepted  = "WorkflowExecutionUpdateAccepted"
	completed = "WorkflowExecutionUpdateCompleted"
	opened    = "WorkflowExecutionStarted"
	signaled  = "WorkflowExecutionSignaled"
)

// calls are the cases, by name.
var calls = map[string]call{
	"call":                                {nil, func(s *fixture) { s.start(); s.add("u1", 3, 3); s.wantSent("POST") }},
	"send, and get":                       {nil, sendAndGet},
	"poll":                                {nil, poll},
	"soft limit after accepted":           {nil, outlivesSoftLimit},
	"soft limit before accepted":          {nil, busyUntilAccepted},
	"deadline of the caller":              {nil, callersDeadline},
	"deadline while the store is busy":    {nil, deadlineWhileBusy},
	"lost answers":                        {nil, lostAnswers},
	"lost answers of an update that naps": {nil, lostAnswersOfNap},
	"lost polls":                          {nil, lostPolls},
	"lost answer of continue-as-new":      {nil, lostAnswerOfRenewal},
	"rejected":                            {nil, rejected},
	"not ready":                           {nil, notReady},
	"in flight":                           {testbed.Args{"inflight": "1"}, inFlight},
	"bytes in flight":                     {testbed.Args{"bytes": "4"}, inFlight},
	"in total":                            {testbed.Args{"total": "1"}, inTotal},
	"not found":                           {nil, notFound},
	"errors of handlers":                  {nil, errorsOfHandlers},
	"update with start":                   {nil, updateWithStart},
	"update with start, rejected":         {nil, updateWithStartRejected},
	"update with start, answers lost":     {nil, updateWithStartLost},
	"updates with start, racing":          {nil, updatesWithStartRacing},
	"update with start, run open":         {nil, updateWithStartOpen},
	"signal with start":                   {nil, signalWithStart},
}

var background = context.Background()

// add sends the update add and checks its outcome.
func (s *fixture) add(id string, n, want int) {
	s.t.Helper()
	if got, err := testbed.Add.Call(background, s.Client, "a", n, workflow.CallOptions{ID: id}); err != nil || got != want {
		s.t.Errorf("add %d returned %d, %v, want %d", n, got, err, want)
	}
}

// nap sends an update that is accepted and then takes the duration d.
func (s *fixture) nap(ctx context.Context, id, d string) (workflow.UpdateHandle[string], error) {
	return testbed.Nap.Send(ctx, s.Client, "a", d, workflow.CallOptions{ID: id})
}

func (s *fixture) wantSlept(text string, err error) {
	s.t.Helper()
	if err != nil || text != "slept" {
		s.t.Errorf("the update returned %q, %v", text, err)
	}
}

func sendAndGet(s *fixture) {
	s.start()
	var handle workflow.UpdateHandle[string]
	var err error
	if took := s.took(func() { handle, err = s.nap(background, "u1", "10s") }); err != nil || took > time.Second {
		s.t.Fatalf("Send returned after %v, %v", took, err)
	}
	if handle.ID != "u1" || handle.WorkflowID != "a" || handle.RunID == "" {
		s.t.Errorf("the handle is %+v", handle.Update)
	}
	s.wantEvents(0, completed)
	if took := s.took(func() { s.wantSlept(handle.Get(background)) }); took != 10*time.Second {
		s.t.Errorf("the outcome came after %v", took)
	}
	sent := len(s.network.requests())
	s.wantSlept(handle.Get(background)) // the handle has cached it
	if now := len(s.network.requests()); now != sent {
		s.t.Errorf("the client asked again for an outcome that it has cached")
	}
}

func poll(s *fixture) {
	s.start()
	s.add("u1", 3, 3)
	out, err := s.Handle("a", "", "u1").Wait(background)
	if err != nil || string(out) != "3" {
		s.t.Errorf("the outcome is %s, %v", out, err)
	}
	other, _ := s.of(2) // a process without a cache
	if out, err = other.Handle("a", "", "u1").Wait(background); err != nil || string(out) != "3" {
		s.t.Errorf("from another process the outcome is %s, %v", out, err)
	}
	if _, err := s.Handle("a", "", "u2").Wait(background); !errors.Is(err, client.ErrNotFound) {
		s.t.Errorf("the handle of an update that was never sent: %v", err)
	}
}

// The server's time limit ends a request and not the call: the client polls an accepted update.
func outlivesSoftLimit(s *fixture) {
	s.start()
	took := s.took(func() {
		s.wantSlept(testbed.Nap.Call(background, s.Client, "a", "1m30s", workflow.CallOptions{ID: "u1"}))
	})
	if took != 90*time.Second {
		s.t.Errorf("the call took %v", took)
	}
	s.wantSent("POST GET GET GET GET")
	for _, r := range s.network.requests()[1:] {
		if r.path != "/v1/workflows/a/updates/u1" || r.query.Get("wait") != "20s" || r.query.Get("runId") == "" {
			s.t.Errorf("polled with %v", r)
		}
	}
	s.wantEvents(1, accepted)
}

// busyFor lets the store refuse all writes of process 1 for the duration d.
func (s *fixture) busyFor(d time.Duration) {
	until := s.bed.Now().Add(d)
	s.bed.Hook(1, testbed.OnPut, true, func(put func() error) error {
		if s.bed.Now().Before(until) {
			return store.ErrThrottled
		}
		return put()
	})
}

// The server's time limit ends a request before the update was accepted. The server answers busy,
// and the client sends the same request again.
func busyUntilAccepted(s *fixture) {
	s.start()
	s.busyFor(25 * time.Second)
	if took := s.took(func() { s.add("u1", 3, 3) }); took < 25*time.Second || took > 30*time.Second {
		s.t.Errorf("the call took %v", took)
	}
	s.wantSent("POST POST")
	s.wantEvents(1, accepted)
}

// The caller's deadline ends the call, and not the update.
func callersDeadline(s *fixture) {
	s.start()
	for id, limit := range map[string]time.Duration{"u1": 5 * time.Second, "u2": 30 * time.Second} {
		ctx, cancel := s.within(limit)
		var err error
		took := s.took(func() { _, err = testbed.Nap.Call(ctx, s.Client, "a", "1m", workflow.CallOptions{ID: id}) })
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || took != limit {
			s.t.Errorf("%v after %v, want the deadline after %v", err, took, limit)
		}
		s.pass(time.Minute)
		out, err := s.Handle("a", "", id).Wait(background)
		s.wantSlept(string(out[1:len(out)-1]), err)
	}
	s.wantEvents(2, accepted)
}

// The error names what went wrong, and not only the deadline.
func deadlineWhileBusy(s *fixture) {
	s.start()
	s.busyFor(time.Hour)
	ctx, cancel := s.within(50 * time.Second)
	defer cancel()
	if _, err := testbed.Add.Call(ctx, s.Client, "a", 1); !errors.Is(err, client.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		s.t.Errorf("%v, want an error that the server was busy until the deadline", err)
	}
	s.wantEvents(0, accepted)
}

func lostAnswers(s *fixture) {
	s.start()
	for i, faults := range [][]fault{
		{lostAfter},
		{cutOff},
		{lostBefore, lostAfter, lostAfter},
		{busy, lostAfter, answers(502, nil, "<html>")},
		{answers(429, nil, `{"message":"Too Many Requests"}`), answers(504, nil, `{"message":"Endpoint request timed out"}`)},
	} {
		s.lose(faults...)
		got, err := testbed.Add.Call(background, s.Client, "a", 1)
		if err != nil || got != i+1 {
			s.t.Errorf("%d: %d, %v", i, got, err)
		}
		if n := len(s.network.requests()); n != len(faults)+1 {
			s.t.Errorf("%d: %d requests", i, n)
		}
		s.wantEvents(i+1, accepted)
	}
}

func lostAnswersOfNap(s *fixture) {
	s.start()
	s.lose(lostAfter, lostAfter)
	handle, err := s.nap(background, "u1", "1m")
	if err != nil {
		s.t.Fatal(err)
	}
	s.wantSlept(handle.Get(background))
	s.wantEvents(1, accepted)
	s.wantEvents(1, "TimerStarted")
}

func lostPolls(s *fixture) {
	s.start()
	handle, err := s.nap(background, "u1", "1m")
	if err != nil {
		s.t.Fatal(err)
	}
	s.lose(lostBefore, lostAfter, busy, cutOff)
	s.wantSlept(handle.Get(background))
}

// The task that completes the update also continues as new, and its response is lost. The outcome
// is that of the earlier run.
func lostAnswerOfRenewal(s *fixture) {
	s.start()
	s.lose(lostAfter)
	handle, err := testbed.Renew.Send(background, s.Client, "a", workflow.None{})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := handle.Get(background); err != nil || handle.RunID.Number() != 1 {
		s.t.Errorf("run %s, %v", handle.RunID, err)
	}
	s.wantEvents(0, accepted) // in the new run
	s.add("u2", 1, 1)
}

func rejected(s *fixture) {
	s.start()
	for _, send := range []func() error{
		func() error {
			_, err := testbed.Add.Call(background, s.Client, "a", -1, workflow.CallOptions{ID: "u1"})
			return err
		},
		func() error {
			_, err := testbed.Add.Send(background, s.Client, "a", -1, workflow.CallOptions{ID: "u1"})
			return err
		},
	} {
		s.lose(lostAfter) // the client repeats a request whose refusal was lost
		err := send()
		var refusal *client.Rejected
		if !errors.As(err, &refusal) || !errors.Is(err, testbed.ErrNegative) || errors.Is(err, testbed.ErrLimit) || refusal.UpdateID != "u1" {
			s.t.Errorf("%v, want a rejection with %v", err, testbed.ErrNegative)
		}
		s.wantSent("POST POST")
	}
	s.wantEvents(0, accepted)
	if _, err := s.Handle("a", "", "u1").Wait(background); !errors.Is(err, client.ErrNotFound) {
		s.t.Errorf("the handle of a refused update: %v", err)
	}
	s.add("u1", 3, 3)
}

func notReady(s *fixture) {
	s.start()
	_, err := testbed.Boom.Call(background, s.Client, "a", workflow.None{})
	var panicked *failure.PanicError
	if !errors.Is(err, client.ErrNotReady) || !errors.As(err, &panicked) || panicked.Message != "boom" {
		s.t.Errorf("%v", err)
	}
	if !strings.Contains(err.Error(), "panic: boom (") {
		s.t.Errorf("the error does not say why: %v", err)
	}
	s.wantEvents(0, accepted)
	s.add("u1", 3, 3)
}

func inFlight(s *fixture) {
	s.start()
	first, err := s.nap(background, "u1", "1m")
	if err != nil {
		s.t.Fatal(err)
	}
	s.lose()
	_, err = s.nap(background, "u2", "1m")
	var problem *client.Problem
	if !errors.Is(err, client.ErrUpdatesInFlight) || errors.Is(err, client.ErrUpdateLimit) || !errors.As(err, &problem) || problem.RetryAfter == 0 {
		s.t.Errorf("%v", err)
	}
	s.wantSent("POST") // the client cannot guess when one completes, so the caller retries
	if again, err := s.nap(background, "u1", "1m"); err != nil || again.ID != "u1" {
		s.t.Errorf("an update with an id in use: %v, %v", again.Update, err)
	}
	s.wantSlept(first.Get(background))
	if _, err = s.nap(background, "u2", "1m"); err != nil {
		s.t.Errorf("an update after another has completed: %v", err)
	}
}

func inTotal(s *fixture) {
	s.start()
	s.add("u1", 3, 3)
	if _, err := testbed.Add.Call(background, s.Client, "a", 1); !errors.Is(err, client.ErrUpdateLimit) || errors.Is(err, client.ErrUpdatesInFlight) {
		s.t.Errorf("%v", err)
	}
	s.add("u1", 3, 3)
}

func notFound(s *fixture) {
	if _, err := testbed.Add.Call(background, s.Client, "a", 1); !errors.Is(err, client.ErrNotFound) {
		s.t.Errorf("an update of an unknown workflow: %v", err)
	}
	s.start()
	if _, err := testbed.Add.Call(background, s.Client, "a", 1, workflow.CallOptions{RunID: string(history.NewRunID(7, [8]byte{7}))}); !errors.Is(err, client.ErrNotFound) {
		s.t.Errorf("an update of an unknown run: %v", err)
	}
	handle, err := s.nap(background, "u1", "1h")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.Terminate(background, "a", "", "enough"); err != nil {
		s.t.Fatal(err)
	}
	if _, err := testbed.Add.Call(background, s.Client, "a", 1); !errors.Is(err, client.ErrNotFound) {
		s.t.Errorf("an update of a closed run: %v", err)
	}
	for range 2 { // the same each time
		if _, err := handle.Get(background); !errors.Is(err, failure.ErrRunClosed) {
			s.t.Errorf("an update whose run closed first: %v", err)
		}
	}
	if _, err := s.nap(background, "u1", "1h"); err != nil {
		s.t.Errorf("the same update, sent again: %v", err)
	}
}

func errorsOfHandlers(s *fixture) {
	s.start()
	if _, err := testbed.Sour.Call(background, s.Client, "a", workflow.None{}); !errors.Is(err, testbed.ErrSour) || client.AsRejected(err) != nil {
		s.t.Errorf("a handler's error: %v", err)
	}
	_, err := testbed.Do.Call(background, s.Client, "a", testbed.Job{Name: "x", Fails: -1})
	var failed *workflow.ActivityError
	if !errors.Is(err, testbed.ErrBroken) || !errors.As(err, &failed) || failed.ActivityType != "work" {
		s.t.Errorf("an activity's error through a handler: %v", err)
	}
	s.wantEvents(2, completed)
}

// opening returns options that start the counter with a limit of 10 if it is not open.
func opening(id string) workflow.CallOptions {
	return workflow.CallOptions{ID: id, Start: testbed.Counter.WithStart(10)}
}

func updateWithStart(s *fixture) {
	got, err := testbed.Add.Call(background, s.Client, "a", 3, opening("u1"))
	if err != nil || got != 3 {
		s.t.Errorf("%d, %v", got, err)
	}
	s.wantSent("POST")
	s.wantEvents(1, opened)
	s.add("u1", 7, 3) // its outcome
	handle, err := testbed.Nap.Send(background, s.Client, "b", "1m", opening("u1"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.wantSlept(handle.Get(background))
}

func updateWithStartRejected(s *fixture) {
	for range 2 { // the second one finds the run open
		if _, err := testbed.Add.Call(background, s.Client, "a", 11, opening("u1")); !errors.Is(err, testbed.ErrLimit) || client.AsRejected(err) == nil {
			s.t.Errorf("%v, want a rejection", err)
		}
	}
	s.wantEvents(1, opened)
	s.wantEvents(0, accepted)
	s.add("u1", 3, 3)
}

func updateWithStartLost(s *fixture) {
	s.lose(lostAfter, cutOff, busy, lostBefore)
	got, err := testbed.Add.Call(background, s.Client, "a", 3, opening("u1"))
	if err != nil || got != 3 {
		s.t.Errorf("%d, %v", got, err)
	}
	s.wantSent("POST POST POST POST POST")
	s.wantEvents(1, opened)
	s.wantEvents(1, accepted)
}

// Two processes send an update with start at once. One of them starts the run, and the run accepts
// both updates.
func updatesWithStartRacing(s *fixture) {
	other, _ := s.of(2)
	var second int
	var otherErr error
	s.bed.Hook(1, testbed.OnPut, false, func(put func() error) error {
		second, otherErr = testbed.Add.Call(background, other, "a", 2, opening("u2"))
		return put()
	})
	first, err := testbed.Add.Call(background, s.Client, "a", 3, opening("u1"))
	if first != 5 || second != 2 || err != nil || otherErr != nil {
		s.t.Errorf("the updates returned %d, %v and %d, %v", first, err, second, otherErr)
	}
	s.wantEvents(1, opened)
	s.wantEvents(2, accepted)
}

func updateWithStartOpen(s *fixture) {
	s.start()
	with := func(policy string) workflow.CallOptions {
		return workflow.CallOptions{Start: testbed.Counter.WithStart(10, workflow.StartOptions{IDConflictPolicy: policy})}
	}
	if got, err := testbed.Add.Call(background, s.Client, "a", 3, with("")); err != nil || got != 3 {
		s.t.Errorf("the update of an open run returned %d, %v", got, err)
	}
	if _, err := testbed.Add.Call(background, s.Client, "a", 1, with("fail")); !errors.Is(err, client.ErrAlreadyStarted) {
		s.t.Errorf("the policy fail: %v", err)
	}
	if got, err := testbed.Add.Call(background, s.Client, "a", 1, with("terminateExisting")); err != nil || got != 1 {
		s.t.Errorf("the policy terminateExisting: %d, %v", got, err)
	}
	s.wantEvents(1, accepted) // in the new run
}

func signalWithStart(s *fixture) {
	send := func(text string) {
		s.t.Helper()
		o := workflow.SendOptions{Start: testbed.Counter.WithStart(10)}
		if err := testbed.Mail.Send(background, s.Client, "a", text, o); err != nil {
			s.t.Error(err)
		}
	}
	s.lose(lostAfter, busy)
	send("one")
	s.wantEvents(1, opened)
	s.wantEvents(1, signaled)
	s.lose(cutOff)
	send("two")
	s.wantEvents(1, opened)
	s.wantEvents(2, signaled)
	for _, want := range []string{"one", "two", ""} {
		if text, err := testbed.Read.Call(background, s.Client, "a", workflow.None{}); err != nil || text != want {
			s.t.Errorf("the run returned %q, %v, want %q", text, err, want)
		}
	}
}
