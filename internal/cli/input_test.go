package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(file, []byte("\n[1,\n 2]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{`{"a":1}`: `{"a":1}`, " 7 ": "7", "null": "null", "@" + file: "[1,\n 2]", "-": `"from stdin"`, "@-": `"from stdin"`} {
		s, _ := testSession(t, nil)
		s.In = strings.NewReader(`"from stdin"`)
		if got, err := (Input{Input: &input}).Read(s); err != nil || string(got) != want {
			t.Errorf("%q is %q, %v; want %q", input, got, err, want)
		}
	}
}

// Without the flag there is no input.
func TestWithoutInput(t *testing.T) {
	t.Parallel()
	s, _ := testSession(t, nil)
	if got, err := (Input{}).Read(s); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// What is no JSON is refused, with the place and what was probably meant.
func TestNoInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(file, []byte("{\n  \"a\": }"), 0o600); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		"hello": `a text needs double quotes, as -d '"text"'`, `{"a":`: "unexpected end", "@" + file: "(line 2, column 8)", "@" + file + ".gone": "no such file", "-": "standard input is empty", "": "the input is empty: leave -d out to send none", " ": "the input is empty",
	} {
		s, _ := testSession(t, nil)
		_, err := Input{Input: &input}.Read(s)
		fails(t, input, err, Usage, want)
	}
	s, _ := testSession(t, nil)
	s.In = endless{}
	stdin := "-"
	_, err := Input{Input: &stdin}.Read(s)
	fails(t, "too large", err, Usage, "more than 64 MiB")
	s.In = failing{}
	_, err = Input{Input: &stdin}.Read(s)
	fails(t, "standard input fails", err, Usage, "it broke off")
	if errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// endless is a reader without an end.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return len(p), nil }
