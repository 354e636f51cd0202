package processes_test

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

// serveAt is set in a server without child processes. It serves at this address, from the directory
// serveFrom.
const serveAt, serveFrom = "WEFT_TEST_CRASH_ADDR", "WEFT_TEST_CRASH_DATA"

// servePlain serves without child processes until an interrupt, or until user code ends it.
func servePlain() error {
	debug.SetMaxStack(8 << 20)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return weft.Serve(ctx, registry(), weft.Options{
		Addr: os.Getenv(serveAt), Data: os.Getenv(serveFrom), Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Greeting: func(out io.Writer, _ string) { _, _ = fmt.Fprintln(out, "ready") },
	})
}

var (
	lethal       = workflow.NewWorkflow[string, int]("lethal")
	lethalQuery  = workflow.NewQuery[workflow.None, int]("die")
	lethalUpdate = workflow.NewUpdate[workflow.None, int]("die")
	steps        = workflow.NewWorkflow[int, int]("steps")
	works        = activity.New("works", func(_ context.Context, n int) (int, error) { return n + 1, nil })

	lethalCode = workflow.Bind(lethal, func(ctx workflow.Context, how string) (int, error) {
		lethalQuery.Handle(ctx, func(workflow.None) (int, error) { os.Exit(3); return 0, nil })                    //weftvet:ignore io it ends the process, as it must not
		lethalUpdate.Handle(ctx, func(workflow.Context, workflow.None) (int, error) { os.Exit(3); return 0, nil }) //weftvet:ignore io it ends the process, as it must not
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
			return exit.Run(ctx, 0)
		}
		return 0, workflow.Await(ctx, func() bool { return false })
	}, workflow.Names(lethalUpdate, lethalQuery))
	stepsCode = workflow.Bind(steps, func(ctx workflow.Context, n int) (int, error) {
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

// plainServer is a server without child processes, which user code ends again and again.
type plainServer struct {
	t         *testing.T
	addr, dir string
	cmd       *exec.Cmd
	exited    chan struct{}
	stderr    *bytes.Buffer
}

// launch starts the process, and waits until it serves or has ended.
func (s *plainServer) launch() {
	s.t.Helper()
	s.cmd, s.exited, s.stderr = exec.Command(os.Args[0]), make(chan struct{}), &bytes.Buffer{}
	s.cmd.Env = append(os.Environ(), serveAt+"="+s.addr, serveFrom+"="+s.dir)
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(s.cmd, s.exited)
	if line == "" {
		<-s.exited
		if !s.died() {
			s.t.Fatalf("the server does not begin: %s", s.stderr)
		}
	}
}

// died reports whether user code ended the process.
func (s *plainServer) died() bool {
	select {
	case <-s.exited:
		return s.cmd.ProcessState.ExitCode() == 3 || strings.Contains(s.stderr.String(), "stack overflow")
	default:
		return false
	}
}

// ask sends a request. The answer is empty if the process ended meanwhile.
func (s *plainServer) ask(method, path, body string) (status int, answer string) {
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
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
func (s *plainServer) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	<-s.exited
}

// firstLine returns the first line that the process logged. It may be called only after the process
// has ended.
func (s *plainServer) firstLine() string {
	line, _, _ := strings.Cut(s.stderr.String(), "\n")
	return line
}

// Code that ends the server is parked after three deaths, whatever code it is. Runs beside it
// complete, and callers get the reason.
func TestCodeThatEndsTheServer(t *testing.T) {
	t.Parallel()
	const describe = "/v1/workflows/bad-1"
	for how, provoke := range map[string][3]string{
		"task": {"GET", describe, ""}, "overflow": {"GET", describe, ""}, "activity": {"GET", describe, ""},
		"query": {"POST", describe + "/queries/die", "{}"}, "update": {"POST", describe + "/updates/die", "{}"},
		"start": {"GET", describe, ""},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := &plainServer{t: t, addr: freeport.ForTest(t), dir: t.TempDir()}
			deaths := 0
			for s.launch(); ; s.launch() {
				if s.provoked(deaths, how, provoke) {
					break
				}
				if !s.died() {
					t.Fatalf("the server ended otherwise: %s", s.stderr)
				}
				if deaths++; deaths > 10 {
					t.Fatalf("it died %d times", deaths)
				}
			}
			if deaths != 3 {
				t.Errorf("it died %d times, want 3", deaths)
			}
			for i := range 5 {
				if status, answer := s.ask("GET", fmt.Sprintf("/v1/workflows/good-%d/result?wait=20s", i), ""); status != http.StatusOK || !strings.Contains(answer, fmt.Sprintf(`"result":%d`, i+3)) {
					t.Errorf("good run %d: %d %s", i, status, answer)
				}
			}
			s.checkLog()
		})
	}
}

// provoked starts the runs if no process has died yet, and asks until the bad code is parked. It
// reports false if the process has ended.
func (s *plainServer) provoked(deaths int, how string, provoke [3]string) bool {
	if deaths == 0 {
		for i := range 5 {
			if status, answer := s.ask("POST", "/v1/workflows", fmt.Sprintf(`{"workflowId":"good-%d","type":"steps","input":%d}`, i, i)); status != http.StatusCreated {
				s.t.Fatalf("start: %d %s", status, answer)
			}
		}
	}
	if deaths == 0 || how == "start" {
		s.ask("POST", "/v1/workflows", fmt.Sprintf(`{"workflowId":"bad-1","type":"lethal","requestId":"r","input":%q}`, how))
	}
	for {
		_, answer := s.ask(provoke[0], provoke[1], provoke[2])
		if strings.Contains(answer, "parked") {
			return true
		}
		s.ask("GET", "/v1/workflows/bad-1/result?wait=50ms", "")
		select {
		case <-s.exited:
			return false
		default:
		}
	}
}

// checkLog ends the process and checks the first line of its log, and that of a process that starts
// after the bad run was terminated.
func (s *plainServer) checkLog() {
	s.t.Helper()
	s.stop()
	s.launch()
	status, answer := s.ask("GET", "/v1/workflows/bad-1", "")
	_, rest, _ := strings.Cut(answer, `"runId":"`)
	runID, _, found := strings.Cut(rest, `"`)
	if status != http.StatusOK || !found {
		s.t.Fatalf("describe: %d %s", status, answer)
	}
	if status, answer := s.ask("POST", "/v1/workflows/bad-1/terminate", "{}"); status >= 300 {
		s.t.Errorf("terminate: %d %s", status, answer)
	}
	s.stop()
	number, _, _ := strings.Cut(runID, "-")
	if line := s.firstLine(); !strings.Contains(line, "parked") || !strings.Contains(line, "bad-1") || !strings.Contains(line, number+"-") || strings.Contains(line, "good-") {
		s.t.Errorf("the first line of the log: %s", line)
	}
	s.launch()
	s.stop()
	if line := s.firstLine(); strings.Contains(line, "parked") {
		s.t.Errorf("the first line of the log after the run was terminated: %s", line)
	}
}
