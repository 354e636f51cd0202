package awspath

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/proof/turntest"
)

// TestVersions plays the script of functions that hand events to their versions. It has a command of its own: forwarded says
// how many events were handed on since the last time. Rewrite it with `go test ./proof/turntest/awspath -run TestVersions
// -rewrite`, and read the difference.
func TestVersions(t *testing.T) {
	t.Parallel()
	scenes := Scenes(Memory)
	var scene *Scene
	script := turntest.NewScript(t, func(t testing.TB, args turntest.Args) turntest.Scene {
		scene = scenes(t, args).(*Scene)
		return scene
	})
	defer script.Close()
	told := 0
	datadriven.RunTest(t, "testdata/versions", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "forwarded" {
			return script.Play(d.Cmd, turntest.ArgsOf(d.CmdArgs), d.Input)
		}
		before := told
		told = scene.Forwarded()
		return fmt.Sprintln(told - before)
	})
}
