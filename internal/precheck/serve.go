package precheck

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/contract/build"
	"github.com/seed-41655fb1/weft/internal/replay"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/internal/version"
)

// Program is a program that serves a check.
type Program struct {
	// Types are its registry, and Wrong what is wrong with it; nil if nothing is.
	Types *engine.Registry
	Wrong error
	// Build is the name of its code.
	Build string
}

// Main serves a check on the standard input and output of the process. What workflow code prints
// goes to standard error. It returns the exit status of the process.
func (p Program) Main() int {
	out := os.Stdout
	os.Stdout = os.Stderr
	if err := p.Serve(context.Background(), os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, "weft:", err)
		return 1
	}
	return 0
}

// replayFor is how long the replay of a history may take.
const replayFor = 10 * time.Second

// Serve answers the histories on in until it ends. It also ends after it has answered that code
// hangs, because that code may hold what other code needs.
func (p Program) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	say := json.NewEncoder(out)
	say.SetEscapeHTML(false)
	m := p.manifest()
	if err := say.Encode(m); err != nil || m.Wrong != "" {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, MaxHistory)
	for lines.Scan() {
		answer := p.answer(ctx, bytes.Clone(lines.Bytes()))
		if err := say.Encode(answer); err != nil || answer.Problem == Hangs {
			return err
		}
	}
	return lines.Err()
}

// manifest describes the program.
func (p Program) manifest() *Manifest {
	m := &Manifest{Format: Format, Build: p.Build, Weft: version.Weft()}
	if p.Wrong != nil {
		m.Wrong = p.Wrong.Error()
		return m
	}
	c, err := build.Of(p.Types)
	if err != nil {
		m.Wrong = err.Error()
		return m
	}
	m.Contract, m.TaskQueues = c.Document, p.Types.TaskQueues()
	for _, name := range p.Types.ActivityNames() {
		a := p.Types.Activity(name)
		m.Activities = append(m.Activities, schema.ActivityType{Name: name, TaskQueue: a.TaskQueue, StartToClose: schema.Duration(a.StartToClose), Local: a.Local})
	}
	return m
}

// answer replays a history within replayFor.
func (p Program) answer(ctx context.Context, text []byte) *Answer {
	ctx, cancel := context.WithTimeout(ctx, replayFor)
	defer cancel()
	done := make(chan *Answer, 1)
	go func() { done <- p.replay(text) }()
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
		return &Answer{Problem: Hangs, Text: fmt.Sprintf("the code does not return within %s", replayFor)}
	}
}

// replay replays a history.
func (p Program) replay(text []byte) *Answer {
	h, _, err := schema.ReadHistory(text)
	if err != nil {
		return &Answer{Problem: Unreadable, Text: err.Error()}
	}
	run, err := replay.FromEvents(h.WorkflowID, h.RunID, h.Events)
	if err != nil {
		return &Answer{Problem: Unreadable, Text: err.Error()}
	}
	name := run.State.Started.WorkflowType
	code := p.Types.Workflow(name)
	if code == nil {
		return &Answer{Problem: Unregistered, Kind: failure.KindUnregistered.String(), Text: fmt.Sprintf("the program has no workflow type %q", name)}
	}
	missing := p.missing(run.State)
	if err := replay.Check(code, h.WorkflowID, run.Log); err != nil {
		return differs(err, missing)
	}
	return &Answer{OK: true, Missing: missing}
}

// missing returns the types of pending activities that the program does not have.
func (p Program) missing(s *engine.State) []string {
	names := map[string]bool{}
	for _, a := range s.Activities {
		if p.Types.Activity(a.ActivityType) == nil {
			names[a.ActivityType] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// differs returns the answer for code that does something else.
func differs(err error, missing []string) *Answer {
	a := &Answer{Problem: Differs, Missing: missing}
	located := (*replay.Error)(nil)
	if errors.As(err, &located) {
		err = located.Err
		if len(located.Places) > 0 {
			a.Place = located.Places[0].Place()
		}
	}
	cause := err
	if inner := errors.Unwrap(err); inner != nil {
		cause = inner // without the run and the batch
	}
	f := failure.FromError(cause)
	a.Kind, a.EventID = f.Kind.String(), f.EventID
	a.Text, _, _ = strings.Cut(cause.Error(), "\n")
	return a
}
