package testbed

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Again decodes a stored form and encodes it again.
func Again[T any](text []byte) ([]byte, error) {
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// CheckForms fails the test unless each form that an earlier version stored decodes, and encodes to
// the same bytes. forms has Again of each, by the beginning of the names of its files in
// testdata/stored.
func CheckForms(t *testing.T, forms map[string]func([]byte) ([]byte, error)) {
	t.Helper()
	for name, again := range forms {
		files, err := filepath.Glob("testdata/stored/" + name + "*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", name, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.TrimSpace(text)
			if got, err := again(text); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: %v\n got %s\nwant %s", file, err, got, text)
			}
		}
	}
}
