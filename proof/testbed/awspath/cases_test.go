package awspath

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/proof/testbed"
)

// TestCases plays the scripts of package executor through the functions, over a store in memory,
// with the events of an HTTP API and of a REST API. Each line has to give the same output as in the
// bubble that wrote the scripts. With `make test-aws`, TestUpdateCasesOnAWS plays them on DynamoDB.
func TestCases(t *testing.T) {
	t.Parallel()
	gateways := []string{"http", "rest"}
	if testing.Short() {
		gateways = gateways[:1]
	}
	for _, gateway := range gateways {
		for _, path := range testbed.Scripts(t, filepath.Join("..", "..", "..", "internal", "executor", "testdata")) {
			folder, name := filepath.Split(path)
			t.Run(filepath.Join(gateway, filepath.Base(folder), name), func(t *testing.T) {
				t.Parallel()
				playThrough(t, gateway, path)
			})
		}
	}
}

// playThrough plays the script of a file through a gateway.
func playThrough(t *testing.T, gateway, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	beds := Testbeds(Memory)
	script := testbed.NewScript(t, func(t testing.TB, args testbed.Args) testbed.Testbed {
		args["gateway"] = gateway
		return beds(t, args)
	})
	defer script.Close()
	datadriven.RunTestFromString(t, string(text), func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		if got := script.Play(d.Cmd, testbed.ArgsOf(d.CmdArgs), d.Input); got != d.Expected {
			t.Errorf("%s of %s: %s returned\n%s\nexpected\n%s", d.Pos, path, d.Cmd, got, d.Expected)
		}
		return d.Expected
	})
}
