package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// Completion offers the queues of the deployment that the command line names, and the profiles. It
// offers nothing that a shell would expand.
func TestComplete(t *testing.T) {
	t.Parallel()
	var token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		if r.URL.Path != "/v1/types" {
			t.Errorf("the request is %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"workflows":[],"activities":[],"taskQueues":["gpu","$(date)","a b","x;y"]}`)
	}))
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("profiles: {prod: {stack: weft}, local: {url: '"+server.URL+"', tokenFile: token}, $(date): {stack: weft}, -z: {stack: weft}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "token"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	const none = "-" // and no error
	for _, c := range []struct{ what, line, want string }{
		{"profiles", "", "local prod"},
		{"queues", "weft dead redrive --url=" + server.URL + " ", "activities tasks-gpu timers workflow"},
		{"queues", "weft dead redrive --url '" + server.URL + "' ti", "activities tasks-gpu timers workflow"},
		{"queues", "weft dead redrive --profile local ", "activities tasks-gpu timers workflow"},
		{"queues", "weft dead redrive --profile=nothing ", ""},
		// What is being typed names no deployment yet: it must not get the token.
		{"queues", "weft dead redrive --url " + server.URL, none},
		{"queues", "weft dead redrive --url '" + server.URL, none},
		{"queues", "weft dead redrive --url=" + server.URL, none},
		{"queues", "weft dead redrive --url ", none},
		{"queues", "weft dead redrive --profile local", none},
	} {
		var out strings.Builder
		s := &cli.Session{In: strings.NewReader(""), Out: &out, Err: io.Discard, Getenv: func(name string) string { return map[string]string{"WEFT_CONFIG": config}[name] }}
		err := execute(t.Context(), s, []string{cli.CompleteCommand, c.what, c.line})
		got := strings.Fields(out.String())
		slices.Sort(got)
		if strings.Join(got, " ") != strings.TrimSuffix(c.want, none) || (err != nil) != (c.want == "") {
			t.Errorf("%s of %q: %q, %v; want %q", c.what, c.line, got, err, c.want)
		}
	}
	if token != "Bearer secret" {
		t.Errorf("the last request has the authorization %q", token)
	}
}

// bash completes the values that the command looks up, and those that it knows.
func TestCompletionOfValues(t *testing.T) {
	t.Parallel()
	script, err := command(t, "completion bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("profiles: {prod: {stack: weft}, local: {url: 'http://127.0.0.1:1'}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	url := serve(t)
	weft := binaryOf(t)
	for line, want := range map[string]string{
		"list --profile ":                        "local prod",
		"list --profile p":                       "prod",
		"count --by Ex":                          "ExecutionStatus",
		"count --by ":                            "BuildId CloseReason ExecutionStatus FailureType Paused Retrying Stuck WorkflowType",
		"cost --by C":                            "CloseReason",
		"reset cart-42 --exclude ":               "signals updates",
		"batch start reset --exclude u":          "updates",
		"dead redrive --url " + url + " ":        "activities timers workflow",
		"dead redrive --url " + url + " t":       "timers",
		"dead redrive --url http://127.0.0.1:1 ": "",
	} {
		words := strings.Split(weft+" "+line, " ")
		program := fmt.Sprintf("source ./script; COMP_LINE='%s %s'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=('%s'); COMP_CWORD=%d; _weft; echo \"${COMPREPLY[@]}\"", weft, line, strings.Join(words, "' '"), len(words)-1)
		bash := exec.Command("bash", "--norc", "-c", program)
		bash.Dir, bash.Env = dir, append(os.Environ(), "WEFT_CONFIG="+config)
		out, err := bash.CombinedOutput()
		got := strings.Fields(string(out))
		slices.Sort(got)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("weft %s: %q, %v; want %q", line, out, err, want)
		}
	}
}

// Completion offers exactly the names that runs are counted by.
func TestNamesToCountBy(t *testing.T) {
	t.Parallel()
	_, _, errs := exits(t, "count", "--by=nothing", "--url="+serve(t))
	k, err := parser(&cli.Session{Out: io.Discard, Err: io.Discard}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range k.Model.Leaves(true) {
		for _, f := range leaf.Flags {
			if f.Name != "by" {
				continue
			}
			names := strings.Split(f.Tag.Get("complete"), ",")
			for _, name := range names {
				if !strings.Contains(errs, " "+name) {
					t.Errorf("%s offers %s, and the deployment says: %s", leaf.FullPath(), name, errs)
				}
			}
			if _, all, _ := strings.Cut(errs, "give "); len(names) != strings.Count(all, ",")+1 {
				t.Errorf("%s offers %q, and the deployment says: %s", leaf.FullPath(), names, errs)
			}
		}
	}
}

func TestWordsOf(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                          nil,
		"weft  list ":               {"weft", "list"},
		`weft list "a b" 'c "d'\ e`: {"weft", "list", "a b", `c "d e`},
		`--url="http://a" ''`:       {"--url=http://a", ""},
		`"open`:                     {"open"},
	} {
		got, typing := wordsOf(line)
		if !slices.Equal(got, want) || typing == (line == "" || strings.HasSuffix(line, " ")) {
			t.Errorf("%s is %q, typing: %v; want %q", line, got, typing, want)
		}
	}
}
