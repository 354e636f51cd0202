package archtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/seed-41655fb1/weft"

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/modules.txt")

// pkg is a package as `go list` describes it.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// list runs go list with cgo, which is the default of users' builds. The tests run with cgo or
// without it.
func list(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := goList("CGO_ENABLED=1", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// goList runs go list at the root, with a variable of the environment.
func goList(variable string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), variable)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %v: %w\n%s", args, err, stderr.String())
	}
	return out, nil
}

// parsedFile returns the syntax of a file.
func parsedFile(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// packages returns all packages of the module. They are listed once for all tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

var listed = sync.OnceValues(func() (all []pkg, err error) {
	text, err := goList("CGO_ENABLED=1", "-json=ImportPath,Name,Dir,GoFiles,Imports", "./...")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
})

// under reports whether a package, named without the module, is in one of the folders or below one.
func under(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}

// among reports whether a package is one of the named ones. "folder/..." names all packages in a
// folder and below it.
func among(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		folder, all := strings.CutSuffix(p, "/...")
		return name == folder || all && strings.HasPrefix(name, folder+"/")
	})
}

// ours returns the name of a package of this module, without the module. ok is false for other
// packages.
func ours(path string) (name string, ok bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// rule lists what the packages under a folder may import from this module; nil means nothing.
type rule struct {
	folder  string
	allowed []string
}

// executorBelow returns what a layer of the executor may import: the given layers below it, and
// what all layers may import.
func executorBelow(layers ...string) []string {
	all := []string{"engine/...", "store", "queue", "internal/attempt", "internal/command", "internal/cron", "internal/filter", "internal/header", "internal/limits", "internal/meter", "internal/notify/guard", "internal/notify/sign", "internal/notify/stored", "internal/observe", "internal/price", "internal/refusal", "internal/schema", "internal/where"}
	for _, layer := range layers {
		all = append(all, "internal/executor/"+layer)
	}
	return all
}

// The first rule whose folder contains a package applies to it.
var rules = []rule{
	{"engine", []string{"engine/...", "internal/jsontext"}},
	{"internal/jsontext", nil},
	{"internal/near", nil},
	{"internal/contract/check", []string{"internal/jsontext", "internal/near"}},
	{"internal/contract/schemas", []string{"internal/contract", "internal/contract/check"}},
	{"internal/contract/build", []string{"engine", "internal/contract", "internal/contract/schemas", "internal/payload"}},
	{"internal/contract/docs", []string{"engine", "internal/contract", "internal/where"}},
	{"internal/contract/diff", []string{"internal/contract"}},
	{"internal/contract/openapi", []string{"internal/contract"}},
	{"internal/contract", nil},
	{"store/storetest", []string{"store"}},
	{"store/memory", []string{"store"}},
	{"store/dynamo", []string{"store", "internal/awstry"}},
	{"store", nil},
	{"queue/queuetest", []string{"queue"}},
	{"queue/memory", []string{"queue", "internal/lines"}},
	{"queue/sqs", []string{"queue", "internal/awstry"}},
	{"queue", nil},
	{"internal/disk/disktest", []string{"internal/disk"}},
	{"internal/disk", nil},
	{"internal/lines", []string{"queue"}},
	{"internal/embedded/diskblobs", []string{"blob", "internal/disk"}},
	{"internal/embedded/diskqueue", []string{"queue", "internal/disk", "internal/lines"}},
	{"internal/embedded/diskstore", []string{"store", "internal/disk"}},
	{"internal/generate", []string{"internal/contract"}},
	{"internal/where", nil},
	{"internal/terminal", nil},
	{"internal/cron", nil},
	{"internal/program", []string{"workflow", "engine", "internal/bridge", "internal/schedule/flow", "internal/batch/flow", "internal/probe/flow", "internal/notify/flow"}},
	{"internal/probe/flow", []string{"workflow", "activity", "engine", "engine/history", "internal/bridge", "internal/probe"}},
	{"internal/probe", []string{"engine/history"}},
	{"internal/notify/sign", nil},
	{"internal/notify/guard", []string{"internal/notify/sign"}},
	{"internal/notify/stored", nil},
	{"internal/notify/send", []string{"engine/history", "internal/notify/guard", "internal/notify/sign", "internal/notify/stored", "internal/version"}},
	{"internal/notify/eventbridge", []string{"internal/awsform", "internal/awstry"}},
	{"internal/notify/flow", []string{"workflow", "activity", "engine", "engine/failure", "internal/bridge", "internal/notify/stored"}},
	{"internal/notify/acts", []string{"engine/failure", "engine/history", "internal/executor", "internal/notify/...", "internal/refusal"}},
	{"internal/batch/flow", []string{"workflow", "activity", "engine/...", "internal/bridge", "internal/payload", "internal/batch/stored", "internal/filter", "internal/refusal"}},
	{"internal/batch/stored", nil},
	{"internal/batch/acts", []string{"engine/...", "internal/batch/...", "internal/executor", "internal/filter", "internal/observe", "internal/refusal", "internal/schema"}},
	{"internal/schedule/flow", []string{"workflow", "engine/...", "internal/schema", "internal/bridge", "internal/payload", "internal/schedule", "internal/schedule/stored", "internal/refusal"}},
	{"internal/schedule/stored", []string{"engine/history", "engine/failure"}},
	{"internal/schedule", []string{"engine", "internal/cron", "internal/schedule/stored"}},
	{"internal/limits", []string{"engine"}},
	{"internal/price", []string{"engine"}},
	{"internal/bill", []string{"internal/price"}},
	{"internal/settings", []string{"engine", "internal/limits"}},
	{"internal/attempt", nil},
	{"internal/bridge", []string{"engine", "engine/failure", "engine/history", "internal/payload"}},
	{"internal/awstry", nil},
	{"internal/filter", []string{"engine", "engine/history", "internal/near", "store"}},
	{"internal/meter", []string{"blob", "store", "queue"}},
	{"internal/tracelog", nil},
	{"internal/observe/calls", []string{"blob", "store", "queue", "internal/codec", "internal/executor", "internal/observe"}},
	{"internal/observe", []string{"engine/failure", "engine/history", "internal/meter", "internal/notify/stored", "internal/observe", "internal/refusal", "internal/terminal", "internal/tracelog", "internal/where"}},
	{"weftotel", []string{"engine/history", "internal/observe", "internal/tracelog"}},
	{"internal/payload", []string{"engine", "engine/history", "internal/contract/check"}},
	{"internal/refusal", []string{"engine/failure"}},
	{"internal/command", []string{"engine", "engine/failure", "engine/history", "internal/filter", "internal/schema", "internal/cron", "internal/notify/guard", "internal/notify/stored", "internal/refusal"}},
	{"internal/schema", []string{"engine/history", "engine/failure", "internal/contract", "internal/jsontext"}},
	{"internal/problem", []string{"engine/failure", "internal/refusal"}},
	{"internal/executor/host", []string{"engine/history", "internal/observe"}},
	{"internal/executor/lock", []string{"internal/executor/host"}},
	{"internal/executor/outcome", []string{"internal/refusal", "store"}},
	{"internal/executor/runlog", []string{"engine/...", "internal/executor/host", "internal/executor/outcome", "store"}},
	{"internal/executor/runner", []string{"engine/...", "internal/attempt", "internal/header", "internal/observe", "internal/where", "internal/executor/host", "internal/executor/outcome"}},
	{"internal/executor/attempts", []string{"engine/...", "internal/executor/host", "internal/executor/outbox", "internal/executor/outcome", "store"}},
	{"internal/executor/outbox", []string{"engine", "engine/history", "internal/observe", "internal/executor/host", "internal/executor/outcome", "queue", "store"}},
	{"internal/executor/session", executorBelow("attempts", "host", "lock", "outbox", "outcome", "runlog", "runner")},
	{"internal/executor/commit", executorBelow("host", "outcome", "runner", "session")},
	{"internal/executor/starts", executorBelow("session")},
	{"internal/executor/inbox", executorBelow("host", "session")},
	{"internal/executor/activities", executorBelow("attempts", "commit", "host", "inbox", "outbox", "outcome", "runner", "session")},
	{"internal/executor/children", executorBelow("commit", "host", "inbox", "outcome", "session", "starts")},
	{"internal/executor/notify", executorBelow("commit", "inbox", "runlog", "session", "starts")},
	{"internal/executor/requests", executorBelow("activities", "attempts", "commit", "host", "inbox", "lock", "outcome", "runner", "session", "starts")},
	{"internal/executor/inventory", executorBelow("host", "outbox", "outcome", "session")},
	{"internal/executor/deliveries", executorBelow("activities", "children", "commit", "inbox", "notify", "outcome", "runner", "session")},
	{"internal/executor/maintenance", executorBelow("activities", "attempts", "children", "commit", "inbox", "notify", "outcome", "runlog", "session", "starts")},
	{"internal/executor", []string{"internal/executor/...", "engine/...", "store", "queue", "internal/meter", "internal/attempt", "internal/command", "internal/cron", "internal/header", "internal/limits", "internal/notify/guard", "internal/notify/sign", "internal/observe", "internal/refusal", "internal/schema"}},
	{"internal/httpapi", []string{"engine/...", "store", "internal/command", "internal/contract", "internal/contract/build", "internal/contract/openapi", "internal/filter", "internal/meter", "internal/notify/sign", "internal/observe", "internal/problem", "internal/refusal", "internal/schedule/stored", "internal/batch/stored", "internal/schema", "internal/version", "internal/executor"}},
	{"internal/version", nil},
	{"internal/page", nil},
	{"internal/webguard", []string{"internal/httpapi", "internal/refusal"}},
	{"internal/pageproxy", []string{"internal/httpapi", "internal/page", "internal/refusal", "internal/version", "internal/webguard"}},
	{"internal/awsform", nil},
	{"internal/rollout", []string{"internal/awsform", "internal/settings"}},
	{"internal/doctor", []string{"client", "engine/history", "queue", "internal/awsform", "internal/bill", "internal/observe", "internal/probe", "internal/problem", "internal/rollout", "internal/settings", "internal/version"}},
	{"internal/header", []string{"engine", "engine/history", "internal/payload"}},
	{"internal/replay", []string{"engine/...", "internal/schema", "internal/where"}},
	{"internal/precheck", []string{"engine/...", "internal/contract", "internal/contract/build", "internal/replay", "internal/schema", "internal/version"}},
	{"internal/codec/awskms", []string{"internal/codec"}},
	{"internal/codec", []string{"blob", "engine/history", "store", "queue", "internal/meter", "internal/executor"}},
	{"blob/blobtest", []string{"blob"}},
	{"blob/memory", []string{"blob"}},
	{"blob/s3", []string{"blob", "internal/awstry"}},
	{"blob", nil},
	{"backend", []string{"blob", "queue", "store"}},
	{"embedded", []string{"backend", "internal/disk", "internal/embedded/...", "queue"}},
	{"internal/assembly", []string{"engine", "store", "queue", "internal/httpapi", "internal/worker", "internal/codec", "internal/executor", "internal/executor/host", "internal/observe/calls", "internal/batch/flow", "internal/batch/acts", "internal/notify/acts", "internal/notify/flow"}},
	{"internal/worker", []string{"engine/...", "queue", "internal/observe", "internal/executor", "internal/executor/host", "internal/executor/outbox"}},
	{"client", []string{"engine/...", "internal/bridge", "internal/contract", "internal/header", "internal/notify/sign", "internal/options", "internal/problem", "internal/refusal", "internal/schedule/stored", "internal/batch/stored", "internal/schema"}},
	{"workflow", []string{"client", "engine/...", "internal/bridge", "internal/contract", "internal/header", "internal/options", "internal/payload", "internal/where"}},
	{"activity", []string{"workflow", "client", "engine/...", "internal/bridge", "internal/options", "internal/payload", "internal/where", "internal/attempt", "internal/header", "internal/tracelog"}},
	{"weftest", []string{
		"workflow", "activity", "client", "engine/...", "store", "store/memory", "queue", "queue/memory", "blob/memory", "internal/assembly", "internal/bridge", "internal/contract", "internal/contract/build", "internal/contract/diff", "internal/contract/docs", "internal/httpapi",
		"internal/meter", "internal/observe", "internal/payload", "internal/problem", "internal/worker", "internal/program", "internal/refusal", "internal/schema", "internal/replay", "internal/codec", "internal/executor", "internal/executor/host", "internal/executor/outbox", "internal/notify/guard", "internal/where",
	}},
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name, _ := ours(p.ImportPath)
		for _, imported := range p.Imports {
			target, ok := ours(imported)
			if !ok {
				continue
			}
			if i := slices.IndexFunc(rules, func(r rule) bool { return under(name, r.folder) }); i >= 0 && !among(target, rules[i].allowed) {
				t.Errorf("%s imports %s; packages under %s may import only %q of this module", name, target, rules[i].folder, rules[i].allowed)
			}
			if under(target, "cmd", "infra", "localstack", "examples") && p.Name != "main" && !under(name, "examples") {
				t.Errorf("%s imports %s: no package may import from cmd, infra, localstack and examples", name, target)
			}
			if under(target, "proof") && !under(name, "proof", "localstack") {
				t.Errorf("%s imports %s: the product does not import its proofs", name, target)
			}
			if target == "internal/schedule/flow" && name != "internal/program" {
				t.Errorf("%s imports %s: only package program registers Weft's own workflows", name, target)
			}
			if (target == "." || target == "weftotel") && p.Name != "main" {
				t.Errorf("%s imports %s: only mains do", name, imported)
			}
		}
	}
}

// authors are the packages of this module that packages workflow and activity may import, directly
// or not. They contain no store, queue, blob or meter.
var authors = []string{
	"workflow", "activity", "client", "engine/...", "internal/attempt", "internal/bridge", "internal/contract", "internal/contract/check", "internal/header", "internal/jsontext",
	"internal/near", "internal/notify/sign", "internal/options", "internal/payload", "internal/problem", "internal/refusal", "internal/schedule/stored", "internal/batch/stored", "internal/tracelog", "internal/where", "internal/schema",
}

func TestAuthorsImports(t *testing.T) {
	t.Parallel()
	for _, path := range strings.Fields(string(list(t, "-deps", "./workflow", "./activity"))) {
		if name, ok := ours(path); ok && !among(name, authors) {
			t.Errorf("packages workflow and activity depend on %s; of this module they may depend only on %q", name, authors)
		}
	}
}

// The executor does not know HTTP, and neither does anything below it. It returns refusals, and
// package httpapi answers with their problem documents.
func TestExecutorKnowsNoHTTP(t *testing.T) {
	t.Parallel()
	for _, path := range strings.Fields(string(list(t, "-deps", "./internal/executor/...", "./internal/command", "./internal/refusal", "./internal/schema"))) {
		if name, _ := ours(path); under(path, "net/http") || under(name, "internal/httpapi", "internal/problem", "client") {
			t.Errorf("the executor depends on %s", path)
		}
	}
}

// engineImports are the packages that the engine may import. It does no I/O and reads no clock.
var engineImports = []string{
	"bytes", "cmp", "container/heap", "context", "crypto/sha256", "encoding/binary", "encoding/hex", "encoding/json", "errors",
	"fmt", "iter", "maps", "math", "math/rand/v2", "reflect", "runtime", "runtime/debug", "slices", "strconv", "strings",
	"sync/atomic", "time", "unicode/utf8", "github.com/fxamacker/cbor/v2",
}

// engineCalls are functions of those packages that the engine may not call.
var engineCalls = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"rand":    {"Int", "IntN", "Int64", "Int64N", "Uint32", "Uint64", "Uint64N", "Float64", "N", "Perm", "Shuffle"},
	"context": {"WithTimeout", "WithDeadline", "Background", "TODO"},
}

func TestEngineIsPure(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name, _ := ours(p.ImportPath)
		if !under(name, "engine", "internal/jsontext") {
			continue
		}
		for _, imported := range p.Imports {
			if _, our := ours(imported); !our && !slices.Contains(engineImports, imported) {
				t.Errorf("%s imports %s, which the engine may not import", name, imported)
			}
		}
		for _, file := range p.GoFiles {
			checkCalls(t, filepath.Join(p.Dir, file))
		}
	}
}

func checkCalls(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			t.Errorf("%s: the engine starts no goroutines but those of iter.Pull", files.Position(g.Pos()))
		}
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(engineCalls[x.Name], sel.Sel.Name) {
			t.Errorf("%s: the engine may not call %s.%s: time, randomness and ids are arguments", files.Position(sel.Pos()), x.Name, sel.Sel.Name)
		}
		return true
	})
}

// Every exported name has a doc comment. What protoc generates for an example has none.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			if strings.HasSuffix(name, ".pb.go") {
				continue
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				for _, undocumented := range undocumented(d) {
					t.Errorf("%s: %s has no doc comment", files.Position(undocumented.Pos()), undocumented.Name)
				}
			}
		}
	}
}

// undocumented returns the exported names of a declaration that have no comment, neither their own
// nor that of their group.
func undocumented(d ast.Decl) (names []*ast.Ident) {
	add := func(n *ast.Ident, comments ...*ast.CommentGroup) {
		if n.IsExported() && !slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c != nil }) {
			names = append(names, n)
		}
	}
	if f, ok := d.(*ast.FuncDecl); ok {
		add(f.Name, f.Doc)
		return names
	}
	group, _ := d.(*ast.GenDecl)
	for _, s := range group.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			add(s.Name, s.Doc, group.Doc)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				add(n, s.Doc, s.Comment, group.Doc)
			}
		}
	}
	return names
}

// modules returns the modules that some packages depend on, without their tests.
func modules(t *testing.T, packages ...string) []string {
	t.Helper()
	args := append([]string{"-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)
	lines := strings.Fields(string(list(t, args...)))
	slices.Sort(lines)
	return slices.Compact(lines)
}

// A new dependency shows in review. A file lists the modules that users get, first those of a
// program that runs the local server. A program gets the modules of OpenTelemetry only if it
// imports package weftotel. Users get an internal package's modules only through what they can
// import or run.
func TestModules(t *testing.T) {
	t.Parallel()
	const golden = "testdata/modules.txt"
	var open []string
	for _, p := range packages(t) {
		if name, _ := ours(p.ImportPath); !strings.Contains(p.ImportPath, "/internal/") && !under(name, "proof") {
			open = append(open, p.ImportPath)
		}
	}
	var got string
	listed := map[string]bool{}
	for _, part := range []struct {
		title    string
		packages []string
	}{
		{"a program on the local server", []string{".", "./workflow", "./activity", "./client"}},
		{"besides, on AWS", []string{"./functions/...", "./client/...", "./store/...", "./queue/..."}},
		{"besides, with package weftotel", []string{"./weftotel"}},
		{"besides, elsewhere", open},
	} {
		got += "# " + part.title + "\n"
		for _, m := range modules(t, part.packages...) {
			if !listed[m] {
				got += m + "\n"
			}
			listed[m] = true
		}
	}
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the modules that Weft needs have changed. If that is intended, say why in a decision record and run\n"+
			"go test ./proof/archtest -run TestModules -rewrite\ngot:\n%swant:\n%s", got, want)
	}
}
