package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/settings"
)

var variable = regexp.MustCompile(`\bWEFT_[A-Z][A-Z_]*[A-Z]\b`)

// elsewhere are the variables that no field of package settings declares, each with the file that
// declares it.
var elsewhere = map[string]string{
	"WEFT_URL": "internal/cli/remote.go", "WEFT_STACK": "internal/cli/remote.go", "WEFT_PROFILE": "internal/cli/remote.go",
	"WEFT_TOKEN": "internal/cli/remote.go", "WEFT_TOKEN_FILE": "internal/cli/remote.go", "WEFT_CONFIG": "internal/cli/config.go",
	"WEFT_COMPLETION_TIMEOUT": "cmd/weft/complete.go", "WEFT_CONTRACT": "weftest/contract.go",
	"WEFT_CHECK":          "internal/precheck/precheck.go", // between weft check and a program
	"WEFT_ISOLATED_CHILD": "internal/isolate/child.go",     // between a server and its children
}

// declaredVariables returns the variables of package settings.
func declaredVariables() (names []string) {
	for _, s := range slices.Concat(settings.Of[settings.Function](), settings.Of[settings.Server](), settings.Of[settings.ServerLogging]()) {
		names = append(names, s.Variable)
	}
	return names
}

// Each variable that a document names is declared.
func TestNamedVariables(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) < 10 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	for _, path := range append(documents, "README.md", "infra/README.md", "infra/terraform/README.md", "functions/adapter/main.go", "functions/adapter/doc.go") {
		for _, name := range variable.FindAllString(readFile(t, path), -1) {
			if !slices.Contains(declaredVariables(), name) && elsewhere[name] == "" {
				t.Errorf("%s names %s, which nothing declares", path, name)
			}
		}
	}
}

// Only package settings has the name of a variable in a place where a program would read it: in
// quotes, or as the variable of a flag.
func TestVariablesAreDeclaredOnce(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile(`"(WEFT_[A-Z_]+)"`)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || slices.Contains([]string{"proof", "localstack", "clients/typescript/node_modules", "ui", "infra"}, path)):
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), strings.HasPrefix(path, "internal/settings/"):
			return nil
		}
		for _, found := range quoted.FindAllStringSubmatch(readFile(t, path), -1) {
			if elsewhere[found[1]] != path {
				t.Errorf("%s has %s: read it through package settings", path, found[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
