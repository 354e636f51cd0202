package docs_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	// request matches a command to paste, and the line with its answer.
	request = regexp.MustCompile(`(?m)^curl -i '?127\.0\.0\.1:8080(/[^ ']+)'?(?: -d '(.*)')?\n# (.*)$`)
	// link matches a link to a file, to a heading of a file, or to a heading of the same document.
	// It also matches some code.
	link    = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]+)?\)`)
	anyCode = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	// title matches a heading. punctuation matches what the anchor of a heading leaves out.
	title       = regexp.MustCompile(`(?m)^#+ (.*)$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	// indentation matches the tabs at the beginning of a line. A document quotes indented code
	// without them.
	indentation = regexp.MustCompile(`(?m)^\t+`)
	runID       = regexp.MustCompile(`"runId":"[^"]+"`)
)

// The Go code of the README and of these pages is quoted from the examples, which tests compile and
// run.
func TestReadmeCode(t *testing.T) {
	t.Parallel()
	quotes(t, "README.md", 2, "examples/tickets/*.go", "functions/adapter/example_test.go")
	quotes(t, "docs/local-server.md", 1, "examples/tickets/*.go")
	quotes(t, "docs/updates.md", 6, "examples/cart/*.go")
	quotes(t, "docs/ports.md", 2, "backend/*_test.go", "examples/postgres/server/*.go")
	quotes(t, "docs/testing.md", 7, "examples/cart/*.go", "examples/hello/*.go", "examples/attributes/*.go", "examples/children/*.go")
}

// quotes checks that the Go code of a document is quoted from files, and has at least this many
// blocks.
func quotes(t *testing.T, document string, least int, patterns ...string) {
	t.Helper()
	var code strings.Builder
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text := strings.Replace(readFile(t, file), "func Example()", "func main()", 1)
			code.WriteString(indentation.ReplaceAllString(text, ""))
		}
	}
	quoted := blocks(t, document, "go")
	if len(quoted) < least {
		t.Errorf("%s has %d blocks of Go", document, len(quoted))
	}
	for _, block := range quoted {
		if !strings.Contains(code.String(), indentation.ReplaceAllString(block, "")) {
			t.Errorf("this code of %s is in no example:\n%s", document, block)
		}
	}
}

// The server answers the requests of the README and of docs/local-server.md as these say, and at
// the cost that they say.
func TestReadmeRequests(t *testing.T) {
	t.Parallel()
	asks(t, "README.md", 3)
	asks(t, "docs/local-server.md", 5)
}

// asks sends the requests of a document, at least this many, to a new deployment.
func asks(t *testing.T, document string, least int) {
	t.Helper()
	requests := request.FindAllStringSubmatch(readFile(t, document), -1)
	if len(requests) < least {
		t.Fatalf("%s has %d requests", document, len(requests))
	}
	synctest.Test(t, func(t *testing.T) {
		p := testbed.One(t, tickets.Registrations()...)
		for _, r := range requests {
			target, body, want := r[1], r[2], r[3]
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			a := p.Do(method, target, body)
			got := fmt.Sprintf("%d %s %s", a.Status, a.Header.Get(httpapi.CostHeader), strings.TrimSpace(string(a.Body)))
			if got = runID.ReplaceAllString(got, `"runId":"..."`); got != want {
				t.Errorf("%s %s %s was answered\n%s and %s has\n%s", method, target, body, got, document, want)
			}
		}
	})
}

// The links of the documents have targets.
func TestLinks(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md", "*/README.md", "*/*/README.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, more...)
	}
	for _, document := range documents {
		for _, l := range link.FindAllStringSubmatch(anyCode.ReplaceAllString(readFile(t, document), ""), -1) {
			target := filepath.Join(filepath.Dir(document), l[1])
			if l[1] == "" {
				target = document
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", document, err)
			} else if l[2] != "" && !slices.Contains(anchors(t, target), l[2]) {
				t.Errorf("%s: %s has no heading %s", document, target, l[2])
			}
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub forms them.
func anchors(t *testing.T, document string) (all []string) {
	t.Helper()
	for _, h := range title.FindAllStringSubmatch(readFile(t, document), -1) {
		all = append(all, "#"+strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}
