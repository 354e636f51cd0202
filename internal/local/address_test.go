package local

import (
	"path/filepath"
	"strings"
	"testing"
)

// The commands in the log name the server, unless weft's commands find it by themselves.
func TestCommandFlags(t *testing.T) {
	t.Parallel()
	const usual, other = "http://127.0.0.1:8080", "https://[::1]:9000"
	dir := filepath.Join(t.TempDir(), "it's data")
	token := " --token-file '" + strings.ReplaceAll(filepath.Join(dir, "token"), "'", `'\''`) + "'"
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"":                        {URL: usual, Dir: dir},
		" --url '" + other + "'":  {URL: other, Dir: dir},
		token:                     {URL: usual, Dir: dir, Auth: true},
		" --url http://a" + token: {URL: "http://a", Dir: dir, Auth: true},
		" --url http://b":         {URL: "http://b", Auth: true}, // the token is in memory only
		" --url http://c --token-file " + filepath.Join(here, ".weft", "token"): {URL: "http://c", Dir: ".weft", Auth: true},
	} {
		if got := o.commandFlags(); got != strings.TrimPrefix(want, " ") {
			t.Errorf("%+v: %s, want%s", o, got, want)
		}
	}
	if got := (&Options{Dir: dir, Auth: true}).commandFlags(); got != "" {
		t.Errorf("a server without an address: %s", got)
	}
}
