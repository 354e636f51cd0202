package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/doctor"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

// invoice is an activity that only new code has.
var invoice = activity.New("invoice", func(context.Context, int) (string, error) { return "", nil })

// orders returns registrations with this code for the order.
func orders(code func(workflow.Context, int) (string, error), more ...workflow.Registration) []workflow.Registration {
	return append([]workflow.Registration{workflow.Bind(order, code), pay}, more...)
}

// candidates are programs that are to be deployed: what each registers.
var candidates = map[string]func() []workflow.Registration{
	"same": func() []workflow.Registration { return steered(&atomic.Bool{}) },
	"other": func() []workflow.Registration {
		return append(orders(func(ctx workflow.Context, amount int) (string, error) { return invoice.Run(ctx, amount) }), invoice)
	},
	"patched": func() []workflow.Registration {
		return orders(func(ctx workflow.Context, amount int) (string, error) {
			if workflow.Patched(ctx, "invoice") {
				return invoice.Run(ctx, amount)
			}
			return pay.Run(ctx, amount)
		}, invoice)
	},
	"panics": func() []workflow.Registration {
		return orders(func(workflow.Context, int) (string, error) { panic("no tea\nat all") })
	},
	"exits": func() []workflow.Registration {
		return orders(func(workflow.Context, int) (string, error) {
			os.Exit(3) //weftvet:ignore io the test needs it
			return "", nil
		})
	},
	"prints": func() []workflow.Registration {
		return orders(func(ctx workflow.Context, amount int) (string, error) {
			fmt.Println("an order of", amount) //weftvet:ignore io the test needs it
			return pay.Run(ctx, amount)
		})
	},
	"without activity": func() []workflow.Registration {
		return []workflow.Registration{workflow.Bind(order, func(ctx workflow.Context, amount int) (string, error) { return pay.Run(ctx, amount) })}
	},
	"without fragile": func() []workflow.Registration {
		return orders(func(ctx workflow.Context, amount int) (string, error) { return pay.Run(ctx, amount) })
	},
	"without order": func() []workflow.Registration { return []workflow.Registration{pay} },
	"twice":         func() []workflow.Registration { return []workflow.Registration{pay, pay} },
	"a text": func() []workflow.Registration {
		return []workflow.Registration{workflow.Bind(workflow.NewWorkflow[string, string]("order"), func(ctx workflow.Context, _ string) (string, error) {
			return pay.Run(ctx, 1)
		}), pay}
	},
}

// beCandidate is the main of a program.
func beCandidate(name string) {
	switch name {
	case "strange":
		fmt.Println("Welcome to the shop!", strings.Repeat("!", 200))
	case "mute":
	default:
		weft.Main(weft.Register(candidates[name]()...))
	}
}

// testBinary returns the path of this test's binary, which is each of the candidates.
func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checks checks a program, and returns the code, the findings by check, and the error.
func checks(t *testing.T, name, url string, more ...string) (code cli.Code, found map[string]doctor.Finding, errs string) {
	t.Helper()
	args := append([]string{"check", "--url=" + url, "-o", "json"}, more...)
	code, out, errs := exits(t, append(args, "--", testBinary(t), name)...)
	var all []doctor.Finding
	if out != "" {
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, errs)
		}
	}
	found = map[string]doctor.Finding{}
	for _, f := range slices.Backward(all) { // of several, the first one
		found[f.Check] = f
	}
	return code, found, errs
}

// open starts orders whose activity waits for its next attempt.
func open(t *testing.T, url string, n int) *client.Client {
	t.Helper()
	c := client.New(url)
	for i := range n {
		id := fmt.Sprint("order-", i)
		if _, err := order.Start(t.Context(), c, id, 1); err != nil {
			t.Fatal(err)
		}
		failed(t, c, id, 1)
	}
	return c
}

// A program is checked with the open runs of a deployment before it is deployed.
func TestCheckOfAProgram(t *testing.T) {
	t.Parallel()
	url := work(t, "", steered(&atomic.Bool{})...)
	open(t, url, 3)
	for _, c := range []struct {
		name    string
		code    cli.Code
		check   string // and its verdict
		verdict doctor.Verdict
		seen    []string
	}{
		{"same", cli.Done, "histories", doctor.OK, []string{"3 open runs can be continued"}},
		{"same", cli.Done, "types", doctor.OK, []string{"has the types"}},
		{"same", cli.Done, "contract", doctor.OK, []string{"nothing that open runs or callers rely on"}},
		{"patched", cli.Done, "histories", doctor.OK, []string{"3 open runs can be continued"}},
		{"prints", cli.Done, "histories", doctor.OK, []string{"3 open runs can be continued"}},
		{"other", cli.Other, "histories of order", doctor.Bad, []string{
			"3 open runs would become stuck, the first is order-2 (run 1-", "at event 5 history records ActivityTaskScheduled(pay), the code now issues ActivityTaskScheduled(invoice), at weft/check_test.go:",
		}},
		{"panics", cli.Other, "histories of order", doctor.Bad, []string{"panic: no tea, at weft/check_test.go:"}},
		{"exits", cli.Other, "histories of order", doctor.Bad, []string{"3 open runs", "the program ended while it replayed the history (exit status 3)"}},
		{"other", cli.Other, "histories", doctor.Bad, []string{"0 open runs can be continued, 3 would become stuck"}},
		{"without order", cli.Other, "histories", doctor.Bad, []string{"nothing was replayed, 3 of types that the program does not have"}},
		{"without order", cli.Other, "type order", doctor.Bad, []string{"does not have the workflow type, and 3 open runs would be stuck, the latest is order-2"}},
		{"without activity", cli.Other, "type pay", doctor.Bad, []string{"does not have the activity type, and it is pending in 3 runs, the first is order-2"}},
		{"a text", cli.Other, "contract", doctor.Bad, []string{"workflow order: input"}},
	} {
		code, found, errs := checks(t, c.name, url)
		f, ok := found[c.check]
		if code != c.code || !ok || f.Verdict != c.verdict {
			t.Errorf("%s: code %d, %s\n%v", c.name, code, errs, found)
		}
		for _, want := range c.seen {
			if !strings.Contains(f.Seen, want) {
				t.Errorf("%s: %q is not in %q", c.name, want, f.Seen)
			}
		}
	}
}

// A deployment without open runs has nothing to replay, and the check says so. The last line of a
// table is the verdict, also of a check that did not look at everything.
func TestCheckVerdict(t *testing.T) {
	t.Parallel()
	url := work(t, "", steered(&atomic.Bool{})...)
	code, out, errs := exits(t, "check", "--url="+url, "--", testBinary(t), "same")
	for _, want := range []string{"\nnone  histories  nothing was replayed: there are no open runs\n", "\nnone  types      no open run needs a type of the program\n", "\n\nVerdict: ok (2 ok, 2 none)\n"} {
		if code != cli.Done || !strings.Contains(out, want) {
			t.Errorf("code %d, %s\n%s\nwant %q", code, errs, out, want)
		}
	}
	open(t, url, 1)
	if code, out, errs := exits(t, "check", "--url="+url, "--", testBinary(t), "panics"); code != cli.Other || !strings.HasSuffix(out, "\n\nVerdict: bad (2 bad, 1 warn, 2 ok)\n") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	target, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/history") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	code, out, errs = exits(t, "check", "--url="+between.URL, "--", testBinary(t), "same")
	if code != cli.Unreachable || strings.Contains(out, "histories") || !strings.HasSuffix(out, "\n\nVerdict: unfinished (1 ok)\n") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
}

// A program that does not answer is refused with advice.
func TestCheckOfAStranger(t *testing.T) {
	t.Parallel()
	url := work(t, "", steered(&atomic.Bool{})...)
	for name, want := range map[string]string{
		"strange": `weft: the program printed "Welcome to the shop! !!!`,
		"mute":    "weft: the program ended before it answered the check (exit status 0): its main has to call weft.Main or adapter.Main",
		"twice":   `weft: the program cannot run: cannot use these registrations:\n  activity type "pay" is registered twice`,
	} {
		if code, found, errs := checks(t, name, url); code != cli.Other || len(found) > 0 || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: code %d, %s", name, code, errs)
		}
	}
	for line, want := range map[string]string{
		"check":                                 "give a program after --",
		"check --data=x -- go run .":            "--data checks a directory without a program",
		"check --most=0 -- go run .":            "--most is 0",
		"check --at-once=65 -- go run .":        "at most 64",
		"check --url=" + url + " -- /none/here": "the program cannot be started",
	} {
		if code, _, errs := exits(t, strings.Fields(line)...); code != cli.Usage || !strings.Contains(errs, want) {
			t.Errorf("weft %s: code %d, %s", line, code, errs)
		}
	}
	if code, _, errs := checks(t, "same", "http://127.0.0.1:1"); code != cli.Unreachable || !strings.Contains(errs, "no answer") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// Of many open runs some are replayed: the newest and the oldest.
func TestCheckOfASample(t *testing.T) {
	t.Parallel()
	url := work(t, "", steered(&atomic.Bool{})...)
	open(t, url, 5)
	for flag, want := range map[string]string{
		"--most=3":    "3 open runs can be continued, 2 more not looked at (--all, --most)",
		"--all":       "5 open runs can be continued",
		"--at-once=1": "5 open runs can be continued",
	} {
		if code, found, errs := checks(t, "same", url, flag); code != cli.Done || found["histories"].Seen != want {
			t.Errorf("%s: code %d, %q %s", flag, code, found["histories"].Seen, errs)
		}
	}
}

// stuck waits until a run is stuck.
func stuck(t *testing.T, c *client.Client, id string) {
	t.Helper()
	for {
		d, err := c.Describe(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		if d.State == client.StateStuck {
			return
		}
	}
}

// Runs that are stuck already are not held against a program. Those that it fixes are counted.
func TestCheckOfStuckRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	t.Run("before", func(t *testing.T) { open(t, work(t, dir, candidates["same"]()...), 2) }) //nolint:paralleltest // it ends before the next server begins
	url := work(t, dir, append(candidates["other"](), workflow.Bind(fragile, func(workflow.Context, workflow.None) (string, error) { panic("it is broken") }))...)
	c := client.New(url)
	if err := c.Cancel(t.Context(), "order-0", "", ""); err != nil { // its code runs, and does something else
		t.Fatal(err)
	}
	stuck(t, c, "order-0")
	if _, err := fragile.Start(t.Context(), c, "fragile-1", workflow.None{}); err != nil {
		t.Fatal(err)
	}
	stuck(t, c, "fragile-1")
	code, found, errs := checks(t, "same", url)
	if f := found["stuck runs"]; code != cli.Done || f.Verdict != doctor.Warn || !strings.Contains(f.Seen, "1 run is stuck so far") || !strings.Contains(f.Do, "weft describe --url "+url+" fragile-1") {
		t.Errorf("code %d, %s\n%v", code, errs, found)
	}
	if f := found["histories"]; f.Seen != "3 open runs can be continued, 1 of them stuck so far, and fixed" {
		t.Errorf("%v", found)
	}
	code, found, errs = checks(t, "without fragile", url)
	if code != cli.Other || found["type fragile"].Verdict != doctor.Bad || found["histories"].Seen != "2 open runs can be continued, 1 of them stuck so far, and fixed, 1 of types that the program does not have" {
		t.Errorf("code %d, %s\n%v", code, errs, found)
	}
	code, out, errs := exits(t, "check", "--url="+url, "--", testBinary(t), "other")
	for _, want := range []string{
		"\nbad   histories           0 open runs can be continued, 1 would become stuck, 1 stuck, and not fixed", "\nbad   histories of order  1 open run would become stuck, the first is order-1", "\nwarn  histories of order  1 open run is stuck, and stays so, the first is order-0 (run 1-",
	} {
		if code != cli.Other || !strings.Contains(out, want) {
			t.Errorf("code %d, %s\n%s\nwant %s", code, errs, out, want)
		}
	}
}

// Runs that are pinned to other builds, that close meanwhile, or that only a newer version of Weft
// can read are left out.
func TestCheckLeavesRunsOut(t *testing.T) {
	t.Parallel()
	types, err := program.Registry(append(orders(func(ctx workflow.Context, amount int) (string, error) { return pay.Run(ctx, amount) }),
		workflow.Bind(workflow.NewWorkflow[int, string]("pinned"), func(ctx workflow.Context, amount int) (string, error) { return pay.Run(ctx, amount) }, workflow.BindOptions{Pinned: true}))...)
	if err != nil {
		t.Fatal(err)
	}
	url := workOn(t, types, local.Options{Executor: executor.Options{Build: "b1"}})
	c := open(t, url, 4)
	if _, _, err := c.Start(t.Context(), "pinned-1", "pinned", []byte("1"), client.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	failed(t, c, "pinned-1", 1)
	target, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(status int, kind, detail string) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"type":"urn:weft:problem:%s","title":"x","status":%d,"detail":%q}`, kind, status, detail)
		}
		switch r.URL.Path {
		case "/v1/workflows/order-0/history":
			refuse(http.StatusConflict, "not-ready", "a newer version of Weft wrote this run's history: deploy that version")
		case "/v1/workflows/order-1/history":
			refuse(http.StatusNotFound, "not-found", "there is no such run")
		case "/v1/workflows/order-2/history":
			if err := c.Terminate(r.Context(), "order-2", "", ""); err != nil {
				t.Error(err)
			}
			proxy.ServeHTTP(w, r)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(between.Close)
	const want = "1 open run can be continued, 1 pinned to other builds, 2 closed meanwhile, 1 of a newer version of Weft than the deployment's"
	if code, found, errs := checks(t, "same", between.URL); code != cli.Done || found["histories"].Seen != want {
		t.Errorf("code %d, %q %s", code, found["histories"].Seen, errs)
	} else if found["histories"].Verdict != doctor.Warn {
		t.Errorf("a run that cannot be read: %+v", found["histories"])
	} else if f := found["pinned runs"]; f.Verdict != doctor.Warn || !strings.HasPrefix(f.Seen, "1 open run is pinned to other builds, and the deployment keeps no versions") {
		t.Errorf("%+v", f)
	}
}

// Of a deployment on AWS, the functions are checked with the program, and with what changes.
func TestCheckOfFunctions(t *testing.T) {
	t.Parallel()
	url := work(t, "", candidates["same"]()...)
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException"}`)
	}))
	t.Cleanup(cloud.Close)
	for _, c := range []struct {
		flags string
		code  cli.Code
		want  string
	}{
		{"--name=shop", cli.Done, "warn timeout activity not checked"},
		{"--name=shop --set ActivityTimeout=120 --set activity_visibility=720", cli.Done, "ok timeout activity 120 s are enough for the activities of the program"},
		{"--name=shop --set ActivityTimeout=4", cli.Other, "bad timeout activity an attempt at pay may take "},
		{"--name=shop --set ActivityTimeout=soon", cli.Usage, `--set: the parameter ActivityTimeout: "soon" is no number of seconds`},
		{"--set ActivityTimeout=120", cli.Usage, "--set is for a deployment on AWS"},
		{"--name=shop --set Build=b7", cli.Done, "ok program build b7, Weft "},
	} {
		var printed, said bytes.Buffer
		s := &cli.Session{In: strings.NewReader(""), Out: &printed, Err: &said, Getenv: func(string) string { return "" }}
		s.AWS = func(_ context.Context, region, _ string) (aws.Config, error) {
			return aws.Config{Region: region, BaseEndpoint: &cloud.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, nil
		}
		args := append([]string{"check", "--url=" + url, "--region=eu-central-1"}, strings.Fields(c.flags)...)
		if code := run(t.Context(), s, append(args, "--", testBinary(t), "same")); code != c.code || !strings.Contains(strings.Join(strings.Fields(printed.String()+said.String()), " "), c.want) {
			t.Errorf("%s: code %d\n%s%s\nwant %q", c.flags, code, printed.String(), said.String(), c.want)
		}
	}
}
