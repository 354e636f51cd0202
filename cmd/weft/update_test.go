package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

// weft update fail fails an update whose handler waits. Its caller gets the reason.
func TestUpdateFail(t *testing.T) {
	t.Parallel()
	waits := workflow.NewWorkflow[workflow.None, string]("waits")
	nap := workflow.NewUpdate[workflow.None, workflow.None]("nap")
	ping := workflow.NewUpdate[workflow.None, workflow.None]("ping")
	api := serve(t, workflow.Bind(waits, func(ctx workflow.Context, _ workflow.None) (string, error) {
		nap.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
			return workflow.None{}, workflow.Sleep(ctx, 24*time.Hour)
		})
		ping.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil })
		return "", workflow.Sleep(ctx, 48*time.Hour)
	}, workflow.Names(nap, ping)))
	c := client.New(api)
	if _, err := waits.Start(t.Context(), c, "w", workflow.None{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Update(t.Context(), "w", "nap", nil, client.UpdateOptions{ID: "u1"}); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "update fail w u1 --reason=broken --url="+api); err != nil || out != "The update u1 of w has failed.\n" {
		t.Errorf("%s, %v", out, err)
	}
	for line, want := range map[string]string{
		"update fail w u2 --url=": `has accepted no update "u2"`,
	} {
		_, err := command(t, line+api)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("weft %s: %v", line, err)
		}
	}
	if _, err := c.Call(t.Context(), "w", "ping", nil, client.UpdateOptions{ID: "u3"}); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "update fail w u3 --url="+api); err != nil || out != "The update u3 of w had completed before: it keeps its outcome.\n" {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := command(t, "update wait w u1 --url="+api); cli.CodeOf(err) != cli.Failed || !strings.Contains(err.Error(), "update u1 was failed by an operator: broken") {
		t.Errorf("weft update wait: %v", err)
	}
	if _, err := c.Handle("w", "", "u1").Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the update's outcome is %v", err)
	}
}

// napping is a workflow whose update "nap" waits for a day, and whose update "add" rejects with a
// type. It fails with a type when it is told to.
func napping() workflow.Registration {
	typ := workflow.NewWorkflow[bool, string]("napping")
	nap := workflow.NewUpdate[workflow.None, workflow.None]("nap")
	add := workflow.NewUpdate[int, int]("add")
	return workflow.Bind(typ, func(ctx workflow.Context, fails bool) (string, error) {
		if fails {
			return "", failure.New("declined", "no tea left")
		}
		nap.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
			return workflow.None{}, workflow.Sleep(ctx, 24*time.Hour)
		})
		add.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }, workflow.Validate(func(int) error { return failure.New("tooMany", "at most 10") }))
		return "", workflow.Sleep(ctx, 48*time.Hour)
	}, workflow.Names(nap, add))
}

// A command that is out of time names the update that it has sent, what the update waits for, and
// the command that waits for it.
func TestUpdateTimesOut(t *testing.T) {
	t.Parallel()
	api := serve(t, napping())
	if code, _, errs := exits(t, "start", "napping", "--id=s", "-d", "false", "--url="+api); code != cli.Done {
		t.Fatal(code, errs)
	}
	outOfTime(t, func(timeout string) string {
		code, out, errs := exits(t, "update", "s", "nap", "--id=u.1", "--timeout="+timeout, "--url="+api)
		for _, want := range []string{"timed out after " + timeout + " waiting for the update nap: the run has accepted it, and it waits for timer (event ", "update_test.go:", "; weft update wait --url " + api + " s u.1 waits for its result"} {
			if code != cli.TimedOut || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "timer") != 1 {
				return fmt.Sprintf("code %d, %s\n%s\nwant %s", code, out, errs, want)
			}
		}
		return ""
	})
	outOfTime(t, func(timeout string) string {
		code, out, errs := exits(t, "update", "wait", "s", "u.1", "--timeout="+timeout, "--output=jsonl", "--url="+api)
		if code != cli.TimedOut || out != `{"updateId":"u.1","workflowId":"s"}`+"\n" || !strings.Contains(errs, "the run has accepted it") {
			return fmt.Sprintf("code %d, %s\n%s", code, out, errs)
		}
		return ""
	})
	outOfTime(t, func(timeout string) string {
		code, out, errs := exits(t, "update", "s", "nap", "--timeout="+timeout, "--output=json", "--url="+api)
		if id := regexp.MustCompile(`"updateId": "([^"]+)"`).FindStringSubmatch(out); code != cli.TimedOut || id == nil || !strings.Contains(errs, " s "+id[1]+" waits") {
			return fmt.Sprintf("code %d, %s\n%s", code, out, errs)
		}
		return ""
	})
}

// A command that is interrupted, or gets no answer, names the update that may have been accepted.
func TestUpdateIsInterrupted(t *testing.T) {
	t.Parallel()
	wrong := func(line string) string {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // then the end of the client is noticed
			if !strings.Contains(line, "timeout") {
				interrupt()
			}
			<-r.Context().Done()
		}))
		defer server.Close()
		var said bytes.Buffer
		s := &cli.Session{In: strings.NewReader(""), Out: io.Discard, Err: &said, Getenv: func(string) string { return "" }}
		code := run(ctx, s, append(strings.Fields(line), "--url="+server.URL))
		want := "; if the run has accepted it, weft update wait --url " + server.URL + " s u waits for its result"
		if code != cli.Interrupted && code != cli.TimedOut || !strings.Contains(said.String(), want) {
			return fmt.Sprintf("weft %s: code %d, %s\nwant %s", line, code, said.String(), want)
		}
		return ""
	}
	for _, line := range []string{"update s nap --id=u", "update s nap --id=u --no-wait"} {
		if found := wrong(line); found != "" {
			t.Error(found)
		}
	}
	outOfTime(t, func(timeout string) string { return wrong("update s nap --id=u --timeout=" + timeout) })
}

// What failed or was refused has its type in the error, and is JSON for a program that asks for it.
func TestFailuresAsJSON(t *testing.T) {
	t.Parallel()
	api := serve(t, napping())
	if code, _, errs := exits(t, "start", "napping", "--id=s", "-d", "false", "--url="+api); code != cli.Done {
		t.Fatal(code, errs)
	}
	if code, _, errs := exits(t, "start", "napping", "--id=f", "-d", "true", "--wait", "--url="+api); code != cli.Failed || !strings.Contains(errs, "f did not complete (declined): no tea left") {
		t.Fatal(code, errs)
	}
	for _, c := range []struct {
		line string
		code cli.Code
		errs string
		want string // as JSON
	}{
		{"update s add -d 1 --id=a", cli.Refused, "update rejected (tooMany): at most 10", `{"workflowId":"s","updateId":"a","stage":"rejected","failure":{"kind":"application","type":"tooMany","message":"at most 10"}}`},
		{"update s add --id=b", cli.Refused, "needs an input", `{"type":"urn:weft:problem:invalid","title":"The request is invalid","status":400,`},
		{"update gone add -d 1", cli.NotFound, "gone", `{"type":"urn:weft:problem:not-found",`},
		{"result f", cli.Failed, "f did not complete (declined): no tea left", `{"workflowId":"f","failure":{"kind":"application","type":"declined","message":"no tea left"}}`},
		{"result gone", cli.NotFound, "gone", `{"type":"urn:weft:problem:not-found",`},
		{"query s nothing", cli.NotFound, "no such query", `{"type":"urn:weft:problem:not-found",`},
		{"start nothing", cli.Refused, "nothing", `{"type":"urn:weft:problem:`},
	} {
		code, out, errs := exits(t, append(strings.Fields(c.line), "--output=jsonl", "--url="+api)...)
		if code != c.code || !strings.HasPrefix(out, c.want) || !strings.Contains(errs, c.errs) || strings.Count(out, "\n") != 1 {
			t.Errorf("weft %s: code %d, %s%s\nwant %s", c.line, code, out, errs, c.want)
		}
		for _, form := range []string{"--output=table", "-q"} {
			if _, out, _ := exits(t, append(strings.Fields(c.line), form, "--url="+api)...); out != "" {
				t.Errorf("weft %s %s: %s", c.line, form, out)
			}
		}
	}
}

// A command that waits for nothing has 30 s, unless a time is given; its help says so.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]time.Duration{
		"start order": 30 * time.Second, "start order --wait": 0, "start order --timeout=0s": 0, "start order --wait --timeout=5s": 5 * time.Second,
		"update send o add --no-wait": 30 * time.Second, "update o add --no-wait": 30 * time.Second, "update o add": 0, "update o add --no-wait --timeout=0s": 0,
		"batch start cancel Stuck": 30 * time.Second, "batch start cancel Stuck --watch": 0, "batch start cancel Stuck --dry-run": 0,
		"cost o": 30 * time.Second, "cost": 0, "list": 30 * time.Second, "result o": 0,
	} {
		k, err := parser(&cli.Session{Out: io.Discard, Err: io.Discard}, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := k.Parse(strings.Fields(line))
		if err != nil {
			t.Fatal(line, err)
		}
		if got := parsed.Selected().Target.FieldByName("Timeout").Interface(); got != want {
			t.Errorf("weft %s has %s, want %s", line, got, want)
		}
	}
	for command, want := range map[string]string{
		"start": "without it, 30s, and for ever with --wait", "update send": "without it, for ever, and 30s with --no-wait", "batch start": "for ever with --watch and --dry-run",
		"cost": "30s for a run, and for ever for a sum", "list": "--timeout=30s",
	} {
		_, out, _ := exits(t, append(strings.Fields(command), "--help")...)
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("weft %s --help does not have %q:\n%s", command, want, out)
		}
	}
}
