package function

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// streamingFunction is the api function of a process behind a function URL that streams.
func streamingFunction(t testing.TB, p *testbed.Process, o Options) *Function {
	t.Helper()
	o.Stream = true
	f := function(t, API, p, o)
	f.streams = streaming(apitest.Handler(t, p.Process.API))
	return f
}

// open lets a function answer an event, and returns the answer before it is read.
func open(ctx context.Context, t *testing.T, f *Function, e object) *Answer {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Stream(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA9005 that JSON has nothing of it is what is tested
	if text, err := json.Marshal(a); err != nil || string(text) != "{}" {
		t.Errorf("JSON has %s of the answer, %v; the Lambda runtime would send that", text, err)
	}
	return a
}

// streamedAnswer reads an answer in the form of a function URL that streams.
func streamedAnswer(t *testing.T, a *Answer) (got httpAnswer) {
	t.Helper()
	text, err := io.ReadAll(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	head, body, found := bytes.Cut(text, make([]byte, 8))
	if a.ContentType() != "application/vnd.awslambda.http-integration-response" || !found {
		t.Fatalf("%s: %q is not the form of a URL that streams", a.ContentType(), text)
	}
	if err := json.Unmarshal(head, &got); err != nil {
		t.Fatalf("%s: %v", head, err)
	}
	got.Body = string(body)
	return got
}

func stream(t *testing.T, f *Function, e object) httpAnswer {
	t.Helper()
	return streamedAnswer(t, open(t.Context(), t, f, e))
}

// eventsOf returns a request for server-sent events.
func eventsOf(t *testing.T, path, query string) object {
	e := requested(t, "function-url.json", http.MethodGet, path, query, "")
	within(e, "headers")["accept"] = "text/event-stream"
	return e
}

// A function URL that streams gets all answers in its own form, of any size. Other gateways, and a
// URL that does not stream, get them as ever.
func TestStreamedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		d.Offload()
		p := d.Start(testbed.OptionsOf(nil), testbed.Workload("build-1")...)
		f := streamingFunction(t, p, Options{})
		plain := function(t, API, p, Options{})
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"a","type":"counter"}`, "a")
		for _, c := range []struct{ method, path, query, body string }{
			{"GET", "/v1/workflows/a/result", "", ""},
			{"POST", "/v1/workflows/a/updates/add", "", `{"updateId":"u","input":-1}`},
			{"POST", "/v1/workflows/a/updates/add", "", `{"updateId":"v","input":2}`},
			{"PUT", "/v1/workflows", "", ""},
			{"HEAD", "/v1/workflows", "", ""},
			{"GET", "/v2", "", ""},
			{"POST", "/v1/workflows", "", "\xff"},
			{"GET", "/v1/workflows", "filter=%28", ""},
		} {
			url := requested(t, "function-url.json", c.method, c.path, c.query, c.body)
			got, want := stream(t, f, url), ask(t, plain, url)
			for _, name := range []string{"Content-Type", "Weft-Cost", "Allow"} {
				if name == "Weft-Cost" && c.method == "POST" {
					continue // the second of two updates costs less
				}
				if got.header(name) != want.header(name) {
					t.Errorf("%s %s: %s is %q, and %q without a stream", c.method, c.path, name, got.header(name), want.header(name))
				}
			}
			if got.StatusCode != want.StatusCode || got.Body != want.Body {
				t.Errorf("%s %s: %d %s, and without a stream %d %s", c.method, c.path, got.StatusCode, got.Body, want.StatusCode, want.Body)
			}
			for _, gateway := range []string{"http-api.json", "rest.json"} {
				a := open(t.Context(), t, f, requested(t, gateway, c.method, c.path, c.query, c.body))
				var other httpAnswer
				if err := json.NewDecoder(a).Decode(&other); err != nil || a.ContentType() != "application/json" || other.StatusCode == 0 {
					t.Errorf("%s through %s: %s, %+v, %v", c.path, gateway, a.ContentType(), other, err)
				}
				_ = a.Close()
			}
		}
		large := strings.Repeat(`"`, engine.MaxPayload)
		do(t, p, "POST", "/v1/workflows/a/signals/poke", string(must(t, object{"input": large})), "")
		if a := stream(t, f, requested(t, "function-url.json", "GET", "/v1/workflows/a/history", "", "")); a.StatusCode != http.StatusOK || len(a.Body) < 2*engine.MaxPayload {
			t.Errorf("a large answer: %d, %d bytes", a.StatusCode, len(a.Body))
		}
	})
}

func must(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A stream of a function ends after 20 s, or with the function's time. Its reader continues where
// it ended. A gateway that cannot stream answers with what to do instead.
func TestStreamOfAFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p := process(t, testbed.Workload("build-1")...)
		f := streamingFunction(t, p, Options{})
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"a","type":"counter"}`, "a")
		go func() {
			time.Sleep(10 * time.Second)
			do(t, p, "POST", "/v1/workflows/a/signals/poke", "", "")
		}()
		began := time.Now()
		first := stream(t, f, eventsOf(t, "/v1/workflows/a/history", ""))
		if took := time.Since(began); took != 20*time.Second || first.header("Content-Type") != "text/event-stream" || strings.Count(first.Body, "event: history\n") != 2 || !strings.HasSuffix(first.Body, "retry: 0\n\n") {
			t.Errorf("after %v: %+v", took, first)
		}
		last := first.Body[strings.LastIndex(first.Body, "id: ")+len("id: "):]
		last, _, _ = strings.Cut(last, "\n")
		do(t, p, "POST", "/v1/workflows/a/terminate", "", "")
		again := eventsOf(t, "/v1/workflows/a/history", "")
		within(again, "headers")["last-event-id"] = last
		if second := stream(t, f, again); strings.Count(second.Body, `"id":`) != 1 || !strings.Contains(second.Body, "Terminated") || !strings.Contains(second.Body, "event: end") {
			t.Errorf("the reader that continues after %q gets %s", last, second.Body)
		}
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"b","type":"counter"}`, "b")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began = time.Now()
		if short := streamedAnswer(t, open(ctx, t, f, eventsOf(t, "/v1/workflows/b/history", ""))); time.Since(began) != 5*time.Second || strings.Count(short.Body, "event: history\n") != 1 {
			t.Errorf("a function with 10 s: %s after %v", short.Body, time.Since(began))
		}
		for _, gateway := range formats {
			e := requested(t, gateway, http.MethodGet, "/v1/workflows/a/history", "", "")
			for _, name := range []string{"headers", "multiValueHeaders"} {
				if headers, ok := e[name].(object); ok {
					delete(headers, "Accept")
					headers["accept"] = "text/event-stream"
					if name == "multiValueHeaders" {
						headers["accept"] = []string{"text/event-stream"}
					}
				}
			}
			if a := ask(t, function(t, API, p, Options{}), e); a.StatusCode != http.StatusNotAcceptable || !strings.Contains(a.Body, "wait=20s") {
				t.Errorf("%s: %+v", gateway, a)
			}
		}
	})
}

// A reader who goes ends the work on its stream. The first message arrives before that.
func TestReaderOfAFunctionGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p := process(t, testbed.Workload("build-1")...)
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"a","type":"counter"}`, "a")
		began := time.Now()
		a := open(t.Context(), t, streamingFunction(t, p, Options{}), eventsOf(t, "/v1/workflows/a/history", ""))
		var read []byte
		for block := make([]byte, 512); !bytes.Contains(read, []byte("\n\n")); {
			n, err := a.Read(block)
			if err != nil {
				t.Fatalf("%v after %q", err, read)
			}
			read = append(read, block[:n]...)
		}
		if err := a.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("the answer was closed after %v, %v", time.Since(began), err)
		}
	})
}

// A request of a run of another build is answered by its version, and the answer is streamed. If
// that version is not there, or does not answer, the caller learns the same as without a stream.
func TestStreamedAnswersOfVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, one, two := builds(t)
		var events []string
		update := func() object {
			return requested(t, "function-url.json", "POST", "/v1/workflows/p/updates/add", "", `{"updateId":"u1","input":3}`)
		}
		nonsense := func(context.Context, string, []byte) ([]byte, error) { return []byte(`{"body":"x"}`), nil }
		for _, c := range []struct {
			name    string
			forward Forward
			status  int
			text    string
		}{
			{"no versions", nil, 409, "urn:weft:problem:other-build"},
			{"no such version", failing(ErrNoVersion), 409, "urn:weft:problem:other-build"},
			{"refused", failing(ErrNotForwarded), 503, "urn:weft:problem:busy"},
			{"not answered", failing(errLostAnswer), 503, "urn:weft:problem:outcome-unknown"},
			{"no answer to a request", nonsense, 503, "urn:weft:problem:outcome-unknown"},
			{"answered", forwarding(streamingFunction(t, one, Options{}), &events), 200, `"result":3`},
		} {
			a := stream(t, streamingFunction(t, two, Options{Forward: c.forward}), update())
			if a.StatusCode != c.status || !strings.Contains(a.Body, c.text) || a.header("Content-Type") == "" || a.header("Weft-Cost") == "" || c.status == 503 && a.header("Retry-After") != "1" {
				t.Errorf("%s: %+v", c.name, a)
			}
		}
		if len(events) != 1 {
			t.Errorf("forwarded %d times", len(events))
		}
		// The version itself answers the one that forwards, and not the URL.
		lc := &lambdacontext.LambdaContext{ClientContext: Mark("build-1", time.Time{})}
		a := open(lambdacontext.NewContext(t.Context(), lc), t, streamingFunction(t, one, Options{}), update())
		if a.ContentType() != "application/json" {
			t.Errorf("the version that forwards gets %s", a.ContentType())
		}
	})
}
