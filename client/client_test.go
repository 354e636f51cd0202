package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// network is a transport that calls a handler. Faults make it lose requests and responses.
type network struct {
	handler http.Handler
	// faults are applied to the next requests, one fault to each request. Later requests and their
	// responses arrive.
	faults []fault
	// always, if it is set, is applied to each request.
	always fault

	mu   sync.Mutex
	sent []sent
}

// fault answers a request in place of the handler, or after it.
type fault func(w *network, r *http.Request) (*http.Response, error)

// sent is a request that was sent.
type sent struct {
	method, path string
	query        url.Values
	body         string
}

var errLine = errors.New("the line is dead")

func (w *network) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	w.mu.Lock()
	w.sent = append(w.sent, sent{r.Method, r.URL.Path, r.URL.Query(), string(body)})
	next := w.always
	if next == nil && len(w.faults) > 0 {
		next, w.faults = w.faults[0], w.faults[1:]
	}
	w.mu.Unlock()
	if next == nil {
		next = arrives
	}
	return next(w, r)
}

func arrives(w *network, r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

func lostBefore(*network, *http.Request) (*http.Response, error) { return nil, errLine }

func lostAfter(w *network, r *http.Request) (*http.Response, error) {
	_, _ = arrives(w, r) // the response is lost
	return nil, errLine
}

// cutOff cuts the response off in the middle of its body.
func cutOff(w *network, r *http.Request) (*http.Response, error) {
	resp, err := arrives(w, r)
	if err == nil {
		resp.Body = io.NopCloser(io.MultiReader(io.LimitReader(resp.Body, 3), failing{}))
	}
	return resp, err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errLine }

// answers returns a fault that answers in place of the handler.
func answers(status int, header map[string]string, body string) fault {
	return func(*network, *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		return w.Result(), nil
	}
}

func busy(*network, *http.Request) (*http.Response, error) {
	return answers(http.StatusServiceUnavailable, map[string]string{"Retry-After": "1", "Content-Type": "application/problem+json"},
		`{"type":"urn:weft:problem:busy","title":"Busy","status":503}`)(nil, nil)
}

func (w *network) requests() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// bubble calls fn in a bubble, with a client whose network calls a deployment of one process.
func bubble(t *testing.T, o executor.Options, fn func(t *testing.T, d *testbed.Deployment, c *client.Client, w *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(o, testbed.Workload("build-1")...)
		w := &network{handler: p.Handler}
		fn(t, d, client.New("http://weft.test/", client.Options{HTTP: &http.Client{Transport: w}}), w)
	})
}

// verbs are the requests that write. Each has the number of its events that a log may have.
var verbs = map[string]struct {
	send func(ctx context.Context, c *client.Client) error
	once history.Type
}{
	"start": {func(ctx context.Context, c *client.Client) error {
		_, _, err := c.Start(ctx, "a", "counter", nil, client.StartOptions{})
		return err
	}, history.TypeWorkflowExecutionStarted},
	"signal": {func(ctx context.Context, c *client.Client) error {
		return c.Signal(ctx, "a", "poke", history.Payload(`"x"`), client.SignalOptions{})
	}, history.TypeWorkflowExecutionSignaled},
	"update": {func(ctx context.Context, c *client.Client) error {
		_, err := c.Update(ctx, "a", "add", history.Payload("1"), client.UpdateOptions{})
		return err
	}, history.TypeWorkflowExecutionUpdateAccepted},
	"call": {func(ctx context.Context, c *client.Client) error {
		result, err := c.Call(ctx, "a", "nap", history.Payload(`"30s"`), client.UpdateOptions{})
		if err == nil && string(result) != `"slept"` {
			err = errors.New(string(result))
		}
		return err
	}, history.TypeWorkflowExecutionUpdateAccepted},
	"cancel": {func(ctx context.Context, c *client.Client) error { return c.Cancel(ctx, "a", "", "x") }, history.TypeWorkflowExecutionCancelRequested},
	"reset": {func(ctx context.Context, c *client.Client) error {
		id, err := c.Reset(ctx, "a", client.ResetOptions{To: "firstTask", Reason: "x"})
		if err == nil && id.Number() != 2 {
			err = fmt.Errorf("the new run is %s", id)
		}
		return err
	}, history.TypeWorkflowExecutionTerminated},
	"terminate": {func(ctx context.Context, c *client.Client) error { return c.Terminate(ctx, "a", "", "x") }, history.TypeWorkflowExecutionTerminated},
}

// The client sends a lost request again unchanged, however often it is lost, and the server carries
// it out once.
func TestLostRequestsAreSentAgain(t *testing.T) {
	t.Parallel()
	for name, verb := range verbs {
		for _, faults := range [][]fault{
			{},
			{lostBefore},
			{lostAfter},
			{cutOff},
			{busy},
			{lostAfter, lostAfter, lostBefore},
			{busy, lostAfter, cutOff, busy},
			{answers(502, nil, "<html>bad gateway</html>")},
			{answers(503, nil, `{"type":"urn:weft:problem:busy","status":200}`)},
			{lostAfter, answers(504, nil, "")},
			{answers(429, nil, `{"message":"Too Many Requests"}`)},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bubble(t, executor.Options{}, func(t *testing.T, d *testbed.Deployment, c *client.Client, w *network) {
					if name != "start" {
						if err := verbs["start"].send(t.Context(), c); err != nil {
							t.Fatal(err)
						}
					}
					w.sent, w.faults = nil, slices.Clone(faults)
					if err := verb.send(t.Context(), c); err != nil {
						t.Fatal(err)
					}
					attempts := w.requests()[:len(faults)+1]
					for _, a := range attempts {
						if a.body != attempts[0].body || a.method != http.MethodPost {
							t.Errorf("%v was sent again as %v", attempts[0], a)
						}
					}
					if got := count(d, verb.once); got != 1 {
						t.Errorf("the log has %d events %s", got, verb.once)
					}
				})
			})
		}
	}
}

// count returns the number of events of a type in all logs.
func count(d *testbed.Deployment, typ history.Type) (n int) {
	for _, id := range d.Workflows() {
		for _, run := range d.Runs(id) {
			for _, c := range run.Log {
				for _, e := range c.Events() {
					if e.Type() == typ {
						n++
					}
				}
			}
		}
	}
	return n
}

// Ending a run succeeds if the run has ended and the client cannot know whether its own request
// ended it. It fails if there is no such run.
func TestEndingAnUnknownOrClosedRun(t *testing.T) {
	t.Parallel()
	bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
		for _, faults := range [][]fault{{}, {lostAfter}, {busy}} {
			w.faults = faults
			if err := c.Terminate(t.Context(), "nobody", "", ""); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("terminate an unknown workflow: %v", err)
			}
		}
		if err := verbs["start"].send(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := c.Terminate(t.Context(), "a", "", ""); err != nil {
			t.Fatal(err)
		}
		for _, faults := range [][]fault{{}, {busy}} {
			w.faults = faults
			if err := c.Cancel(t.Context(), "a", "", ""); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("cancel a run that had closed: %v", err)
			}
		}
	})
}

// Result waits until the run closes, and follows the run that it began with.
func TestResultOutlivesTheSoftLimit(t *testing.T) {
	t.Parallel()
	bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
		if _, _, err := c.Start(t.Context(), "a", "sleeper", history.Payload(`"50s"`), client.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(20*time.Second+25*time.Millisecond, func() { // between two polls
			_ = c.Terminate(context.Background(), "a", "", "")
			_, _, _ = c.Start(context.Background(), "a", "sleeper", history.Payload(`"50s"`), client.StartOptions{})
		})
		_, err := c.Result(t.Context(), "a", "")
		if err == nil || !strings.Contains(err.Error(), "terminated") {
			t.Errorf("the result of a terminated run: %v", err)
		}
	})
}

// The end of the caller's context ends the wait and nothing else. The error names what went wrong
// before it.
func TestTheCallersDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
		if err := verbs["start"].send(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for _, limit := range []time.Duration{time.Second, 20 * time.Second, 30 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			began := time.Now()
			_, err := c.Call(ctx, "a", "nap", history.Payload(`"1m"`), client.UpdateOptions{ID: "u" + limit.String()})
			if cancel(); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != limit {
				t.Errorf("%v after %v, limit %v", err, time.Since(began), limit)
			}
			time.Sleep(2 * time.Minute)
			if result, err := c.Handle("a", "", "u"+limit.String()).Wait(t.Context()); err != nil || string(result) != `"slept"` {
				t.Errorf("the update's outcome is %s, %v", result, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		w.always = busy
		if err := c.Signal(ctx, "a", "poke", nil, client.SignalOptions{}); !errors.Is(err, client.ErrBusy) {
			t.Errorf("%v, want an error that the server was busy until the deadline", err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		w.sent, w.always = nil, nil
		if err := c.Signal(canceled, "a", "poke", nil, client.SignalOptions{}); !errors.Is(err, context.Canceled) || len(w.requests()) > 1 {
			t.Errorf("a canceled context: %v after %d requests", err, len(w.requests()))
		}
	})
}

// Without a deadline a request is sent a fixed number of times, and then fails.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	for _, always := range []fault{busy, lostBefore, lostAfter, answers(503, nil, "down for maintenance")} {
		for name, verb := range verbs {
			bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
				w.always = always
				err := verb.send(t.Context(), c)
				if got := len(w.requests()); err == nil || got != 12 {
					t.Errorf("%s: %v after %d requests", name, err, got)
				}
				if !errors.Is(err, client.ErrBusy) && !errors.Is(err, client.ErrOutcomeUnknown) && !errors.Is(err, errLine) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
}

// The client waits as long as Retry-After says, up to a limit.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][2]time.Duration{
		"7": {7 * time.Second, 7 * time.Second}, "0": {0, time.Second}, "-5": {0, time.Second}, "": {0, time.Second},
		"Fri, 21 Nov 2036 17:45:00 GMT": {0, time.Second}, "99999999999999999999": {0, time.Second}, "9223372036": {time.Minute, time.Minute},
	} {
		bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
			w.faults = []fault{answers(503, map[string]string{"Retry-After": header}, "")}
			began := time.Now()
			if err := verbs["start"].send(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < want[0] || took > want[1] {
				t.Errorf("Retry-After %q: %v, want %v", header, took, want)
			}
		})
	}
}

// A response of a proxy or another server is reported as such, and never as Weft's answer or
// refusal.
func TestAnswersOfOtherServers(t *testing.T) {
	t.Parallel()
	const page = "<html><body>sign in</body></html>"
	for _, test := range []struct {
		status int
		body   string
	}{
		{200, page},
		{200, ""},
		{200, "{}"},
		{200, "null"},
		{200, "[]"},
		{200, `{"stage":"done","status":"open"}`},
		{201, page},
		{202, "{}"},
		{204, ""},
		{302, page},
		{400, page},
		{403, page},
		{404, page},
		{404, `{"message":"Not Found"}`},
		{404, `{"type":"about:blank","status":404}`},
		{409, page},
		{413, page},
		{422, page},
		{422, "{}"},
	} {
		bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
			w.always = answers(test.status, nil, test.body)
			for _, name := range []string{"start", "update", "call"} {
				w.sent = nil
				err := verbs[name].send(t.Context(), c)
				var problem *client.Problem
				if errors.As(err, &problem) && problem.Status != test.status {
					t.Errorf("%d %q: the error has status %d", test.status, test.body, problem.Status)
				}
				if err == nil || client.AsRejected(err) != nil || isOurs(err) || len(w.requests()) != 1 {
					t.Errorf("%s, %d %q: %v after %d requests", name, test.status, test.body, err, len(w.requests()))
				}
			}
			if result, err := c.Result(t.Context(), "a", ""); err == nil {
				t.Errorf("Result returned %s for %d %q", result, test.status, test.body)
			}
			if d, err := c.Describe(t.Context(), "a", ""); err == nil {
				t.Errorf("Describe returned %v for %d %q", d, test.status, test.body)
			}
			if _, err := c.Query(t.Context(), "a", "", "sum", nil); err == nil && test.body == "" {
				t.Errorf("Query succeeded with %d %q", test.status, test.body)
			}
		})
	}
}

func isOurs(err error) bool {
	for _, ours := range []error{client.ErrInvalid, client.ErrNotFound, client.ErrAlreadyStarted, client.ErrNotReady, client.ErrTooLarge, client.ErrBusy} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}

// FuzzAnswer lets the server answer with any bytes. The client neither panics nor loops for ever,
// and succeeds only if the answer is a success of Weft's.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "", "application/json", []byte(`{"workflowId":"a","runId":"1-0123456789abcdef"}`))
	f.Add(202, "", "application/json", []byte(`{"updateId":"u","runId":"1-0123456789abcdef","stage":"accepted"}`))
	f.Add(422, "", "application/json", []byte(`{"stage":"rejected","failure":{"kind":"application","cause":{"cause":{}}}}`))
	f.Add(422, "", "application/json", []byte(`{"stage":"rejected"}`))
	f.Add(200, "", "application/json", []byte(`{"status":"failed","failure":{"kind":"nothing"},"stage":"completed"}`))
	f.Add(503, "5", "application/problem+json", []byte(`{"type":"urn:weft:problem:busy","status":200,"failure":{"kind":3}}`))
	f.Add(404, "x", "text/html", []byte("<html>"))
	f.Fuzz(func(t *testing.T, status int, retryAfter, contentType string, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			w := &network{always: answers(status, map[string]string{"Retry-After": retryAfter, "Content-Type": contentType}, string(body))}
			c := client.New("http://weft.test", client.Options{HTTP: &http.Client{Transport: w}})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			verbs := map[string]func() error{
				"result":   func() error { _, err := c.Result(ctx, "a", ""); return err },
				"wait":     func() error { _, err := c.Handle("a", "", "u").Wait(ctx); return err },
				"describe": func() error { _, err := c.Describe(ctx, "a", ""); return err },
				"waits":    func() error { _, err := c.Waits(ctx, "a", ""); return err },
				"start":    func() error { return verbs["start"].send(ctx, c) },
				"update":   func() error { return verbs["update"].send(ctx, c) },
				"signal":   func() error { return verbs["signal"].send(ctx, c) },
			}
			for name, send := range verbs {
				err := send()
				if err == nil && status >= 300 {
					t.Errorf("%s succeeds with %d %q", name, status, body)
				}
				if err != nil {
					_ = err.Error()
					_, _ = json.Marshal(err)
				}
			}
			if n := len(w.requests()); n > 20_000 {
				t.Errorf("%d requests", n)
			}
		})
	})
}

// Run sends one request if the run closes in time. It repeats the request if the response is lost,
// polls if the run takes longer, and waits no longer than the context allows.
func TestRunIsOneRequest(t *testing.T) {
	t.Parallel()
	bubble(t, executor.Options{}, func(t *testing.T, d *testbed.Deployment, c *client.Client, w *network) {
		for i, example := range []struct {
			typ, input, want string
			faults           []fault
			requests         int
		}{
			{"sequence", "3", "3", nil, 1},
			{"sequence", "2", "2", []fault{lostAfter, busy}, 3},
			{"sleeper", `"50s"`, `"50s"`, nil, 3},
		} {
			before := len(w.requests())
			w.faults = example.faults
			id := fmt.Sprint("run-", i)
			result, err := c.Run(t.Context(), id, example.typ, history.Payload(example.input), client.StartOptions{})
			if n := len(w.requests()) - before; err != nil || string(result) != example.want || n != example.requests {
				t.Errorf("%s %s: %s, %v, in %d requests; want %s in %d", example.typ, example.input, result, err, n, example.want, example.requests)
			}
			if n := len(d.Runs(id)); n != 1 {
				t.Errorf("there are %d runs of %s", n, id)
			}
		}
		_, err := c.Run(t.Context(), "fails", "sleeper", history.Payload(`"?"`), client.StartOptions{})
		if err == nil || !strings.Contains(err.Error(), "invalid duration") {
			t.Errorf("the result of a failed run: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		_, err = c.Run(ctx, "long", "sleeper", history.Payload(`"1h"`), client.StartOptions{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v; want the context's error", time.Since(began), err)
		}
	})
}

// If the context ends before the run has closed, the error says whether the run was started, as far
// as the client knows.
func TestRunSaysWhatItKnows(t *testing.T) {
	t.Parallel()
	const started, unknown = `workflow "w" is started (run 1-`, "it is not known whether the run was started"
	late := func(w *network, r *http.Request) (*http.Response, error) {
		_, _ = arrives(w, r)
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	for name, test := range map[string]struct {
		faults    []fault
		want, not string
		o         client.StartOptions
		also      error
	}{
		"it waits":                 {want: started, not: unknown},
		"it waits for one there":   {want: started, not: unknown, o: client.StartOptions{IDConflictPolicy: "useExisting"}},
		"its answer does not come": {faults: []fault{late}, want: unknown, not: "is started"},
		"a poll's answer does not": {faults: []fault{arrives, late}, want: started, not: unknown},
		"it is busy":               {faults: slices.Repeat([]fault{busy}, 100), want: "no time is left to send it again", not: "started", also: client.ErrBusy},
		"lost, and then busy":      {faults: append([]fault{lostBefore}, slices.Repeat([]fault{busy}, 100)...), want: unknown, also: client.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
				if test.o.IDConflictPolicy != "" {
					if _, _, err := c.Start(t.Context(), "w", "sleeper", history.Payload(`"1h"`), client.StartOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				w.faults = test.faults
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				_, err := c.Run(ctx, "w", "sleeper", history.Payload(`"1h"`), test.o)
				if !errors.Is(err, context.DeadlineExceeded) || test.also != nil && !errors.Is(err, test.also) || !strings.Contains(fmt.Sprint(err), test.want) ||
					test.not != "" && strings.Contains(err.Error(), test.not) {
					t.Errorf("%v; want the context's error, and %q", err, test.want)
				}
			})
		})
	}
}

// Run follows a run that continues as new.
func TestRunFollows(t *testing.T) {
	t.Parallel()
	bubble(t, executor.Options{}, func(t *testing.T, d *testbed.Deployment, c *client.Client, _ *network) {
		_, err := c.Run(t.Context(), "tries", "sleeper", history.Payload(`"?"`), client.StartOptions{
			Retry: &client.Retry{InitialInterval: time.Minute, MaxAttempts: 2},
		})
		if err == nil || len(d.Runs("tries")) != 2 {
			t.Errorf("%v after %d runs; want the error of the second", err, len(d.Runs("tries")))
		}
	})
}
