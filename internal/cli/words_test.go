package cli_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// An error names the flags of the command, not the members of the API. What is quoted is a user's.
func TestFlagsInErrors(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{
		"Give unknown=allow if other runs have Shop":                        "Give --allow-unknown if other runs have Shop",
		"the signal has no name: give signalName":                           "the signal has no name: give --signal",
		"say what to reset to: give one of to and build":                    "say what to reset to: give --to or --build",
		"start another for the rest, or give a larger mostRuns":             "start another for the rest, or give a larger --most-runs",
		`there is a batch "batchId" already: give another batchId, or none`: `there is a batch "batchId" already: give another --id, or none`,
		`use another workflow id, or give an idConflictPolicy`:              `use another workflow id, or give --conflict`,
	} {
		if got := cli.Text(&client.Problem{Title: "Refused", Detail: detail}); got != "weft: Refused: "+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
