//go:build !race

package sim

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	quotedFault  = regexp.MustCompile("`([^`]+)`")
	quotedMutant = regexp.MustCompile(`“([^”]+)”`)
	quotedCount  = regexp.MustCompile(`counted\s+as ("[^"]+"(?:\s+and "[^"]+")*)`)
	quotedName   = regexp.MustCompile(`"([^"]+)"`)
	countedAs    = regexp.MustCompile(`count\("([^"]+)"\)`)
	namedTest    = regexp.MustCompile(`\bTest[A-Z]\w+`)
	field        = regexp.MustCompile(`^- \*\*(\w+)\*\*: (.*)$`)
)

// TestAWSDocument compares docs/aws.md with the simulation. The document names every fault, and
// every fault, count, mutant and test that it names exists. Each entry quotes AWS, has a source,
// and says which fault plays the behaviour, or why none does.
func TestAWSDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "aws.md"))
	if err != nil {
		t.Fatal(err)
	}
	var faults, known []string
	for _, f := range allFaults {
		known = append(known, f.name)
	}
	counted, tests := known, namesOfTests(t)
	for _, file := range filesOf(t, ".") {
		for _, m := range countedAs.FindAllStringSubmatch(file, -1) {
			counted = append(counted, m[1])
		}
	}
	for _, m := range quotedCount.FindAllStringSubmatch(string(text), -1) {
		for _, name := range quotedName.FindAllStringSubmatch(m[1], -1) {
			if !slices.Contains(counted, strings.Join(strings.Fields(name[1]), " ")) {
				t.Errorf("nothing is counted as %q", name[1])
			}
		}
	}
	for _, name := range namedTest.FindAllString(string(text), -1) {
		if !tests[name] {
			t.Errorf("the test %s does not exist", name)
		}
	}
	entries := strings.Split(string(text), "\n### ")[1:]
	if len(entries) < 100 {
		t.Errorf("docs/aws.md has %d entries", len(entries))
	}
	for _, entry := range entries {
		title, _, _ := strings.Cut(entry, "\n")
		sentence, _, _ := strings.Cut(entry, "\n- **Source**: ")
		if !strings.Contains(sentence, "“") && !strings.Contains(sentence, "documents no") {
			t.Errorf("%s does not quote AWS", title)
		}
		fields := fieldsOf(entry)
		for _, name := range []string{"Source", "Weft", "Fault", "Mutant", "Emulators"} {
			if fields[name] == "" {
				t.Errorf("%s lacks its %s", title, name)
			}
		}
		if !strings.HasPrefix(fields["Source"], "[") || strings.Count(fields["Source"], "(https://docs.aws.amazon.com/") == 0 {
			t.Errorf("%s has a source that does not belong to AWS: %s", title, fields["Source"])
		}
		for _, m := range quotedFault.FindAllStringSubmatch(fields["Fault"], -1) {
			faults = append(faults, m[1])
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s: the fault %q does not exist", title, m[1])
			}
		}
		named := quotedMutant.FindAllStringSubmatch(fields["Mutant"], -1)
		if len(named) == 0 && !strings.HasPrefix(fields["Mutant"], "none: ") {
			t.Errorf("%s names neither a mutant nor a reason for having none: %s", title, fields["Mutant"])
		}
		for _, m := range named {
			if !slices.ContainsFunc(mutants, func(x mutant) bool { return x.name == m[1] }) {
				t.Errorf("%s: the mutant %q does not exist", title, m[1])
			}
		}
	}
	for _, name := range known {
		if !slices.Contains(faults, name) {
			t.Errorf("docs/aws.md does not name the fault %q", name)
		}
	}
}

// namesOfTests returns the tests of all packages.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, file := range filesOf(t, filepath.Join("..", "..")) {
		for _, m := range declared.FindAllStringSubmatch(file, -1) {
			names[m[1]] = true
		}
	}
	return names
}

// filesOf returns the texts of the Go files below a folder.
func filesOf(t *testing.T, folder string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		files = append(files, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// fieldsOf returns the fields of an entry by name. A field continues in the indented lines after
// it.
func fieldsOf(entry string) map[string]string {
	fields := map[string]string{}
	var name string
	for line := range strings.Lines(entry) {
		line = strings.TrimRight(line, "\n")
		if m := field.FindStringSubmatch(line); m != nil {
			name = m[1]
			fields[name] = m[2]
		} else if rest, indented := strings.CutPrefix(line, "  "); indented && name != "" {
			fields[name] += " " + rest
		}
	}
	return fields
}
