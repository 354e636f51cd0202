package docs_test

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var codeBlock = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```")

// blocks returns the code blocks of a document in a language.
func blocks(t *testing.T, path, language string) (all []string) {
	t.Helper()
	for _, block := range codeBlock.FindAllStringSubmatch(readFile(t, path), -1) {
		if block[1] == language {
			all = append(all, block[2])
		}
	}
	return all
}

// The JSON, Go and shell code in the documents can be parsed.
func TestDocumentsCode(t *testing.T) {
	t.Parallel()
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "*/README.md", "examples/deploy/README.md", "infra/terraform/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	seen := map[string]int{}
	for _, document := range documents {
		for _, language := range []string{"json", "go", "sh"} {
			seen[language] += len(blocks(t, document, language))
		}
		for _, text := range blocks(t, document, "json") {
			if !json.Valid([]byte(strings.ReplaceAll(text, ",...", ""))) { // ,... stands for more members
				t.Errorf("%s: this is not JSON:\n%s", document, text)
			}
		}
		for _, text := range blocks(t, document, "go") {
			if err := readsAsGo(text); err != nil {
				t.Errorf("%s: %v:\n%s", document, err, text)
			}
		}
		for _, text := range blocks(t, document, "sh") {
			command := exec.Command("sh", "-n")
			command.Stdin = strings.NewReader(text)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %s\n%s", document, out, text)
			}
		}
	}
	if seen["json"] < 1 || seen["go"] < 5 || seen["sh"] < 10 {
		t.Errorf("the documents have fewer blocks of code than before: %v", seen)
	}
}

// docs/architecture.md names every folder at the top and of internal, and no others.
func TestArchitectureNamesTheFolders(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/architecture.md")
	for _, found := range regexp.MustCompile("`([a-z/]+)/`").FindAllStringSubmatch(text, -1) {
		if info, err := os.Stat(found[1]); err != nil || !info.IsDir() {
			t.Errorf("the document names %s, which is not a folder: %v", found[1], err)
		}
	}
	for _, pattern := range []string{"*", "internal/*"} {
		all, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			info, err := os.Stat(path)
			if kept := map[string]bool{"internal": true, "docs": true, "bin": true}[path]; err != nil || !info.IsDir() || kept || path[0] == '.' {
				continue
			}
			if !strings.Contains(text, "`"+path+"/") {
				t.Errorf("the document does not name %s", path)
			}
		}
	}
}

// readsAsGo parses a file, declarations, statements, or some of each separated by blank lines.
func readsAsGo(text string) error {
	if strings.HasPrefix(text, "package ") {
		_, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
		return err
	}
	parse := func(code string) error {
		_, asFile := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0)
		if asFile == nil {
			return nil
		}
		_, asBody := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+code+"\n}", 0)
		if asBody == nil {
			return nil
		}
		return fmt.Errorf("as declarations: %w; as statements: %w", asFile, asBody)
	}
	whole := parse(text)
	if whole == nil {
		return nil
	}
	for part := range strings.SplitSeq(text, "\n\n") {
		if parse(part) != nil {
			return whole
		}
	}
	return nil
}

// The code logs the lines for which docs/operations.md tells operators to look.
func TestLogLines(t *testing.T) {
	t.Parallel()
	page := readFile(t, "docs/operations.md")
	for line, file := range map[string]string{
		"workflow task failed":                             "internal/observe/failure.go",
		"activity attempt failed":                          "internal/observe/failure.go",
		"a message was received too often":                 "internal/executor/deliveries/dead.go",
		"resends messages that are overdue":                "internal/executor/maintenance/resend.go",
		"workflow code does not return":                    "internal/executor/runner/runner.go",
		"a message cannot be read":                         "internal/worker/handler.go",
		"the function cannot run":                          "functions/adapter/main.go",
		"a newer version of Weft wrote this run's history": "internal/executor/session/problem.go",
		"what is stored cannot be opened":                  "internal/codec/codec.go",
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), line) || !strings.Contains(readFile(t, file), `"`+line) {
			t.Errorf("%q has to be in docs/operations.md and in %s", line, file)
		}
	}
}

// proof/README.md links to each folder beside it.
func TestProofNamesItsPackages(t *testing.T) {
	t.Parallel()
	text := readFile(t, "proof/README.md")
	folders, err := os.ReadDir("proof")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && !strings.Contains(text, "]("+f.Name()+")") {
			t.Errorf("proof/README.md does not say what %s proves", f.Name())
		}
	}
}

// Each recipe of CONTRIBUTING.md opens at most four files, and they exist. A recipe is a list with
// a step for each file, and a section may have several. The first file that a step links to is the
// one to open, and "or" joins it with others that may take its place.
func TestRecipes(t *testing.T) {
	t.Parallel()
	_, recipes, found := strings.Cut(readFile(t, "CONTRIBUTING.md"), "\n## Recipes\n")
	parts := strings.Split(recipes, "\n### ")
	if !found || len(parts) != 5 {
		t.Fatalf("there are %d recipes, want one each for a setting, a route, an event and a store", len(parts)-1)
	}
	for _, part := range parts[1:] {
		name, _, _ := strings.Cut(part, "\n")
		lists := recipesOf(part)
		if len(lists) == 0 {
			t.Errorf("%s: there is no list", name)
		}
		for _, steps := range lists {
			checkRecipe(t, name, steps)
		}
	}
}

// recipesOf returns the lists of a section, each as the texts of its steps.
func recipesOf(section string) (lists [][]string) {
	step := regexp.MustCompile(`(?m)^(\d+)\. ((?:.*\n)(?: +.*\n)*)`)
	for _, s := range step.FindAllStringSubmatch(section, -1) {
		if s[1] == "1" {
			lists = append(lists, nil)
		}
		if len(lists) > 0 {
			lists[len(lists)-1] = append(lists[len(lists)-1], s[2])
		}
	}
	return lists
}

// checkRecipe demands that the steps open different files, which exist, and at most four. A step
// with a NAME in the path opens a new file. Before its colon, a step names another file only after
// "or", and behind it none.
func checkRecipe(t *testing.T, name string, steps []string) {
	t.Helper()
	path := regexp.MustCompile("^(?:\\[[^]]+\\]\\(([^)]+)\\)|`([^`]*NAME[^`]*)`)")
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	code := regexp.MustCompile("`[a-z_/]+\\.(?:go|yaml|tf|md)`|\\]\\([^)]+\\)")
	opened := map[string]bool{}
	for _, step := range steps {
		what, how, _ := strings.Cut(step, ": ")
		first := path.FindStringSubmatch(what)
		if first == nil {
			t.Errorf("%s: the step %q opens no file", name, step)
			continue
		}
		opened[first[1]+first[2]] = true
		if others := len(link.FindAllString(what, -1)) - 1; others > strings.Count(what, " or ") {
			t.Errorf("%s: the step %q opens several files", name, step)
		}
		if other := code.FindString(how); other != "" {
			t.Errorf("%s: the step %q names %s besides: give it a step, or name it outside of the list if it is only to be read", name, step, other)
		}
		for _, l := range link.FindAllStringSubmatch(step, -1) {
			if _, err := os.Stat(l[1]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(opened) < 2 || len(opened) > 4 || len(opened) != len(steps) {
		t.Errorf("%s: the recipe opens %d files in %d steps, want at most 4, one in each step: %v", name, len(opened), len(steps), opened)
	}
}

// docs/glossary.md defines each term once. The documents that introduce a newcomer link to it.
func TestGlossary(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| \[[^|]+ \|$`).FindAllStringSubmatch(readFile(t, "docs/glossary.md"), -1) {
		for term := range strings.SplitSeq(row[1], ", ") {
			if seen[term] {
				t.Errorf("the glossary defines %s twice", term)
			}
			seen[term] = true
		}
	}
	for _, term := range []string{"commit", "slot", "fence", "run", "update", "executor", "causation id", "codec"} {
		if !seen[term] {
			t.Errorf("the glossary does not define %s", term)
		}
	}
	for _, document := range []string{"README.md", "CONTRIBUTING.md", "docs/architecture.md"} {
		if !strings.Contains(readFile(t, document), "glossary.md)") {
			t.Errorf("%s has no link to it", document)
		}
	}
}
