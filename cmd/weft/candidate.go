package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/precheck"
)

const (
	// mostSaid is the longest line that a candidate may answer, in bytes: its manifest has its
	// contract.
	mostSaid = 64 << 20
	// firstWithin is how long a candidate may take until its manifest: go run compiles it first.
	firstWithin = 10 * time.Minute
	// nextWithin is how long it may take for a history. It gives up a replay after 10 s itself.
	nextWithin = time.Minute
	// mostStarts is how often a candidate that ended within a replay is started.
	mostStarts = 20
)

// candidate is a program that is to be deployed, and serves a check.
type candidate struct {
	args []string
	errs io.Writer

	starts int
	cmd    *exec.Cmd
	in     io.WriteCloser
	said   *bufio.Scanner
}

// startCandidate starts a program, and returns what it says of itself. The caller closes it.
func startCandidate(ctx context.Context, args []string, errs io.Writer) (*candidate, *precheck.Manifest, error) {
	c := &candidate{args: args, errs: errs}
	m, err := c.start(ctx)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, m, nil
}

// start starts the program and reads its manifest.
func (c *candidate) start(ctx context.Context) (*precheck.Manifest, error) {
	c.starts++
	c.cmd = exec.Command(c.args[0], c.args[1:]...)
	c.cmd.Env, c.cmd.Stderr, c.cmd.SysProcAttr = append(os.Environ(), precheck.Variable+"=1"), c.errs, ownGroup()
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		c.cmd = nil
		return nil, cli.Errorf(cli.Usage, "the program cannot be started: %w", err)
	}
	c.in, c.said = in, bufio.NewScanner(out)
	c.said.Buffer(nil, mostSaid)
	line, err := c.next(ctx, firstWithin)
	if err != nil {
		return nil, c.noManifest(ctx, err)
	}
	m, err := precheck.ReadManifest(line)
	switch {
	case err != nil:
		return nil, cli.Errorf(cli.Other, "the program printed %q and did not answer the check: its main has to call weft.Main or adapter.Main before anything is printed on standard output, and with this version of Weft or a later one", cut(string(line)))
	case m.Format != precheck.Format:
		return nil, cli.Errorf(cli.Other, "the program has Weft %s, whose check this command does not know: use the command of that version", m.Weft)
	case m.Wrong != "":
		return nil, cli.Errorf(cli.Other, "the program cannot run: %s", m.Wrong)
	}
	return m, nil
}

// noManifest returns the error of a program that said nothing.
func (c *candidate) noManifest(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errSilent) {
		return cli.Errorf(cli.Other, "the program did not answer the check within %s: its main has to call weft.Main or adapter.Main first", firstWithin)
	}
	return cli.Errorf(cli.Other, "the program ended before it answered the check (%v): its main has to call weft.Main or adapter.Main", err)
}

// cut returns the beginning of a line.
func cut(line string) string {
	const most = 80
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return line
}

// errSilent is the error of a program that took too long to answer.
var errSilent = errors.New("it does not answer")

// next returns the next line of the program. If the program does not answer in time, or ctx ends,
// it is killed. An error other than errSilent is how the program ended.
func (c *candidate) next(ctx context.Context, within time.Duration) ([]byte, error) {
	silent := false
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	stopped := make(chan struct{})
	stop := context.AfterFunc(limited, func() {
		defer close(stopped)
		silent = true
		killGroup(c.cmd.Process)
	})
	ok := c.said.Scan()
	if !stop() {
		<-stopped
	}
	switch {
	case ok && !silent:
		return c.said.Bytes(), nil
	case silent:
		c.Close()
		return nil, errSilent
	}
	return nil, c.ended()
}

// ended waits for the end of a program that says no more, and returns how it ended.
func (c *candidate) ended() error {
	cmd, said := c.cmd, c.said.Err()
	c.Close()
	switch {
	case said != nil:
		return said
	case cmd.ProcessState == nil:
		return errors.New("its end is not known")
	}
	return errors.New(cmd.ProcessState.String())
}

// Close ends the program. It may be called twice.
func (c *candidate) Close() {
	if c.cmd == nil {
		return
	}
	_ = c.in.Close()
	// A program that reads ends now. One that does not is killed.
	patience := time.AfterFunc(endWithin, func() { killGroup(c.cmd.Process) })
	_ = c.cmd.Wait() // how it ended is in its state
	patience.Stop()
	c.cmd = nil
}

// endWithin is how long a program may take to end after its input has ended.
const endWithin = 5 * time.Second

// replay has the program replay a history. A program that ended within a replay, or hung, is
// started again for the next one. The error says that it cannot be.
func (c *candidate) replay(ctx context.Context, h *client.History) (*precheck.Answer, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(text) >= precheck.MaxHistory {
		return &precheck.Answer{Problem: precheck.Unreadable, Text: fmt.Sprintf("the history has %d MiB, more than is checked", len(text)>>20)}, nil
	}
	if c.cmd == nil {
		if c.starts == mostStarts {
			return nil, cli.Errorf(cli.Other, "the program ended in %d replays: see what its code does there, and check again", mostStarts)
		}
		if _, err := c.start(ctx); err != nil {
			return nil, err
		}
	}
	wrote := make(chan error, 1)
	go func(in io.Writer) {
		_, err := in.Write(append(text, '\n'))
		wrote <- err
	}(c.in)
	line, err := c.next(ctx, nextWithin)
	a := &precheck.Answer{}
	if err == nil && json.Unmarshal(line, a) != nil {
		err = cli.Errorf(cli.Other, "the program printed %q within the check: workflow code may not print on standard output", cut(strings.TrimSpace(string(line))))
		c.Close()
		<-wrote // the pipe is closed
		return nil, err
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return &precheck.Answer{Problem: precheck.Hangs, Text: fmt.Sprintf("the program ended while it replayed the history (%v)", err)}, nil
	case a.Problem == precheck.Hangs:
		c.Close() // it ends after this answer
	}
	return a, <-wrote
}

// beside writes what a program says beside the check. A status that is visible is removed first.
type beside struct{ s *cli.Session }

// Write implements io.Writer.
func (b beside) Write(p []byte) (int, error) {
	b.s.Status("")
	return b.s.Err.Write(p)
}
