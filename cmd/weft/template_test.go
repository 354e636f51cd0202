package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/infra"
)

var (
	codes = regexp.MustCompile(`CodeUri: (.*)`)
	roles = regexp.MustCompile(`(?m)^[^#\n]*WEFT_ROLE: (\w+)`)
)

// weft template prints the template of infra/sam, with one program as the code of all functions.
// localstack/check reads it with the sam command.
func TestTemplate(t *testing.T) {
	t.Parallel()
	const code = `../a "folder"`
	out, err := exec.Command(binaryOf(t), "template", "sam", "--code", code).Output()
	if err != nil {
		t.Fatal(err)
	}
	printed := strings.SplitAfterN(string(out), "\n", 2)
	if !strings.HasPrefix(printed[0], "# Printed by") {
		t.Errorf("the template begins with %q", printed[0])
	}
	if codeURI.ReplaceAllString(printed[1], "") != codeURI.ReplaceAllString(infra.SAM, "") {
		t.Errorf("the template differs from infra/sam in more than the code:\n%s", printed[1])
	}
	found := codes.FindAllStringSubmatch(printed[1], -1)
	if want := `"../a \"folder\""`; len(found) != 1 || found[0][1] != want {
		t.Errorf("the code of all functions is %q, want %s, once", found, want)
	}
	const functions = 5
	different := map[string]bool{}
	for _, r := range roles.FindAllStringSubmatch(printed[1], -1) {
		different[r[1]] = true
	}
	if len(different) != functions {
		t.Errorf("want %d roles of one program, got %v", functions, different)
	}
}

// With task queues, weft template prints what infra.SAMWith returns. It refuses an invalid name.
func TestTemplateWithTaskQueues(t *testing.T) {
	t.Parallel()
	binary := binaryOf(t)
	out, err := exec.Command(binary, "template", "sam", "--task-queues", "reports,slow").Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := infra.SAMWith("reports", "slow")
	if err != nil {
		t.Fatal(err)
	}
	if _, printed, _ := strings.Cut(string(out), "\n"); codeURI.ReplaceAllString(printed, "") != codeURI.ReplaceAllString(want, "") {
		t.Errorf("the template differs from that of infra.SAMWith:\n%s", printed)
	}
	if out, err := exec.Command(binary, "template", "sam", "--task-queues", "Reports").CombinedOutput(); err == nil || !strings.Contains(string(out), "a-z") {
		t.Errorf("an invalid name: %v, %s", err, out)
	}
}
