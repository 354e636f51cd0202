package kept_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/kept"
	"github.com/seed-41655fb1/weft/weftest"
)

var record = flag.Bool("record", false, "record the histories that are not in testdata")

// request is a request that a feature needs after its workflow has started.
type request func(ctx context.Context, env *weftest.Env, id string) error

// features are the workflows to record. The name is that of the file and the workflow's id, too.
var features = []struct {
	name, typ, input string
	options          client.StartOptions
	requests         []request
}{
	{name: "failed", typ: "failing"},
	{name: "timed-out", typ: "impatient", options: client.StartOptions{RunTimeout: time.Hour}},
	{name: "slow", typ: "slow"},
	{name: "canceled", typ: "patient", requests: []request{canceled}},
	{name: "terminated", typ: "patient", requests: []request{terminated}},
	{name: "continued", typ: "continuing", input: "1"},
	{name: "updated", typ: "counting", requests: []request{updated, ended}},
	{name: "update-failed", typ: "counting", requests: []request{updated, updateFailed, ended}},
	{name: "reset", typ: "counting", requests: []request{updated, reset, ended}},
	{name: "moved", typ: "pinned", requests: []request{moved, ended}},
	{name: "shown", typ: "shown"},
	{name: "children", typ: "parent"},
	{name: "receiver", typ: "counting"},
	{name: "ending", typ: "ending"},
	{name: "telling", typ: "telling", input: `"receiver"`},
	{name: "paused", typ: "counting", requests: []request{updated, paused, resumed, ended}},
	{name: "named", typ: "counting", requests: []request{updated, ended}},
	{name: "dynamic", typ: "anything", input: `{"n":1}`, requests: []request{updated, greeted, ended}},
	{name: "topics", typ: "publishing", input: "0", requests: []request{updated, resetToLast, goOn, ended}},
	{name: "announced", typ: "announcing"},
	{name: "notify", typ: "counting", options: client.StartOptions{Notify: []client.Notification{{URL: "https://hooks.example.com/a"}}}, requests: []request{updated, subscribed, ended}},
}

func canceled(ctx context.Context, env *weftest.Env, id string) error {
	env.Sleep(10 * time.Second)
	return env.Client().Cancel(ctx, id, "", "enough")
}

func terminated(ctx context.Context, env *weftest.Env, id string) error {
	return env.Client().Terminate(ctx, id, "", "enough")
}

// updated sends an update whose handler is still running when the next request is sent.
func updated(ctx context.Context, env *weftest.Env, id string) error {
	_, err := env.Client().Update(ctx, id, "add", history.Payload("1"), client.UpdateOptions{ID: "first"})
	return err
}

func updateFailed(ctx context.Context, env *weftest.Env, id string) error {
	return env.Client().FailUpdate(ctx, id, "", "first", "it cannot be fixed")
}

func reset(ctx context.Context, env *weftest.Env, id string) error {
	_, err := env.Client().Reset(ctx, id, client.ResetOptions{To: "firstTask", Reason: "again"})
	return err
}

// resetToLast withdraws the items of the last task.
func resetToLast(ctx context.Context, env *weftest.Env, id string) error {
	_, err := env.Client().Reset(ctx, id, client.ResetOptions{To: "lastTask", Reason: "again"})
	return err
}

// goOn makes the publishing workflow continue as new.
func goOn(ctx context.Context, env *weftest.Env, id string) error {
	env.Sleep(time.Hour)
	return env.Client().Signal(ctx, id, "end", history.Payload("2"), client.SignalOptions{})
}

func moved(ctx context.Context, env *weftest.Env, id string) error {
	_, err := env.Client().Move(ctx, id, client.MoveOptions{Unpin: true})
	return err
}

// paused pauses the workflow while the handler of its update sleeps, until after that.
func paused(ctx context.Context, env *weftest.Env, id string) error {
	return env.Client().Pause(ctx, id, client.PauseOptions{Reason: "the bank is closed"})
}

func resumed(ctx context.Context, env *weftest.Env, id string) error {
	env.Sleep(time.Hour)
	return env.Client().Resume(ctx, id, client.PauseOptions{Reason: "the bank is open"})
}

// subscribed adds another notification to the open run.
func subscribed(ctx context.Context, env *weftest.Env, id string) error {
	_, _, err := env.Client().Start(ctx, id, "counting", nil, client.StartOptions{
		IDConflictPolicy: "useExisting", Notify: []client.Notification{{URL: "https://hooks.example.com/b", Result: true}},
	})
	return err
}

// greeted sends a signal that names an activity.
func greeted(ctx context.Context, env *weftest.Env, id string) error {
	return env.Client().Signal(ctx, id, "greet", history.Payload(`"Ada"`), client.SignalOptions{})
}

// ended sends the signal that ends the workflow, when its handlers have ended.
func ended(ctx context.Context, env *weftest.Env, id string) error {
	env.Sleep(time.Hour)
	return env.Client().Signal(ctx, id, "end", history.Payload("1"), client.SignalOptions{})
}

// TestRecord plays the features and writes their histories. It does not replace a file: a history
// of an older version says more than one of a newer version.
func TestRecord(t *testing.T) {
	t.Parallel()
	if !*record {
		t.Skip("run it with -record")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, env := t.Context(), weftest.New(t, kept.Registrations()...)
		env.AllowFailedUpdates()
		for _, f := range features {
			if _, _, err := env.Client().Start(ctx, f.name, f.typ, history.Payload(f.input), f.options); err != nil {
				t.Fatal(f.name, err)
			}
			for _, do := range f.requests {
				if err := do(ctx, env, f.name); err != nil {
					t.Fatal(f.name, err)
				}
			}
		}
		env.Sleep(72 * time.Hour)
		for _, f := range features {
			for number, run := range env.Runs(f.name) {
				write(t, env, fmt.Sprintf("testdata/%s-%d.json", f.name, number+1), f.name, run.RunID)
			}
		}
	})
}

// write writes the history of a run to a file that does not exist.
func write(t *testing.T, env *weftest.Env, file, id, runID string) {
	t.Helper()
	if _, err := os.Stat(file); err == nil {
		return
	}
	h, err := env.Client().History(t.Context(), id, runID)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(h, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
