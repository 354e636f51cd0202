package awspath

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/proof/testbed"
)

// command is a line of a script.
type command struct {
	name  string
	args  testbed.Args
	input string
}

func request(text string, args ...any) command {
	return command{"request", nil, fmt.Sprintf(text, args...)}
}

// play returns the output of commands.
func play(t *testing.T, beds func(testing.TB, testbed.Args) testbed.Testbed, commands []command) string {
	t.Helper()
	script := testbed.NewScript(t, beds)
	defer script.Close()
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintln(&b, c.name, c.args, c.input)
		b.WriteString(script.Play(c.name, c.args, c.input))
	}
	return b.String()
}

// Batches with the messages of several workflows, or with several of one, give the same output in
// both testbeds.
func TestBatches(t *testing.T) {
	t.Parallel()
	commands := []command{{"case", testbed.Args{"number": "0"}, ""}}
	const workflows = 12
	for i := range workflows {
		commands = append(commands,
			request("POST /v1/workflows\n"+`{"workflowId":"sleeps-%d","type":"sleeper","input":"1m"}`, i),
			request("POST /v1/workflows\n"+`{"workflowId":"long-%d","type":"sleeper","input":"5h"}`, i),
			request("POST /v1/workflows\n"+`{"workflowId":"fans-%d","type":"parallel","input":[%s{"name":"x","for":"1m"}]}`, i,
				strings.Repeat(`{"name":"y","for":"1m","fails":1},`, i)))
	}
	commands = append(commands, command{"sleep", testbed.Args{"for": "2h"}, ""})
	for i := range workflows {
		for _, kind := range []string{"sleeps", "fans"} {
			commands = append(commands, request("GET /v1/workflows/%s-%d/result", kind, i))
		}
	}
	commands = append(commands, command{"sleep", testbed.Args{"for": "4h"}, ""}, request("GET /v1/workflows/long-0/result"))
	functions := play(t, Testbeds(Memory), commands)
	synctest.Test(t, func(t *testing.T) {
		if bubble := play(t, testbed.NewBubble, commands); bubble != functions {
			t.Errorf("the output in the bubble is\n%s\nand through the functions\n%s", bubble, functions)
		}
	})
	if n := strings.Count(functions, `"status":"completed"`); n != 2*workflows+1 {
		t.Errorf("%d workflows completed:\n%s", n, functions)
	}
}

// TestIDs demands that a clock's ids are the same in each run of a test, and differ from those of
// other tests, which may run in parallel.
func TestIDs(t *testing.T) {
	t.Parallel()
	first, again, other := NewClock("a").ID(), NewClock("a").ID(), NewClock("b").ID()
	if first != again || first == other {
		t.Errorf("the first ids of a test, of a second run of it and of another test are %x, %x and %x", first, again, other)
	}
}
