package docs_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/httpapi"
)

// guideFlags returns the flags of the reader's go command: those of the test, so that little is
// compiled a second time. Vetting a guide's program loads all packages below it again, so only CI
// does that. The program is linked without symbols, as all of `make test`.
func guideFlags() string {
	flags := os.Getenv("GOFLAGS") + " -ldflags=-s"
	if os.Getenv("WEFT_VET_GUIDES") != "" {
		return flags
	}
	return flags + " -vet=off"
}

// A guide is a document that a test follows from beginning to end, in a folder beside a checkout.
type guide struct {
	t        *testing.T
	checkout string
	dir      string // the reader's folder
	server   *url.URL
	proxy    string // a module proxy that refuses every request
	document string
	did      map[string]int // the number of steps of each kind
}

var (
	// step matches a block of a guide and the paragraph before it.
	step = regexp.MustCompile("(?ms)^([^\n]*)\n\n```(go|sh)\n(.*?)^```")
	// file matches the name of the file to which a block is written.
	file = regexp.MustCompile("Write this to `([a-z_.]+)`:$")
	// seconds matches a duration in the output of go test, or (cached), which may replace it.
	seconds = regexp.MustCompile(`[0-9.]+s$|\(cached\)$`)
)

// docs/getting-started.md leads a reader from an empty folder to a program with a test.
func TestGettingStarted(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	g.follow("docs/getting-started.md")
	for kind, least := range map[string]int{"file": 2, "command": 6, "server": 1, "request": 5, "output": 1} {
		if g.did[kind] < least {
			t.Errorf("the guide has %d steps of kind %s, want %d", g.did[kind], kind, least)
		}
	}
}

// A copy of examples/hello outside the repository builds and runs as its README says.
func TestHelloCopied(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	g.follow("examples/hello/README.md")
	for kind, least := range map[string]int{"command": 3, "server": 1, "request": 3, "output": 1} {
		if g.did[kind] < least {
			t.Errorf("the guide has %d steps of kind %s, want %d", g.did[kind], kind, least)
		}
	}
}

// newGuide returns a guide in a folder that has only a link to this checkout, named weft.
func newGuide(t *testing.T) *guide {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector has nothing to find in a program that the go command builds")
	}
	checkout, err := filepath.Abs(".")
	g := &guide{t: t, checkout: checkout, dir: t.TempDir(), did: map[string]int{}}
	if err == nil {
		err = os.Symlink(checkout, filepath.Join(g.dir, "weft"))
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/github.com/seed-41655fb1/") {
			http.Error(w, "the test has no "+r.URL.Path, http.StatusForbidden)
			return
		}
		http.NotFound(w, r) // go asks the next proxy
	}))
	t.Cleanup(proxy.Close)
	others, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	g.proxy = proxy.URL + "," + strings.TrimSpace(string(others))
	return g
}

// follow takes the steps of a document: it writes the files, runs the commands, and compares the
// output.
func (g *guide) follow(document string) {
	g.t.Helper()
	g.document = readFile(g.t, document)
	steps := step.FindAllStringSubmatch(g.document, -1)
	if n := len(blocks(g.t, document, "go")) + len(blocks(g.t, document, "sh")); n != len(steps) {
		g.t.Fatalf("%s has %d blocks, %d of them with a paragraph before it", document, n, len(steps))
	}
	for _, s := range steps {
		before, language, text := s[1], s[2], s[3]
		name := file.FindStringSubmatch(before)
		switch {
		case language == "go" && name == nil:
			g.t.Fatalf("%s does not name the file of\n%s", document, text)
		case language == "go":
			g.did["file"]++
			if err := os.WriteFile(filepath.Join(g.dir, name[1]), []byte(text), 0o600); err != nil {
				g.t.Fatal(err)
			}
		case request.MatchString(text):
			g.ask(text)
		default:
			g.run(text)
		}
	}
}

// run runs the commands of a block, and compares their output with the comments after them.
func (g *guide) run(block string) {
	g.t.Helper()
	var script, want string
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		switch said, is := strings.CutPrefix(line, "# "); {
		case is:
			g.did["output"]++
			want += said + "\n"
		case strings.HasPrefix(line, "git clone "): // the folder has this checkout instead
		case line == "go run .":
			g.shell(script)
			script = ""
			g.serve()
		default:
			g.did["command"]++
			script += line + "\n"
		}
	}
	if got := g.shell(script); want != "" && withoutTime(got) != withoutTime(want) {
		g.t.Errorf("%s printed\n%s\nand the document has\n%s", script, got, want)
	}
}

// withoutTime replaces each run of white space by one space, and drops the duration at the end.
func withoutTime(text string) string {
	return seconds.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
}

// shell runs a script in the reader's folder, remembers the folder in which the script ends, and
// returns its output. The module proxy refuses Weft, as a user's does. Other modules come from the
// module cache or the machine's proxy. The replaced module has the path of the checkout, so that go
// does not build it again for each test.
func (g *guide) shell(script string) string {
	g.t.Helper()
	if script == "" {
		return ""
	}
	script = strings.ReplaceAll(script, "=../weft\n", "="+g.checkout+"\n")
	where := filepath.Join(g.t.TempDir(), "where")
	command := exec.Command("sh", "-eu")
	command.Stdin = strings.NewReader(script + "pwd >'" + where + "'\n")
	command.Dir = g.dir
	command.Env = append(os.Environ(), "GOFLAGS="+guideFlags(), "GOPROXY="+g.proxy, "GOPRIVATE=", "GONOPROXY=", "GOSUMDB=off", "GOWORK=off")
	var failed strings.Builder
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		g.t.Fatalf("%v\n%s%s%s", err, script, out, &failed)
	}
	g.dir = strings.TrimSpace(readFile(g.t, where))
	return string(out)
}

// serve builds the program and runs it, because stopping `go run` would not stop the program.
func (g *guide) serve() {
	g.t.Helper()
	g.did["server"]++
	program := filepath.Join(g.t.TempDir(), "program")
	g.shell("go build -o '" + program + "' .\n")
	server := exec.Command(program, "--addr", "127.0.0.1:0")
	server.Dir = g.dir
	var printed strings.Builder
	g.t.Cleanup(func() { g.checkPrinted(printed.String()) }) // serve's own cleanup ends the output before
	g.server = serve(g.t, server, &printed)
}

// printedRequest matches a request that a server prints, after its address.
var printedRequest = regexp.MustCompile(`(?m)^ *curl -i ('?)http://[0-9.:]+(/.*)$`)

// checkPrinted demands that the document has each request that the program prints.
func (g *guide) checkPrinted(printed string) {
	found := printedRequest.FindAllStringSubmatch(printed, -1)
	if len(found) == 0 {
		g.t.Errorf("the program printed no request:\n%s", printed)
	}
	for _, c := range found {
		if line := "curl -i " + c[1] + "127.0.0.1:8080" + c[2]; !strings.Contains(g.document, "\n"+line+"\n") {
			g.t.Errorf("the program printed a request that the document does not have:\n%s", line)
		}
	}
}

// ask sends the requests of a block, and compares the answers with the comments after them.
func (g *guide) ask(block string) {
	g.t.Helper()
	requests := request.FindAllStringSubmatch(block, -1)
	if len(requests) != strings.Count(block, "curl ") || g.server == nil {
		g.t.Fatalf("these requests have no answers, or no server is running:\n%s", block)
	}
	for _, r := range requests {
		g.did["request"]++
		method, body := http.MethodGet, r[2]
		if body != "" {
			method = http.MethodPost
		}
		asked, err := http.NewRequestWithContext(g.t.Context(), method, g.server.String()+r[1], strings.NewReader(body))
		if err != nil {
			g.t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(asked)
		if err != nil {
			g.t.Fatal(err)
		}
		said, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		got := runID.ReplaceAllString(strings.TrimSpace(string(said)), `"runId":"..."`)
		if got = fmt.Sprintf("%d %s %s", answer.StatusCode, answer.Header.Get(httpapi.CostHeader), got); err != nil || got != r[3] {
			g.t.Errorf("%s %s was answered\n%s %v\nand the document has\n%s", r[1], body, got, err, r[3])
		}
	}
}

var greeting = regexp.MustCompile(`http://[0-9.]+:[0-9]+`)

// serve starts a local server until the test ends, and returns the address that it prints. It
// copies what the server prints afterwards to rest, until the test's cleanup.
func serve(t *testing.T, server *exec.Cmd, rest io.Writer) *url.URL {
	t.Helper()
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, copied := bufio.NewReader(out), make(chan struct{})
	t.Cleanup(func() {
		_ = server.Process.Kill() // the server's data is deleted, too
		<-copied
		_ = server.Wait()
	})
	line, err := lines.ReadString('\n')
	go func() { // ends with the server
		defer close(copied)
		_, _ = io.Copy(rest, lines)
	}()
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(greeting.FindString(line))
	if err != nil || u.Host == "" {
		t.Fatalf("the server printed %q: %v", line, err)
	}
	return u
}
