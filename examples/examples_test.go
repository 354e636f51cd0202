// Package examples_test tests the examples together. One program can register all of them. deploy
// is a repository of its own whose tests pass. hello and postgres are modules of their own, too.
package examples_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// modules are the examples that are modules of their own. TestHelloCopied of proof/docs tests
// hello, and make test-postgres tests postgres.
var modules = []string{"hello", "deploy", "postgres"}

// callers are the examples that only call workflows, from other languages. make test-python and
// make test-ts test them.
var callers = []string{"fastapi", "web"}

// alone are the examples that are not registered with the others. With protobuf, each function
// would link the runtime of Protobuf.
var alone = []string{"protobuf"}

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
		if !e.IsDir() || slices.Contains(slices.Concat(modules, callers, alone), e.Name()) {
			continue
		}
		if folders[e.Name()] == nil {
			t.Errorf("example %s is not registered here", e.Name())
		} else if r.Workflow(e.Name()) == nil {
			t.Errorf("example %s has no workflow of its name", e.Name())
		}
	}
}

// TestDeploy tests a user's own repository. make lint vets it, and make deploy-check builds and
// deploys it.
func TestDeploy(t *testing.T) {
	t.Parallel()
	command := exec.Command("go", "test", "-vet=off", "-ldflags=-w", "./...")
	command.Dir = "deploy"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s\nIf Weft's own go.mod has changed, run: go -C examples/deploy mod tidy", command, err, out)
	}
}
