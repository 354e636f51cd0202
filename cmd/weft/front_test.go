package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/proof/freeport"
)

// The server demands the token of its data directory, and the commands send that token.
func TestTheServerDemandsAToken(t *testing.T) {
	binary, addr, dir := binaryOf(t), freeport.ForTest(t), filepath.Join(t.TempDir(), "data")
	t.Setenv("WEFT_AUTH", "true")
	s := launch(t, binary, addr, dir)
	file := filepath.Join(dir, "token")
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, binary, "A token is needed", "list", "--url", "http://"+addr)
	if out, err := exec.Command(binary, "list", "--url", "http://"+addr, "--token-file", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	c := client.New("http://"+addr, client.Options{Token: strings.TrimSpace(string(token))})
	if _, _, err := c.List(t.Context(), "", ""); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/v1/workflows": 401} {
		if status := get(t, addr, path, ""); status != want {
			t.Errorf("%s is answered with %d, want %d", path, status, want)
		}
	}
	if status := get(t, addr, "/v1/workflows", "evil.example"); status != http.StatusForbidden {
		t.Errorf("a request for another host is answered with %d", status)
	}
	s.kill(t)
	if strings.Contains(s.stderr.String(), strings.TrimSpace(string(token))) {
		t.Error("the token is in the log")
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	refuses(t, binary, "chmod 600", "dev", "--addr", addr, "--data", dir)
	refuses(t, binary, "give both", "dev", "--addr", addr, "--data", dir, "--tls-cert", file)
	refuses(t, binary, "too short", "dev", "--addr", addr, "--data", dir, "--retention", "1h")
}

// get sends a request, with a Host header unless host is empty, and returns the status of the
// answer.
func get(t *testing.T, addr, path, host string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}
