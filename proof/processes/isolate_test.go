package processes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	good  = workflow.NewWorkflow[int, int]("good")
	bad   = workflow.NewWorkflow[string, int]("bad")
	fatal = workflow.NewWorkflow[int, int]("fatal")

	double = activity.New("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	exit   = activity.New("exit", func(context.Context, int) (int, error) {
		os.Exit(3)
		return 0, nil
	})
)

//lint:ignore SA5007 the test is about this
func overflow(n int) int { return overflow(n+1) + 1 }

var hoard [][]byte

// runBad ends its process, or never returns.
func runBad(_ workflow.Context, how string) (int, error) {
	switch how {
	case "exit":
		os.Exit(3) //weftvet:ignore io the test is about this
	case "overflow":
		return overflow(0), nil
	case "hog":
		for {
			block := make([]byte, 16<<20)
			for i := 0; i < len(block); i += 4096 { // each page: to write every byte takes seconds under the race detector
				block[i] = 1
			}
			hoard = append(hoard, block) //weftvet:ignore global the test is about this
		}
	case "sleep":
		time.Sleep(time.Hour) //weftvet:ignore time the test is about this
	}
	return 0, nil
}

// more are registrations of other test files.
var more []workflow.Registration

func registry() *weft.Registry {
	return weft.Register(append(more,
		workflow.Bind(good, func(ctx workflow.Context, n int) (int, error) { return double.Run(ctx, n) }),
		workflow.Bind(bad, runBad),
		workflow.Bind(counter, count, workflow.Names(add)),
		workflow.Bind(fatal, func(ctx workflow.Context, n int) (int, error) { return exit.Run(ctx, n) }),
		workflow.Bind(processors, func(ctx workflow.Context, _ workflow.None) (int, error) { return atOnce.Run(ctx, workflow.None{}) }),
		lethalCode, stepsCode, double, exit, atOnce, works)...)
}

// lines is a log that passes its records on.
type lines chan map[string]any

// Write passes on a record. The log's reader may be gone: a record for which there is no room is
// dropped.
func (l lines) Write(p []byte) (int, error) {
	var record map[string]any
	if err := json.Unmarshal(p, &record); err != nil {
		return 0, err
	}
	select {
	case l <- record:
	default:
	}
	return len(p), nil
}

// until reads records up to one with one of these messages.
func (l lines) until(messages ...string) map[string]any {
	for record := range l {
		text, _ := record["msg"].(string)
		if slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(text, m) }) {
			return record
		}
	}
	return nil
}

type server struct {
	url string
	log lines
	c   *client.Client
}

// serve runs a server with this many child processes, until the test ends.
func serve(t testing.TB, children int) *server {
	t.Helper()
	var limits weft.Isolation
	if children > 0 {
		limits = weft.Isolation{Children: children, MemoryMiB: memory}
	}
	return serveIn(t, t.TempDir(), limits) // its removal is after the server's end
}

// serveIn runs a server on a data directory, until the test ends.
func serveIn(t testing.TB, dir string, limits weft.Isolation) *server {
	t.Helper()
	const records = 100_000
	s := &server{log: make(lines, records)}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- weft.Serve(ctx, registry(), weft.Options{
			Addr: "127.0.0.1:0", Data: dir, Isolate: limits,
			Greeting: func(_ io.Writer, url string) { ready <- url },
			Log:      slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	select {
	case s.url = <-ready:
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	s.c = client.New(s.url)
	return s
}

// post sends a request, and returns the status of its answer.
func (s *server) post(t *testing.T, path, body string) int {
	t.Helper()
	r, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s: %d %s", path, body, r.StatusCode, text)
	return r.StatusCode
}

// startFatal starts a workflow whose activity ends the process. If the activity ends it before the
// start is answered, the answer says that the outcome is not known. startFatal then sends the start
// again, which may be refused because the run exists or is parked.
func (s *server) startFatal(t *testing.T, body string) {
	t.Helper()
	for again := false; ; again = true {
		switch got := s.post(t, "/v1/workflows", body); {
		case got == http.StatusCreated, got == http.StatusConflict && again:
			return
		case got != http.StatusServiceUnavailable:
			t.Fatalf("start: %d", got)
		}
	}
}

// goods runs good workflows to their ends.
func (s *server) goods(t *testing.T, name string) {
	t.Helper()
	const runs = 20
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			id := fmt.Sprintf("%s-%d", name, i)
			for s.postQuietly(id, i) {
			}
			if got, err := good.Get(s.c, id).Result(t.Context()); err != nil || got != 2*i {
				t.Errorf("%s: %d, %v", id, got, err)
			}
		})
	}
	all.Wait()
}

// postQuietly starts a good workflow, and reports whether the caller must try again.
func (s *server) postQuietly(id string, n int) bool {
	r, err := http.Post(s.url+"/v1/workflows", "application/json", strings.NewReader(fmt.Sprintf(`{"workflowId":%q,"type":"good","input":%d}`, id, n)))
	if err != nil {
		return true
	}
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode == http.StatusServiceUnavailable
}

// Code that ends the process runs four times, first in the child of its workflow and then alone,
// and is then refused. Others complete.
func TestCodeThatEndsAChild(t *testing.T) {
	for _, how := range []string{"exit", "overflow", "hog"} {
		t.Run(how, func(t *testing.T) {
			s := serve(t, 2)
			var beside sync.WaitGroup
			beside.Go(func() { s.goods(t, "beside") })
			body := fmt.Sprintf(`{"workflowId":"bad","type":"bad","input":%q}`, how)
			deaths := 0
			for got := 0; got != http.StatusConflict; deaths++ {
				if got = s.post(t, "/v1/workflows", body); got != http.StatusConflict && got != http.StatusServiceUnavailable {
					t.Fatalf("start %d: %d, want 503, or 409 when it is parked", deaths, got)
				}
			}
			if deaths--; deaths < 4 { // more if a caller did not wait for the death
				t.Errorf("parked after %d starts, want 4", deaths)
			}
			if got := s.log.until("a workflow is parked")["workflowId"]; got != "bad" {
				t.Errorf("the log says that %v is parked", got)
			}
			beside.Wait()
			s.goods(t, "after")
		})
	}
}

// An activity that ends the process is parked; its run can be terminated, and others complete.
func TestActivityThatEndsAChild(t *testing.T) {
	s := serve(t, 2)
	s.startFatal(t, `{"workflowId":"fatal","type":"fatal","input":1}`)
	if got := s.log.until("a workflow is parked")["workflowId"]; got != "fatal" {
		t.Errorf("the log says that %v is parked", got)
	}
	s.goods(t, "after")
	if got := s.post(t, "/v1/workflows/fatal/signals/x", `{}`); got != http.StatusConflict {
		t.Errorf("a signal to a parked workflow: %d, want 409", got)
	}
	if got := s.post(t, "/v1/workflows/fatal/terminate", `{}`); got != http.StatusOK {
		t.Errorf("terminate: %d", got)
	}
	if got := s.post(t, "/v1/workflows", `{"workflowId":"fatal","type":"good","input":1}`); got != http.StatusCreated {
		t.Errorf("a start after the parked run ended: %d", got)
	}
}

// Code that sleeps is killed with its process, and others complete. TestCodeThatHangsIsParked does
// the same to code that computes without end.
func TestHungCodeIsKilled(t *testing.T) {
	s := serve(t, 2)
	s.post(t, "/v1/workflows", `{"workflowId":"asleep","type":"bad","input":"sleep"}`)
	pid, _ := s.log.until("a child process with hung code was killed")["pid"].(float64)
	if err := syscall.Kill(int(pid), 0); err != syscall.ESRCH {
		t.Errorf("the process %v: %v, want that it is gone", pid, err)
	}
	if got := s.post(t, "/v1/workflows/asleep/terminate", `{}`); got != http.StatusOK {
		t.Errorf("terminate: %d", got)
	}
	s.goods(t, "after")
}

// Callers that do not wait for the death keep nobody from being suspected.
func TestCallersThatDisconnect(t *testing.T) {
	s := serve(t, 1)
	slow := &http.Client{Timeout: 100 * time.Millisecond}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-t.Context().Done():
				return
			default:
			}
			if r, err := slow.Post(s.url+"/v1/workflows", "application/json", strings.NewReader(`{"workflowId":"bad","type":"bad","input":"hog"}`)); err == nil {
				_ = r.Body.Close()
				if r.StatusCode == http.StatusConflict {
					return
				}
			}
		}
	}()
	if got := s.log.until("a workflow is parked")["workflowId"]; got != "bad" {
		t.Errorf("the log says that %v is parked", got)
	}
	<-gone
	s.goods(t, "after")
}

// Code that hangs each time is killed four times, first in the child of its workflow and then
// alone, and does not run any more: callers are refused at once. Others complete.
func TestCodeThatHangsIsParked(t *testing.T) {
	s := serve(t, 2)
	var beside sync.WaitGroup
	beside.Go(func() { s.goods(t, "beside") })
	if got := s.post(t, "/v1/workflows", `{"workflowId":"loop","type":"counter"}`); got != http.StatusCreated {
		t.Fatalf("start: %d", got)
	}
	update := fmt.Sprintf(`{"input":%d}`, endless)
	for parked := false; !parked; {
		if got := s.post(t, "/v1/workflows/loop/updates/add", update); got != http.StatusConflict {
			t.Errorf("an update whose validator does not return: %d, want 409", got)
		}
		record := s.log.until("a child process with hung code was killed", "a workflow is parked")
		if got := record["workflowId"]; got != nil && got != "loop" {
			t.Fatalf("the log says that %v is parked", got)
		}
		parked = record["workflowId"] != nil
	}
	if got := s.post(t, "/v1/workflows/loop/updates/add", `{"input":1}`); got != http.StatusConflict {
		t.Errorf("an update of a parked workflow: %d, want 409", got)
	}
	beside.Wait()
	s.goods(t, "after")
	if got := s.post(t, "/v1/workflows/loop/terminate", `{}`); got != http.StatusOK {
		t.Errorf("terminate: %d", got)
	}
	if got := s.post(t, "/v1/workflows", `{"workflowId":"loop","type":"good","input":1}`); got != http.StatusCreated {
		t.Errorf("a start after the parked run ended: %d", got)
	}
}

// Children that are killed while they work lose nothing.
func TestKilledChildrenLoseNothing(t *testing.T) {
	s := serve(t, 2)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() { s.goods(t, fmt.Sprint("load-", i)) })
	}
	const kills = 6
	for range kills {
		pid, _ := s.log.until("a child process serves")["pid"].(float64)
		if err := syscall.Kill(int(pid), syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Error(err)
		}
	}
	all.Wait()
}
