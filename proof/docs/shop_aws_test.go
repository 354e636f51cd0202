//go:build aws

package docs_test

import (
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// shopServer is a program that serves the workflows of examples/deploy locally. The program in that
// module is a Lambda function.
const shopServer = `package main

import (
	"github.com/seed-41655fb1/weft"

	"example.com/shop/orders"
)

func main() { weft.Main(weft.Register(orders.Registrations()...)) }
`

// shop serves the workflows of examples/deploy until the test ends, and returns the server's
// address. It overlays their module with shopServer.
func shop(t *testing.T) *url.URL {
	t.Helper()
	module, err := filepath.Abs(filepath.Join("examples", "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	source, overlay, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, "overlay.json"), filepath.Join(folder, "shop")
	over, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(module, "server", "main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{source: []byte(shopServer), overlay: over} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-C", module, "-overlay", overlay, "-o", binary, "./server").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return serve(t, exec.Command(binary, "--addr", "127.0.0.1:0", "--data", filepath.Join(folder, "data")), io.Discard)
}
