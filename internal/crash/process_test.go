package crash_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/proof/freeport"
	"github.com/seed-41655fb1/weft/workflow"
)

// serveAt is set in a process that serves the workflows of this test, at the address, from the
// directory.
const serveAt, serveFrom = "WEFT_TEST_CRASH_ADDR", "WEFT_TEST_CRASH_DATA"

func TestMain(m *testing.M) {
	if os.Getenv(serveAt) == "" {
		os.Exit(m.Run())
	}
	debug.SetMaxStack(8 << 20)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := weft.Register(badCode, goodCode, dies, works)
	err := weft.Serve(ctx, r, weft.Options{
		Addr: os.Getenv(serveAt), Data: os.Getenv(serveFrom), Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Greeting: func(out io.Writer, _ string) { _, _ = fmt.Fprintln(out, "ready") },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var (
	bad       = workflow.NewWorkflow[string, int]("bad")
	badQuery  = workflow.NewQuery[workflow.None, int]("die")
	badUpdate = workflow.NewUpdate[workflow.None, int]("die")
	good      = workflow.NewWorkflow[int, int]("good")
	dies      = activity.New("dies", func(context.Context, workflow.None) (int, error) { os.Exit(3); return 0, nil })
	works     = activity.New("works", func(_ context.Context, n int) (int, error) { return n + 1, nil })

	badCode = workflow.Bind(bad, func(ctx workflow.Context, how string) (int, error) {
		badQuery.Handle(ctx, func(workflow.None) (int, error) { os.Exit(3); return 0, nil })                    //weftvet:ignore io it ends the process, as it must not
		badUpdate.Handle(ctx, func(workflow.Context, workflow.None) (int, error) { os.Exit(3); return 0, nil }) //weftvet:ignore io it ends the process, as it must not
		if how == "start" {
			os.Exit(3) //weftvet:ignore io it ends the process, as it must not
		}
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return 0, err
		}
		switch how {
		case "task":
			os.Exit(3) //weftvet:ignore io it ends the process, as it must not
		case "overflow":
			return overflow(1), nil
		case "activity":
			return dies.Run(ctx, workflow.None{})
		}
		return 0, workflow.Await(ctx, func() bool { return false })
	})
	goodCode = workflow.Bind(good, func(ctx workflow.Context, n int) (int, error) {
		for range 3 {
			var err error
			if n, err = works.Run(ctx, n); err != nil {
				return 0, err
			}
			if err := workflow.Sleep(ctx, 10*time.Millisecond); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
)

// overflow uses up the stack.
func overflow(n int) int {
	if n < 0 {
		return 0
	}
	return 1 + overflow(n+1)
}

// child is a process that serves, and that user code ends again and again.
type child struct {
	t         *testing.T
	addr, dir string
	cmd       *exec.Cmd
	exited    chan struct{}
	stderr    *bytes.Buffer
}

// launch starts the process, and waits until it serves or has ended.
func (c *child) launch() {
	c.t.Helper()
	c.cmd, c.exited, c.stderr = exec.Command(os.Args[0]), make(chan struct{}), &bytes.Buffer{}
	c.cmd.Env = append(os.Environ(), serveAt+"="+c.addr, serveFrom+"="+c.dir)
	c.cmd.Stderr = c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(c.cmd, c.exited)
	if line == "" {
		<-c.exited
		if !c.died() {
			c.t.Fatalf("the server does not begin: %s", c.stderr)
		}
	}
}

// died reports whether user code ended the process.
func (c *child) died() bool {
	select {
	case <-c.exited:
		return c.cmd.ProcessState.ExitCode() == 3 || strings.Contains(c.stderr.String(), "stack overflow")
	default:
		return false
	}
}

// ask sends a request. The answer is empty if the process ended meanwhile.
func (c *child) ask(method, path, body string) (status int, answer string) {
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.addr+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	all, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(all)
}

// stop ends the process with an interrupt.
func (c *child) stop() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
	<-c.exited
}

// firstLine returns the first line that the process logged. It may be called only after the process
// has ended.
func (c *child) firstLine() string {
	line, _, _ := strings.Cut(c.stderr.String(), "\n")
	return line
}

// Code that ends the process is parked after three deaths, whatever code it is. Runs beside it
// complete, and callers get the reason.
func TestCodeThatEndsTheProcess(t *testing.T) {
	t.Parallel()
	const describe = "/v1/workflows/bad-1"
	for how, provoke := range map[string][3]string{
		"task": {"GET", describe, ""}, "overflow": {"GET", describe, ""}, "activity": {"GET", describe, ""},
		"query": {"POST", describe + "/queries/die", "{}"}, "update": {"POST", describe + "/updates/die", "{}"},
		"start": {"GET", describe, ""},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := &child{t: t, addr: freeport.ForTest(t), dir: t.TempDir()}
			deaths := 0
			for c.launch(); ; c.launch() {
				if c.provoked(deaths, how, provoke) {
					break
				}
				if !c.died() {
					t.Fatalf("the server ended otherwise: %s", c.stderr)
				}
				if deaths++; deaths > 10 {
					t.Fatalf("it died %d times", deaths)
				}
			}
			if deaths != 3 {
				t.Errorf("it died %d times, want 3", deaths)
			}
			for i := range 5 {
				if status, answer := c.ask("GET", fmt.Sprintf("/v1/workflows/good-%d/result?wait=20s", i), ""); status != http.StatusOK || !strings.Contains(answer, fmt.Sprintf(`"result":%d`, i+3)) {
					t.Errorf("good run %d: %d %s", i, status, answer)
				}
			}
			c.checkLog()
		})
	}
}

// provoked starts the runs if no process has died yet, and asks until the bad code is parked. It
// reports false if the process has ended.
func (c *child) provoked(deaths int, how string, provoke [3]string) bool {
	if deaths == 0 {
		for i := range 5 {
			if status, answer := c.ask("POST", "/v1/workflows", fmt.Sprintf(`{"workflowId":"good-%d","type":"good","input":%d}`, i, i)); status != http.StatusCreated {
				c.t.Fatalf("start: %d %s", status, answer)
			}
		}
	}
	if deaths == 0 || how == "start" {
		c.ask("POST", "/v1/workflows", fmt.Sprintf(`{"workflowId":"bad-1","type":"bad","requestId":"r","input":%q}`, how))
	}
	for {
		_, answer := c.ask(provoke[0], provoke[1], provoke[2])
		if strings.Contains(answer, "parked") {
			return true
		}
		c.ask("GET", "/v1/workflows/bad-1/result?wait=50ms", "")
		select {
		case <-c.exited:
			return false
		default:
		}
	}
}

// checkLog ends the process and checks the first line of its log, and that of a process that starts
// after the bad run was terminated.
func (c *child) checkLog() {
	c.t.Helper()
	c.stop()
	c.launch()
	status, answer := c.ask("GET", "/v1/workflows/bad-1", "")
	_, rest, _ := strings.Cut(answer, `"runId":"`)
	runID, _, found := strings.Cut(rest, `"`)
	if status != http.StatusOK || !found {
		c.t.Fatalf("describe: %d %s", status, answer)
	}
	if status, answer := c.ask("POST", "/v1/workflows/bad-1/terminate", "{}"); status >= 300 {
		c.t.Errorf("terminate: %d %s", status, answer)
	}
	c.stop()
	number, _, _ := strings.Cut(runID, "-")
	if line := c.firstLine(); !strings.Contains(line, "parked") || !strings.Contains(line, "bad-1") || !strings.Contains(line, number+"-") || strings.Contains(line, "good-") {
		c.t.Errorf("the first line of the log: %s", line)
	}
	c.launch()
	c.stop()
	if line := c.firstLine(); strings.Contains(line, "parked") {
		c.t.Errorf("the first line of the log after the run was terminated: %s", line)
	}
}
