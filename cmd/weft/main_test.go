package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/seed-41655fb1/weft/internal/precheck"
)

// asCommand is the environment variable that makes the test's binary the command weft. So the tests
// that need a process of its own link no other binary.
const asCommand = "WEFT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(precheck.Variable) != "" {
		beCandidate(os.Args[1])
		os.Exit(0)
	}
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	if err := os.Setenv(asCommand, "1"); err != nil { // the children inherit it
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	removeBinary()
	os.Exit(status)
}
