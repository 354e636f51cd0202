package docs_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/local"
)

// named matches a request that a document names, as in `GET /v1/workflows/{id}`.
var named = regexp.MustCompile("(GET|HEAD|POST|PUT|PATCH|DELETE) (/v1/[^ `'\",;)]*)")

// Each request that a document names has a route in the API.
func TestNamedRequests(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		for _, found := range named.FindAllStringSubmatch(readFile(t, path), -1) {
			target := strings.NewReplacer("{", "", "}", "").Replace(strings.TrimRight(found[2], "."))
			if seen++; target != local.BackupPath && httpapi.Find(httptest.NewRequestWithContext(t.Context(), found[1], target, nil)) == nil {
				t.Errorf("%s names %s %s, which the API does not have", path, found[1], found[2])
			}
		}
		return nil
	})
	if err != nil || seen < 15 {
		t.Errorf("%d requests, %v", seen, err)
	}
}
