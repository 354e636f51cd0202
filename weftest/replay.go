package weftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/replay"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/workflow"
)

// Source returns histories: [Files], [JSON] or [Latest].
type Source func(ctx context.Context) ([]recorded, error)

// recorded is a history and its source, for messages.
type recorded struct {
	from string
	*client.History
}

// Files reads the files that match a pattern, as in filepath.Glob. Each holds a history as JSON. At
// least one file has to match.
func Files(pattern string) Source {
	return func(context.Context) ([]recorded, error) {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("no file matches %s: export a history with: weft history <workflow-id> > file.json", pattern)
		}
		var all []recorded
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			h, err := parse(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, recorded{name, h})
		}
		return all, nil
	}
}

// JSON parses a history in the form of GET /v1/workflows/{workflowId}/history. If it has several
// pages, they follow each other.
func JSON(text []byte) Source {
	return func(context.Context) ([]recorded, error) {
		h, err := parse(text)
		return []recorded{{"the history", h}}, err
	}
}

// Latest reads the history of the latest run of a workflow in a deployment. The run may be open.
func Latest(c *client.Client, workflowID string) Source {
	return func(ctx context.Context) ([]recorded, error) {
		h, err := c.History(ctx, workflowID, "")
		return []recorded{{"workflow " + workflowID, h}}, err
	}
}

// Replay runs recorded histories with the current code. It fails the test if the code does
// something else than a history records: a deployment of that code would hold such a run until
// other code is deployed. The message has the event, what the history records there, and what the
// code does now. Activities do not run. Replay needs no bubble.
//
//	weftest.Replay(t, cart.Registrations(), weftest.Files("testdata/*.json"))
func Replay(t testing.TB, registrations []workflow.Registration, sources ...Source) {
	t.Helper()
	types := registry(t, registrations)
	if len(sources) == 0 {
		t.Fatal("weftest.Replay: there is nothing to replay: pass weftest.Files(...)")
	}
	for _, source := range sources {
		all, err := source(t.Context())
		if err != nil {
			t.Errorf("weftest.Replay: %v", err)
			continue
		}
		for _, r := range all {
			if err := r.replay(types); err != nil {
				advice := replay.Advice(err)
				if advice != "" {
					advice = "\n\t" + advice
				}
				t.Errorf("weftest.Replay: %s: %v%s", r.from, err, advice)
			}
		}
	}
}

// replay replays a history. It returns an error if the code does something else.
func (r recorded) replay(types *engine.Registry) error {
	run, err := replay.FromEvents(r.WorkflowID, r.RunID, r.Events)
	if err != nil {
		return err
	}
	name := run.State.Started.WorkflowType
	code := types.Workflow(name)
	if code == nil {
		return fmt.Errorf("workflow type %q is not registered; there are %q", name, types.WorkflowNames())
	}
	return replay.Check(code, r.WorkflowID, run.Log)
}

// parse reads the pages of a history.
func parse(text []byte) (*client.History, error) {
	all := &client.History{}
	for count := 0; ; count++ {
		page, rest, err := schema.ReadHistory(text)
		switch {
		case errors.Is(err, io.EOF) && count == 0:
			return nil, fmt.Errorf("%w: it is empty", replay.ErrHistory)
		case errors.Is(err, io.EOF) && all.NextPageToken != "":
			return nil, fmt.Errorf("%w: it has more pages: weft history exports all of them", replay.ErrHistory)
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", replay.ErrHistory, err)
		case page.WorkflowID == "" || page.RunID == "":
			return nil, fmt.Errorf("%w: it has no workflowId and runId; export it with: weft history <workflow-id>", replay.ErrHistory)
		case count > 0 && (page.WorkflowID != all.WorkflowID || page.RunID != all.RunID):
			return nil, fmt.Errorf("%w: run %s follows run %s: give each its own file", replay.ErrHistory, page.RunID, all.RunID)
		}
		page.Events = append(all.Events, page.Events...)
		all, text = page, rest
	}
}
