package lambdahost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

// TestMain turns this test binary into a function if it is started as a bootstrap.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		if os.Getenv("FAILS_AT_INIT") != "" {
			os.Exit(3)
		}
		if os.Getenv("SERVES") == "api" {
			serveAPI()
		}
		lambda.Start(serve)
		return
	}
	os.Exit(m.Run())
}

type command struct {
	Do   string        `json:"do"`
	Wait time.Duration `json:"wait"`
}

var served int

func serve(ctx context.Context, c command) (map[string]any, error) {
	served++
	switch c.Do {
	case "fail":
		return nil, errors.New("it failed")
	case "panic":
		panic("at the disco")
	case "exit":
		os.Exit(7)
	case "wait":
		time.Sleep(c.Wait)
	case "large":
		return map[string]any{"text": strings.Repeat("x", lambdahost.MaxPayload)}, nil
	}
	deadline, _ := ctx.Deadline()
	info, _ := lambdacontext.FromContext(ctx)
	return map[string]any{
		"served": served, "pid": os.Getpid(), "left": time.Until(deadline), "id": info.AwsRequestID, "arn": info.InvokedFunctionArn,
		"home": os.Getenv("HOME"), "mine": os.Getenv("MINE"),
	}, nil
}

func host(t *testing.T, f lambdahost.Function) *lambdahost.Host {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.Name, f.Bootstrap = "f", program
	if f.Timeout == 0 {
		f.Timeout = time.Minute
	}
	h := lambdahost.New(f)
	t.Cleanup(h.Close)
	return h
}

type reply struct {
	Served     int
	PID        int
	Left       time.Duration
	ID, ARN    string
	Home, Mine string
}

func invoke(t *testing.T, h *lambdahost.Host, event string) (r reply, err error) {
	t.Helper()
	answer, err := h.Invoke(t.Context(), "f", []byte(event))
	if err == nil {
		if err := json.Unmarshal(answer, &r); err != nil {
			t.Fatal(err)
		}
	}
	return r, err
}

// wantError demands a failure of one type.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	var failed *lambdahost.FunctionError
	if !errors.As(err, &failed) || failed.Type != want {
		t.Errorf("error %v, want one of type %s", err, want)
	}
}

func TestInvoke(t *testing.T) {
	t.Parallel()
	h := host(t, lambdahost.Function{Environment: map[string]string{"MINE": "yes"}, Freeze: true})
	first, err := invoke(t, h, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if first.ID == "" || first.ARN != "arn:aws:lambda:us-east-1:000000000000:function:f" || first.Mine != "yes" || first.Home != "" {
		t.Errorf("the function received %+v", first)
	}
	if first.Left < 30*time.Second || first.Left > time.Minute {
		t.Errorf("the function had %v left", first.Left)
	}
	second, err := invoke(t, h, `{}`)
	if err != nil || second.Served != 2 || second.PID != first.PID {
		t.Errorf("the second event: %+v, %v; want an answer of the same process", second, err)
	}
	h.Retire()
	third, err := invoke(t, h, `{}`)
	if err != nil || third.Served != 1 || third.PID == first.PID {
		t.Errorf("after Retire: %+v, %v; want an answer of a new process", third, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	h := host(t, lambdahost.Function{})
	for event, want := range map[string]string{
		`{"do":"fail"}`: "errorString", `{"do":"panic"}`: "string", `{"do":"exit"}`: "Runtime.ExitError",
		`{"do":"large"}`: "Function.ResponseSizeTooLarge",
	} {
		_, err := invoke(t, h, event)
		wantError(t, err, want)
		if r, err := invoke(t, h, `{}`); err != nil {
			t.Errorf("after %s: %+v, %v", event, r, err)
		}
	}
	if s := h.Stats()["f"]; s.Invocations != 8 || len(s.Failed) != 4 || s.Started < 3 || s.Busy == 0 {
		t.Errorf("counted %+v", s)
	}
	if _, err := h.Invoke(t.Context(), "g", nil); err == nil {
		t.Error("an unknown function answered")
	}
}

func TestFailsAtInit(t *testing.T) {
	t.Parallel()
	h := host(t, lambdahost.Function{Environment: map[string]string{"FAILS_AT_INIT": "yes"}})
	_, err := invoke(t, h, `{}`)
	wantError(t, err, "Runtime.ExitError")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	h := host(t, lambdahost.Function{Timeout: 200 * time.Millisecond})
	_, err := invoke(t, h, fmt.Sprintf(`{"do":"wait","wait":%d}`, time.Minute))
	wantError(t, err, "Sandbox.Timedout")
}

// busy waits until n environments work on an event.
func busy(t *testing.T, h *lambdahost.Host, n int) []*lambdahost.Environment {
	t.Helper()
	for {
		if all := h.Busy(); len(all) == n {
			return all
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	h := host(t, lambdahost.Function{Concurrency: 2})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			_, err := h.Invoke(t.Context(), "f", fmt.Appendf(nil, `{"do":"wait","wait":%d}`, time.Minute))
			wantError(t, err, "Runtime.ExitError")
		})
	}
	for _, e := range busy(t, h, 2) {
		if e.Function() != "f" || !e.Kill() {
			t.Errorf("an environment of %s could not be killed", e.Function())
		}
	}
	both.Wait()
	if r, err := invoke(t, h, `{}`); err != nil || r.Served != 1 {
		t.Errorf("after the kill: %+v, %v", r, err)
	}
	if len(h.Busy()) != 0 {
		t.Error("an environment is busy without an event")
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	h := host(t, lambdahost.Function{})
	const stopped = 300 * time.Millisecond
	begin := time.Now()
	var one sync.WaitGroup
	one.Go(func() {
		if r, err := h.Invoke(t.Context(), "f", fmt.Appendf(nil, `{"do":"wait","wait":%d}`, time.Millisecond*100)); err != nil {
			t.Errorf("%s, %v", r, err)
		}
	})
	if !busy(t, h, 1)[0].Pause(stopped) {
		t.Error("the environment could not be stopped")
	}
	one.Wait()
	if took := time.Since(begin); took < stopped {
		t.Errorf("the function answered after %v, although it was stopped for %v", took, stopped)
	}
}

// An invocation continues after its caller has gone, and Close waits for it.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	h := host(t, lambdahost.Function{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		busy(t, h, 1)
		cancel()
	}()
	if _, err := h.Invoke(ctx, "f", fmt.Appendf(nil, `{"do":"wait","wait":%d}`, 300*time.Millisecond)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if r, err := invoke(t, h, `{}`); err != nil || r.Served != 2 {
		t.Errorf("the next event: %+v, %v; want an answer of the same process", r, err)
	}
	h.Close()
	if _, err := h.Invoke(t.Context(), "f", nil); err == nil {
		t.Error("a closed host answered")
	}
}
