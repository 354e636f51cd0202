package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/proof/freeport"
)

// refuses runs the binary, which should exit by itself, and checks that it prints the reason.
func refuses(t *testing.T, binary, want string, args ...string) {
	t.Helper()
	out, err := exec.Command(binary, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("weft %q ended with %v and said\n%s\nwant an error with %q", args, err, out, want)
	}
}

func TestTheServerSaysWhyItDoesNotStart(t *testing.T) {
	t.Parallel()
	binary, addr, dir := binaryOf(t), freeport.ForTest(t), filepath.Join(t.TempDir(), "data")
	s := launch(t, binary, addr, dir)
	refuses(t, binary, "in use by another process", "dev", "--addr", freeport.ForTest(t), "--data", dir)
	refuses(t, binary, "cannot listen at "+addr, "dev", "--addr", addr, "--data", filepath.Join(t.TempDir(), "other"))
	s.kill(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, binary, "choose a directory", "dev", "--addr", freeport.ForTest(t), "--data", filepath.Join(file, "data"))
	refuses(t, binary, "missing port", "dev", "--addr", "nonsense", "--data", dir)
	refuses(t, binary, "unknown flag", "dev", "--nonsense")
}

// Ctrl-C stops the server cleanly. When it is started again on the same directory, it continues
// every open workflow.
func TestARestartedServerContinues(t *testing.T) {
	t.Parallel()
	binary, addr, dir := binaryOf(t), freeport.ForTest(t), filepath.Join(t.TempDir(), "data")
	ctx, c := t.Context(), dial(t, addr)
	s := launch(t, binary, addr, dir)
	if _, err := cart.Workflow.Start(ctx, c, "cart-1", cart.Start{Owner: "ada"}); err != nil {
		t.Fatal(err)
	}
	for quantity := 1; quantity <= 3; quantity++ {
		total, err := cart.AddItem.Call(ctx, c, "cart-1", cart.Item{SKU: "tea", Quantity: 1})
		if err != nil || total.Items != quantity {
			t.Fatalf("total %+v, %v; want %d items", total, err, quantity)
		}
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := <-s.exited; err != nil || s.complaints() != "" {
			t.Fatalf("Ctrl-C ended it with %v:\n%s", err, s.complaints())
		}
		s = launch(t, binary, addr, dir)
	}
	s.kill(t)
}

// A stopping server answers a caller who waits for a result, and does not wait for that result
// itself.
func TestStoppingDoesNotWaitForResults(t *testing.T) {
	t.Parallel()
	binary, addr := binaryOf(t), freeport.ForTest(t)
	c := dial(t, addr)
	s := launch(t, binary, addr, filepath.Join(t.TempDir(), "data"))
	if _, err := cart.Workflow.Start(t.Context(), c, "cart-1", cart.Start{Owner: "ada"}); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("GET /v1/workflows/cart-1/result?wait=20s HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := cart.Contents.Ask(t.Context(), c, "cart-1", struct{}{}); err != nil { // the server has read the earlier request by now
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-s.exited; err != nil || s.complaints() != "" {
		t.Errorf("Ctrl-C ended it with %v:\n%s", err, s.complaints())
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(binaryOf(t), "demo").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"422 Unprocessable Entity\n   < Weft-Cost: writes=0, reads=1, messages=0", "writes=1, reads=0, messages=0", `"parcel":"parcel-cart-42`, "WorkflowExecutionCompleted"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not show %q:\n%s", want, out)
		}
	}
}
