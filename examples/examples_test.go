// Package examples_test tests the examples together. One program can register all of them. hello is
// a program of its own that builds and runs. deploy is a repository of its own whose tests pass.
// postgres is a module of its own, too.
package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// modules are the examples that are modules of their own. make test-postgres tests postgres.
var modules = []string{"hello", "deploy", "postgres"}

func TestAllTogether(t *testing.T) {
	t.Parallel()
	var all []workflow.Registration
	folders := examples.Registrations()
	for _, registrations := range folders {
		all = append(all, registrations...)
	}
	r := testbed.Registry(t, all...)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || slices.Contains(modules, e.Name()) {
			continue
		}
		if folders[e.Name()] == nil {
			t.Errorf("example %s is not registered here", e.Name())
		} else if r.Workflow(e.Name()) == nil {
			t.Errorf("example %s has no workflow of its name", e.Name())
		}
	}
}

// TestDeploy builds and tests a user's own repository. make lint vets it, and make deploy-check
// deploys it.
func TestDeploy(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector has nothing to find in a program that the go command builds")
	}
	t.Parallel()
	for _, args := range [][]string{{"build", "-ldflags=-w", "-o", t.TempDir(), "."}, {"test", "-vet=off", "-ldflags=-w", "./..."}} {
		command := exec.Command("go", args...)
		command.Dir = "deploy"
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\nIf Weft's own go.mod has changed, run: go -C examples/deploy mod tidy", command, err, out)
		}
	}
}

var greeting = regexp.MustCompile(`http://[0-9.]+:[0-9]+`)

// TestHello tests and builds a user's own program, and sends requests to it over a socket.
func TestHello(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector has nothing to find in a program that the go command builds")
	}
	t.Parallel()
	program := filepath.Join(t.TempDir(), "hello")
	for _, args := range [][]string{{"test", "-vet=off", "-ldflags=-w", "."}, {"build", "-ldflags=-w", "-o", program, "."}} {
		command := exec.Command("go", args...)
		command.Dir = "hello"
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	ctx := t.Context()
	c := client.New(serve(t, program), client.Options{HTTP: &http.Client{Transport: apitest.Transport(t, nil)}})
	run, err := workflow.NewWorkflow[string, string]("hello").Start(ctx, c, "hello-1", "Ada")
	if err != nil {
		t.Fatal(err)
	}
	met, err := workflow.NewUpdate[string, string]("meet").Call(ctx, c, "hello-1", "Bob")
	if err != nil || met != "Hello, Bob" {
		t.Errorf("met %q, %v", met, err)
	}
	result, err := run.Result(ctx)
	if err != nil || result != "Hello, Ada" {
		t.Errorf("result %q, %v", result, err)
	}
}

// serve runs the program until the test ends, and returns the address that the program prints.
func serve(t *testing.T, program string) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for url == "" && lines.Scan() {
		url = greeting.FindString(lines.Text())
	}
	t.Cleanup(func() {
		cancel()
		for lines.Scan() { // until the program has ended, because a full pipe would block it
		}
		if err := cmd.Wait(); url != "" && err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted, the program ended with %v: %s", err, stderr.String())
		}
	})
	if url == "" {
		t.Fatalf("the program did not print its address: %v: %s", cmd.Wait(), stderr.String())
	}
	return url
}
