package weftest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/build"
	"github.com/seed-41655fb1/weft/internal/contract/diff"
	"github.com/seed-41655fb1/weft/internal/contract/docs"
	"github.com/seed-41655fb1/weft/workflow"
)

// contractVariable is the environment variable that says what Contract does with the file, and
// rewrites its value that writes it.
const (
	contractVariable = "WEFT_CONTRACT"
	rewrites         = "rewrite"
)

// Contract compares the contract of a program with the one in a file, and fails the test if they
// differ. The message says of each change whether it breaks callers or open runs, and what to do
// instead. With WEFT_CONTRACT=rewrite in the environment, it writes the file. So a change of the
// contract is a change of the file, and shows in review. Contract needs no bubble.
//
//	weftest.Contract(t, "contract.json", cart.Registrations()...)
//
// The file has the comments of the declarations, of their types and of the fields.
// A program that embeds it publishes them: see workflow.Docs.
//
// It logs the types whose schema accepts any value because they encode themselves and declare no
// schema.
func Contract(t testing.TB, file string, registrations ...workflow.Registration) {
	t.Helper()
	r := registry(t, registrations)
	c, err := build.Of(r)
	if err != nil {
		t.Fatalf("weftest: the program has no contract: %v", err)
	}
	for _, name := range c.Silent {
		t.Logf("weftest: the schema of %s accepts any value, because the type encodes itself: give it a method JSONSchema() *jsonschema.Schema, or register workflow.Schema[%s]", name, name)
	}
	kept, err := os.ReadFile(file)
	kept = bytes.ReplaceAll(kept, []byte("\r\n"), []byte("\n"))
	if !docs.Add(c.Document, c.Types, r) { // the test runs where the sources are not
		if before, err := contract.Read(kept); err == nil {
			c.Document.AddDocs(before)
		}
	}
	text := c.Text()
	switch mode := os.Getenv(contractVariable); {
	case mode != "" && mode != rewrites:
		t.Fatalf("weftest: %s is %q: give %s, or unset it", contractVariable, mode, rewrites)
	case err == nil && bytes.Equal(kept, text):
	case mode == rewrites:
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatalf("weftest: %v", err)
		}
	case errors.Is(err, fs.ErrNotExist):
		t.Fatalf("weftest: there is no %s yet: run the test with %s=%s, and commit the file", file, contractVariable, rewrites)
	case err != nil:
		t.Fatalf("weftest: %v", err)
	default:
		t.Errorf("weftest: %s", difference(file, kept, c.Document))
	}
}

// difference says how the contract of a program differs from the one in a file.
func difference(file string, kept []byte, now *contract.Document) string {
	const write = "If that is intended, run the test with " + contractVariable + "=" + rewrites + ", and commit the file."
	before, err := contract.Read(kept)
	if err != nil {
		return file + ": " + err.Error() + "\n" + write
	}
	changes := diff.Compare(before, now)
	if len(changes) == 0 {
		return "the contract differs from " + file + " only in its form, in comments, or in the names of schemas.\n" + write
	}
	lines := []string{"the contract of the program is not the one in " + file + ":"}
	for i := range changes {
		lines = append(lines, changes[i].Lines()...)
	}
	return strings.Join(append(lines, write), "\n")
}
