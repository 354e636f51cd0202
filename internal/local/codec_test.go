package local

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/workflow"
)

// canary is in all data that users give to Weft here, and must not be in anything that is stored.
const canary = "canary-77d0"

var (
	vault   = workflow.NewWorkflow[string, string]("vault")
	put     = workflow.NewUpdate[string, string]("put")
	hint    = workflow.NewSignal[string]("hint")
	look    = workflow.NewQuery[string, string]("look")
	inspect = activity.New("inspect", inspecting, activity.Options{Retry: activity.Retry{MaxAttempts: 2, InitialInterval: time.Millisecond}})
)

// inspecting fails once, after a heartbeat with details.
func inspecting(ctx context.Context, text string) (string, error) {
	if details, again := activity.HeartbeatDetails[string](ctx); again {
		return details + " " + text, nil
	}
	if err := activity.Heartbeat(ctx, text); err != nil {
		return "", err
	}
	return "", fmt.Errorf("cannot inspect %s", text)
}

// note is private and encrypted; public is a search attribute, which stays readable.
var (
	note   = workflow.NewMemo[string]("note")
	public = workflow.NewAttribute[string]("Public")
)

// keep is a workflow whose state is private.
func keep(ctx workflow.Context, text string) (string, error) {
	put.Handle(ctx, func(ctx workflow.Context, more string) (string, error) {
		if strings.HasSuffix(more, "fail") {
			return "", workflow.NewError("refused", "no room for "+more)
		}
		text += " " + more
		workflow.UpsertMemo(ctx, note.Set(text))
		workflow.UpsertSearchAttributes(ctx, public.Set("plain-of-"+workflow.InfoOf(ctx).WorkflowID))
		return inspect.Run(ctx, more)
	})
	look.Handle(ctx, func(in string) (string, error) { return in + " " + text, nil })
	said, err := hint.Receive(ctx)
	if err == nil && strings.HasSuffix(said, "wait") {
		err = workflow.Sleep(ctx, 24*time.Hour) // a timer that is stored
	}
	return text + " " + said, err
}

// heard is a log that may be written and read concurrently.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (h *heard) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(text)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// running is a server over a directory, until stop is called.
func running(t *testing.T, dir string, log *heard, keys codec.Keys) (c *client.Client, stop func()) {
	t.Helper()
	types := &engine.Registry{}
	for _, r := range []workflow.Registration{workflow.Bind(vault, keep, workflow.Names(put, look, hint, public, note)), inspect, workflow.Bind(courier, outside.Run), outside} {
		if err := bridge.Register(types, r); err != nil {
			t.Fatal(err)
		}
	}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := Open(types, Options{Dir: dir, Keys: keys, Log: logger, Executor: executor.Options{Observe: observe.New(observe.Log(logger))}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		s.Work(ctx)
	}()
	return client.ForHandler(s.Handler()), sync.OnceFunc(func() {
		cancel()
		<-worked
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// keysOf returns the keys of a file with these ids.
func keysOf(t *testing.T, ids ...string) codec.Keys {
	t.Helper()
	var text strings.Builder
	for _, id := range ids {
		if id == codec.NoKey {
			fmt.Fprintln(&text, id)
		} else {
			fmt.Fprintln(&text, id, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(id[:1]), 32)))
		}
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := codec.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// holds reports whether a text is in any file of a directory.
func holds(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text)) || strings.Contains(string(data), base64.StdEncoding.EncodeToString([]byte(text))[:8])
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
	return found
}

// use runs a workflow that stores data of users in every way, and then waits for a day.
func use(t *testing.T, c *client.Client, id string) {
	t.Helper()
	ctx := t.Context()
	options := workflow.StartOptions{Memo: []workflow.MemoField{note.Set(canary)}, SearchAttributes: []workflow.SearchAttribute{public.Set("plain")}}
	if _, err := vault.Start(ctx, c, id, canary, options); err != nil {
		t.Fatal(err)
	}
	if got, err := put.Call(ctx, c, id, canary+" 1"); err != nil || got != canary+" 1 "+canary+" 1" {
		t.Errorf("put: %q, %v", got, err)
	}
	if _, err := put.Call(ctx, c, id, canary+" fail"); err == nil || !strings.Contains(err.Error(), "no room for "+canary) {
		t.Errorf("put: %v", err)
	}
	if err := hint.Send(ctx, c, id, canary+" wait"); err != nil {
		t.Fatal(err)
	}
	if got, err := look.Ask(ctx, c, id, "?"); err != nil || !strings.Contains(got, canary) {
		t.Errorf("look: %q, %v", got, err)
	}
	page, _, err := c.List(ctx, "Public = 'plain-of-"+id+"'", "")
	if err != nil || len(page) != 1 {
		t.Fatalf("the list: %v, %v", page, err)
	}
	if got, ok := note.Of(page[0].Memo); !ok || !strings.HasPrefix(got, canary+" "+canary) {
		t.Errorf("the memo in the list: %q", got)
	}
}

// No file and no line of the log contains user data. Without keys the files do.
func TestNothingReadableIsStored(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]codec.Keys{"encrypted": keysOf(t, "a"), "plain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, log := t.TempDir(), &heard{}
			c, stop := running(t, dir, log, keys)
			defer stop()
			use(t, c, "vault-1")
			stop()
			if found := holds(t, dir, canary); found != (keys == nil) {
				t.Errorf("user data is in the files: %v", found)
			}
			if !holds(t, dir, "plain-of-vault-1") {
				t.Error("the search attribute cannot be read, and has to be")
			}
			if !holds(t, dir, "vault-1") || strings.Contains(log.String(), canary) || !strings.Contains(log.String(), "vault-1") {
				t.Errorf("the id is in no file, or not in the log, or the canary is there:\n%s", log)
			}
		})
	}
}

// Encryption is switched on while runs are open, its keys are rotated, and it is switched off: the
// runs continue. Without the key they stop, and say why. With the key they continue.
func TestKeysOfOpenRuns(t *testing.T) {
	t.Parallel()
	ctx, dir, log := t.Context(), t.TempDir(), &heard{}
	with := func(keys codec.Keys, do func(c *client.Client)) {
		t.Helper()
		c, stop := running(t, dir, log, keys)
		defer stop()
		do(c)
	}
	add := func(text string) func(c *client.Client) {
		return func(c *client.Client) {
			t.Helper()
			if _, err := put.Call(ctx, c, "vault-1", text); err != nil {
				t.Errorf("put: %v", err)
			}
		}
	}
	with(nil, func(c *client.Client) {
		if _, err := vault.Start(ctx, c, "vault-1", "0"); err != nil {
			t.Fatal(err)
		}
	})
	with(keysOf(t, "a"), add("1"))
	with(keysOf(t, "b", "a"), add("2"))
	with(keysOf(t, "b"), func(c *client.Client) {
		_, err := look.Ask(ctx, c, "vault-1", "?")
		if err == nil || !strings.Contains(err.Error(), "encrypted") {
			t.Errorf("asked without a key: %v", err)
		}
	})
	if said := log.String(); !strings.Contains(said, `key \"a\" is not in the key file`) {
		t.Errorf("the log does not say which key is missing:\n%s", said)
	}
	with(keysOf(t, codec.NoKey, "b", "a"), add("3"))
	with(keysOf(t, codec.NoKey, "b", "a"), func(c *client.Client) {
		if err := hint.Send(ctx, c, "vault-1", "4"); err != nil {
			t.Fatal(err)
		}
		if got, err := vault.Get(c, "vault-1").Result(ctx); err != nil || got != "0 1 2 3 4" {
			t.Errorf("result %q, %v", got, err)
		}
	})
}

// tokens are those of the attempts at outside.
var (
	tokens  = make(chan string, 1)
	courier = workflow.NewWorkflow[string, string]("courier")
	outside = activity.New("outside", func(ctx context.Context, _ string) (string, error) {
		token, err := activity.Token(ctx)
		if err != nil {
			return "", err
		}
		tokens <- token
		return "", activity.ErrPending
	}, activity.Options{Pending: time.Hour, Retry: activity.Retry{MaxAttempts: 1}})
)

// The key that signs tokens is created once, and outlives the payload keys. When the payload key of
// the first token is gone, later tokens are still created, and are valid.
func TestTokensOutliveAPayloadKey(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	for _, id := range []string{"a", "b"} {
		c, stop := running(t, dir, &heard{}, keysOf(t, id))
		run, err := courier.Start(ctx, c, "courier-"+id, id)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := run.Result(ctx)
			ended <- err
		}()
		select {
		case token := <-tokens:
			err = errors.Join(outside.Complete(ctx, c, token, "done"), <-ended)
		case err = <-ended:
		}
		if err != nil {
			t.Errorf("under key %s: %v", id, err)
		}
		stop()
	}
}
