package documents_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/documents"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

const name = "Ada Lovelace"

// large is a document of 2 MiB.
func large() documents.Document {
	return documents.Document{Text: strings.Repeat(name+" has signed. ", 2<<20/len(name+" has signed. ")), Names: []string{name}}
}

// serve runs a server on a directory until stop is called.
func serve(t *testing.T, o local.Options) (c *client.Client, stop func()) {
	t.Helper()
	s, err := local.Open(testbed.Registry(t, documents.Registrations()...), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		s.Work(ctx)
	}()
	return client.ForHandler(s.Handler()), func() {
		cancel()
		<-worked
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func keys(t *testing.T) codec.Keys {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	text := fmt.Sprintln("2026-11", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := codec.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A document of 2 MiB passes as an input, and as a result of an activity, of a query and of the
// workflow. It survives a restart. None of it can be read in the server's files.
func TestDocuments(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	o := local.Options{Dir: dir, Keys: keys(t), LargePayloads: true}
	c, stop := serve(t, o)
	if _, err := documents.Workflow.Start(ctx, c, "contract-1", large()); err != nil {
		t.Fatal(err)
	}
	want := documents.Public{Text: strings.ReplaceAll(large().Text, name, strings.Repeat("█", len(name)))}
	for draft := (documents.Public{}); draft != want; {
		draft, _ = documents.Draft.Ask(ctx, c, "contract-1", workflow.None{}) // the query does not exist until the document is redacted
	}
	stop()
	c, stop = serve(t, o)
	defer stop()
	if _, err := documents.Release.Call(ctx, c, "contract-1", documents.Note{Text: "seen by " + name}); err != nil {
		t.Fatal(err)
	}
	want.Note = "seen by " + name
	got, err := documents.Workflow.Get(c, "contract-1").Result(ctx)
	if err != nil || got != want {
		t.Errorf("the result has %d bytes, %v", len(got.Text), err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "weft.db"))
	if err != nil || bytes.Contains(data, []byte("Lovelace")) || bytes.Contains(data, []byte("has signed")) {
		t.Errorf("the document can be read in the file of %d bytes, %v", len(data), err)
	}
}

// Without a place for large payloads the document is refused, and the answer says what to do.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	c, stop := serve(t, local.Options{Dir: t.TempDir()})
	defer stop()
	d := large()
	d.Text = d.Text[:300<<10]
	_, err := documents.Workflow.Start(t.Context(), c, "contract-1", d)
	if err == nil || !strings.Contains(err.Error(), "--large-payloads") {
		t.Errorf("started: %v", err)
	}
}
