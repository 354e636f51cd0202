package awspath

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/proof/testbed"
)

// TestVersions plays the script of functions that pass events on to their versions. It has a
// command of its own: forwarded prints how many events were passed on since the last time. Rewrite
// it with `go test ./proof/testbed/awspath -run TestVersions -rewrite`, and read the difference.
func TestVersions(t *testing.T) {
	t.Parallel()
	beds := Testbeds(Memory)
	var bed *Testbed
	script := testbed.NewScript(t, func(t testing.TB, args testbed.Args) testbed.Testbed {
		bed = beds(t, args).(*Testbed)
		return bed
	})
	defer script.Close()
	told := 0
	datadriven.RunTest(t, "testdata/versions", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "forwarded" {
			return script.Play(d.Cmd, testbed.ArgsOf(d.CmdArgs), d.Input)
		}
		before := told
		told = bed.Forwarded()
		return fmt.Sprintln(told - before)
	})
}
